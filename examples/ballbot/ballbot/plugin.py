"""Plug-in of the package for rolling_robotics."""

from pathlib import Path

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='ballbot',
    protocol=2,
    scenario='ballbot.scenario:BallbotFile',
    robot_view='ballbot.view:view',
    example=str(Path(__file__).with_name('ballbot.yaml')),
)

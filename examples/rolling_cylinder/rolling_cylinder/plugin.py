"""Plug-in of the package for rolling_robotics."""

from pathlib import Path

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='rotor_cylinder',
    protocol=2,
    scenario='rolling_cylinder.scenario:RotorCylinderFile',
    robot_view='rolling_cylinder.view:view',
    example=str(Path(__file__).with_name('trough.yaml')),
)

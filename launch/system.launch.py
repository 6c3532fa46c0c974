"""Launch simulator, planner and controller of the robot of any scenario, ``scenario:=...``."""

from rolling_robotics.nodes.launching import scenario_description

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return the nodes of the scenario as actions of launch."""
    return scenario_description()

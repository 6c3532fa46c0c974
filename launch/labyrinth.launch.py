"""Launch the experiment labyrinth."""

from rolling_robotics.nodes.launching import launch_description

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return the nodes of the experiment as actions of launch."""
    return launch_description('labyrinth')

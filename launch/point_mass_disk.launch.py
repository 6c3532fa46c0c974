"""Launch the experiment point_mass_disk."""

from rolling_robotics.nodes.launching import launch_description

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return the nodes of the experiment as actions of launch."""
    return launch_description('point_mass_disk')

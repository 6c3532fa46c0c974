"""Launch the bridges of motors and camera, and the estimator, without a controller."""

from rolling_robotics.nodes.launching import launch_description

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return the nodes between hardware and controller; `params_file` says which hardware."""
    return launch_description('flip_up', only=('motor_bridge', 'vision_bridge', 'estimator'))

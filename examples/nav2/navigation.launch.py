"""Launch a rolling robot, ``scenario:=...``, and the servers of Nav2 that drive it."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SERVERS = {
    'controller_server': 'nav2_controller',
    'planner_server': 'nav2_planner',
    'behavior_server': 'nav2_behaviors',
    'bt_navigator': 'nav2_bt_navigator',
}


def generate_launch_description() -> LaunchDescription:
    """Return the nodes of the robot and those of Nav2."""
    robot = Path(get_package_share_directory('rolling_robotics'), 'launch', 'system.launch.py')
    trees = Path(get_package_share_directory('nav2_bt_navigator'), 'behavior_trees')
    # without recoveries: the robot cannot spin in place
    tree = {'default_nav_to_pose_bt_xml': str(trees / 'navigate_w_replanning_time.xml')}
    parameters = [str(Path(__file__).with_name('nav2.yaml')), tree]
    return LaunchDescription(
        [
            DeclareLaunchArgument('scenario', default_value='ballbot'),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(robot)),
                launch_arguments={
                    'scenario': LaunchConfiguration('scenario'),
                    'use_sim_time': 'true',
                }.items(),
            ),
            *(
                Node(package=package, executable=name, name=name, parameters=parameters)
                for name, package in SERVERS.items()
            ),
            Node(
                package='nav2_lifecycle_manager',
                executable='lifecycle_manager',
                parameters=[
                    {'use_sim_time': True, 'autostart': True, 'node_names': list(SERVERS)}
                ],
            ),
        ]
    )

"""The experiment with a labyrinth: an emulated board, and a law that takes the ball through it."""

from rolling_robotics.experiment import Experiment, NodeEntry

EXPERIMENTS = (
    Experiment(
        name='labyrinth',
        text='A ball is taken through a labyrinth, past walls and holes, by what a camera sees.',
        nodes=(
            NodeEntry(name='simulator', module='rolling_dynamics.nodes.robot_simulator_node'),
            NodeEntry(
                name='controller',
                module='rolling_controller.ball_balancer.nodes.rig_controller_node',
            ),
        ),
        params_file='labyrinth.yaml',
        scenario_file='labyrinth.yaml',
        rviz_file='labyrinth.rviz',
        recorded=(
            'robot/state',
            'servo_command',
            'controller/frames',
            'controller/settings',
            'vision/object_pose',
            'set_point',
            'goal_pose',
            'plan/object_path',
            'simulator/surfaces',
            'simulator/markers',
            'robot_description',
            '/tf',
            '/diagnostics',
        ),
        demo='rolling_robotics.plugins.labyrinth.demo:DEMO',
    ),
)

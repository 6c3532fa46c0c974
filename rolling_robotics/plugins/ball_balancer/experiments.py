"""The experiment with a ball balancer: an emulated rig and a law that answers its camera."""

from rolling_robotics.experiment import Experiment, NodeEntry

EXPERIMENTS = (
    Experiment(
        name='ball_balancer',
        text='A ball on a plate that servos tilt is taken to set points by what a camera sees.',
        nodes=(
            NodeEntry(name='simulator', module='rolling_dynamics.nodes.robot_simulator_node'),
            NodeEntry(
                name='controller',
                module='rolling_controller.ball_balancer.nodes.rig_controller_node',
            ),
        ),
        params_file='ball_balancer.yaml',
        scenario_file='ball_balancer.yaml',
        rviz_file='ball_balancer.rviz',
        recorded=(
            'robot/state',
            'servo_command',
            'controller/frames',
            'controller/settings',
            'vision/object_pose',
            'set_point',
            'goal_pose',
            'simulator/surfaces',
            'simulator/markers',
            'robot_description',
            '/tf',
            '/diagnostics',
        ),
        laws=('predictive', 'lqr', 'pid', 'exported'),
        demo='rolling_robotics.plugins.ball_balancer.demo:DEMO',
    ),
)

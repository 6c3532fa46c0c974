"""A ball on a plate that servos tilt."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='ball_balancer',
    protocol=2,
    scenario='rolling_dynamics.ball_balancer.scenario:BallBalancerFile',
    robot_view='rolling_dynamics.ball_balancer.robot_view:view',
    step_laws='rolling_controller.ball_balancer.laws:sources_of',
    controller='rolling_controller.ball_balancer.nodes.controlled_rig:controlled',
    experiments='rolling_robotics.plugins.ball_balancer.experiments:EXPERIMENTS',
    scene='rolling_robotics.plugins.ball_balancer.scene:rig_scene',
    example='ball_balancer',
)

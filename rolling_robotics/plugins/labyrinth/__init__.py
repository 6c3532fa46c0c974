"""A ball on a board with walls and holes, tilted by velocity servos."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='labyrinth',
    protocol=2,
    scenario='rolling_dynamics.ball_balancer.labyrinth_file:LabyrinthFile',
    robot_view='rolling_dynamics.ball_balancer.robot_view:labyrinth_view',
    planner='rolling_controller.ball_balancer.labyrinth_planner:PLANNER',
    controller='rolling_controller.ball_balancer.nodes.controlled_rig:controlled',
    experiments='rolling_robotics.plugins.ball_balancer.experiments:LABYRINTH',
    example='labyrinth',
)

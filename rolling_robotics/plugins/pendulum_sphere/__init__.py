"""A sphere that a pendulum inside drives."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='pendulum_sphere',
    protocol=2,
    scenario='rolling_dynamics.scenario.pendulum_sphere:PendulumSphereFile',
    robot_view='rolling_dynamics.pendulum_sphere.robot_view:view',
    law='rolling_controller.robot_laws.pendulum_sphere:KIND',
    planner='rolling_planner.gait_planner.system_planner:PLANNER',
    arrays='rolling_robotics.plugins.pendulum_sphere.arrays:pendulum_arrays',
    scene='rolling_robotics.plugins.pendulum_sphere.scene:pendulum_scene',
    experiments='rolling_robotics.plugins.pendulum_sphere.experiments:EXPERIMENTS',
    example='pendulum_start',
)

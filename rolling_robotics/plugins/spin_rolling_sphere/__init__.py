"""A sphere that rolls and spins on a plane or a sphere."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='spin_rolling_sphere',
    protocol=2,
    scenario='rolling_dynamics.scenario.spin_rolling_sphere:SpinRollingFile',
    robot_view='rolling_dynamics.spin_rolling_sphere.robot_view:view',
    law='rolling_controller.robot_laws.spin_rolling_sphere:KIND',
    planner='rolling_planner.spin_rolling.planner:PLANNER',
    scene='rolling_robotics.plugins.spin_rolling_sphere.scene:spin_rolling_scene',
    experiments='rolling_robotics.plugins.spin_rolling_sphere.experiments:EXPERIMENTS',
    example='spin_rolling_ball',
)

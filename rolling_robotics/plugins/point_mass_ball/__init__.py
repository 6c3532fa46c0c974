"""A ball that masses on rails inside drive."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='point_mass_ball',
    protocol=2,
    scenario='rolling_dynamics.scenario.point_mass:BallFile',
    robot_view='rolling_dynamics.internal_masses.robot_view:view',
    law='rolling_controller.robot_laws.point_mass:KIND',
    arrays='rolling_robotics.plugins.point_mass_ball.report:mass_arrays',
    scene='rolling_robotics.plugins.point_mass_ball.scene:mass_scene',
    report='rolling_robotics.plugins.point_mass_ball.report',
    experiments='rolling_robotics.plugins.point_mass_ball.experiments:BALL',
    example='point_mass_ball',
)

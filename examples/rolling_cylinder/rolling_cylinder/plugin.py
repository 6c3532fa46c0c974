"""What the package brings to rolling_robotics."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='rotor_cylinder',
    protocol=1,
    scenario='rolling_cylinder.scenario:RotorCylinderFile',
    robot_view='rolling_cylinder.view:view',
)

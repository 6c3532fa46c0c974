"""A machine from parts, as its scenario describes it."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='machine',
    protocol=2,
    scenario='rolling_dynamics.scenario.machine:MachineFile',
    example='driven_shell',
)

"""An object that rolls on a hand."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='contact',
    protocol=1,
    scenario='rolling_dynamics.scenario.contact:ContactFile',
    arrays='rolling_robotics.contact_arrays:contact_arrays',
    scene='rolling_robotics.scene.contact:contact_scene',
    example='ball_on_plate_hard',
)

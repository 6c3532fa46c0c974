"""An object that rolls on a hand."""

from rolling_dynamics.plugin import SystemPlugin

PLUGIN = SystemPlugin(
    name='contact',
    protocol=2,
    scenario='rolling_dynamics.scenario.contact:ContactFile',
    law='rolling_controller.robot_laws.contact_kind:KIND',
    step_laws='rolling_controller.laboratory.laws:sources_of',
    controller='rolling_controller.nodes.controlled_laboratory:controlled',
    simulator='rolling_hw_interface.nodes.simulated_arm:simulated',
    arrays='rolling_robotics.plugins.contact.arrays:contact_arrays',
    scene='rolling_robotics.plugins.contact.scene:contact_scene',
    experiments='rolling_robotics.plugins.contact.experiments:EXPERIMENTS',
    example='ball_on_plate_hard',
)

"""Which machine the one simulator runs, and what the executables that went say."""

import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rolling_interfaces')

from rcl_interfaces.srv import ListParameters
from rolling_dynamics.nodes.simulated_object import HybridObject, RollingObject
from rolling_dynamics.nodes.simulated_robot import SimulatedRobot
from rolling_dynamics.nodes.simulator_node import machine_of
from rolling_hw_interface.nodes.simulated_arm import ObjectOnArm
from rolling_node_kit import renamed


@pytest.mark.parametrize(
    ('scenario', 'motion', 'kind'),
    [
        ('ball_on_plate_hard.yaml', 'rolling', RollingObject),
        ('laboratory_damping.yaml', 'all_modes', HybridObject),
        ('laboratory_damping.yaml', 'on_arm', ObjectOnArm),
        ('laboratory_damping.yaml', 'backwards', RollingObject),  # whose table refuses it
        ('labyrinth.yaml', 'rolling', SimulatedRobot),
        ('pendulum_turn.yaml', 'all_modes', SimulatedRobot),
        ('nowhere.yaml', 'rolling', SimulatedRobot),  # which reports it
    ],
)
def test_machine_follows_from_scenario_and_motion(scenario, motion, kind):
    assert machine_of({'scenario_file': scenario, 'motion': motion}) is kind
    (known,) = (parameter for parameter in kind.table if parameter.name == 'motion')
    assert (known.problem(motion) is None) == (motion != 'backwards')


KINDS = {
    RollingObject: ('ball_on_plate_hard.yaml', 'rolling', 'publish_estimate', 'planar'),
    HybridObject: ('laboratory_damping.yaml', 'all_modes', 'planar', 'fault_joint'),
    ObjectOnArm: ('laboratory_damping.yaml', 'on_arm', 'fault_joint', 'publish_estimate'),
    SimulatedRobot: ('pendulum_turn.yaml', 'rolling', 'brake_time', 'publish_estimate'),
}


@pytest.mark.parametrize('kind', KINDS)
def test_a_simulator_lists_the_parameters_of_its_own_machine_alone(kind, run_process, peer):
    scenario, motion, own, foreign = KINDS[kind]
    params = {'scenario_file': scenario, 'motion': motion}
    node = run_process('rolling_dynamics.nodes.simulator_node', params=params)
    asked = ListParameters.Request()
    listed = {*peer.call(ListParameters, 'simulator/list_parameters', asked).result.names}
    tables = {one: {parameter.name for parameter in one.table} for one in KINDS}
    assert own in tables[kind] <= listed
    assert foreign not in listed
    assert not listed & (set.union(*tables.values()) - tables[kind])
    assert node.stop() == 0, node.text


@pytest.mark.parametrize('name', renamed.RENAMED)
def test_executable_that_went_names_the_new_one(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', [f'/opt/ros/lib/{name}'])
    assert renamed.main() == 2
    assert capsys.readouterr().err.startswith(f'{name}: {renamed.RENAMED[name]} does this now')

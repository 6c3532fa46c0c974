"""Which machine the one simulator runs, and what the executables that went say."""

import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rolling_interfaces')

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


@pytest.mark.parametrize('name', renamed.RENAMED)
def test_executable_that_went_names_the_new_one(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', [f'/opt/ros/lib/{name}'])
    assert renamed.main() == 2
    assert capsys.readouterr().err.startswith(f'{name}: {renamed.RENAMED[name]} does this now')

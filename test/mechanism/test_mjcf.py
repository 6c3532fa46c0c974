"""Machines from parts as models of MuJoCo, for benchmarks."""

from xml.etree import ElementTree as ET

from evidence.benchmarks.machines import mjcf
from evidence.reality.circle import ballbot
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario


@pytest.mark.parametrize(
    ('name', 'bodies', 'hinges', 'pairs', 'mass'),
    [
        ('bicycle', 4, 3, 2, 94.0),
        ('driven_shell', 3, 2, 1, 2.0),
        ('three_fingertips', 4, 0, 3, 0.23),
        ('ball_in_groove', 1, 0, 2, 0.3),
    ],
)
def test_it_has_the_bodies_hinges_and_contacts(name, bodies, hinges, pairs, mass):
    model = ET.fromstring(mjcf(load_scenario(name)))  # noqa: S314
    count = {tag: len(list(model.iter(tag))) for tag in ('body', 'joint', 'pair')}
    assert count == {'body': bodies, 'joint': hinges, 'pair': pairs}
    masses = [float(inertia.get('mass')) for inertia in model.iter('inertial')]
    assert sum(masses) == pytest.approx(mass)


def test_a_body_on_a_ball_has_a_ball_joint_on_it():
    ball, body = ET.fromstring(mjcf(ballbot().scenario)).iter('body')  # noqa: S314
    assert ball.find('body') is body
    assert [j.get('type') for j in body.findall('joint')] == ['ball']


def test_what_mujoco_has_not_is_named():
    for name, lacks in (('omni_cart', 'rollers'), ('hamster_ball', 'Hollow')):
        with pytest.raises(ParameterError, match=lacks):
            mjcf(load_scenario(name))
    with pytest.raises(ParameterError, match='not a machine from parts'):
        mjcf(load_scenario('labyrinth'))


def test_mujoco_has_the_same_energy_at_the_start():
    mujoco = pytest.importorskip('mujoco')
    scenario = load_scenario('bicycle')
    model = mujoco.MjModel.from_xml_string(mjcf(scenario))
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    x = scenario.x0.copy()
    for name in scenario.system.speed_names:
        x[scenario.system.state.slice(name)] = 0.0
    energy = scenario.system.invariants['energy'](x, np.zeros(1), 0.0, scenario.p)
    assert data.energy[0] == pytest.approx(float(energy), rel=1e-9)

"""Scenarios with a section ``hybrid``: lift-off, flight, landing, slip and obstacles by file."""

import copy
import json
from pathlib import Path

import casadi as ca
from mass_driven_examples import hop, mirror_masses
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.internal_masses.masses import Box, box_values, distance
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.document import read_document
from rolling_robotics.cli import main
from rolling_robotics.result import simulate_scenario

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'
G = 9.81
DISK = {
    'system': 'point_mass_disk',
    'duration': 1,
    'disk': {'mass': 2, 'radius': 0.3, 'polar_inertia': 0.09},
    'friction': {'mu': 0.5, 'mu_kinetic': 0.2},
    'hybrid': {'sliding': True},
    'initial': {},
    'output': {'rate': 50},
}


def written(tmp_path, document):
    """Run `rolling simulate` on a document; return the exit status and the result."""
    source, out = tmp_path / 'scenario.yaml', tmp_path / 'out.json'
    source.write_text(json.dumps(document))
    return main(['simulate', str(source), '--out', str(out)]), json.loads(out.read_text())


def with_(**changes):
    return {**copy.deepcopy(DISK), **changes}


@pytest.mark.parametrize(
    ('name', 'example'), [('point_mass_lift_off', mirror_masses(0.0)), ('point_mass_hop', hop())]
)
def test_files_hold_the_examples(name, example):
    """The numbers of the examples in code; obstacles stand at the end of the parameters."""
    scenario = load_scenario(SCENARIOS / f'{name}.yaml')
    assert scenario.x0 == pytest.approx(example.x0, abs=1e-12)
    assert scenario.p[: example.p.size] == pytest.approx(example.p)
    times, values = example.control
    for t in np.linspace(0, example.duration - 1e-3, 101):
        k = np.searchsorted(times, t, side='right') - 1
        assert scenario.control(t, scenario.x0) == pytest.approx(values[k], abs=1e-9)


def test_lift_off_flight_and_landing_are_written(tmp_path):
    """Modes and events of the detachment that can continue; what a mode has not is null."""
    status, result = written(tmp_path, read_document(SCENARIOS / 'point_mass_lift_off.yaml'))
    assert status == 0
    assert [m['mode'] for m in result['modes']] == ['rolling', 'separated', 'rolling']
    assert [e['name'] for e in result['events']] == ['lift_off', 'landing']
    lift_off = mirror_masses().lift_off
    assert result['events'][0]['time'] == pytest.approx(lift_off, abs=1e-9)
    assert result['modes'][0]['end'] == pytest.approx(lift_off, abs=1e-9)
    arrays = result['arrays']
    times = np.array(arrays['time']['values'])
    flying = (times > lift_off) & (times < result['events'][1]['time'])
    gap = np.array([np.nan if v is None else v for v in arrays['margin_clearance']['values']])
    assert np.isnan(gap[~flying]).all()
    assert gap[flying].max() > 0.005
    assert np.array(arrays['normal_force']['values'])[flying] == pytest.approx(0)


def test_hop_clears_the_obstacle_and_without_it_the_run_ends(tmp_path, capsys):
    document = read_document(SCENARIOS / 'point_mass_hop.yaml')
    status, result = written(tmp_path, document)
    assert status == 0
    assert [e['name'] for e in result['events']] == ['lift_off', 'landing']
    assert min(result['arrays']['margin_obstacle_1']['values']) > 0
    document['masses'][0]['drive'] = 0
    status, result = written(tmp_path, document)
    assert status == 1
    assert result['events'][-1]['name'] == 'obstacle_1'
    x = result['arrays']['p_WB']['values'][-1][0]
    touch = document['obstacles'][0]['x'][0] - np.sqrt(0.3**2 - (0.3 - 0.05) ** 2)
    assert x == pytest.approx(touch, abs=0.01)
    assert 'obstacle_1: the shell touches an obstacle' in capsys.readouterr().err


def test_fall_of_a_disk(tmp_path):
    """Falls freely, lands with slip, slides and sticks: closed forms."""
    h, v = 0.5, 3.0
    document = with_(hybrid={'sliding': True, 'mode': 'separated'})
    document['initial'] = {'height': 0.3 + h, 'velocity': [v, 0]}
    status, result = written(tmp_path, document)
    assert status == 0
    assert [e['name'] for e in result['events']] == ['landing', 'stick']
    assert result['events'][0]['time'] == pytest.approx(np.sqrt(2 * h / G), abs=1e-9)
    impulse = 0.2 * np.sqrt(2 * G * h)  # of friction, over the mass
    slip = v - impulse * (1 + 2)  # m r^2 / J = 2
    after = slip / (0.2 * G * 3)
    assert result['events'][1]['time'] == pytest.approx(np.sqrt(2 * h / G) + after, abs=1e-7)


def test_slip_ends_the_run_unless_sliding_is_asked_for(tmp_path, capsys):
    document = with_(hybrid={'mode': 'slipping'})
    document['initial'] = {'velocity': [1.0, 0]}
    status, result = written(tmp_path, document)
    assert status == 0  # slip comes to rest
    assert [m['mode'] for m in result['modes']] == ['slipping', 'rolling']
    document = with_(hybrid={}, friction={'mu': 0.1}, gravity=[3.0, 0, -9.0])
    status, result = written(tmp_path, document)
    assert status == 1
    assert result['events'][-1] == {
        'name': 'friction',
        'time': 0.0,
        'stops': True,
        'text': 'the contact begins to slip',
    }
    assert 'friction: the contact begins to slip' in capsys.readouterr().err


def test_distance_from_a_box():
    """Against the nearest of many points of the box."""
    box = Box(x=(0.2, 0.5), y=(-0.1, 0.3), height=0.15)
    grid = np.meshgrid(*(np.linspace(*s, 61) for s in ((0.2, 0.5), (-0.1, 0.3), (0, 0.15))))
    points = np.stack([g.ravel() for g in grid], axis=1)
    p, sides = ca.SX.sym('p', 3), ca.DM(box_values([box])[1])
    f = ca.Function('distance', [p], [distance(p, ca.SX(sides))])
    for point in np.random.default_rng(4).uniform([-0.2, -0.4, 0], [0.8, 0.6, 0.5], (40, 3)):
        nearest = np.linalg.norm(points - point, axis=1).min()
        assert float(f(point)) == pytest.approx(nearest, abs=6e-3)
    with pytest.raises(ParameterError, match='increasing'):
        Box(x=(0.5, 0.2), height=0.1)


CASES = [
    ({'events': {'friction': 'stop'}}, 'events: has no meaning beside `hybrid`'),
    ({'plan': {'goal': {'p': 1}}}, 'plan: has no meaning beside `hybrid`'),
    ({'initial': {'height': 0.2}}, r'height: must be at least the radius, 0\.3 m'),
    ({'hybrid': {'mode': 'jumping'}}, "hybrid.mode: got 'jumping'"),
    ({'obstacles': [{'x': [1, 2], 'y': [0, 1], 'height': 0.1}]}, 'y: has no meaning for a disk'),
    ({'obstacles': [{'x': [2, 1], 'height': 0.1}]}, r'obstacles\[0\]: .*increasing'),
]


@pytest.mark.parametrize(('change', 'message'), CASES)
def test_bad_input(change, message):
    with pytest.raises(ScenarioError, match=message):
        load_scenario(with_(**change))


def test_velocity_is_free_only_where_the_body_can_slide():
    document = with_(initial={'velocity': [1, 0]})
    del document['hybrid']
    with pytest.raises(ScenarioError, match=r'initial\.velocity: follows from rolling'):
        load_scenario(document)


def test_state_rolls_by_default():
    document = with_(initial={'rate': 2.0, 'position': 0.4})
    scenario = load_scenario(document)
    end = simulate_scenario(scenario).states[-1]
    where = scenario.system.state.slice
    assert scenario.x0[where('v_WB_W')] == pytest.approx([-0.6, 0])
    assert end[where('p_WB')] == pytest.approx([0.4 - 0.6, 0.3], abs=1e-9)

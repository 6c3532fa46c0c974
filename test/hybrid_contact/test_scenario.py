"""Objects that slide on a plate, leave it and land, from scenario files by every command."""

import copy
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_robotics.cli import main
from rolling_robotics.files import read_result
from rolling_robotics.result import simulate_scenario
from rolling_robotics.scene.general import scene_of
import yaml

EXAMPLE = Path(__file__).parents[2] / 'config' / 'scenarios' / 'ball_tossed_by_plate.yaml'
G, R = 9.81, 0.02
BALL = {
    'system': 'contact',
    'object': {'surface': {'kind': 'sphere', 'radius': R}, 'mass': 0.05, 'inertia': 'solid'},
    'hand': {'surface': {'kind': 'plane'}},
    'friction': {'mu': 0.5, 'mu_kinetic': 0.2},
    'hybrid': {},
    'initial': {'object': {'position': [0, 0, R]}},
    'duration': 0.5,
}


def with_(**changes):
    return {**copy.deepcopy(BALL), **changes}


def test_a_sliding_ball_sticks_at_the_known_time_on_a_turned_plate():
    """Closed form: slip v stops after 2 v / (7 mu g) with 5/7 of the speed; H is turned by yaw."""
    document = with_(
        initial={
            'hand': {'attitude': {'rpy': [0, 0, 0.7]}, 'position': [0.1, -0.2, 0.3]},
            'object': {'position': [0.1, -0.2, 0.3 + R], 'velocity': [0.7, 0, 0]},
        }
    )
    run = simulate_scenario(load_scenario(document))
    assert [e.name for e in run.events] == ['stick']
    assert run.events[0].time == pytest.approx(2 * 0.7 / (7 * 0.2 * G), abs=1e-7)
    system = run.segments[-1].system
    v_HO_H = run.states[-1][system.state.slice('v_HO_H')]
    assert v_HO_H == pytest.approx([0.5 * np.cos(0.7), -0.5 * np.sin(0.7), 0], abs=1e-7)


def test_without_a_velocity_it_rolls_on_the_plate_and_rests_above_it():
    spin = {'w_WO_W': [0, 10, 0]}
    rolling = load_scenario(
        with_(initial={'object': {'position': [0, 0, R]}, 'relative_velocity': spin})
    )
    where = rolling.system.state.slice('v_HO_H')
    assert rolling.x0[where] == pytest.approx([10 * R, 0, 0])
    coordinates = load_scenario(
        with_(
            initial={
                'contact': {'u_o': 'pi/2', 'v_o': 0, 'u_h': 0.1, 'v_h': 0.2, 'psi': 0},
                'relative_velocity': spin,
            }
        )
    )
    assert coordinates.x0[where] == pytest.approx([10 * R, 0, 0])
    assert coordinates.x0[rolling.system.state.slice('p_HO_H')] == pytest.approx([0.1, 0.2, R])
    falling = simulate_scenario(
        load_scenario(with_(initial={'object': {'position': [0, 0, 0.1]}}))
    )
    assert [e.name for e in falling.events] == ['landing']
    assert falling.events[0].time == pytest.approx(np.sqrt(2 * (0.1 - R) / G))


def test_an_object_above_a_moving_plate_rests_in_the_world_and_falls_straight():
    hand = {'velocity': [0.3, -0.2, 0.1], 'angular_velocity': [0.5, 0.4, 2.0]}
    scenario = load_scenario(
        with_(initial={'hand': hand, 'object': {'position': [0.05, 0.02, 0.2]}}, duration=0.1)
    )
    run, pose = simulate_scenario(scenario), scenario.system.pose
    assert not run.events
    fallen = [0.05, 0.02, 0.2 - G * 0.1**2 / 2]
    found = np.array(pose(run.states[-1], scenario.p)[1])
    assert found[:3, 3] == pytest.approx(fallen, abs=1e-9)


@pytest.fixture(scope='module')
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp('hybrid') / 'out.json'
    assert main(['simulate', str(EXAMPLE), '--out', str(out)]) == 0
    return out


def test_the_example_slides_flies_and_lands(result):
    found = read_result(result)
    modes = ['separated', 'slipping', 'rolling', 'separated', 'rolling']
    assert [m['mode'] for m in found['modes']] == modes
    assert [e['name'] for e in found['events']] == ['landing', 'stick', 'lift_off', 'landing']
    arrays = {n: np.array(a['values'], dtype=float) for n, a in found['arrays'].items()}
    flying = arrays['gap'] > 1e-9
    assert not arrays['f_contact'][flying].any()
    assert (arrays['f_contact'][~flying][1:, 2] > 0).all()
    assert np.isnan(arrays['margin_friction'][flying]).all()
    sliding = (arrays['time'] > found['modes'][1]['start']) & (
        arrays['time'] < found['modes'][1]['end']
    )
    assert arrays['mu_needed'][sliding] == pytest.approx(0.12)
    # the contact point of a ball stands under its centre
    foot = arrays['object_position'] - [0, 0, R] - arrays['hand_position']
    assert arrays['contact_h'] == pytest.approx(foot[:, :2], abs=1e-12)
    assert np.linalg.norm(arrays['p_OC'], axis=1) == pytest.approx(R)


@pytest.mark.slow
def test_it_is_plotted_drawn_and_viewed(result, tmp_path):
    assert main(['plot', str(result), '--out', str(tmp_path / 'plots')]) == 0
    drawn = {path.stem.split('_')[-1] for path in (tmp_path / 'plots').iterdir()}
    assert {'states', 'paths', 'world', 'contact', 'energy', 'phase'} <= drawn
    assert main(['animate', str(result), '--out', str(tmp_path / 'a.png')]) == 0
    assert (tmp_path / 'a.png').stat().st_size > 1000
    scene = scene_of(read_result(result))  # what the viewer shows
    assert [body.name for body in scene.bodies] == ['hand', 'object']


@pytest.mark.slow
def test_it_is_swept(tmp_path, sweeps_here):
    """Kinetic friction decides how long it slides, and what is left of its speed."""
    document = with_(
        initial={'object': {'position': [0, 0, R], 'velocity': [0.7, 0, 0]}},
        output={'rate': 50},
        sweep={'vary': {'friction.mu_kinetic': {'from': 0.1, 'to': 0.4, 'count': 3}}},
    )
    source, out = tmp_path / 'sweep.yaml', tmp_path / 'rows.parquet'
    source.write_text(yaml.safe_dump(document))
    assert main(['sweep', str(source), '--out', str(out), '--workers', '1']) == 0
    rows = pq.read_table(out).to_pydict()
    times = [2 * 0.7 / (7 * mu * G) for mu in (0.1, 0.25, 0.4)]
    assert rows['event'] == ['stick'] * 3
    assert rows['event_time'] == pytest.approx(times, abs=1e-6)
    assert rows['final_v_HO_H_x'] == pytest.approx([0.5] * 3, abs=1e-6)


REFUSED = [
    ({'events': {'friction': 'stop'}}, 'events: has no meaning beside `hybrid`'),
    ({'representation': 'attitude'}, 'representation: has no meaning beside `hybrid`'),
    ({'friction': {'mu': 0.1, 'mu_kinetic': 0.2}}, r'friction\.mu_kinetic: must not exceed'),
    (
        {'friction': {'model': 'pure_rolling', 'mu_spin': 0.1}},
        r'friction\.model: beside `hybrid`',
    ),
    (
        {'initial': {'object': {'position': [0, 0, 0.5 * R]}}},
        r'initial\.object\.position: the object overlaps the plate by 0\.01 m',
    ),
    (
        {'hand': {'surface': {'kind': 'sphere', 'radius': 1, 'side': 'inside', 'pole': 'x'}}},
        r'initial\.object\.position: ',
    ),
    ({'hybrid': {'restitution': 1.5}}, r'hybrid\.restitution'),
    ({'friction': {'mu': 0.1, 'rolling_resistance': -1}}, r'friction\.rolling_resistance'),
]


@pytest.mark.parametrize(('change', 'text'), REFUSED)
def test_what_has_no_meaning_is_refused(change, text):
    with pytest.raises(ScenarioError, match=text):
        load_scenario(with_(**change))


@pytest.mark.parametrize(
    ('change', 'path'),
    [
        ({}, 'friction.mu_kinetic'),
        (
            {
                'friction': {},
                'initial': {'object': {'position': [0, 0, R], 'velocity': [1, 0, 0]}},
            },
            'initial.object.velocity',
        ),
    ],
)
def test_what_needs_the_section_is_refused_without_it(change, path):
    document = with_(**change)
    del document['hybrid']
    with pytest.raises(ScenarioError, match=f'^{path}: has a meaning where there is a section'):
        load_scenario(document)


def test_nodes_of_rolling_say_that_it_is_not_for_them():
    from rolling_dynamics.errors import ParameterError
    from rolling_dynamics.scenario_model import load_model

    assert isinstance(load_scenario(EXAMPLE).system, HybridContactSystem)
    with pytest.raises(ParameterError, match='hybrid'):
        load_model(str(EXAMPLE))


@pytest.mark.slow
def test_ball_that_is_thrown_into_a_dish_comes_to_roll():
    """By its pose above the dish, and by its contact in it; energy is lost by landings alone."""
    scenario = load_scenario('ball_thrown_into_dish')
    run = simulate(scenario.system, scenario.p, scenario.x0, None, 0.8, rtol=1e-9, atol=1e-11)
    names = [e.name for e in run.events]
    assert names.count('landing') > 5
    assert next(iter(run.segments[-1].system.modes)) == 'rolling'
    contact = {'u_o': 'pi - 0.5', 'v_o': 0.3, 'u_h': 'pi/2 - 0.3', 'v_h': '-pi/2'}
    placed = load_scenario({**scenario.raw, 'initial': {'contact': contact}})
    gap, v, _, _ = placed.system.touch(placed.x0, placed.p)
    assert abs(float(gap)) < 1e-12
    assert np.abs(np.array(v)).max() < 1e-12
    uv = placed.x0[placed.system.state.slice('contact_h')]
    assert uv == pytest.approx([np.pi / 2 - 0.3, -np.pi / 2])

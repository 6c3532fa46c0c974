"""Bad input is refused with the path of the entry, what was given, and what would do."""

import copy
import json
from pathlib import Path
import re

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_planner.problem.scenario import read_problem
import yaml

ROOT = Path(__file__).resolve().parents[2]
BASE = yaml.safe_load((ROOT / 'config/scenarios/spinning_plate.yaml').read_text())
PLAN = yaml.safe_load((ROOT / 'config/scenarios/ball_on_plate_hard.yaml').read_text())
GONE = object()


def changed(document, path, value):
    document = copy.deepcopy(document)
    *parents, last = path.split('.')
    inner = document
    for key in parents:
        inner = inner.setdefault(key, {})
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return document


# (entry that is changed, value, path in the message, words of the message)
CASES = [
    ('object.mass', -0.1, 'object.mass', r'must be positive \[kg\], got -0\.1'),
    ('object.mass', 0, 'object.mass', 'must be positive'),
    ('object.mass', '-1e-3', 'object.mass', 'must be positive'),
    ('object.mass', float('nan'), 'object.mass', 'finite'),
    ('object.mass', float('inf'), 'object.mass', 'finite'),
    ('object.mass', '1/0', 'object.mass', 'finite'),
    ('object.mass', 10**400, 'object.mass', 'finite'),
    ('object.mass', 1e15, 'object.mass', 'at most 1e\\+12'),
    ('object.mass', True, 'object.mass', 'must be a number'),
    ('object.mass', None, 'object.mass', 'must be a number'),
    ('object.mass', 'heavy', 'object.mass', "uses 'heavy'"),
    ('object.mass', '__import__("os")', 'object.mass', 'calls'),
    ('object.mass', '(' * 500, 'object.mass', 'not a formula'),
    ('object.mass', '-' * 3000 + '1', 'object.mass', 'not a formula'),
    ('object.mass', GONE, 'object.mass', r'is missing \(mass \[kg\]\)'),
    ('object.mas', 1, 'object.mas', "did you mean 'mass'"),
    ('object.inertia', -1, 'object.inertia', 'positive definite'),
    ('object.inertia', [1, 1, 3], 'object.inertia', 'no body'),
    ('object.inertia', [1, 1], 'object.inertia', '1, 3 or 3x3'),
    ('object.inertia', [[1, 0], [0]], 'object.inertia', 'differ in length'),
    ('object.inertia', [[1, 1, 0], [0, 1, 0], [0, 0, 1]], 'object.inertia', 'symmetric'),
    ('object.inertia', 'hollow', 'object.inertia', "'solid'"),
    ('object.surface.kind', 'spere', 'object.surface.kind', "did you mean 'sphere'"),
    ('object.surface', {}, 'object.surface.kind', 'is missing'),
    ('object.surface', 'sphere', 'object.surface', 'must be a mapping'),
    ('object.surface.radius', 0, 'object.surface.radius', r'must be positive \[m\]'),
    ('object.surface.raduis', 1, 'object.surface.raduis', "did you mean 'radius'"),
    ('object.surface.side', 'in', 'object.surface.side', 'outside, inside'),
    ('object.surface', {'kind': 'torus', 'major': 1, 'minor': 2}, 'object.surface', 'minor'),
    ('hand.surface', {'kind': 'expression', 'position': ['u', 'v', 'w']}, 'hand.surface', "'w'"),
    ('hand.surface', {'kind': 'expression', 'position': ['u', 'v']}, 'hand.surface.position', '3'),
    ('hand.surface', {'kind': 'expression', 'position': ['u', 'u', 'u']}, 'hand.surface', 'v'),
    (
        'hand.surface',
        {'kind': 'expression', 'position': ['u', 'v', 'exp(1000*(u + 2))']},
        'initial.contact',
        'degenerate',
    ),
    ('hand.edges', {'u': [1, -1]}, 'hand.edges.u', 'must increase'),
    ('hand.edges', {'u': [1, 2]}, 'initial.contact', 'lies off the hand'),
    ('gravity', [0, 0], 'gravity', 'takes 3 entries'),
    ('gravity', {'tillt': 1}, 'gravity.tillt', "did you mean 'tilt'"),
    ('friction.model', 'sliding', 'friction.model', 'rolling, pure_rolling'),
    ('friction.mu', -1, 'friction.mu', 'at least 0'),
    ('friction.model', 'pure_rolling', 'friction.mu_spin', 'is missing'),
    ('initial', GONE, 'initial', 'is missing'),
    ('initial', {}, 'initial', 'exactly one of contact'),
    ('initial.contact.u_o', 0, 'initial.contact', 'degenerate'),
    ('initial.contact.u_o', GONE, 'initial.contact.u_o', 'is missing'),
    ('initial.contact.attitude', {'rpy': [0, 0, 0]}, 'initial.contact.attitude', 'object'),
    ('initial.object', {'position': [0, 0, 1]}, 'initial', 'exactly one'),
    (
        'initial',
        {'object': {'position': [0, 0, 0.21]}},
        'initial.object.position',
        r'gap is 0\.01 m',
    ),
    (
        'initial',
        {'object': {'position': [0, 0, 0.19]}},
        'initial.object.position',
        r'cuts .* 0\.01 m',
    ),
    ('initial.hand.attitude', {'quaternion': [0, 0, 0, 0]}, 'initial.hand.attitude', 'norm 0'),
    ('initial.hand.attitude', {}, 'initial.hand.attitude', 'exactly one of quaternion'),
    (
        'initial.relative_velocity',
        {'q_dot': [0, 1, 0, 0.2, 7]},
        'initial.relative_velocity.q_dot',
        'give w_HO_Ch',
    ),
    (
        'initial.relative_velocity',
        {'w_HO_H': [1, 0, 0]},
        'initial.relative_velocity.w_HO_H',
        'give w_WO_W',
    ),
    ('initial.relative_velocity', {'w_WO_W': [1, 0]}, 'initial.relative_velocity.w_WO_W', '3'),
    ('hand_motion', {}, 'hand_motion', 'exactly one of acceleration'),
    (
        'hand_motion',
        {'acceleration': {'a_WH_H': ['sin(x)', 0, 0]}},
        r'hand_motion.acceleration.a_WH_H\[0\]',
        "'x'",
    ),
    ('hand_motion', {'twist_rate': [0] * 5}, 'hand_motion.twist_rate', 'takes 6'),
    ('hand_motion', {'motion': {}}, 'initial.hand', 'gives the start'),
    ('hand_motion', {'breakpoints': {'times': [0, 5]}}, 'hand_motion.breakpoints.times', 'gap'),
    (
        'hand_motion',
        {'breakpoints': {'times': [5, 0]}},
        'hand_motion.breakpoints.times',
        'increase',
    ),
    (
        'hand_motion',
        {'breakpoints': {'times': [0, 10], 'a_WH_H': [[0, 0, 0]]}},
        'hand_motion.breakpoints.a_WH_H',
        'takes 2 vectors',
    ),
    ('limits', {'alpha_WH_H': -50}, 'limits.alpha_WH_H', 'positive'),
    ('limits', {'alpha_WH_H': [1, 2]}, 'limits.alpha_WH_H', 'takes 3'),
    ('duration', 0, 'duration', r'must be positive \[s\]'),
    ('duration', GONE, 'duration', 'is missing'),
    ('duratoin', 1, 'duratoin', "did you mean 'duration'"),
    ('output', {'rate': 1e9}, 'output.rate', 'at most'),
    ('output', {'times': [0, 11]}, 'output.times', 'within the duration'),
    ('output', {'times': [1, 0]}, 'output.times', 'increase'),
    ('events', ['frction'], 'events', "did you mean 'friction'"),
    ('events', {'friction': 'halt'}, 'events.friction', 'stop, record'),
    ('tolerances', {'relative': 0}, 'tolerances.relative', 'at least'),
    ('representation', 'euler', 'representation', 'attitude, coordinates'),
    ('system', 'contcat', 'system', "did you mean 'contact'"),
    ('system', GONE, 'system', 'is missing'),
]


@pytest.mark.parametrize(
    ('entry', 'value', 'path', 'words'), CASES, ids=[f'{c[0]}-{k}' for k, c in enumerate(CASES)]
)
def test_refused_with_path_and_remedy(entry, value, path, words):
    with pytest.raises(ScenarioError) as e:
        load_scenario(changed(BASE, entry, value))
    first = str(e.value).splitlines()[0]
    assert re.match(rf'{path}[.:\[]', first), first
    assert re.search(words, first), first
    assert len(first) < 400


PLAN_CASES = [
    ('plan', GONE, 'plan', 'is missing'),
    ('plan.goal', {}, 'plan.goal', 'at least one'),
    ('plan.goal.contact_h', [0, -0.5], r'plan.goal.v_h', '-0.5'),
    ('plan.goal.contact_h', [0], 'plan.goal.contact_h', 'takes 2 numbers'),
    ('plan.goal.contact', [0, 0], 'plan.goal.contact', "did you mean 'contact_h'"),
    ('plan.goal.q_HO', [1, 1, 0, 0], 'plan.goal.q_HO', 'unit quaternion'),
    ('plan.goal.q_HO', {'ryp': [0, 0, 0]}, 'plan.goal.q_HO.ryp', "did you mean 'rpy'"),
    ('plan.horizon', 0, 'plan.horizon', 'positive'),
    ('plan.methd', 'x', 'plan.methd', "did you mean 'method'"),
    ('plan.segments', 2.5, 'plan.segments', 'whole number'),
    ('plan.active_controls', ['alpha_x'], r'plan.active_controls\[0\]', 'no such control'),
    ('plan.state_limits', {'u_h': [1, 0]}, 'plan.state_limits.u_h', 'increase'),
    ('plan.weights', {'control': [1, 2, 3]}, 'plan.weights.control', 'takes 1 or 2'),
]


@pytest.mark.parametrize(
    ('entry', 'value', 'path', 'words'), PLAN_CASES, ids=[c[0] for c in PLAN_CASES]
)
def test_bad_plans_are_refused(entry, value, path, words):
    with pytest.raises(ScenarioError) as e:
        read_problem(load_scenario(changed(PLAN, entry, value)))
    first = str(e.value).splitlines()[0]
    assert re.match(rf'{path}[.:\[]', first), first
    assert re.search(words, first), first


def test_bodies_that_touch_in_a_line_are_refused():
    document = changed(BASE, 'object.surface', {'kind': 'cylinder', 'radius': 0.2})
    document['object']['inertia'] = 1
    document['initial']['relative_velocity'] = {'w_HO_Ch': [0, 0, 0]}
    with pytest.raises(ScenarioError, match=r'object\.surface: .*in a line'):
        load_scenario(document)


def test_ball_larger_than_its_bowl_is_refused():
    bowl = {'kind': 'sphere', 'radius': 0.1, 'side': 'inside', 'pole': 'x'}
    document = changed(BASE, 'hand.surface', bowl)
    placed = {'object': {'position': [0, 0, 0.1]}}
    at = {'contact': {'u_o': 'pi/2', 'v_o': 0, 'u_h': 1.5, 'v_h': -1.5}}
    for document['initial'] in (placed, at):
        with pytest.raises(ScenarioError, match=r'object\.surface: .*cut into each other'):
            load_scenario(document)


def test_pure_rolling_refuses_spin():
    document = changed(BASE, 'friction', {'model': 'pure_rolling', 'mu_spin': 0.01})
    with pytest.raises(ScenarioError, match=r'relative_velocity.*spins .* at -7 rad/s'):
        load_scenario(document)


def test_every_fault_is_told_at_once():
    document = changed(changed(BASE, 'object.mass', -1), 'object.color', 'red')
    with pytest.raises(ScenarioError) as e:
        load_scenario(changed(document, 'duration', 'long'))
    assert len(str(e.value).splitlines()) == 3


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('system: contact\nsystem: contact\n', 'line 2.*duplicate key'),
        ('object: {mass: 1, mass: 2}\n', 'line 1.*duplicate key'),
        ('system: [contact\n', 'line 2.*not valid YAML'),
        ('', 'is empty'),
        ('- 1\n', 'a mapping of entries'),
        ('1: 2\n', 'a name is needed as key'),
        ('a: !!python/object/apply:os.system [ls]\n', 'not valid YAML'),
        ('when: 2026-11-20\n', 'a number, a text'),
        ('a: &x [*x]\n', 'deeply nested'),
        ('a: "\x01"\n', 'not valid YAML'),
    ],
)
def test_bad_yaml_is_refused(tmp_path, text, words):
    path = tmp_path / 'bad.yaml'
    path.write_text(text)
    with pytest.raises(ScenarioError, match=words):
        load_scenario(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ScenarioError, match=r'no file .*none.yaml'):
        load_scenario(tmp_path / 'none.yaml')
    with pytest.raises(ScenarioError, match='cannot be read'):
        load_scenario(tmp_path)
    (tmp_path / 'binary.yaml').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(ScenarioError, match='UTF-8'):
        load_scenario(tmp_path / 'binary.yaml')


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from leaves(inner, (*path, key))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(['t', 'pi', '1/0', 'nan', 'solid', '(' * 90, 'sin', 'u', '*']),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(['kind', 'u', 'times', 'rpy', 'x']), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(leaves(PLAN), key=str)), anything)
def test_no_value_anywhere_raises_anything_else(path, value):
    document = copy.deepcopy(PLAN)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    try:
        read_problem(load_scenario(document))
    except ScenarioError as e:
        assert str(e)  # noqa: PT017
        assert len(str(e)) < 4000  # noqa: PT017
        json.dumps(str(e))

"""`rolling simulate`: known motions come out of the file, and what was not met is reported."""

import json

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat
import yaml

GRAVITY = np.array([0.0, 0.0, -9.81])


def arrays(path):
    document = json.loads(path.read_text())
    return document, {
        name: np.array(a['values'], dtype=float) for name, a in document['arrays'].items()
    }


@pytest.fixture
def simulated(rolling, tmp_path):
    """Simulate a scenario, a file or a mapping; return how it ended and the result."""

    def run(scenario):
        out = tmp_path / 'result.json'
        if isinstance(scenario, dict):
            path = tmp_path / 'scenario.yaml'
            path.write_text(yaml.safe_dump(scenario))
            scenario = path
        return rolling('simulate', scenario, '--out', out), *arrays(out)

    return run


@pytest.fixture
def plate(scenarios):
    return yaml.safe_load((scenarios / 'spinning_plate.yaml').read_text())


def test_spinning_plate(simulated, scenarios):
    """Eqs. (14)-(16): a circle of radius 0.1 about (0.1, 0), once in pi seconds, N = m g."""
    ended, _, a = simulated(scenarios / 'spinning_plate.yaml')
    assert ended.status == 0
    from_centre = a['contact_position'][:, :2] - [0.1, 0]
    assert np.linalg.norm(from_centre, axis=1) == pytest.approx(0.1, abs=1e-10)
    angle = np.unwrap(np.arctan2(from_centre[:, 1], from_centre[:, 0]))
    assert angle - np.pi == pytest.approx(2 * a['time'] + angle[0] - np.pi, abs=1e-9)
    assert a['f_contact'][:, 2] == pytest.approx(0.1 * 9.81, abs=1e-10)
    assert np.linalg.norm(a['f_contact'][:, :2], axis=1) == pytest.approx(0.1 * 0.1 * 4, abs=1e-10)
    assert a['mu_needed'] == pytest.approx(0.04 / 0.981, abs=1e-9)
    assert a['spin'] == pytest.approx(-7, abs=1e-9)


def test_tilted_spinning_plate(simulated, scenarios):
    """Eq. (17): circles that drift across the slope at (5/2) g sin(tilt) / w."""
    ended, _, a = simulated(scenarios / 'tilted_spinning_plate.yaml')
    assert ended.status == 0
    tilt, rate = 0.01, 2.0
    down = np.array([0, -np.cos(tilt), -np.sin(tilt)])  # along the slope
    x, y = a['contact_position'][:, 0], -a['contact_position'] @ down
    drift = 5 / 2 * 9.81 * np.sin(tilt) / 7
    columns = np.column_stack(
        [
            np.ones_like(x),
            np.cos(rate * a['time']),
            np.sin(rate * a['time']),
            a['time'],
        ]
    )
    for values, speed in ((x, drift), (y, 0.0)):
        fit, residual, *_ = np.linalg.lstsq(columns, values, rcond=None)
        assert fit[3] == pytest.approx(speed, abs=1e-9)
        assert residual < 1e-18


def test_arrays_have_names_units_and_shapes(simulated, scenarios):
    _, document, a = simulated(scenarios / 'ellipsoid_in_dish.yaml')
    n = len(a['time'])
    for name, array in document['arrays'].items():
        values = np.array(array['values'], dtype=float)
        assert values.shape == ((n, len(array['components'])) if array['components'] else (n,)), (
            name
        )
        assert array['text'], name
    units = {name: array['unit'] for name, array in document['arrays'].items()}
    expected = {
        'time': 's',
        'p_WH': 'm',
        'w_HO_H': 'rad/s',
        'f_contact': 'N',
        'tau_contact': 'N m',
        'margin_friction': 'N',
        'energy': 'J',
        'mu_needed': '',
        'alpha_WH_H': 'rad/s^2',
        'a_WH_H': 'm/s^2',
        'psi': 'rad',
    }
    assert {name: units[name] for name in expected} == expected
    assert document['drift']['w_HO_H']['largest'] < 1e-9
    assert document['parameters']['mu_spin'] == {
        'unit': 'm',
        'frame': '',
        'components': ['mu_spin'],
        'text': 'coefficient of spin friction',
        'values': [0.01],
    }


CURVED = [pytest.param(n, marks=pytest.mark.slow) for n in ('ellipsoid_in_dish', 'curved_hand')]


@pytest.mark.parametrize('name', [*CURVED, 'ellipsoid_on_plate'])
def test_both_representations_give_one_motion(simulated, scenarios, name):
    """The views agree, and rates of coordinates are their derivatives."""
    document = yaml.safe_load((scenarios / f'{name}.yaml').read_text())
    document |= {'duration': 0.4, 'output': {'rate': 1000}}
    if name == 'ellipsoid_on_plate':  # its first chart has a pole at the start
        document['object']['surface']['pole'] = 'x'
    _, _, one = simulated(document)
    if 'breakpoints' in document.get('hand_motion', {}):
        assert one['time'][-1] == 0.4
    _, _, two = simulated(document | {'representation': 'coordinates'})
    for key, values in one.items():
        if key not in ('psi', 'contact_o', 'q_dot'):
            assert two[key] == pytest.approx(values, abs=1e-8, nan_ok=True), key
    q = np.column_stack([one['contact_o'], one['contact_h'], one['psi']])
    slope = (-q[4:] + 8 * q[3:-1] - 8 * q[1:-3] + q[:-4]) / (12 * 1e-3)
    smooth = np.all(np.abs(one['q_dot'][2:-2]) < 20, axis=1)  # away from the poles of the chart
    assert smooth.sum() > 100
    assert slope[smooth] == pytest.approx(one['q_dot'][2:-2][smooth], rel=1e-3, abs=1e-3)


def test_poles_of_the_chart_are_null(simulated, plate):
    plate['object']['surface']['pole'] = 'x'
    plate['initial'] = {'object': {'position': [0, 0, 0.2], 'attitude': {'rpy': [0, 'pi/2', 0]}}}
    ended, document, a = simulated(plate | {'duration': 0.1})
    assert ended.status == 0
    assert document['arrays']['psi']['values'][0] == [None]
    assert np.isfinite(a['p_OC']).all()


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'friction': {'mu': 0.02}}, 'friction: the contact begins to slip at t = 0 s'),
        (
            {'hand': {'surface': {'kind': 'plane'}, 'edges': {'u': [-0.05, 0.05]}}},
            'edge: the object reaches the edge of the hand at t = ',
        ),
        (
            {'hand_motion': {'acceleration': {'a_WH_H': [0, 0, '-10*t']}}},
            'normal_force: the object lifts off the hand at t = 0.981 s',
        ),
        (
            {'hand_motion': {'acceleration': {'a_WH_H': [0, 0, '2*t']}}, 'limits': {'a_WH_H': 1}},
            'limits: a_WH_H_z exceeds 1 m/s^2 at t = 0.51 s',
        ),
    ],
)
def test_what_is_not_met_is_told_and_written(simulated, plate, change, words):
    ended, document, _ = simulated(plate | {'duration': 2} | change)
    assert ended.status == 1
    assert f'rolling: {words}' in ended.err
    assert document['format'] == 'rolling/simulation'


def test_events_are_located(simulated, plate):
    ended, document, a = simulated(
        plate | {'hand_motion': {'acceleration': {'a_WH_H': [0, 0, '-10*t']}}}
    )
    event = document['events'][-1]
    assert (event['name'], event['stops']) == ('normal_force', True)
    assert event['time'] == pytest.approx(0.981, abs=1e-9)
    assert document['end'] == pytest.approx(0.981, abs=1e-9)
    assert a['time'][-1] <= 0.981
    assert 'event' in ended.out


def test_events_may_be_recorded_only(simulated, plate):
    change = {
        'hand': {'surface': {'kind': 'plane'}, 'edges': {'u': [-0.05, 0.05]}},
        'events': {'edge': 'record'},
    }
    ended, document, _ = simulated(plate | {'duration': 3} | change)
    assert ended.status == 1
    assert document['end'] == 3
    assert {e['stops'] for e in document['events']} == {False}
    assert len(document['events']) > 1


@pytest.mark.parametrize(
    'representation', ['attitude', pytest.param('coordinates', marks=pytest.mark.slow)]
)
def test_one_contact_frame_over_a_change_of_chart(simulated, scenarios, representation):
    """
    In a dish, near the pole of its chart: force and rate in Ch are those of the poses in the file.

    Ch is built here from `contact_h` and the chart in docs/scenario.md.
    """
    scenario = yaml.safe_load((scenarios / 'ellipsoid_in_dish.yaml').read_text())
    scenario |= {'friction': {'model': 'rolling', 'mu': 0.8}, 'duration': 2}
    scenario['hand']['surface']['pole'] = 'z'
    scenario['object']['surface']['pole'] = 'y'
    place = [0.11975788811691736, 0.04138938856236594, 0.059738559213319]  # pi - 0.5, 0.3
    scenario['initial']['object']['position'] = place
    if representation == 'coordinates':
        scenario |= {'representation': representation}
    scenario['output'] = {'rate': 1000}
    ended, document, a = simulated(scenario)
    assert ended.status == 0
    assert 'hand_chart' in {e['name'] for e in document['events']}
    h = a['time'][1] - a['time'][0]
    u, v = a['contact_h'].T
    x = np.stack([np.cos(u) * np.cos(v), np.cos(u) * np.sin(v), -np.sin(u)], 1)
    n = -np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], 1)
    R_HCh = np.stack([x, np.cross(n, x), n], 2)
    R_WH, R_WO = (rotations(a[f'{body}_attitude']) for body in ('hand', 'object'))
    five = np.array([-1, 16, -30, 16, -1]) / (12 * h * h)
    acceleration = np.stack(
        [np.convolve(c, five, 'valid') for c in a['object_position'].T], axis=1
    )
    newton = 0.2 * (acceleration - GRAVITY)
    force = np.einsum('nij,njk,nk->ni', R_WH, R_HCh, a['f_contact'])[2:-2]
    assert np.abs(force - newton).max() < 2e-5 * 0.2 * 9.81
    assert np.abs(rotations(a['contact_attitude']) - R_WH @ R_HCh).max() < 1e-9
    R_HO = np.swapaxes(R_WH, 1, 2) @ R_WO
    rate = (8 * (R_HO[3:-1] - R_HO[1:-3]) - (R_HO[4:] - R_HO[:-4])) / (12 * h)
    W = rate @ np.swapaxes(R_HO, 1, 2)[2:-2]
    w_HO_H = np.stack(
        [W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], 1
    )
    given = np.einsum('nij,nj->ni', R_HCh, a['w_HO_Ch'])[2:-2]
    assert np.abs(given - w_HO_H / 2).max() < 1e-5 * np.abs(given).max()
    scenario['output'] = {'rate': 1}
    _, _, coarse = simulated(scenario)
    for name in ('psi', 'contact_o', 'contact_h'):
        assert coarse[name] == pytest.approx(a[name][::1000], abs=1e-9)
    assert np.abs(np.diff(a['psi'][:, 0])).max() < 1


def rotations(q):
    """Return rotation matrices of unit quaternions w, x, y, z."""
    return np.array([quat2mat(row) for row in q])

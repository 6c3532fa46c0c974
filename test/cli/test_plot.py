"""`rolling plot`: each figure of each kind of result is an image with something on it."""

import json

import numpy as np
from PIL import Image
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_robotics.figures.beside import plan_figure
from rolling_robotics.figures.paths import phase_figure, smooth_rates
from rolling_robotics.figures.states import COLOURS
from rolling_robotics.files import Arrays, read_result
from rolling_robotics.plot import FIGURES
import yaml

CURVED = [pytest.param(n, marks=pytest.mark.slow) for n in ('ellipsoid_in_dish', 'curved_hand')]


@pytest.fixture(scope='module', params=['spinning_plate', *CURVED])
def result(request, scenarios, tmp_path_factory):
    from rolling_robotics.cli import main

    folder = tmp_path_factory.mktemp('plot')
    document = yaml.safe_load((scenarios / f'{request.param}.yaml').read_text())
    document |= {'name': request.param, 'duration': 0.5}
    scenario, out = folder / 'scenario.yaml', folder / 'result.json'
    scenario.write_text(yaml.safe_dump(document))
    assert main(['simulate', str(scenario), '--out', str(out)]) == 0
    return out


OF_A_SIMULATION = [name for name in FIGURES if name != 'plan']


@pytest.mark.parametrize('name', OF_A_SIMULATION)
def test_figure(rolling, result, tmp_path, name):
    ended = rolling('plot', result, '--only', name, '--out', tmp_path)
    assert ended.status == 0
    path = tmp_path / f'result_{name}.png'
    assert ended.out == f'{path}\n'
    image = np.asarray(Image.open(path).convert('RGB')).astype(int)
    assert min(image.shape[:2]) > 500
    first = np.array([int(COLOURS[0][k : k + 2], 16) for k in (1, 3, 5)])
    assert (np.abs(image - first).sum(axis=2) < 60).sum() > 50, 'no line in the first colour'


# one result is enough: each figure of each is drawn above
ONE = pytest.mark.parametrize('result', ['spinning_plate'], indirect=True)


@pytest.mark.slow
@ONE
def test_all_figures_beside_the_file(rolling, result):
    ended = rolling('plot', result, '--format', 'svg')
    assert ended.status == 0
    assert ended.out.split() == [str(result.parent / f'result_{n}.svg') for n in OF_A_SIMULATION]
    text = (result.parent / 'result_contact.svg').read_text()
    assert 'force [N]' in text


@ONE
def test_bad_files(rolling, tmp_path, result):
    bad = tmp_path / 'bad.json'
    for text, words in (
        ('{', 'is not JSON'),
        ('[]', 'is not a result'),
        ('{"format": "other"}', 'is not a result'),
        ('{"format": "rolling/simulation", "arrays": {}}', 'damaged'),
    ):
        bad.write_text(text)
        ended = rolling('plot', bad)
        assert ended.status == 2
        assert words in ended.err
    document = json.loads(result.read_text())
    del document['arrays']['f_contact']
    bad.write_text(json.dumps(document))
    assert rolling('plot', bad, '--only', 'states').status == 0
    ended = rolling('plot', result, '--only', 'plan')
    assert ended.status == 2
    assert "has nothing for 'plan'; give --plan PLAN.json" in ended.err
    ended = rolling('plot', result, '--only', 'stats')
    assert ended.status == 2
    assert "no figure 'stats'" in ended.err


def curve(times, values, unit, components=()):
    return {'unit': unit, 'components': components, 'text': '', 'values': values.tolist()}


def test_rates_of_a_portrait_are_derivatives_up_to_the_events():
    """A coordinate that is thrown back at 1 s: its rate jumps there and is right on both sides."""
    times = np.linspace(0, 2, 201)
    value = np.where(times < 1, np.sin(3 * times), np.sin(3.0) + np.cos(5 * (times - 1)) - 1)
    rate = np.where(times < 1, 3 * np.cos(3 * times), -5 * np.sin(5 * (times - 1)))
    arrays = Arrays({'arrays': {'time': curve(times, times, 's')}, 'events': [{'time': 1.0}]})
    found = smooth_rates(arrays, value[:, None])[:, 0]
    assert found == pytest.approx(rate, abs=2e-3)
    without = Arrays({**arrays.result, 'events': []})
    assert np.abs(smooth_rates(without, value[:, None])[:, 0] - rate).max() > 1


def test_portrait_of_the_contact_has_the_exact_rates(result):
    arrays = Arrays(read_result(result))
    (first, *_) = phase_figure(arrays).axes
    drawn = next(line for line in first.lines if line.get_label() == '$u_h$')
    shown = np.isfinite(drawn.get_xdata())
    assert drawn.get_xdata()[shown] == pytest.approx(arrays['contact_h'][:, 0])
    assert drawn.get_ydata()[shown] == pytest.approx(arrays['q_dot'][:, 2])


PLAN = {
    'system': 'robot',
    'model_hash': '',
    'state_names': ['theta_1', 'q_w', 'q_x', 'q_y', 'q_z'],
    'control_names': ['tau'],
    'times': [0.0, 1.0],
    'states': [[0.0, 1.0, 0, 0, 0], [2.0, 1.0, 0, 0, 0]],
    'controls': [[1.0], [1.0]],
}


TORQUE = curve(np.zeros(3), np.array([[1.0], [2.0], [3.0]]), 'N m', ['tau'])


def test_plan_stands_beside_its_execution():
    """Dashed what was planned, full what came of it; a quaternion of the other sign is turned."""
    times = np.array([0.0, 0.5, 1.0])
    arrays = Arrays(
        {
            'arrays': {
                'time': curve(times, times, 's'),
                'theta': curve(times, np.array([[0.0], [1.1], [1.9]]), 'rad', ['theta_1']),
                'q': curve(times, -np.eye(4)[[0, 0, 0]], '', ['q_w', 'q_x', 'q_y', 'q_z']),
                'other': curve(times, times, 'm', ['x']),
            }
        }
    )
    theta, attitude = plan_figure(arrays, PLAN).axes
    executed, planned = theta.lines
    assert (theta.get_title(), theta.get_ylabel()) == ('theta', '[rad]')
    assert list(executed.get_ydata()) == [0.0, 1.1, 1.9]
    assert list(planned.get_ydata()) == [0.0, 2.0]
    assert (executed.get_linestyle(), planned.get_linestyle()) == ('-', '--')
    assert list(attitude.lines[0].get_ydata()) == [1.0, 1.0, 1.0]
    assert plan_figure(arrays) is None


def test_held_controls_are_drawn_as_steps():
    times = np.array([0.0, 1.0, 2.0])
    arrays = Arrays({'arrays': {'time': curve(times, times, 's'), 'tau': TORQUE}})
    held = PLAN | {
        'times': [0.0, 1.0, 2.0],
        'states': [[0.0, 1.0, 0, 0, 0]] * 3,
        'controls': [[1.0], [3.0], [2.0]],
        'interpolation': 'hold',
    }
    planned = plan_figure(arrays, held).axes[0].lines[1]
    assert list(planned.get_xdata()) == [0.0, 1.0, 1.0, 2.0, 2.0]
    assert list(planned.get_ydata()) == [1.0, 1.0, 3.0, 3.0, 2.0]
    with pytest.raises(ParameterError, match=r'plan.times must increase'):
        plan_figure(arrays, held | {'times': [0.0, 2.0, 1.0]})

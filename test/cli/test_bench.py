"""The benchmarks say what was missed and what was not measured, in words and by exit status."""

import json
from pathlib import Path
import sys
from types import ModuleType

from evidence.benchmarks.__main__ import main
from evidence.benchmarks.row import GROUPS, Row
import numpy as np
import pytest


@pytest.fixture
def bench(monkeypatch, tmp_path, capsys):
    """Run the benchmarks on one group made of these rows; an exception is raised in its turn."""

    def run(*rows):
        def group():
            for row in rows:
                if isinstance(row, Exception):
                    raise row
                yield row

        module = ModuleType('group_of_this_test')
        module.rows = group
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(GROUPS, 'mine', f'{module.__name__}:rows')
        out = tmp_path / 'bench.json'
        status = main(['mine', '--out', str(out)])
        return status, capsys.readouterr().out, json.loads(out.read_text())

    return run


def figure(value, goal='', name='figure'):
    return Row(name, value, '', goal=goal)


@pytest.mark.parametrize(
    ('value', 'goal', 'met'),
    [
        (0, 'is 0', True),
        (3, 'is 0', False),
        (-3, 'is 0', False),
        (2.05, 'is 2 within 0.1', True),
        (2.15, 'is 2 within 0.1', False),
        (1.85, 'is 2 within 0.1', False),
        (0.1 + 0.2, 'at most 0.3', True),  # rounding
        (0.301, 'at most 0.3', False),
        (0.301, 'at most 0.3 within 0.01', True),
        (1 - 1e-14, 'at least 1', True),
        (0.99, 'at least 1', False),
        (-1e-3, 'at least 0', False),
        (float('inf'), 'at most 1', False),
        (float('inf'), 'at least 1', True),
        (np.int64(1), 'at most 0', False),
        (np.float64(0.5), 'at most 1e0', True),
    ],
)
def test_goals_can_be_met_and_missed(value, goal, met, bench):
    status, out, rows = bench(figure(value, goal))
    assert (status, rows[0]['met']) == (0 if met else 1, met)
    assert f'goals missed: {0 if met else 1}' in out


@pytest.mark.parametrize('goal', ['is', 'about 3', 'at most', 'at most x', 'is nan', '3'])
def test_a_goal_that_means_nothing_is_refused(goal):
    with pytest.raises(ValueError, match='the goal must be such as'):
        figure(1, goal)


@pytest.mark.parametrize('value', [None, float('nan'), np.float64('nan')])
@pytest.mark.parametrize('goal', ['', 'at most 1'])
def test_what_was_not_measured_is_counted(value, goal, bench):
    status, out, rows = bench(figure(1, 'at most 2'), figure(value, goal, 'lost'))
    assert status == 4
    assert 'not measured: 1\n  lost' in out
    assert (rows[1]['value'], rows[1]['met'], rows[1]['measured']) == (None, None, False)


def test_a_missed_goal_comes_first_in_the_status(bench):
    status, out, _ = bench(figure(None, 'at most 1', 'lost'), figure(2, 'at most 1', 'slow'))
    assert status == 1
    assert 'goals missed: 1\n  slow\nnot measured: 1\n  lost' in out


def test_a_group_that_fails_is_not_measured_and_keeps_what_it_had(bench):
    status, out, rows = bench(figure(1, 'at most 2'), RuntimeError('no plan'))
    assert status == 4
    assert [row['measured'] for row in rows] == [True, False]
    assert 'RuntimeError: no plan' in out


def test_figures_that_are_whole_numbers_of_numpy_are_written(bench):
    status, _, rows = bench(figure(np.int64(7), 'at least 7'))
    assert (status, rows[0]['value']) == (0, 7)


def test_every_group_is_a_function_of_its_module():
    for name, place in GROUPS.items():
        module, _, function = place.partition(':')
        path = Path(__file__).parents[2].joinpath(*module.split('.')).with_suffix('.py')
        assert f'def {function}(' in path.read_text(encoding='utf-8'), name

"""A trial of many seeds is resumed from its file, and counts what was in time."""

import json
import math

from evidence.benchmarks import trials as module
from evidence.benchmarks.trials import main
import pytest
from rolling_planner.progress import InfeasibleError
from rolling_robotics.trials.trial import Record


def ended(why='', **values):
    known = {'begun': 4.5, 'position': 0.1, 'attitude': 0.2, 'spin': 1e-3, 'slid': 0.0}
    return Record(ended=why, values=known | values)


@pytest.fixture
def trials(monkeypatch):
    """Have seeds end as reported, and return which were run."""
    ran, ends = [], {}

    def run_trials(trials):
        (trial,) = trials
        ran.append((trial.seed, trial.law))
        end = ends.get(trial.seed, ended())
        if isinstance(end, Exception):
            raise end
        return [end]

    monkeypatch.setattr(module, 'run_trials', run_trials)
    monkeypatch.setenv('ROLLING_COMPILE', 'now')  # put back afterwards
    return ran, ends


def test_a_run_goes_on_where_it_was_ended(trials, tmp_path, capsys):
    ran, _ = trials
    out = tmp_path / 'trials.jsonl'
    assert main(['pushed_ball', '3..5', '--out', str(out)]) == 0
    cut = out.read_text()[:-20]  # ended in the midst of a line
    out.write_text(cut)
    ran.clear()
    assert main(['pushed_ball', '2..6', '--out', str(out)]) == 0
    assert ran == [(2, 'pursuit'), (5, 'pursuit'), (6, 'pursuit')]
    kept = [json.loads(line)['seed'] for line in out.read_text().splitlines()]
    assert kept == [3, 4, 2, 5, 6]
    assert '5 of 5 in time' in capsys.readouterr().out
    ran.clear()
    main(['pushed_ball', '3', '--law', 'open', '--out', str(out)])  # another law is another trial
    assert ran == [(3, 'open')]


def test_what_was_not_in_time_is_told(trials, tmp_path, capsys):
    _, ends = trials
    ends[0] = InfeasibleError('no plan: too short')
    ends[1] = ended('contact lost', begun=math.nan)
    ends[2] = ended(begun=math.nan, position=3.0)
    ends[3] = ended(begun=6.01)
    assert main(['pushed_ball', '0..4', '--out', str(tmp_path / 'trials.jsonl')]) == 1
    told = capsys.readouterr().out
    assert '1 of 5 in time' in told
    for text in (
        'seed 0: no plan: too short',
        'seed 1: contact lost',
        'seed 2: not there after 7 s, 3 mm and 0.2 degrees off',
        'seed 3: there from 6.01 s on, wanted by 6 s',
    ):
        assert text in told


@pytest.mark.parametrize('text', ['5..3', '-1', 'x'])
def test_seeds_that_are_none_are_refused(text, capsys):
    with pytest.raises(SystemExit):
        main(['pushed_ball', '--', text])
    assert 'seed' in capsys.readouterr().err.lower()

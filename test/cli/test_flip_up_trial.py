"""Flip-ups by two laws are resumed from their file, and compared seed by seed."""

import json

from evidence.benchmarks import trials as module
from evidence.benchmarks.trials import EXACT, main
import pytest


@pytest.fixture
def trials(monkeypatch):
    """Have trials end as reported, and return which were run."""
    ran, failing = [], set()

    def run(seed, law, scale):
        ran.append((seed, law, scale))
        failed = (seed, law) in failing
        return {'failure': 'slip' if failed else '', 'off': 0.2 * (seed == 3), 'cpu': 0.0}

    monkeypatch.setattr(module, 'flipped', run)
    monkeypatch.setenv('ROLLING_COMPILE', 'now')  # put back afterwards
    return ran, failing


def test_failures_of_both_laws_are_compared(trials, tmp_path, capsys):
    ran, failing = trials
    failing |= {(1, 'closed_loop'), (3, 'closed_loop'), (3, 'predictive'), (1, EXACT)}
    out = tmp_path / 'trials.jsonl'
    assert main(['flip_up', '0..3', '--out', str(out)]) == 0
    told = capsys.readouterr().out
    assert 'closed_loop: 2 of 4 failed, 1 of them with an estimate' in told
    assert 'predictive: 1 of 4 failed, 1 of them' in told
    assert 'both laws failed on 1 seeds\nratio 0.50 (' in told
    assert 'inertia 0 of the 1 failures of the predictive law fail even so\n' in told
    failing |= {(4, 'predictive'), (4, EXACT)}
    ran.clear()
    assert main(['flip_up', '0..4', '--out', str(out)]) == 1
    assert 'inertia 1 of the 2 failures of the predictive law fail even so: 4 (slip)\n' in (
        capsys.readouterr().out
    )
    assert ran == [(4, 'closed_loop', 7.4), (4, 'predictive', 7.4), (4, EXACT, 7.4)]
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 12
    ran.clear()
    main(['flip_up', '0', '--scale', '4', '--out', str(out)])  # another scale is another trial
    assert ran == [(0, 'closed_loop', 4.0), (0, 'predictive', 4.0)]

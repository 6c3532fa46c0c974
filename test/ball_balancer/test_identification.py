"""Servos, delay, gravity and resistance of a ball balancer from emulated logs."""

from evidence.benchmarks import trials
import pytest


@pytest.mark.slow
def test_a_log_of_two_minutes_tells_the_numbers():
    """On the uneven plate of the published rig, of which the fit knows nothing."""
    found = trials.identified(2)
    assert set(found) == set(trials.BOUNDS)
    for name, (true, value, half_width) in found.items():
        assert abs(value - true) < 1.5 * half_width, name
    for name, widest in trials.WIDEST.items():
        assert found[name][2] < widest


def test_coverage_goes_on_where_it_was_ended(tmp_path, monkeypatch, capsys):
    """And says numbers whose intervals are too wide, or too seldom where they should be."""
    ran = []

    def run(seed):
        ran.append(seed)
        half = None if seed == 3 else 1.0
        numbers = {'gravity': [9.0, 9.0 + (seed % 10 == 0), 1e-4], 'dead_time': [0.05, 0.05, half]}
        return {'seed': seed, 'law': trials.LAW, **numbers}

    monkeypatch.setattr(trials, 'identified', run)
    out = tmp_path / 'coverage.jsonl'
    for seeds in ('0..4', '0..19'):
        assert trials.main(['identification', seeds, '--out', str(out)]) == 1
    assert ran == list(range(20))
    gravity, delay = capsys.readouterr().out.splitlines()[-2:]
    assert gravity.split()[:4] == ['gravity', '18', 'of', '20']
    assert delay.split()[:4] == ['dead_time', '19', 'of', '20']
    assert [met for _, met in trials.covered([run(k) for k in range(20)])] == [
        True,
        False,
    ]

"""What is reported of a loop beside a thread that only sleeps."""

from evidence.benchmarks.laboratory import PERIOD, Timing
import numpy as np
import pytest


def timing(jitter, work=0.0, offset=0.0):
    """Return a loop of one turn a period."""
    jitter = np.asarray(jitter)
    deadlines = offset + PERIOD * np.arange(jitter.size)
    return Timing(deadlines, jitter, np.full(jitter.size, work), PERIOD * (jitter.size - 1))


def with_delays(count, delays):
    jitter = np.zeros(count)
    for k, delay in delays.items():
        jitter[k] = delay
    return jitter


def test_turns_a_second_and_misses():
    loop = timing(with_delays(1000, {10: 0.99e-3, 20: 0.97e-3}), work=20e-6)
    assert loop.rate == pytest.approx(1000)
    assert loop.missed == pytest.approx(1e-3)


@pytest.mark.parametrize('offset', [0.0, 0.4e-3, -0.4e-3])
def test_misses_are_laid_to_the_machine_only_when_the_other_loop_was_late_too(offset):
    loop = timing(with_delays(1000, {100: 3e-3, 500: 3e-3}), work=20e-6)
    floor = timing(with_delays(1000, {101: 2e-3, 700: 2e-3}), offset=offset)
    assert loop.missed == pytest.approx(2e-3)
    assert loop.missed_beside(floor) == pytest.approx(1e-3)
    assert loop.missed_beside(timing(np.zeros(1000))) == loop.missed
    assert timing(np.zeros(1000)).missed_beside(floor) == 0

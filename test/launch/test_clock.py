"""Demonstrations run by the clock only on a machine that keeps it, and say why not in one line."""

import os

import pytest
from rolling_robotics.demo import clock
from rolling_robotics.demo.clock import in_simulated_time


class Machine:
    """A clock of its own that goes on while it is slept, and sleeps too long now and then."""

    def __init__(self, every, excess):
        self.time, self.count = 0.0, 0
        self.every, self.excess = every, excess

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.count += 1
        self.time += seconds + (self.excess if self.count % self.every == 0 else 1e-5)


@pytest.mark.parametrize(
    ('every', 'excess', 'share'),
    [(10, 0.5e-3, 0.0), (10, 1.5e-3, 0.1), (1, 3.2e-3, 1.0), (100, 0.2, 0.01)],
)
def test_late_turns_are_counted_once(every, excess, share):
    machine = Machine(every, excess)
    assert clock.late_fraction(machine.now, machine.sleep) == share


@pytest.mark.parametrize(
    ('allowed', 'load', 'late', 'text'),
    [
        (True, 0.5, 0.01, ''),
        (False, 0.5, 0.01, 'no real-time priority is permitted'),
        (True, 3.2, 0.01, '3.2 processes are at work on 4 processors'),
        (True, 0.5, 0.25, 'woke late in 25% of its iterations'),
    ],
)
def test_simulated_time_where_the_clock_is_not_kept(
    monkeypatch, capsys, allowed, load, late, text
):
    monkeypatch.setattr(clock, 'realtime_allowed', lambda: allowed)
    monkeypatch.setattr(clock, 'late_fraction', lambda: late)
    monkeypatch.setattr(os, 'getloadavg', lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, 'cpu_count', lambda: 4)
    assert in_simulated_time(None) == bool(text)
    told = capsys.readouterr().out
    assert text in told
    assert told.count('\n') == bool(text)
    assert in_simulated_time(True)
    assert not in_simulated_time(False)

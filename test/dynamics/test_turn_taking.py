"""Waiting for one another in simulated time costs little, however long it takes."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from rolling_node_kit import periodic_loop, turn_taking
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.turn_taking import TurnTaking


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on only while it is slept; the sleeps are kept."""
    made = SimpleNamespace(time=100.0, sleeps=[])

    def sleep(seconds):
        made.sleeps.append(seconds)
        made.time += seconds

    stand_in = SimpleNamespace(monotonic=lambda: made.time, sleep=sleep)
    monkeypatch.setattr(turn_taking, 'time', stand_in)
    monkeypatch.setattr(periodic_loop, 'time', stand_in)
    return made


@pytest.mark.parametrize(('after', 'late', 'looks'), [(1e-3, 0.4e-3, 6), (1.0, 2.1e-3, 530)])
def test_an_answer_is_found_soon_and_by_few_looks(clock, after, late, looks):
    turns, begin = TurnTaking(), clock.time
    turns.note(1)
    repeats = []

    def poll():
        if clock.time >= begin + after:
            turns.note(2)

    turns.wait(2, poll, lambda: repeats.append(clock.time), timeout=30.0)
    assert turns.answered == 2
    assert clock.time - begin < after + late
    assert len(clock.sleeps) < looks
    assert len(repeats) == pytest.approx(after / 0.05, rel=0.1, abs=1)


def test_nobody_is_waited_for_beyond_the_timeout(clock):
    turns, begin = TurnTaking(), clock.time
    turns.note(1)
    turns.wait(2, lambda: None, timeout=3.0)
    assert turns.answered == 0
    assert clock.time - begin == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize(('give_up', 'turns'), [(0.05, 40), (0.0, 2)])
def test_turns_of_a_loop_that_gives_up_are_not_made_up_for(clock, give_up, turns):
    """After a turn of 20 ms a loop of 2 kHz makes up for those that it missed, or does not."""
    made = []

    def tick():
        made.append(len(clock.sleeps))
        if len(made) == 3:
            clock.time += 0.02
        return len(made) < 100

    loop = PeriodicLoop(tick, 5e-4, give_up=give_up)
    loop._turn()
    busy = sum(a == b for a, b in pairwise(made))
    assert busy == pytest.approx(turns, abs=1)

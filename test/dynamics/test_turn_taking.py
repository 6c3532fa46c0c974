"""Waiting for one another in simulated time costs little, however long it takes."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from rolling_node_kit import loop_node, periodic_loop
from rolling_node_kit.loop_node import TurnTaking
from rolling_node_kit.periodic_loop import PeriodicLoop


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on only while it is slept; the sleeps are kept."""
    made = SimpleNamespace(time=100.0, sleeps=[])

    def sleep(seconds):
        made.sleeps.append(seconds)
        made.time += seconds

    made.sleep = sleep
    stand_in = SimpleNamespace(monotonic=lambda: made.time, sleep=sleep)
    monkeypatch.setattr(loop_node, 'time', stand_in)
    monkeypatch.setattr(periodic_loop, 'time', stand_in)
    return made


@pytest.mark.parametrize(('after', 'looks'), [(1e-3, 1), (1.0, 52)])
def test_an_answer_is_found_at_once_and_by_few_looks(clock, after, looks):
    turns, begin = TurnTaking(), clock.time
    turns.note(1)
    repeats = []

    def poll():
        if clock.time >= begin + after:
            turns.note(2)

    def pause(seconds):  # ends when the answer comes
        clock.sleep(min(seconds, max(begin + after - clock.time, 1e-6)))

    turns.wait(2, poll, pause, lambda: repeats.append(clock.time), timeout=30.0)
    assert turns.answered == 2
    assert clock.time - begin == pytest.approx(after)
    assert len(clock.sleeps) <= looks
    assert len(repeats) == pytest.approx(after / 0.06, rel=0.1, abs=1)


def test_nobody_is_waited_for_beyond_the_timeout(clock):
    turns, begin = TurnTaking(), clock.time
    turns.note(1)
    turns.wait(2, lambda: None, clock.sleep, timeout=3.0)
    assert turns.answered == 0
    assert clock.time - begin == pytest.approx(3.0, abs=0.03)


@pytest.mark.parametrize(('give_up', 'turns'), [(0.05, 40), (0.0, 2)])
def test_turns_of_a_loop_that_gives_up_are_not_made_up_for(clock, give_up, turns):
    """After a turn of 20 ms a loop of 2 kHz makes up for those that it missed, or does not."""
    made = []

    def tick():
        made.append(len(clock.sleeps))
        if len(made) == 3:
            clock.time += 0.02
        return len(made) < 100

    loop = PeriodicLoop(tick, 5e-4, give_up=give_up, wait=clock.sleep)
    loop._turn()
    busy = sum(a == b for a, b in pairwise(made))
    assert busy == pytest.approx(turns, abs=1)


def test_a_turn_begins_when_the_wait_for_it_ends_early(clock):
    """As where a loop waits for a message: deadlines count from there and do not run ahead."""
    begun = []

    def tick():
        begun.append(clock.time)
        return len(begun) < 20

    loop = PeriodicLoop(tick, 0.02, wait=lambda _: clock.sleep(1e-3))
    loop._turn()
    assert [b - a for a, b in pairwise(begun)] == pytest.approx([1e-3] * 19)
    assert loop.deadline == pytest.approx(begun[-1])

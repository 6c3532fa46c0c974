"""What a periodic loop does when it is late: it catches up, or skips, counts it and tells it."""

import threading

import pytest
from rolling_node_kit import periodic_loop
from rolling_node_kit.overruns import Overruns
from rolling_node_kit.periodic_loop import PeriodicLoop

LONG = 20.0  # s, a deadline for what should take milliseconds


class Clock:
    """Time that goes on only by the work and the sleep of a loop."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(periodic_loop, 'time', made)
    return made


def run(clock, works, period=0.125, **options):
    """Run one turn for each duration of work [s]; return the loop and when each turn began."""
    begun, left = [], iter(works)

    def tick():
        work = next(left, None)
        if work is None:
            return False
        begun.append((clock.now, loop.deadline))
        clock.now += work
        return True

    loop = PeriodicLoop(tick, period, wait=clock.sleep, **options)
    loop.start()
    loop._thread.join(LONG)
    assert not loop.running
    return loop, begun


def test_turns_come_at_absolute_deadlines(clock):
    loop, begun = run(clock, [0.0, 0.0625, 0.03125])
    assert begun == [(100.0, 100.0), (100.125, 100.125), (100.25, 100.25)]
    assert clock.slept == [0.125, 0.0625, 0.09375]
    record = loop.read_punctuality()
    assert (record.ticks, record.misses, record.skipped) == (3, 0, 0)
    assert record.mean_work == pytest.approx(0.03125)
    assert record.worst_jitter == 0.0
    assert loop.read_punctuality().ticks == 0


def test_a_turn_that_ends_at_the_next_deadline_is_no_miss(clock):
    loop, begun = run(clock, [0.125, 0.0])
    assert begun[1] == (100.125, 100.125)
    assert loop.read_punctuality().misses == 0


def test_a_loop_that_is_late_catches_up_without_sleeping(clock):
    loop, begun = run(clock, [0.25, 0.0, 0.0], give_up=0.0)  # no later than two periods
    assert begun == [(100.0, 100.0), (100.25, 100.125), (100.25, 100.25)]
    assert clock.slept == [0.0, 0.125]
    record = loop.read_punctuality()
    assert (record.ticks, record.misses, record.skipped) == (3, 1, 0)
    assert record.worst_jitter == 0.125


@pytest.mark.parametrize(
    ('work', 'skipped', 'next_deadline'),
    [(0.375, 0, 100.125), (0.4375, 2, 100.375), (10.0625, 79, 110.0)],
)
def test_a_loop_that_is_too_late_skips_ahead_counts_and_tells(clock, work, skipped, next_deadline):
    told = []
    loop, begun = run(clock, [work, 0.0], on_skip=told.append)
    assert begun[1] == (100.0 + work, next_deadline)
    assert told == ([skipped * 0.125] if skipped else [])
    assert loop.read_punctuality().skipped == skipped


def test_what_is_skipped_adds_up(clock):
    loop, _ = run(clock, [0.4375, 0.0, 0.0, 0.5625, 0.0])
    assert loop.read_punctuality().skipped == 2 + 3


def test_a_loop_gives_up_at_what_it_is_told(clock):
    told = []
    run(clock, [1.0, 0.0], give_up=2.0, on_skip=told.append)
    assert told == []
    run(clock, [4.0, 0.0], give_up=2.0, on_skip=told.append)
    assert told == [3.875]


def test_skipped_periods_are_missed_deadlines(clock):
    values = {'overrun_window': 4.0, 'overrun_abort': 0.5}
    told, overruns = [], Overruns(values)
    loop, _ = run(clock, [0.25], overruns=overruns, on_overrun=told.append)
    assert loop.overrun_fraction() == overruns.fraction(clock.now, 0.125) == 1 / 32
    run(clock, [1.125], overruns=overruns, on_overrun=told.append)  # behind by 8 periods
    assert overruns.fraction(clock.now, 0.125) == 10 / 32
    assert told == []
    run(clock, [1.125, 0.0], overruns=overruns, on_overrun=told.append)
    assert told == ['59% of the deadlines in 4 s were missed; overrun_abort is 50%']


def test_a_turn_without_end_counts_while_it_lasts(clock):
    """Four periods in, one is the present one and one its deadline: two more have passed."""
    values, seen = {'overrun_window': 4.0, 'overrun_abort': 1.0}, []

    def tick():
        clock.now += 0.125
        seen.append(loop.overrun_fraction())
        clock.now += 0.375
        seen.append(loop.overrun_fraction())
        return False

    loop = PeriodicLoop(tick, 0.125, overruns=Overruns(values))
    loop.start()
    loop._thread.join(LONG)
    assert seen == [0.0, 3 / 32]
    clock.now += 100.0
    assert loop.overrun_fraction() == 0.0  # it has ended


def test_a_loop_without_alarm_has_no_share(clock):
    loop, _ = run(clock, [9.0])
    assert loop.overrun_fraction() == 0.0


def test_false_ends_the_loop_and_nothing_else_does(clock):
    answers = iter([None, True, 0, False, True])
    asked = []
    loop = PeriodicLoop(lambda: asked.append(0) or next(answers), 0.125, name='control')
    assert not loop.running
    loop.start()
    loop._thread.join(LONG)
    assert len(asked) == 4
    assert loop.stop(LONG)


def test_a_fault_ends_the_loop_and_is_told(clock):
    told = []

    def tick():
        raise ValueError(threading.current_thread().name)

    for given, name in (({}, 'loop'), ({'name': 'control'}, 'control')):
        loop = PeriodicLoop(tick, 0.125, on_fault=told.append, **given)
        assert (loop.period, loop.deadline) == (0.125, 0.0)
        loop.start()
        loop._thread.join(LONG)
        assert str(told.pop()) == name
        assert not loop.running


def test_a_loop_does_not_keep_its_process_alive(clock):
    seen = []
    loop = PeriodicLoop(lambda: seen.append(threading.current_thread().daemon) or False, 0.125)
    loop.start()
    loop._thread.join(LONG)
    assert seen == [True]


def test_a_loop_can_be_stopped_from_within_and_from_outside():
    done, go_on = threading.Event(), threading.Event()
    loop = PeriodicLoop(lambda: done.set() or go_on.wait(LONG), 1e-3)
    assert loop.stop()  # it never ran
    loop = PeriodicLoop(lambda: done.set() or go_on.wait(LONG), 1e-3)
    loop.start()
    assert done.wait(LONG)
    assert loop.running
    assert not loop.stop(0.0)  # it is still at work
    go_on.set()
    assert loop.stop(LONG)
    inside = []
    other = PeriodicLoop(lambda: inside.append(other.stop()), 1e-3)
    other.start()
    other._thread.join(LONG)
    assert inside == [True]

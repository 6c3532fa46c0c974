"""A loop of absolute deadlines: what it leaves behind in memory, and the deadlines it misses."""

import gc
import threading
import time

import pytest
from rolling_node_kit.overruns import Overruns
from rolling_node_kit.periodic_loop import PeriodicLoop

STARTS, GARBAGE = 300, 20
PERIOD = 0.01
THRESHOLDS = {
    'overrun_window': 1.0,
    'overrun_warn': 0.1,
    'overrun_error': 0.5,
    'overrun_abort': 1.0,
}


def turn_once():
    """Run a loop for one turn, among cyclic garbage as an execution leaves."""
    done = threading.Event()
    loop = PeriodicLoop(lambda: done.set() or False, 1e-3)
    for _ in range(GARBAGE):
        cycle = []
        cycle.append(cycle)
    loop.start()
    assert done.wait(60)
    assert loop.stop(60)


def test_starts_of_a_loop_leave_no_garbage_behind():
    turn_once()
    gc.collect()
    frozen, alive = gc.get_freeze_count(), len(gc.get_objects())
    for _ in range(STARTS):
        turn_once()
    gc.collect()
    assert gc.get_freeze_count() <= frozen  # what was frozen may end, nothing joins it
    assert len(gc.get_objects()) < alive + STARTS  # less than one object a start


@pytest.mark.parametrize('work', [3 * PERIOD, 30 * PERIOD])  # late, and so late that it skips
def test_too_many_missed_deadlines_are_told_in_the_loop(work):
    told, done = [], threading.Event()

    def tell(text):
        told.append((threading.current_thread().name, text))
        loop.stop()
        done.set()

    loop = PeriodicLoop(
        lambda: time.sleep(work),
        PERIOD,
        name='late',
        overruns=Overruns(THRESHOLDS | {'overrun_abort': 0.2}),
        on_overrun=tell,
    )
    loop.start()
    assert done.wait(60)
    assert loop.stop(60)
    assert len(told) == 1
    assert told[0][0] == 'late'
    assert 'overrun_abort is 20%' in told[0][1]

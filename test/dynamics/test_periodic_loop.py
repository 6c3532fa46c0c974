"""A loop of absolute deadlines: what it leaves behind in memory."""

import gc
import threading

from rolling_dynamics.nodes.periodic_loop import PeriodicLoop

STARTS, GARBAGE = 300, 20


def turn_once():
    """Run a loop for one turn, among cyclic garbage as an execution leaves."""
    done = threading.Event()
    loop = PeriodicLoop(lambda: done.set() or False, 1e-3)
    for _ in range(GARBAGE):
        cycle = []
        cycle.append(cycle)
    loop.start()
    assert done.wait(10)
    assert loop.stop(10)


def test_starts_of_a_loop_leave_no_garbage_behind():
    turn_once()
    gc.collect()
    frozen, alive = gc.get_freeze_count(), len(gc.get_objects())
    for _ in range(STARTS):
        turn_once()
    gc.collect()
    assert gc.get_freeze_count() <= frozen  # what was frozen may end, nothing joins it
    assert len(gc.get_objects()) < alive + STARTS  # less than one object a start

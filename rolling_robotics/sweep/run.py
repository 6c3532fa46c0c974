# ruff: noqa: ANN401 (arguments of any function are handed on)
"""A sweep in processes of this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    wait,
)
import multiprocessing
import os
from queue import SimpleQueue
import signal
from typing import Any, NamedTuple

from rolling_robotics.child_process import die_with_parent
from rolling_robotics.sweep.outcome import failure, Row, run_points
from rolling_robotics.sweep.points import Sweep
from rolling_robotics.sweep.storage import Store

PARTS, LONGEST = 64, 100  # a part is a 64th of the sweep, and 100 points at most
Report = Callable[[int, int], object]  # points that are done, and failed


class Task(NamedTuple):
    """Points that are worked on together: the number of their part, and their own."""

    part: int
    points: tuple[int, ...]


def parts_of(sweep: Sweep) -> list[Task]:
    """Return the points of a sweep in parts; they depend on nothing but its size."""
    size = max(1, min(LONGEST, len(sweep) // PARTS))
    starts = range(0, len(sweep), size)
    return [Task(k, tuple(range(a, min(a + size, len(sweep))))) for k, a in enumerate(starts)]


class Forks(Executor):
    """
    Forks of this process, which need not import or compile anything again.

    Each has one task at a time, so that one which dies costs its own task only; another takes
    its place.
    """

    def __init__(self, count: int | None = None) -> None:
        """
        Make room for a number of processes; each starts with its first task.

        Parameters
        ----------
        count
            Number of processes; one per core if None.

        """
        self.count = count or len(os.sched_getaffinity(0))
        self._free: SimpleQueue[Executor] = SimpleQueue()
        self._others = set(multiprocessing.active_children())
        for _ in range(self.count):
            self._free.put(_fork())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Wait for a process that is free, and have it call a function."""
        process = self._free.get()
        future = process.submit(fn, *args, **kwargs)

        def back(done: Future[Any]) -> None:
            broken = not done.cancelled() and isinstance(done.exception(), BrokenExecutor)
            self._free.put(_fork() if broken else process)

        future.add_done_callback(back)
        return future

    def __exit__(self, *_: object) -> None:
        """End the processes, whatever they work on."""
        for child in set(multiprocessing.active_children()) - self._others:
            child.terminate()


def _fork() -> Executor:
    return ProcessPoolExecutor(1, multiprocessing.get_context('fork'), initializer=_begin)


def _begin() -> None:
    """Have Ctrl-C, and the end of the parent, end a process without a word."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    die_with_parent()


def run_sweep(sweep: Sweep, store: Store, forks: Forks, report: Report) -> None:
    """
    Work on every part that is not in the store yet, and put it there.

    Parameters
    ----------
    sweep, store
        The points, and where their rows go.
    forks
        Processes that work on them.
    report
        Called with the number of points that are done and of those that failed.

    """
    waiting = deque(t for t in parts_of(sweep) if t.part not in store.done)
    done = len(sweep) - sum(len(t.points) for t in waiting)
    failed = 0
    pieces: dict[int, tuple[int, list[Row]]] = {}
    running: dict[Future[list[Row]], Task] = {}
    while waiting or running:
        while waiting and len(running) < forks.count:
            task = waiting.popleft()
            values = {k: sweep.values(k) for k in task.points}
            given = sweep.document, sweep.follows, values
            running[forks.submit(run_points, *given)] = task
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            rows = _rows(future, task)
            if rows is None:  # a worker died of one of the points: find out which
                pieces[task.part] = (len(task.points), [])
                waiting.extendleft(Task(task.part, (point,)) for point in task.points)
                continue
            done += len(rows)
            failed += sum(row['status'] == 'failed' for row in rows)
            _keep(store, task, rows, pieces)
            report(done, failed)


def _rows(future: Future[list[Row]], task: Task) -> list[Row] | None:
    """Return the rows of a task; None where it has to be taken apart."""
    error = future.exception()
    if error is None:
        return future.result()
    if len(task.points) > 1:
        return None
    return [failure(task.points[0], f'{type(error).__name__}: {error}')]


def _keep(
    store: Store, task: Task, rows: list[Row], pieces: dict[int, tuple[int, list[Row]]]
) -> None:
    """Write a part, once all its pieces are there."""
    if task.part not in pieces:
        store.write(task.part, rows)
        return
    size, known = pieces[task.part]
    known += rows
    if len(known) == size:
        store.write(task.part, sorted(known, key=lambda row: row['point']))

# ruff: noqa: ANN401 (the package of Dask says little about its types)
"""A sweep on Dask: local processes, or the workers of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import logging
from typing import Any, NamedTuple

from dask import config
import distributed
from rolling_dynamics.errors import ParameterError
from rolling_robotics.sweep.outcome import failure, Row, run_points
from rolling_robotics.sweep.points import Sweep
from rolling_robotics.sweep.storage import Store

Client: Any = distributed.Client
LocalCluster: Any = distributed.LocalCluster
as_completed: Any = distributed.as_completed
AHEAD = 4  # parts that wait at each worker
PATIENCE = 20  # s to reach a scheduler
LOOPBACK = '127.0.0.1'
PARTS, LONGEST = 64, 100  # a part is a 64th of the sweep, and 100 points at most
# Dask has its workers give memory back all the time, which costs a tenth of a sweep
WORKERS = {
    'distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_': 2**25,
    'distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_': 2**25,
}
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


@contextmanager
def cluster(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """
    Give a client of a scheduler, or of local processes that end with it.

    Parameters
    ----------
    scheduler
        Address, such as ``tcp://host:8786``; local processes if None.
    workers
        Number of local processes; one a core if None.

    Raises
    ------
    ParameterError
        The scheduler cannot be reached.

    """
    for name in ('distributed', 'distributed.worker', 'distributed.nanny', 'distributed.core'):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters stands in the rows
    if scheduler is None:
        with (
            config.set(WORKERS),
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host=LOOPBACK,
                dashboard_address=f'{LOOPBACK}:0',  # without a host it listens on every interface
            ) as local,
            Client(local) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as e:
        raise ParameterError(
            f'--scheduler: {scheduler!r} cannot be reached: {e}; an address such as '
            'tcp://127.0.0.1:8786 is needed'
        ) from None
    with client:
        yield client


def run_sweep(sweep: Sweep, store: Store, client: Any, report: Report) -> None:
    """
    Work on every part that is not in the store yet, and put it there.

    Parameters
    ----------
    sweep, store
        The points, and where their rows go.
    client
        Of Dask.
    report
        Called with the number of points that are done and of those that failed.

    """
    waiting = iter([t for t in parts_of(sweep) if t.part not in store.done])
    done = sum(len(t.points) for t in parts_of(sweep) if t.part in store.done)
    failed = 0
    pieces: dict[int, tuple[int, list[Row]]] = {}
    running: dict[Any, Task] = {}
    finished = as_completed()

    def submit(task: Task) -> None:
        values = {k: sweep.values(k) for k in task.points}
        future = client.submit(run_points, sweep.document, sweep.follows, values, pure=False)
        running[future] = task
        finished.add(future)

    for _ in range(AHEAD * max(1, len(client.scheduler_info()['workers']))):
        for task in waiting:
            submit(task)
            break
    for future in finished:
        task = running.pop(future)
        rows = _rows(future, task)
        if rows is None:  # a worker died of one of the points: find out which
            pieces[task.part] = (len(task.points), [])
            for point in task.points:
                submit(Task(task.part, (point,)))
            continue
        done += len(rows)
        failed += sum(row['status'] == 'failed' for row in rows)
        _keep(store, task, rows, pieces)
        report(done, failed)
        for task in waiting:
            submit(task)
            break


def _rows(future: Any, task: Task) -> list[Row] | None:
    """Return the rows of a task; None where it has to be taken apart."""
    error: Any = future.exception()
    if error is None:
        rows: list[Row] = future.result()
        return rows
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

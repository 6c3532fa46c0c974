# ruff: noqa: ANN401 (arguments of any function are handed on)
"""A sweep in processes of its own, and the file of its rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    wait,
)
import json
import multiprocessing
import os
from pathlib import Path
from queue import SimpleQueue
import shutil
import signal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rolling_dynamics.errors import ParameterError
from rolling_robotics.bringup import die_with_parent
from rolling_robotics.console import version
from rolling_robotics.files import written_beside
from rolling_robotics.sweep.outcome import failure, Row, run_points
from rolling_robotics.sweep.points import Sweep

HASH = b'scenario_hash'
TEXTS = {'status', 'error', 'event'}
WHOLE = {'point', 'steps'}


class Store:
    """
    Folder of the rows of one sweep.

    Attributes
    ----------
    done
        Numbers of the parts that are there already.

    """

    def __init__(self, out: Path, sweep: Sweep, parts: int) -> None:
        """
        Look for what an interrupted run of the same sweep left.

        Parameters
        ----------
        out
            Parquet file; the parts stand in a folder beside it until all are there.
        sweep
            The sweep.
        parts
            Number of parts.

        Raises
        ------
        ParameterError
            The file or the parts belong to another sweep.

        """
        self.out, self.folder, self._sweep = out, out.with_name(out.name + '.parts'), sweep
        self._parts, self._hash = parts, sweep.hash()
        for path in [out] if out.exists() else self._files():
            found = _hash_of(path)
            if found != self._hash:
                raise ParameterError(
                    f'--out: {str(path)!r} holds another sweep (hash {found}, this one has '
                    f'{self._hash}); name another file, or remove it'
                )
        self.complete = out.exists()
        self.done = {int(path.stem.partition('-')[2]) for path in self._files()}

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob('part-*.parquet')) if self.folder.is_dir() else []

    def write(self, part: int, rows: Sequence[Row]) -> None:
        """Write the rows of a part; it appears complete or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        table = _table(self._sweep, rows, self._hash).replace_schema_metadata(self._metadata())
        _written(table, self.folder / f'part-{part:06d}.parquet')
        self.done.add(part)

    def join(self) -> pa.Table:
        """Make one file of all parts, remove them, and return it."""
        tables = [pq.read_table(path) for path in self._files()]
        table = pa.concat_tables(tables, promote_options='permissive').sort_by('point')
        table = table.replace_schema_metadata(self._metadata())
        _written(table, self.out)
        shutil.rmtree(self.folder)
        self.complete = True
        return table

    def _metadata(self) -> dict[bytes, bytes]:
        return {
            HASH: self._hash.encode(),
            b'scenario': json.dumps(self._sweep.document).encode(),
            b'written_by': f'rolling_robotics {version()}'.encode(),
        }


def _written(table: pa.Table, path: Path) -> None:
    """Write a file beside its place and move it there."""
    with written_beside(path) as scratch:
        pq.write_table(table, scratch)


def _hash_of(path: Path) -> str:
    try:
        metadata: Mapping[bytes, bytes] = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid) as e:
        raise ParameterError(f'--out: {str(path)!r} exists and is not Parquet: {e}') from None
    return metadata.get(HASH, b'none').decode()


def _table(sweep: Sweep, rows: Sequence[Row], known_hash: str) -> pa.Table:
    """Return rows as a table: the point, what is varied there, and what came out."""
    outputs = dict.fromkeys(key for row in rows for key in row)
    columns: dict[str, pa.Array] = {'point': pa.array([row['point'] for row in rows], pa.int64())}
    values = [sweep.values(row['point']) for row in rows]
    for name in sweep.names:
        columns[name] = _varied([v[name] for v in values])
    for key in outputs:
        if key != 'point':
            columns[key] = _column(key, [row.get(key) for row in rows])
    columns['scenario_hash'] = pa.array([known_hash] * len(rows), pa.string())
    return pa.table(columns)


def _column(key: str, values: list[Any]) -> pa.Array:
    if key in TEXTS:
        return pa.array(values, pa.string())
    return pa.array(values, pa.int64() if key in WHOLE else pa.float64())


def _varied(values: Iterable[Any]) -> pa.Array:
    """Return numbers as numbers, anything else as its text."""
    values = list(values)
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values):
        return pa.array([float(v) for v in values], pa.float64())
    return pa.array([v if isinstance(v, str) else json.dumps(v) for v in values], pa.string())


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

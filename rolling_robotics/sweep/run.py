"""A sweep in processes of its own, and the file of its rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
import json
import multiprocessing
import os
from pathlib import Path
import shutil
import signal
from typing import Any

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
TYPES = dict.fromkeys(('status', 'error', 'event'), pa.string()) | {'steps': pa.int64()}


class Store:
    """
    Folder of the rows of one sweep.

    Attributes
    ----------
    done
        Numbers of the points that are there already.

    """

    def __init__(self, out: Path, sweep: Sweep) -> None:
        """
        Look for results of an interrupted run of the same sweep.

        Parameters
        ----------
        out
            Parquet file; the parts are in a folder next to it until all are complete.
        sweep
            The sweep.

        Raises
        ------
        ParameterError
            The file or the parts belong to another sweep.

        """
        self.out, self.folder, self._sweep = out, out.with_name(out.name + '.parts'), sweep
        self._hash = sweep.hash()
        for path in [out] if out.exists() else self._files():
            found = _hash_of(path)
            if found != self._hash:
                raise ParameterError(
                    f'--out: {str(path)!r} holds another sweep (hash {found}, this one has '
                    f'{self._hash}); name another file, or remove it'
                )
        self.complete = out.exists()
        there = (pq.read_table(path, columns=['point']) for path in self._files())
        self.done = {point for table in there for point in table['point'].to_pylist()}

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob('part-*.parquet')) if self.folder.is_dir() else []

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows of some points as a part; it appears complete or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        table = _table(self._sweep, rows, self._hash).replace_schema_metadata(self._metadata())
        points = [row['point'] for row in rows]
        _written(table, self.folder / f'part-{points[0]:08d}.parquet')
        self.done.update(points)

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
    """Write a temporary file next to the target and move it there."""
    with written_beside(path) as scratch:
        pq.write_table(table, scratch)


def _hash_of(path: Path) -> str:
    try:
        metadata: Mapping[bytes, bytes] = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid) as e:
        raise ParameterError(f'--out: {str(path)!r} exists and is not Parquet: {e}') from None
    return metadata.get(HASH, b'none').decode()


def _table(sweep: Sweep, rows: Sequence[Row], known_hash: str) -> pa.Table:
    """Return rows as a table: the point, its varied entries, and the results."""
    outputs = dict.fromkeys(key for row in rows for key in row)
    columns: dict[str, pa.Array] = {'point': pa.array([row['point'] for row in rows], pa.int64())}
    varied = [sweep.values(row['point']) for row in rows]
    for name in sweep.names:
        columns[name] = _varied([v[name] for v in varied])
    for key in outputs:
        if key != 'point':
            values = [row.get(key) for row in rows]
            columns[key] = pa.array(values, TYPES.get(key, pa.float64()))
    columns['scenario_hash'] = pa.array([known_hash] * len(rows), pa.string())
    return pa.table(columns)


def _varied(values: Sequence[Any]) -> pa.Array:
    """Return numbers as numbers, anything else as its text."""
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values):
        return pa.array([float(v) for v in values], pa.float64())
    return pa.array([v if isinstance(v, str) else json.dumps(v) for v in values], pa.string())


PARTS, LONGEST = 64, 100  # a part is a 64th of the sweep, and 100 points at most
Report = Callable[[int, int], object]  # points that are done, and failed


def parts_of(sweep: Sweep) -> list[range]:
    """Return the points of a sweep in parts; they depend on nothing but its size."""
    size = max(1, min(LONGEST, len(sweep) // PARTS))
    return [range(a, min(a + size, len(sweep))) for a in range(0, len(sweep), size)]


def _fork() -> Executor:
    """Return a fork of this process, which need not import or compile anything again."""
    return ProcessPoolExecutor(1, multiprocessing.get_context('fork'), initializer=_begin)


def _begin() -> None:
    """Have Ctrl-C, and the end of the parent, end a process without a word."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    die_with_parent()


def run_sweep(sweep: Sweep, store: Store, workers: int | None, report: Report) -> None:
    """
    Work on every point that is not in the store yet, and put it there.

    Each process has one part at a time. If a process dies, another one takes its place, and the
    points of its part are tried one by one.

    Parameters
    ----------
    sweep, store
        The points, and where their rows go.
    workers
        Number of processes; one per core if None.
    report
        Called with the number of points that are done and of those that failed.

    """
    missing = ([k for k in part if k not in store.done] for part in parts_of(sweep))
    waiting, failed = deque(filter(None, missing)), 0
    others = set(multiprocessing.active_children())
    free = [_fork() for _ in range(workers or len(os.sched_getaffinity(0)))]
    running: dict[Future[list[Row]], tuple[Executor, list[int]]] = {}
    try:
        while waiting or running:
            while waiting and free:
                fork, points = free.pop(), waiting.popleft()
                given = sweep.document, sweep.follows, {k: sweep.values(k) for k in points}
                running[fork.submit(run_points, *given)] = fork, points
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                fork, points = running.pop(future)
                error = future.exception()
                free.append(_fork() if error else fork)
                if error and len(points) > 1:  # one of the points killed it: find out which
                    waiting.extendleft([k] for k in points)
                    continue
                why = f'{type(error).__name__}: {error}'
                rows = [failure(points[0], why)] if error else future.result()
                failed += sum(row['status'] == 'failed' for row in rows)
                store.write(rows)
                report(len(store.done), failed)
    finally:  # whatever they work on
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()

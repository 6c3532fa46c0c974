"""Rows of a sweep as Parquet: a part for each stretch of work, joined when all are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import json
from pathlib import Path
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rolling_dynamics.errors import ParameterError
from rolling_robotics.files import written_beside
from rolling_robotics.sweep.outcome import Row
from rolling_robotics.sweep.points import Sweep
from rolling_robotics.version import version

HASH = b'scenario_hash'
TEXTS = {'status', 'error', 'event'}
WHOLE = {'point', 'steps'}


class Store:
    """
    Where the rows of one sweep go.

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

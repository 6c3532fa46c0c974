"""Motions that contacts leave free at a state, and forces that they leave undetermined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array

WORTH_NAMING = 1e-6  # of the largest component of a free twist or an internal force
DEPENDS = 1e-10  # fraction of the largest singular value below which a row depends on others


class Structure(NamedTuple):
    """
    Motions that contacts leave free at a state.

    Attributes
    ----------
    rows, speeds
        Names of the velocities that vanish at contacts, and of the speeds of the tree.
    rank
        Number of rows that are independent.
    free
        Twists that are left, as speeds (speeds, k).
    internal
        Contact forces that move nothing (rows, m): the equations leave them open.

    """

    rows: tuple[str, ...]
    speeds: tuple[str, ...]
    rank: int
    free: Array
    internal: Array

    @classmethod
    def of(cls, J: Array, rows: Sequence[str], speeds: Sequence[str]) -> Structure:
        """Return it for rows with derivatives by the speeds, (rows, speeds), in units of both."""
        rank, (left, _, right) = independent(J), np.linalg.svd(J)
        free, internal = _simple(right[rank:].T), _simple(left[:, rank:])
        return cls(tuple(rows), tuple(speeds), rank, free, internal)

    @property
    def lines(self) -> list[str]:
        """Sentences for people."""
        if not self.rows:
            return []
        count, whole = len(self.rows), len(self.speeds)
        head = f'contacts beside the joints: {count} rows of rank {self.rank}; of {whole} speeds '
        out = [f'{head}{whole - self.rank} are free']
        for kind, table, names in (
            ('free twist', self.free, self.speeds),
            ('internal force', self.internal, self.rows),
        ):
            out += [f'{kind}: {_named(column, names)}' for column in table.T]
        return out


def independent(J: Array) -> int:
    """Return the number of rows of a matrix (rows, n), in any unit, that depend on no others."""
    sizes = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(sizes > DEPENDS * max(sizes, default=0.0)))


def _named(column: Array, names: Sequence[str]) -> str:
    """Return the components of a vector that are not small."""
    parts = zip(column, names, strict=True)
    return ', '.join(f'{v:+.3g} {n}' for v, n in parts if abs(v) > WORTH_NAMING)


def _simple(basis: Array) -> Array:
    """Return a basis of the same space with many zeros, the largest component of each 1."""
    rows = basis.T.copy()
    used: list[int] = []
    for k in range(len(rows)):
        size = np.abs(rows[k])
        size[used] = 0.0
        used.append(int(np.argmax(size)))
        rows[k] /= rows[k, used[-1]]
        for i in range(len(rows)):
            if i != k:
                rows[i] -= rows[i, used[-1]] * rows[k]
    return np.array([row / row[np.argmax(np.abs(row))] for row in rows]).reshape(rows.shape).T

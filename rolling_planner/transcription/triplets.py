"""Constant sparse matrices as lists of entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array


@dataclass(frozen=True, eq=False)
class Triplets:
    """
    A sparse matrix; entries at one place add up.

    Attributes
    ----------
    rows, columns
        Where the entries stand.
    values
        The entries.
    shape
        Number of rows and columns.

    """

    rows: NDArray[np.int_]
    columns: NDArray[np.int_]
    values: Array
    shape: tuple[int, int]

    @classmethod
    def of(
        cls, shape: tuple[int, int], *parts: tuple[ArrayLike, ArrayLike, ArrayLike]
    ) -> Triplets:
        """
        Return the matrix made of (rows, columns, values).

        Values may be one number, in any unit.
        """
        whole = [np.broadcast_arrays(*part) for part in parts]
        if not whole:
            return cls(np.zeros(0, int), np.zeros(0, int), np.zeros(0), shape)
        r, c, v = (np.concatenate([np.ravel(part[k]) for part in whole]) for k in range(3))
        return cls(r.astype(int), c.astype(int), v.astype(float), shape)

    @classmethod
    def eye(cls, n_rows: int, n_columns: int, first: int = 0) -> Triplets:
        """Return the matrix that picks ``n_rows`` entries from the ``first`` one on."""
        k = np.arange(n_rows)
        return cls.of((n_rows, n_columns), (k, first + k, 1.0))

    @classmethod
    def dense(cls, matrix: Array, first_column: int, n_columns: int) -> Triplets:
        """Return a dense matrix, in any unit, whose columns begin at ``first_column``."""
        r, c = np.nonzero(matrix)
        return cls.of((len(matrix), n_columns), (r, first_column + c, matrix[r, c]))

    @classmethod
    def stack(cls, blocks: Sequence[Triplets]) -> Triplets:
        """Return the blocks below each other."""
        starts = np.cumsum([0, *(b.shape[0] for b in blocks)])
        return cls(
            np.concatenate([b.rows + s for b, s in zip(blocks, starts[:-1], strict=True)]),
            np.concatenate([b.columns for b in blocks]),
            np.concatenate([b.values for b in blocks]),
            (int(starts[-1]), blocks[0].shape[1]),
        )

    @property
    def transposed(self) -> Triplets:
        """The transposed matrix."""
        return Triplets(self.columns, self.rows, self.values, self.shape[::-1])

    def kron(self, other: Triplets) -> Triplets:
        """Return the Kronecker product."""
        m, n = other.shape
        return Triplets(
            np.add.outer(self.rows * m, other.rows).ravel(),
            np.add.outer(self.columns * n, other.columns).ravel(),
            np.multiply.outer(self.values, other.values).ravel(),
            (self.shape[0] * m, self.shape[1] * n),
        )

    def to_casadi(self) -> ca.DM:
        """Return the matrix for CasADi."""
        key, where = np.unique(self.columns * self.shape[0] + self.rows, return_inverse=True)
        values = np.bincount(where, weights=self.values, minlength=len(key))
        return ca.DM(pattern(key % self.shape[0], key // self.shape[0], self.shape), values)


def pattern(
    rows: NDArray[np.int_], columns: NDArray[np.int_], shape: tuple[int, int]
) -> ca.Sparsity:
    """Return the pattern of entries by index, vectors sorted by column, then row, each once."""
    starts = np.searchsorted(columns, np.arange(shape[1] + 1))
    return ca.Sparsity(*shape, starts.tolist(), rows.tolist())

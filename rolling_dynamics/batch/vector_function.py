"""A function on the columns of arrays, a column for each trajectory of a batch."""

from __future__ import annotations

import ctypes
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.batch.lanes import Array
from rolling_dynamics.batch.vector_source import vector_source, vectors
from rolling_dynamics.compiled import compiled_source, compiles

APPLIED = """
void apply(long lanes, const casadi_real *in, casadi_real *out) {{
  for (long b = 0; b < lanes; b += LANES) {{
    V given[{given} + 1], made[{made} + 1];
    for (int i = 0; i < {given}; ++i) memcpy(&given[i], in + i * lanes + b, sizeof(V));
    {name}({inputs}, made);
    for (int i = 0; i < {made}; ++i) memcpy(out + i * lanes + b, &made[i], sizeof(V));
  }}
}}
"""


class VectorFunction:
    """
    A function that is evaluated for many columns at a time.

    Attributes
    ----------
    compiled
        Whether machine code evaluates it; without a compiler CasADi does, slower.

    """

    def __init__(self, function: ca.Function, columns: int) -> None:
        """
        Wait for the compiler of a new function.

        Parameters
        ----------
        function
            Function of scalar expressions, all inputs and its output dense.
        columns
            How many there are.

        """
        self._columns = columns
        self._sizes = [function.numel_in(k) for k in range(function.n_in())]
        file = _library(function, np.cumsum([0, *self._sizes]).tolist()) if compiles() else None
        self.compiled = file is not None
        width = vectors().lanes('double') if self.compiled else 1
        padded = -(-columns // width) * width
        self._given = np.zeros((sum(self._sizes), padded))
        self._made = np.zeros((function.numel_out(0), padded))
        self._mapped = None if self.compiled else function.map(columns)
        self._apply = ctypes.CDLL(str(file)).apply if self.compiled else None

    def __call__(self, *given: ArrayLike) -> Array:
        """
        Return the output, shape (size of the output, columns), a view until the next call.

        Parameters
        ----------
        given
            Shape (size of the input, columns) each, or (size of the input,) where all columns
            have the same.

        """
        first = 0
        for size, values in zip(self._sizes, given, strict=True):
            array = np.asarray(values, dtype=float)
            where = self._given[first : first + size, : self._columns]
            where[...] = array if array.ndim == 2 else array[:, None]
            first += size
        if self._mapped is not None:
            parts = np.split(self._given, np.cumsum(self._sizes)[:-1])
            return np.array(self._mapped(*parts))
        assert self._apply is not None  # noqa: S101 - machine code is there
        addresses = (ctypes.c_void_p(a.ctypes.data) for a in (self._given, self._made))
        self._apply(ctypes.c_long(self._given.shape[1]), *addresses)
        return self._made[:, : self._columns]


def _library(function: ca.Function, ends: list[int]) -> Path | None:
    """Return the machine code of a function; None where there is no compiler or it fails."""
    applied = APPLIED.format(
        name=function.name(),
        given=ends[-1],
        made=function.numel_out(0),
        inputs=', '.join(f'given + {end}' for end in ends[:-1]),
    )
    source = '\n'.join([*vectors().preamble('double'), *vector_source(function), applied])
    return compiled_source('batch', source, vectors().target('double'))

"""A function called without CasADi's conversions."""

from __future__ import annotations

from itertools import accumulate, pairwise

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled.store import newest, register


class FastFunction:
    """
    A function called without CasADi's conversions: arrays in, one preallocated array out.

    One call costs a fraction of a microsecond plus the function itself. Not for use from two
    threads at once.

    Attributes
    ----------
    inputs, output
        Arrays that are read and written in place.
    call
        Evaluates at what stands in ``inputs``; another one after :meth:`renew`.

    """

    def __init__(self, function: ca.Function) -> None:
        """
        Bind buffers to a function with dense inputs and one dense output.

        Parameters
        ----------
        function
            Compiled or not.

        """
        sizes = (function.nnz_in(k) for k in range(function.n_in()))
        self._ends = list(accumulate(sizes, initial=0))
        self._given = np.zeros(self._ends[-1])
        self.inputs = [self._given[a:b] for a, b in pairwise(self._ends)]
        self.output = np.zeros(function.nnz_out(0))
        if not function.sparsity_out(0).is_dense():
            raise ValueError(f'{function.name()}: a dense output is needed')
        self._buffers: list[object] = []  # who holds an earlier `call` may still evaluate by it
        self._bind(newest(function))
        register(self)

    def _bind(self, function: ca.Function) -> None:
        self.function = function
        buffer, self.call = function.buffer()
        for k, array in enumerate(self.inputs):
            buffer.set_arg(k, memoryview(array.data))
        buffer.set_res(0, memoryview(self.output.data))
        self._buffers.append(buffer)

    def renew(self) -> None:
        """Go over to machine code if it is there by now; not while another thread calls it."""
        function = newest(self.function)
        if function is not self.function:
            self._bind(function)

    def __call__(self, *values: ArrayLike) -> Array:
        """Return the output as a new array, entries in column-major order."""
        for array, value in zip(self.inputs, values, strict=True):
            array[:] = value
        self.call()
        return self.output.copy()

    def side_by_side(self, first: int, end: int) -> Array:
        """Return inputs of one size as rows, shape (end - first, size), in their units."""
        return self._given[self._ends[first] : self._ends[end]].reshape(end - first, -1)

    def evaluate(self) -> Array:
        """Evaluate at what stands in ``inputs``; return the output's own array, shape (size,)."""
        self.call()
        return self.output

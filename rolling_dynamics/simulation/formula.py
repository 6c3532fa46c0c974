"""A control that is a formula of time and state: a function of CasADi."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.piece import Piece


class Formula:
    """
    Control u(x, t) given as a casadi.Function.

    A formula of the time alone is evaluated for all instants of a step in one call; one that looks
    at the state becomes a part of the equations, and is compiled with them.

    Attributes
    ----------
    function
        ``(x, t) -> u``, u dense.
    closes_loop
        Whether u depends on the state.

    """

    def __init__(
        self, function: ca.Function, states: int, controls: int, borders: Sequence[float] = ()
    ) -> None:
        """
        Check the function.

        Parameters
        ----------
        function
            ``(x, t) -> u``.
        states, controls
            Lengths of x and u.
        borders
            Times at which the formula jumps [s], borders of steps; a value at a jump is that
            after it.

        """
        sizes = [function.numel_in(k) for k in range(function.n_in())]
        if sizes != [states, 1] or function.numel_out(0) != controls:
            raise ParameterError(
                f'the control must be a function (x, t) -> u of {states} and 1 numbers with '
                f'{controls} numbers, got {function}'
            )
        x, t = ca.MX.sym('x', states), ca.MX.sym('t')
        dense = function.sparsity_out(0).is_dense() and function.n_out() == 1
        u = ca.densify(ca.reshape(function(x, t), controls, 1)) if not dense else None
        self.function = function if u is None else ca.Function('control', [x, t], [u])
        self.closes_loop = self.function.jac_sparsity(0, 0).nnz() > 0
        self._size, self._borders = controls, sorted(borders)

    @property
    def curved(self) -> bool:
        """Whether the steps have to be told what the control comes to within them."""
        return not self.closes_loop

    @cached_property
    def _fast(self) -> FastFunction:
        return FastFunction(self.function)

    def __call__(self, t: float, x: Array | None = None) -> Array:
        """Return the control; not finite values are the integrator's to refuse."""
        if x is None:
            x = np.zeros(self.function.numel_in(0))
        return self._fast(x, t)

    def at(self, _piece: Piece, t: float, x: Array) -> Array:
        """Return the control at a time and a state."""
        return self(t, x)

    @cached_property
    def _over(self) -> dict[int, FastFunction]:
        return {}

    def over(self, times: Array) -> Array:
        """Return the controls at times, one after the other; the array is overwritten later."""
        count = times.size
        if count not in self._over:
            nothing = ca.DM.zeros(self.function.numel_in(0))
            t: Any = (ca.SX if self.function.is_a('SXFunction') else ca.MX).sym('t')
            single = ca.Function('control', [t], [ca.densify(self.function(nothing, t))])
            self._over[count] = FastFunction(single.map(count))
        fast = self._over[count]
        fast.inputs[0][:] = times
        return fast.evaluate()

    def sample(self, times: Array, states: Array) -> Array:
        """Return the controls at many times and states, shape (M, size)."""
        if not times.size:
            return np.zeros((0, self._size))
        return np.array(self.function(states.T, times[None, :])).T

    def pieces(self, start: float, end: float) -> list[Piece]:
        """Return the time between the jumps; the formula is added to what the pieces say."""
        zero = np.zeros(self._size)
        cuts = [start, *(t for t in self._borders if start < t < end), end]
        return [Piece(a, b, zero, zero) for a, b in pairwise(cuts) if b > a]

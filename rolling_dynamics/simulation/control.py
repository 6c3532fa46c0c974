"""Controls as functions of time and state: pieces, formulas, tables, feedback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
import inspect
from itertools import pairwise
import math
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.dormand_prince import INSTANTS


@dataclass(frozen=True, eq=False)
class Piece:
    """
    An interval of time in which the control is linear in time.

    Attributes
    ----------
    start, end
        Times [s].
    value
        Control at ``start``.
    slope
        Its rate.

    """

    start: float
    end: float
    value: Array
    slope: Array


class Formula:
    """
    Control u(x, t) given as a casadi.Function.

    A formula of the time alone is evaluated for all instants of a step in one call. A formula of
    the state becomes a part of the equations and is compiled with them.

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
            Times at which the formula jumps [s], which become borders of steps; its value at a
            jump is the one after it.

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
        """True if steps need the control's values within them."""
        return not self.closes_loop

    @cached_property
    def _fast(self) -> FastFunction:
        return FastFunction(self.function)

    def __call__(self, t: float, x: Array | None = None) -> Array:
        """Return the control; the integrator rejects values that are not finite."""
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
        """Return the controls at times, in order; the array is overwritten later."""
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
        """Return the intervals between jumps; the formula is added to the pieces' values."""
        zero = np.zeros(self._size)
        cuts = [start, *(t for t in self._borders if start < t < end), end]
        return [Piece(a, b, zero, zero) for a, b in pairwise(cuts) if b > a]


Samples = tuple[ArrayLike, ArrayLike]
ControlLike: TypeAlias = ArrayLike | Samples | ca.Function | Callable[..., ArrayLike] | None


class PiecewiseLinear:
    """Control given by samples; held before the first and after the last, jumps allowed."""

    curved = closes_loop = False

    def __init__(self, times: ArrayLike, values: ArrayLike, size: int) -> None:
        """
        Check the samples.

        Parameters
        ----------
        times
            Times [s], shape (N,), never decreasing; a repeated time is a jump.
        values
            Controls, shape (N, size).
        size
            Length of the control.

        """
        self.times: Array = np.array(times, dtype=float).reshape(-1)
        self.values: Array = np.array(values, dtype=float)
        n = self.times.size
        if n == 0 or self.values.shape != (n, size):
            raise ParameterError(
                f'control samples: {n} times need values of shape ({n}, {size}), got '
                f'{self.values.shape}'
            )
        if not (np.isfinite(self.times).all() and np.isfinite(self.values).all()):
            raise ParameterError('control samples: times and values must be finite')
        if (self.times[1:] < self.times[:-1]).any():
            raise ParameterError('control samples: times must not decrease')

    def __call__(self, t: float, _x: Array | None = None) -> Array:
        """Return the control at time t; at a jump, the value after it."""
        times, values = self.times, self.values
        k = int(np.searchsorted(times, t, side='right'))
        before, after = values[max(k - 1, 0)], values[min(k, times.size - 1)]
        if k in (0, times.size):
            return np.array(before)
        s = (t - times[k - 1]) / (times[k] - times[k - 1])
        return np.asarray((1 - s) * before + s * after)

    def sample(self, times: Array, _states: Array) -> Array:
        """Return the controls at many times, shape (M, size)."""
        if self.times.size == 1:
            return np.repeat(self.values, times.size, axis=0)
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 2)
        length = self.times[k + 1] - self.times[k]
        s = (times - self.times[k]) / np.where(length > 0, length, 1.0)
        s = np.clip(np.where(length > 0, s, 1.0), 0.0, 1.0)[:, None]
        return np.asarray((1 - s) * self.values[k] + s * self.values[k + 1])

    def at(self, piece: Piece, t: float, _x: Array) -> Array:
        """Return the control at a time within a piece."""
        return piece.value + piece.slope * (t - piece.start)

    def over(self, times: Array) -> Array:
        """Return zeros of a control: the pieces have its values."""
        return np.zeros(times.size * self.values.shape[1])

    def pieces(self, start: float, end: float) -> list[Piece]:
        """Return the linear pieces between two times."""
        inner = self.times[(self.times > start) & (self.times < end)].tolist()
        cuts = [start, *dict.fromkeys(inner), end]  # a jump is two equal times
        out = []
        for a, b in pairwise(cuts):
            value, middle = self(a), self((a + b) / 2)
            slope = (middle - value) / ((b - a) / 2) if b > a else np.zeros_like(value)
            out.append(Piece(a, b, value, slope))
        return out


class Timed:
    """Control given by a function of many times at once, smooth between borders."""

    curved, closes_loop = True, False

    def __init__(self, function: Callable[[Array], Array], borders: ArrayLike) -> None:
        """
        Wrap a function.

        Parameters
        ----------
        function
            ``times (N,) -> controls (N, size)``; at a jump, the value after it.
        borders
            Times of jumps or kinks [s], which become borders of steps, increasing.

        """
        self._function = function
        self._borders: Array = np.array(borders, dtype=float).reshape(-1)
        # for steps as long as a piece, evaluated at once
        self._starts, self._times, self._values = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0))
        self._first: dict[float, Array] = {}

    def __call__(self, t: float, _x: Array | None = None) -> Array:
        """Return the control at time t."""
        return np.asarray(self._function(np.array([t]))[0])

    def at(self, piece: Piece, t: float, _x: Array) -> Array:
        """Return the control at a time within a piece; at its end, the value before a jump."""
        if t == piece.start and t in self._first:
            return self._first[t]
        return self(min(t, math.nextafter(piece.end, -math.inf)))

    def over(self, times: Array) -> Array:
        """Return the controls at times, in order."""
        k = int(np.searchsorted(self._starts, times[0], side='right')) - 1
        if 0 <= k < len(self._starts) and np.array_equal(times, self._times[k]):
            return np.asarray(self._values[k])  # the step is a whole piece
        return self._function(times).reshape(-1)

    def sample(self, times: Array, _states: Array) -> Array:
        """Return the controls at many times, shape (M, size)."""
        return self._function(times)

    def pieces(self, start: float, end: float) -> list[Piece]:
        """Return the intervals between borders; the function is added to the pieces' values."""
        inner = self._borders[(self._borders > start) & (self._borders < end)]
        zero = np.zeros(self(start).size)
        cuts = np.array([start, *inner.tolist(), end])
        lengths, last = np.diff(cuts)[:, None], np.nextafter(cuts[1:], -math.inf)[:, None]
        self._times = np.minimum(cuts[:-1, None] + INSTANTS * lengths, last)
        values = self._function(self._times.reshape(-1))
        self._starts, self._values = cuts[:-1], values.reshape(len(lengths), -1)
        self._first = dict(zip(self._starts.tolist(), self._function(self._starts), strict=True))
        return [Piece(a, b, zero, zero) for a, b in pairwise(cuts.tolist())]


class Feedback:
    """Control given by a function of time, or of time and state, checked at each call."""

    def __init__(self, function: Callable[..., ArrayLike], size: int) -> None:
        """Wrap a function of t or (t, x)."""
        self._size, self.closes_loop = size, _takes_state(function)
        self._function: Callable[..., ArrayLike] = (
            function if self.closes_loop else lambda t, _: function(t)
        )

    def __call__(self, t: float, x: Array | None = None) -> Array:
        """Return the control; the integrator rejects values that are not finite."""
        u = np.asarray(self._function(t, x), dtype=float).reshape(-1)
        if u.size != self._size:
            raise ParameterError(
                f'the control function gave {u.size} numbers at t = {t:.9g} s; {self._size} are '
                'needed'
            )
        return u

    def sample(self, times: Array, states: Array) -> Array:
        """Return the controls at many times and states, shape (M, size)."""
        values = [self(float(t), x) for t, x in zip(times, states, strict=True)]
        return np.reshape(values, (len(values), self._size))

    def pieces(self, start: float, end: float) -> list[Piece]:
        """Return the total time as one piece."""
        zero = np.zeros(self._size)
        return [Piece(start, end, zero, zero)]


StepControl: TypeAlias = PiecewiseLinear | Formula | Timed  # known over a step


def as_control(control: ControlLike, size: int, states: int) -> StepControl | Feedback:
    """
    Convert a control of any accepted type to one of three classes.

    Parameters
    ----------
    control
        An array of shape (size,), held; ``(times, values)``, piecewise linear; a casadi.Function
        ``(x, t) -> u``; a :class:`Timed`; a Python function of t or of (t, x); None for zero.
    size, states
        Lengths of the control and of the state.

    Raises
    ------
    ParameterError
        The shape is wrong or a value is not finite.

    """
    if isinstance(control, ca.Function):
        return Formula(control, states, size)
    if isinstance(control, StepControl):
        return control
    if callable(control):
        return Feedback(control, size)
    if control is None:
        return PiecewiseLinear([0.0], np.zeros((1, size)), size)
    if isinstance(control, tuple) and len(control) == 2 and np.ndim(control[1]) == 2:
        return PiecewiseLinear(control[0], control[1], size)
    held = np.asarray(control, dtype=float)
    if held.shape != (size,):
        raise ParameterError(
            f'control takes {size} numbers, (times, values) or a function, got shape {held.shape}'
        )
    return PiecewiseLinear([0.0], held[None, :], size)


def _takes_state(function: Callable[..., ArrayLike]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [
        q
        for q in parameters
        if q.kind in (q.POSITIONAL_ONLY, q.POSITIONAL_OR_KEYWORD) and q.default is q.empty
    ]
    return len(positional) >= 2

"""Controls of a simulation: held, piecewise linear in time, or any function of time and state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import inspect
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError

Samples = tuple[ArrayLike, ArrayLike]
ControlLike = ArrayLike | Samples | Callable[..., ArrayLike] | None


@dataclass(frozen=True, eq=False)
class Piece:
    """
    A stretch of time in which the control is a straight line in time.

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
    value: NDArray[np.float64]
    slope: NDArray[np.float64]


class PiecewiseLinear:
    """Control given by samples; held before the first and after the last, jumps allowed."""

    def __init__(self, times: ArrayLike, values: ArrayLike, size: int) -> None:
        """
        Check the samples.

        Parameters
        ----------
        times
            Times [s], shape (N,), never decreasing; a time that stands twice is a jump.
        values
            Controls, shape (N, size).
        size
            Length of the control.

        """
        self.times: NDArray[np.float64] = np.array(times, dtype=float).reshape(-1)
        self.values: NDArray[np.float64] = np.array(values, dtype=float)
        n = self.times.size
        if n == 0 or self.values.shape != (n, size):
            raise ParameterError(
                f'control samples: {n} times need values of shape ({n}, {size}), got '
                f'{self.values.shape}'
            )
        if not (np.all(np.isfinite(self.times)) and np.all(np.isfinite(self.values))):
            raise ParameterError('control samples: times and values must be finite')
        if np.any(np.diff(self.times) < 0):
            raise ParameterError('control samples: times must not decrease')

    def __call__(self, t: float, _x: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the control at time t; at a jump, the value after it."""
        times, values = self.times, self.values
        k = int(np.searchsorted(times, t, side='right'))
        before, after = values[max(k - 1, 0)], values[min(k, times.size - 1)]
        if k in (0, times.size):
            return np.array(before)
        s = (t - times[k - 1]) / (times[k] - times[k - 1])
        return np.asarray((1 - s) * before + s * after)

    def sample(
        self, times: NDArray[np.float64], _states: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the controls at many times, shape (M, size)."""
        if self.times.size == 1:
            return np.repeat(self.values, times.size, axis=0)
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 2)
        length = self.times[k + 1] - self.times[k]
        s = (times - self.times[k]) / np.where(length > 0, length, 1.0)
        s = np.clip(np.where(length > 0, s, 1.0), 0.0, 1.0)[:, None]
        return np.asarray((1 - s) * self.values[k] + s * self.values[k + 1])

    def pieces(self, start: float, end: float) -> list[Piece]:
        """Return the straight pieces between two times."""
        inner = np.unique(self.times[(self.times > start) & (self.times < end)])
        cuts = [start, *inner.tolist(), end]
        out = []
        for a, b in pairwise(cuts):
            value, middle = self(a), self((a + b) / 2)
            slope = (middle - value) / ((b - a) / 2) if b > a else np.zeros_like(value)
            out.append(Piece(a, b, value, slope))
        return out


class Feedback:
    """Control given by a function of time, or of time and state, checked at each call."""

    def __init__(self, function: Callable[..., ArrayLike], size: int) -> None:
        """Wrap a function of t or (t, x)."""
        self._size = size
        self._function: Callable[..., ArrayLike] = (
            function if _takes_state(function) else lambda t, _: function(t)
        )

    def __call__(self, t: float, x: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the control; not finite values are the integrator's to refuse."""
        u = np.asarray(self._function(t, x), dtype=float).reshape(-1)
        if u.size != self._size:
            raise ParameterError(
                f'the control function gave {u.size} numbers at t = {t:.9g} s; {self._size} are '
                'needed'
            )
        return u

    def sample(
        self, times: NDArray[np.float64], states: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the controls at many times and states, shape (M, size)."""
        values = [self(float(t), x) for t, x in zip(times, states, strict=True)]
        return np.array(values).reshape(-1, self._size)


def as_control(control: ControlLike, size: int) -> PiecewiseLinear | Feedback:
    """
    Return a control of any accepted kind in one of two forms.

    Parameters
    ----------
    control
        An array of shape (size,), held; ``(times, values)``, piecewise linear; a function of t or
        of (t, x); None for zero.
    size
        Length of the control.

    Raises
    ------
    ParameterError
        The shape is wrong or a value is not finite.

    """
    if callable(control):
        return control if isinstance(control, PiecewiseLinear) else Feedback(control, size)
    if control is None:
        return PiecewiseLinear([0.0], np.zeros((1, size)), size)
    if isinstance(control, tuple) and len(control) == 2 and np.ndim(control[1]) == 2:
        return PiecewiseLinear(*control, size)
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

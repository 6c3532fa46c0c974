"""A control as a function of state and time."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.control import ControlLike, Formula

Samples = tuple[NDArray[np.float64], NDArray[np.float64]]


class Control:
    """
    What drives a system; call it as ``control(t, x)``.

    Attributes
    ----------
    layout
        Layout of u.
    samples
        Times [s], shape (N,), and values, shape (N, m), of a control that is linear between them;
        a time that stands twice is a jump. None for any other.
    borders
        Times at which it jumps [s], where it is not samples.

    """

    def __init__(
        self,
        function: ca.Function | None,
        layout: Layout,
        samples: Samples | None = None,
        borders: tuple[float, ...] = (),
        states: int = 0,
    ) -> None:
        """
        Take a function, samples, or both.

        Parameters
        ----------
        function
            ``(x, t) -> u``, u dense; made of the samples where it is asked for, if None.
        layout, samples, borders
            See the attributes.
        states
            Length of x, where there is no function to say it.

        """
        if function is None and samples is None:
            raise ParameterError('a control needs a function or samples')
        self._given, self._states = function, states
        self.layout, self.samples, self.borders = layout, samples, borders

    @cached_property
    def function(self) -> ca.Function:
        """``(x, t) -> u``."""
        if self._given is not None:
            return self._given
        x, t = ca.SX.sym('x', self._states), ca.SX.sym('t')
        assert self.samples is not None  # noqa: S101 (checked at the start)
        times, values = self.samples
        columns = [straight_between(t, times, column) for column in values.T]
        u = ca.vertcat(*columns) if columns else ca.SX(0, 1)
        return ca.Function('control', [x, t], [ca.densify(u)])

    def __call__(self, t: float, x: ArrayLike) -> NDArray[np.float64]:
        """Return u, shape (m,)."""
        if self._given is not None or self.samples is None:
            return self._fast(x, t)
        times, values = self.samples  # as the function of them has it, without making that
        k = int(np.searchsorted(times[1:], t, side='right'))
        if k >= times.size - 1:
            return np.array(values[-1])
        share = (t - times[k]) / (times[k + 1] - times[k])
        return np.asarray(values[k] + share * (values[k + 1] - values[k]))

    @cached_property
    def _fast(self) -> FastFunction:
        return FastFunction(self.function)

    @cached_property
    def held(self) -> NDArray[np.float64] | None:
        """The value of a control that depends on neither time nor state, else None."""
        x, t = ca.SX.sym('x', self.function.size1_in(0)), ca.SX.sym('t')
        u = self.function(x, t)
        if ca.depends_on(u, ca.vertcat(x, t)):
            return None
        return np.array(ca.evalf(u), dtype=float).reshape(-1)

    @property
    def simplest(self) -> ControlLike:
        """The form that is simulated fastest: samples, held, or a formula of (x, t)."""
        if self.samples is not None:
            return self.samples
        held = self.held
        if held is not None:
            return held
        states = self.function.numel_in(0)
        return Formula(self.function, states, self.layout.size, self.borders)


def straight_between(t: ca.SX, times: NDArray[np.float64], values: NDArray[np.float64]) -> ca.SX:
    """
    Return what is straight between the points and may jump where a time stands twice.

    Times [s] and values, in the unit of what is returned, both of shape (N,).
    """
    out = ca.SX(float(values[-1]))
    for k in range(times.size - 2, -1, -1):
        if times[k + 1] == times[k]:
            continue
        share = (t - times[k]) / (times[k + 1] - times[k])
        piece = values[k] + share * (values[k + 1] - values[k])
        out = ca.if_else(t < times[k + 1], piece, out)
    return out

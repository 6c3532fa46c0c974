"""A control as a function of state and time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.layout import Layout
from rolling_dynamics.simulation.control import ControlLike
from rolling_dynamics.simulation.formula import Formula


@dataclass(frozen=True, eq=False)
class Control:
    """
    What drives a system; call it as ``control(t, x)``.

    Attributes
    ----------
    function
        ``(x, t) -> u``, u dense.
    layout
        Layout of u.
    samples
        Times [s], shape (N,), and values, shape (N, m), of a control that is linear between them;
        None for any other.
    borders
        Times at which it jumps [s], where it is no samples.

    """

    function: ca.Function
    layout: Layout
    samples: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    borders: tuple[float, ...] = ()

    def __call__(self, t: float, x: ArrayLike) -> NDArray[np.float64]:
        """Return u, shape (m,)."""
        return self._fast(x, t)

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
        """The form that is simulated fastest: held, samples, or a formula of (x, t)."""
        held = self.held
        if held is not None:
            return held
        if self.samples is not None:
            return self.samples
        states = self.function.numel_in(0)
        return Formula(self.function, states, self.layout.size, self.borders)

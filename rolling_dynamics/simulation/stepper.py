"""Fixed-step integration for the real-time loop: one generated function a step."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.simulation.projection import projection


class Stepper:
    """
    Classical Runge-Kutta steps of order 4 with a held control.

    The state is projected on the constraints after each step. Not for use from two threads at
    once.
    """

    def __init__(
        self, system: RollingSystem, p: ArrayLike, max_step: float = 1e-3, mode: str | None = None
    ) -> None:
        """
        Compile the step.

        Parameters
        ----------
        system
            The system.
        p
            Its parameters, shape (parameters.size,).
        max_step
            Longest internal step [s]; a longer ``dt`` is divided evenly.
        mode
            Name of the mode; the first if None.

        """
        if not (math.isfinite(max_step) and max_step > 0):
            raise ParameterError(f'max_step must be positive and finite [s], got {max_step!r}')
        self.system, self.max_step = system, max_step
        self._function = FastFunction(compiled(_step(system, mode))[0])
        self._x, self._u, self._t, self._h, self._p = self._function.inputs
        p = np.asarray(p, dtype=float)
        if p.shape != self._p.shape:
            raise ParameterError(f'p takes {self._p.size} numbers, got shape {p.shape}')
        self._p[:] = p

    def step(self, x: ArrayLike, u: ArrayLike, dt: float, t: float = 0.0) -> NDArray[np.float64]:
        """
        Return the state after dt seconds of the control u.

        Parameters
        ----------
        x
            State, shape (state.size,).
        u
            Control, held, shape (control.size,).
        dt
            Duration [s], zero or positive.
        t
            Time at the start [s]; matters to systems that depend on it.

        Returns
        -------
        NDArray[np.float64]
            Shape (state.size,), a new array.

        Raises
        ------
        ParameterError
            dt is negative or not a number.
        SimulationError
            The result is not finite.

        """
        if not (math.isfinite(dt) and dt >= 0):
            raise ParameterError(f'dt must be zero or positive and finite [s], got {dt!r}')
        self._x[:] = x
        self._u[:] = u
        steps = max(1, math.ceil(dt / self.max_step * (1 - 1e-12)))
        h = dt / steps
        self._h[0] = h
        out = self._function.output
        for k in range(steps):
            self._t[0] = t + k * h
            self._function.evaluate()
            self._x[:] = out
        result = out.copy()
        if not math.isfinite(result.sum()):
            raise SimulationError(
                f'the state is no longer finite after the step from t = {t:.9g} s by {dt:.3g} s'
            )
        return result


def _step(system: RollingSystem, mode: str | None) -> ca.Function:
    """Return ``(x, u, t, h, p) -> x`` as one function."""
    f = system.modes[mode or next(iter(system.modes))].dynamics
    x, u = ca.MX.sym('x', system.state.size), ca.MX.sym('u', system.control.size)
    t, h = ca.MX.sym('t'), ca.MX.sym('h')
    p = ca.MX.sym('p', system.parameters.size)
    k1 = f(x, u, t, p)
    k2 = f(x + h / 2 * k1, u, t + h / 2, p)
    k3 = f(x + h / 2 * k2, u, t + h / 2, p)
    k4 = f(x + h * k3, u, t + h, p)
    y = projection(system)(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), p)
    return ca.Function('rk4_step', [x, u, t, h, p], [y], ['x', 'u', 't', 'h', 'p'], ['y'])

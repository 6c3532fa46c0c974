"""
Linearisation of a system along a trajectory, in discrete time and in the tangent space.

d_(k+1) = A_k d_k + B_k e_k, where d is the difference of states (attitudes as turns, never
quaternions entrywise) and e a change of control held over the step. The derivatives are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled
from rolling_dynamics.rolling_system import RollingSystem


class LinearSteps(NamedTuple):
    """Linearised steps: A of shape (k, n, n), B of shape (k, n, m)."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]


class Linearization:
    """Compiled linearisation of one Runge-Kutta step of order 4."""

    def __init__(self, system: RollingSystem) -> None:
        """Differentiate and compile a step of the first mode."""
        f = next(iter(system.modes.values())).dynamics
        n, m = system.tangent.size, system.control.size
        x, x_next = (ca.SX.sym(s, system.state.size) for s in ('x', 'x_next'))
        d, e = ca.SX.sym('d', n), ca.SX.sym('e', m)
        u0, u1 = ca.SX.sym('u0', m), ca.SX.sym('u1', m)
        t, h, p = ca.SX.sym('t'), ca.SX.sym('h'), ca.SX.sym('p', system.parameters.size)
        start, middle = system.retract(x, d), (u0 + u1) / 2 + e
        k1 = f(start, u0 + e, t, p)
        k2 = f(start + h / 2 * k1, middle, t + h / 2, p)
        k3 = f(start + h / 2 * k2, middle, t + h / 2, p)
        k4 = f(start + h * k3, u1 + e, t + h, p)
        end = start + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        J = ca.jacobian(system.difference(end, x_next), ca.vertcat(d, e))
        J = ca.substitute(J, ca.vertcat(d, e), ca.DM.zeros(n + m))
        self._n, self._m = n, m
        self._jacobian = compiled(
            ca.Function('linear_step', [x, x_next, u0, u1, t, h, p], [ca.densify(J)])
        )[0]

    def along(
        self,
        p: NDArray[np.float64],
        times: NDArray[np.float64],
        states: NDArray[np.float64],
        controls: NDArray[np.float64],
    ) -> LinearSteps:
        """
        Return the linearised steps between the times of a trajectory.

        Parameters
        ----------
        p
            Parameters of the system.
        times, states, controls
            Shapes (k + 1,), (k + 1, n), (k + 1, m); the control goes straight in between.

        Returns
        -------
        LinearSteps
            k steps.

        """
        k = len(times) - 1
        J = self._jacobian.map(k)(
            states[:-1].T,
            states[1:].T,
            controls[:-1].T,
            controls[1:].T,
            times[:-1][None],
            np.diff(times)[None],
            p,
        )
        jacobians = np.array(J).T.reshape(k, self._n + self._m, self._n).transpose(0, 2, 1)
        return LinearSteps(jacobians[:, :, : self._n], jacobians[:, :, self._n :])

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
from rolling_dynamics.compiled import compiled_once, FastFunction
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.stepper import step_of_order_4

Array = NDArray[np.float64]
DERIVATION = 'steps 1'  # changes with how they follow from the dynamics


class LinearSteps(NamedTuple):
    """Linearised steps: A of shape (k, n, n), B of shape (k, n, m)."""

    A: Array
    B: Array


def ramp_step(system: RollingSystem) -> ca.Function:
    """Return ``(x, u0, u1, t, h, p) -> x``: a Runge-Kutta step of order 4, the control a ramp."""
    f = next(iter(system.modes.values())).dynamics
    x, t, h = ca.SX.sym('x', system.state.size), ca.SX.sym('t'), ca.SX.sym('h')
    u0, u1 = (ca.SX.sym(s, system.control.size) for s in ('u0', 'u1'))
    p = ca.SX.sym('p', system.parameters.size)
    u = u0, (u0 + u1) / 2, u1
    _, end = step_of_order_4(lambda at, k: f(at, u[k], (t, t + h / 2, t + h)[k], p), x, h)
    return ca.Function('ramp_step', [x, u0, u1, t, h, p], [ca.densify(end)])


@once_per_system
def step_functions(system: RollingSystem) -> tuple[ca.Function, ca.Function]:
    """Return the compiled ``ramp_step`` and ``(x, x_next, u0, u1, t, h, p) -> (A, B)``."""
    f = next(iter(system.modes.values())).dynamics
    content = ''.join(g.serialize() for g in (f, system.retract, system.difference))
    step, jacobian = compiled_once(
        f'{DERIVATION} {content}',
        ('ramp_step', 'linear_step'),
        lambda: (ramp_step(system), _linear_step(system)),
    )
    return step, jacobian


def _linear_step(system: RollingSystem) -> ca.Function:
    n, m = system.tangent.size, system.control.size
    x, x_next = (ca.SX.sym(s, system.state.size) for s in ('x', 'x_next'))
    d, e = ca.SX.sym('d', n), ca.SX.sym('e', m)
    u0, u1 = ca.SX.sym('u0', m), ca.SX.sym('u1', m)
    t, h, p = ca.SX.sym('t'), ca.SX.sym('h'), ca.SX.sym('p', system.parameters.size)
    end = ramp_step(system)(system.retract(x, d), u0 + e, u1 + e, t, h, p)
    J = ca.jacobian(system.difference(end, x_next), ca.vertcat(d, e))
    J = ca.substitute(J, ca.vertcat(d, e), ca.DM.zeros(n + m))
    return ca.Function('linear_step', [x, x_next, u0, u1, t, h, p], [ca.densify(J)])


class Linearization:
    """Linearised Runge-Kutta steps of order 4. Not for use from two threads at once."""

    def __init__(self, system: RollingSystem) -> None:
        """Take a step of the first mode, compiled once for each system."""
        self._n, self._m = system.tangent.size, system.control.size
        self._jacobian = FastFunction(step_functions(system)[1])

    def along(
        self, p: Array, times: Array, states: Array, ramps: tuple[Array, Array]
    ) -> LinearSteps:
        """
        Return the linearised steps between the times of a trajectory.

        Parameters
        ----------
        p
            Parameters of the system.
        times, states
            Shapes (k + 1,), (k + 1, n).
        ramps
            Controls at the start and at the end of each step, shape (k, m) each; straight in
            between.

        Returns
        -------
        LinearSteps
            k steps.

        """
        self._jacobian.renew()
        x, x_next, u0, u1, t, h, params = self._jacobian.inputs
        params[:] = p
        out = np.empty((len(times) - 1, (self._n + self._m) * self._n))
        for k in range(len(out)):  # call by call, so that other threads have their turns
            x[:], x_next[:] = states[k], states[k + 1]
            u0[:], u1[:] = ramps[0][k], ramps[1][k]
            t[0], h[0] = times[k], times[k + 1] - times[k]
            out[k] = self._jacobian.evaluate()
        J = out.reshape(-1, self._n + self._m, self._n).transpose(0, 2, 1)
        return LinearSteps(J[:, :, : self._n], J[:, :, self._n :])

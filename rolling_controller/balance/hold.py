"""Holding a system still: the equilibrium nearest a state, and the regulator about it."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.equilibrium import STILL
from rolling_controller.balance.kalman_decomposition import UNSTABLE
from rolling_controller.lqr_weights import Limits, LqrWeights
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError

STEPS = 20  # of Newton's method
FAR = 0.2  # greatest distance of an equilibrium from the state, in tangent units
RANK = 1e-9  # share of the greatest singular value below which a direction does not count


def nearest_equilibrium(
    system: RollingSystem, p: ArrayLike, x: ArrayLike, u: ArrayLike | None = None
) -> tuple[Array, Array]:
    """
    Return the state and control nearest to given ones at which the system stays at rest.

    Solves f(x, u) = 0 by Newton's method with the least change of state and control: on a slope it
    finds the torque that holds the robot there.

    Parameters
    ----------
    system, p
        The system and its parameters.
    x
        State near the equilibrium, shape (state.size,).
    u
        Control near that of the equilibrium, shape (control.size,); zero if None.

    Returns
    -------
    tuple of Array
        State and control of the equilibrium.

    Raises
    ------
    ParameterError
        There is no equilibrium near the state: it moves, or no control holds it.

    """
    x0, v = np.array(x, dtype=float), np.zeros(system.control.size)
    if u is not None:
        v = np.array(u, dtype=float)
    y, rate, jacobian = x0, *_rates(system)
    for _ in range(STEPS):
        residual = np.array(rate(y, v, p)).ravel()
        if not np.isfinite(residual).all() or np.abs(residual).max() < STILL / 10:
            break
        J = np.array(jacobian(y, v, p))
        change = np.linalg.lstsq(J, -residual, rcond=RANK)[0]
        y = np.array(system.retract(y, change[: system.tangent.size])).ravel()
        v = v + change[system.tangent.size :]
    residual = np.array(rate(y, v, p)).ravel()
    away = float(np.linalg.norm(np.array(system.difference(y, x0))))
    if not (np.abs(residual).max() < STILL and away <= FAR):
        worst = system.tangent.names[int(np.argmax(np.abs(np.array(rate(x0, v, p)).ravel())))]
        raise ParameterError(
            f'there is no equilibrium near this state: {worst} changes fastest there; give a '
            'state at rest that the controls can hold'
        )
    return y, v


def _rates(system: RollingSystem) -> tuple[ca.Function, ca.Function]:
    """Return the rate of the state in tangent units ``(x, u, p)``, and its Jacobian by (d, u)."""
    f = next(iter(system.modes.values())).dynamics
    x, y = ca.SX.sym('x', system.state.size), ca.SX.sym('y', system.state.size)
    u, d = ca.SX.sym('u', system.control.size), ca.SX.sym('d', system.tangent.size)
    p = ca.SX.sym('p', system.parameters.size)
    turned = ca.jtimes(system.difference(y, x), y, f(y, u, 0, p))
    rate = ca.substitute(turned, y, x)
    J = ca.jacobian(ca.substitute(rate, x, system.retract(x, d)), ca.vertcat(d, u))
    J = ca.substitute(J, d, ca.DM.zeros(d.numel()))
    return (
        ca.Function('rate', [x, u, p], [ca.densify(rate)]),
        ca.Function('rate_jacobian', [x, u, p], [ca.densify(J)]),
    )


class Hold(BalanceLqr):
    """
    Regulator about the equilibrium nearest a state, by the control that holds it there.

    What grows and no control moves is refused; what neither grows nor is moved by a control, such
    as the attitude of a rolling ball, is left as it is and named in ``uncontrollable``.

    Attributes
    ----------
    unstable
        Whether the system leaves the equilibrium without feedback.

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        x: ArrayLike,
        *,
        u: ArrayLike | None = None,
        weights: LqrWeights | None = None,
        control_limits: Limits = math.inf,
    ) -> None:
        """
        Find the equilibrium and solve the Riccati equation about it.

        Parameters
        ----------
        system, p
            The system and its parameters.
        x, u
            State to hold, and a control near the one that holds it; zero if None.
        weights, control_limits
            See :class:`BalanceLqr`.

        Raises
        ------
        ParameterError
            There is no equilibrium near the state, or it cannot be stabilised.

        """
        x, u = nearest_equilibrium(system, p, x, u)
        super().__init__(system, p, x, u=u, weights=weights, control_limits=control_limits)
        rates = np.linalg.eigvals(self.decomposition.A).real
        self.unstable = bool(rates.max(initial=0.0) > UNSTABLE)

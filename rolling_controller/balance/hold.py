"""Holding a system still: the equilibrium nearest a state, and the regulator about it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.equilibrium import STILL, tangent_rate
from rolling_controller.balance.kalman_decomposition import UNSTABLE
from rolling_controller.lqr_weights import Limits, LqrWeights
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError

STEPS = 20  # of Newton's method
FAR = 0.2  # greatest distance of an equilibrium from the state, in tangent units
RANK = 1e-9  # share of the greatest singular value below which a direction does not count


def nearest_equilibrium(
    system: RollingSystem,
    p: ArrayLike,
    x: ArrayLike,
    u: ArrayLike | None = None,
    within: float = FAR,
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
    within
        Greatest distance of the equilibrium from the state, in tangent units.

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
    y, rate = x0, tangent_rate(system)
    for _ in range(STEPS):
        residual, J = (np.array(out) for out in rate(y, v, p))
        residual = residual.ravel()
        if not np.isfinite(residual).all() or np.abs(residual).max() < STILL / 10:
            break
        change = np.linalg.lstsq(J, -residual, rcond=RANK)[0]
        y = np.array(system.retract(y, change[: system.tangent.size])).ravel()
        v = v + change[system.tangent.size :]
    residual = np.array(rate(y, v, p)[0]).ravel()
    away = float(np.linalg.norm(np.array(system.difference(y, x0))))
    if not (np.abs(residual).max() < STILL and away <= within):
        worst = system.tangent.names[int(np.argmax(np.abs(np.array(rate(x0, v, p)[0]))))]
        raise ParameterError(
            f'there is no equilibrium near this state: {worst} changes fastest there; give a '
            'state at rest that the controls can hold'
        )
    return y, v


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
        within: float = FAR,
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
        within
            See :func:`nearest_equilibrium`.

        Raises
        ------
        ParameterError
            There is no equilibrium near the state, or it cannot be stabilised.

        """
        x, u = nearest_equilibrium(system, p, x, u, within)
        super().__init__(system, p, x, u=u, weights=weights, control_limits=control_limits)
        rates = np.linalg.eigvals(self.decomposition.A).real
        self.unstable = bool(rates.max(initial=0.0) > UNSTABLE)

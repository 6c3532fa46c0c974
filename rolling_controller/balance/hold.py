"""Holding a system still: the equilibrium nearest a state, and the regulator about it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.lqr_weights import Limits, LqrWeights
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.equilibrium import FAR, nearest_equilibrium, UNSTABLE


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

"""Throw under feedback, catch, and balance once the object touches; Woodruff & Lynch, VIII-E."""

from __future__ import annotations

import math

import numpy as np
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_planner.laboratory.throw_catch import ThrowCatchPlan


class ThrowCatchLaw:
    """
    The control of a throw and of the balance after the catch.

    Attributes
    ----------
    balancing_since
        Time at which balance took over [s]; None before.

    """

    def __init__(self, plan: ThrowCatchPlan, carry: Law, regulator: BalanceLqr) -> None:
        """
        Put the throw before the balance.

        Parameters
        ----------
        plan
            The throw.
        carry
            Feedback along it up to the release.
        regulator
            Balance at the place of the catch, the object upright there.

        """
        self.plan, self.carry, self.regulator = plan, carry, regulator
        self._beta = regulator.system.state.slice('beta_HO').start
        self.balancing_since: float | None = None

    def reset(self) -> None:
        """Begin anew."""
        self.balancing_since = None

    def command(self, t: float, x: Array, *, touching: bool) -> Array:
        """
        Return the control (alpha_WH_H_y, a_WH_H_x, a_WH_H_z).

        Parameters
        ----------
        t
            Time since the start of the throw [s].
        x
            State of the model of rolling; while the object flies, only the hand's part matters.
        touching
            Whether the object touches the plate, as far as is known.

        """
        rests = self.plan.move.start + self.plan.move.duration
        if self.balancing_since is None and touching and t > rests:
            self.balancing_since = t
        if touching and t < self.plan.carry.duration:
            return self.carry.command(t, x)
        if self.balancing_since is None:
            return self.plan.control_at(t)
        y = np.array(x, dtype=float)
        # upright is every half turn of the ellipse: the nearest one is meant
        away = y[self._beta] - self.regulator.x[self._beta]
        y[self._beta] -= math.pi * round(away / math.pi)
        return self.regulator.command(y)

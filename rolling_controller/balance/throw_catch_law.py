"""Throw under feedback, catch, and balance once the object touches; Woodruff & Lynch, VIII-E."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.hand_over import Phase
from rolling_controller.law import Law, state_inputs, TOUCHING
from rolling_dynamics.arrays import Array
from rolling_planner.laboratory.throw_catch import ThrowCatchPlan


class ThrowCatchLaw:
    """
    The control (alpha_WH_H_y, a_WH_H_x, a_WH_H_z) of a throw and of the balance after the catch.

    Besides the state of the model of rolling it takes the mode. While the object flies, only the
    hand's part of the state matters. See :class:`rolling_controller.law.Law`.
    """

    period: float | None = None
    opaque = ''

    def __init__(self, plan: ThrowCatchPlan, carry: Law[Any], regulator: BalanceLqr) -> None:
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
        self.inputs, self.output = state_inputs(regulator.system, TOUCHING), regulator.output
        self._turn = regulator.system.state.slice('q_HO')

    def start(self, before: Phase | None = None) -> Phase:  # noqa: ARG002
        """Return the memory at the start; see :class:`rolling_controller.law.Law`."""
        return Phase(self.carry.start())

    def step(self, memory: Phase, inputs: ArrayLike, t: float) -> tuple[Phase, Array]:
        """Return the memory, and the control at a time since the start of the throw [s]."""
        x, touching = np.split(np.array(inputs, dtype=float), [-1])
        rests = self.plan.move.start + self.plan.move.duration
        if memory.balancing_since is None and touching and t > rests:
            memory = memory._replace(balancing_since=t)
        if touching and t < self.plan.carry.duration:
            along, u = self.carry.step(memory.along, x, t)
            return memory._replace(along=along), u
        if memory.balancing_since is None:
            return memory, np.array(self.plan.control_at(t))
        # upright is every half turn of the ellipse: the nearest one is meant
        (w, s), upright = x[self._turn], self.regulator.x[self._turn]
        if abs(x[self._turn] @ upright) < math.sqrt(0.5):
            x[self._turn] = -s, w
        return memory, self.regulator.step(None, x, t)[1]

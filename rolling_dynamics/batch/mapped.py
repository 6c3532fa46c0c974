"""Steps of many lanes by CasADi's map: where there is no compiler."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.batch.equations import Equations
from rolling_dynamics.batch.lanes import Array, Lanes
from rolling_dynamics.simulation.runge_kutta import runge_kutta


class MappedKernel:
    """The same steps as those of machine code, ten times slower."""

    compiled = False
    width = 1

    def __init__(self, equations: Equations) -> None:
        """Build the step."""
        self._watch = equations.guards
        x, u, t, p = equations.dynamics.mx_in()
        h = ca.MX.sym('h')
        _, end = runge_kutta(equations.dynamics, x, u, t, h, p)
        y = equations.project(end, p)
        guards = equations.guards(y, u, t + h, p)
        self._step = ca.Function('rk4_step', [x, u, t, h, p], [y, guards])
        self._mapped = self._step, 1

    def rk4(self, lanes: Lanes, h: Array, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :class:`Kernel`."""
        taken = np.zeros(lanes.size, np.int64)
        left = np.flatnonzero(steps > 0)
        for k in range(int(steps.max(initial=0))):
            left = left[steps[left] > k]
            if not left.size:
                break
            given = (lanes.t[left] + k * h[left], h[left])
            y, guards = self._step_of(left.size)(
                lanes.x[:, left], lanes.u[:, left], *(a[None, :] for a in given), lanes.p[:, left]
            )
            states, watched = np.array(y), np.array(guards)
            good = np.isfinite(states.sum(axis=0))
            good &= (watched >= lanes.levels[: len(watched), left]).all(axis=0)
            left = left[good]
            lanes.x[:, left] = states[:, good]
            taken[left] += 1
        return taken

    def _step_of(self, lanes: int) -> ca.Function:
        if self._mapped[1] != lanes:
            self._mapped = self._step.map(lanes), lanes
        return self._mapped[0]

    def guards(self, lanes: Lanes) -> Array:
        """See :class:`Kernel`."""
        found = self._watch.map(lanes.size)(lanes.x, lanes.u, lanes.t[None, :], lanes.p)
        return np.array(found).reshape(-1, lanes.size)

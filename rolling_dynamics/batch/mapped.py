"""Steps of many lanes by CasADi's map: where there is no compiler."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.batch.attempt import Attempt
from rolling_dynamics.batch.equations import Equations
from rolling_dynamics.batch.lanes import Array, Lanes
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.dormand_prince import INSTANTS, POWER, StepOutputs
from rolling_dynamics.simulation.dormand_prince_step import step_function
from rolling_dynamics.simulation.runge_kutta import runge_kutta


class MappedKernel:
    """The same steps as those of machine code, ten times slower."""

    compiled = False
    width = 1

    def __init__(self, equations: Equations, view: RollingSystem) -> None:
        """Build the steps of a system as it is in a mode."""
        self._view = view
        self._watch, self._rates = equations.guards, equations.dynamics
        self._equations = equations
        x, u, t, p = equations.dynamics.mx_in()
        h = ca.MX.sym('h')
        stages, end = runge_kutta(equations.dynamics, x, u, t, h, p)
        y = equations.project(end, p)
        guards = equations.guards(y, u, t + h, p)
        if equations.slip is not None:
            slip, before = equations.slip, equations.slip(x, p)
            turns = [_cosine(before, slip(z, p)) for z in (*stages, y)]
            guards = ca.vertcat(guards, ca.mmin(ca.vertcat(*turns)))
        self._step = ca.Function('rk4_step', [x, u, t, h, p], [y, guards])
        self._mapped = self._step, 1

    def carry(self, lanes: Lanes, number: int, longest: float) -> int:
        """See :class:`Kernel`."""
        todo = (lanes.stop == 0) & (lanes.mode == number) & (lanes.t < lanes.goal)
        span = np.where(todo, lanes.goal - lanes.t, 0.0)
        steps = np.where(todo, np.maximum(np.ceil(span / longest * (1 - 1e-12)), 1), 0)
        h = span / np.maximum(steps, 1)
        taken = self._taken(lanes, h, steps)
        done = taken == steps
        lanes.h[...] = np.where(done, 0.0, h)
        lanes.t[...] = np.where(todo & done, lanes.goal, lanes.t + taken * h)
        return int((~done).sum())

    def _taken(self, lanes: Lanes, h: Array, steps: Array) -> NDArray[np.int64]:
        """Take so many steps of each lane, in place; return how many there were."""
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

    @cached_property
    def _adaptive(self) -> ca.Function:
        e = self._equations
        return step_function(self._view, e.dynamics, e.guards if e.names else None)

    def dop853(
        self, lanes: Lanes, rate: Array, h: Array, asked: Array, tolerance: tuple[float, float]
    ) -> Attempt:
        """See :class:`Kernel`."""
        n, attempt = len(lanes.x), Attempt.empty(len(lanes.x), lanes.size)
        k = np.flatnonzero(asked)
        slope = lanes.slope if lanes.slope.size else np.zeros_like(lanes.u)
        curved = np.zeros((len(lanes.u), INSTANTS.size * k.size))
        out = np.array(
            self._adaptive.map(k.size)(
                np.vstack([lanes.x[:, k], rate[:, k]]),
                *(lanes.u[:, k], slope[:, k], curved, lanes.t[None, k], h[None, k]),
                *(lanes.p[:, k], np.tile(np.reshape(tolerance, (2, 1)), k.size)),
                lanes.levels[: len(self._equations.names), k],
            )
        )
        where = StepOutputs(n, len(self._view.state.entries)).slices
        both = out[where['state']]
        attempt.x[:, k], attempt.rate[:, k] = both[:n], both[n:]
        attempt.error[k], attempt.least[k] = out[where['error']], out[where['least']]
        attempt.dense[:, :, k] = out[where['dense']].reshape(POWER, n, -1)
        return attempt

    def rates(self, lanes: Lanes) -> Array:
        """See :class:`Kernel`."""
        return np.array(self._rates.map(lanes.size)(lanes.x, lanes.u, lanes.t[None, :], lanes.p))

    def guards(self, lanes: Lanes) -> Array:
        """See :class:`Kernel`."""
        found = self._watch.map(lanes.size)(lanes.x, lanes.u, lanes.t[None, :], lanes.p)
        return np.array(found).reshape(-1, lanes.size)


def _cosine(a: ca.MX, b: ca.MX) -> ca.MX:
    """Return the cosine between two velocities, -1 where one of them is zero."""
    size = ca.sqrt(ca.sumsqr(a) * ca.sumsqr(b))
    return ca.if_else(size > 0, ca.dot(a, b) / size, -1)

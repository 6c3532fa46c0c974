"""Trajectories of a batch, their equations, and their steps by CasADi maps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.dormand_prince import INSTANTS, POWER, StepOutputs
from rolling_dynamics.simulation.dormand_prince_step import step_function
from rolling_dynamics.simulation.guards import joined
from rolling_dynamics.simulation.modes import mode_functions
from rolling_dynamics.simulation.stepper import minimum_cosine, runge_kutta

Array = NDArray[Any]
Index = NDArray[np.intp]
NOT_FINITE, NO_EVENT = -1, -2  # instead of a guard


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """
    Columns of a batch, a view of some of them, or a copy of some.

    Attributes
    ----------
    x, u, p, levels
        State, control, parameters, and levels of the guards; a column for each trajectory.
    slope
        Rate of the control; no rows where controls are held.
    t, goal
        Clock and target time [s]; double precision for any number type.
    mode, changes, changed
        Index of the mode; number of its changes in one instant, and the time of that [s].
    h, rejected
        Length of the next step [s], 0 where it is not known yet; whether a step was just rejected.
        With steps of fixed length, the step that contains an event, 0 without one.
    stop
        0 while the trajectory is running; else the index of the reason for its end.

    """

    x: Array
    u: Array
    slope: Array
    p: Array
    levels: Array
    t: Array
    goal: Array
    h: Array
    rejected: Array
    mode: Array
    changes: Array
    changed: Array
    stop: Array

    @classmethod
    def empty(cls, sizes: tuple[int, int, int, int, int], size: int, dtype: str) -> Batch:
        """Return columns of zeros that are not running; sizes are of x, u, slope, p, levels."""
        x, u, slope, p, levels = (np.zeros((n, size), dtype=dtype) for n in sizes)
        return cls(
            x=x,
            u=u,
            slope=slope,
            p=p,
            levels=levels,
            t=np.zeros(size),
            goal=np.zeros(size),
            h=np.zeros(size),
            rejected=np.zeros(size, dtype=bool),
            mode=np.zeros(size, dtype=np.int16),
            changes=np.zeros(size, dtype=np.int16),
            changed=np.full(size, -np.inf),
            stop=np.ones(size, dtype=np.int16),
        )

    @property
    def size(self) -> int:
        """Number of trajectories."""
        return int(self.t.size)

    @cached_property
    def addresses(self) -> dict[str, int]:
        """Address in memory of each array."""
        return {f.name: getattr(self, f.name).ctypes.data for f in fields(self)}

    def part(self, where: slice) -> Batch:
        """Return a view of neighbouring columns."""
        return Batch(**{f.name: getattr(self, f.name)[..., where] for f in fields(self)})

    def copied(self, index: Index) -> Batch:
        """Return a copy of some trajectories, in the order of an index."""
        return Batch(
            **{
                f.name: np.ascontiguousarray(getattr(self, f.name)[..., index])
                for f in fields(self)
            }
        )

    def put(self, index: Index, others: Batch, which: Index) -> None:
        """Copy state, control, clock and step from some of other trajectories."""
        for name in ('x', 'u', 't', 'h', 'rejected'):
            getattr(self, name)[..., index] = getattr(others, name)[..., which]


class Attempt(NamedTuple):
    """
    A step of order 8 of many trajectories.

    Attributes
    ----------
    x, rate
        State at its end, on the constraints, and the rate of that state.
    error
        Error relative to the tolerance; a step below 1 is accepted.
    least
        Lower bound of the guards minus their levels over the step.
    dense
        Terms of the dense output, shape (7, state.size, trajectories).

    """

    x: Array
    rate: Array
    error: Array
    least: Array
    dense: Array

    @classmethod
    def empty(cls, n: int, size: int) -> Attempt:
        """Return uninitialised arrays for the steps of so many trajectories."""
        return cls(
            x=np.empty((n, size)),
            rate=np.empty((n, size)),
            error=np.full(size, np.nan),
            least=np.full(size, np.nan),
            dense=np.empty((POWER, n, size)),
        )


class Equations(NamedTuple):
    """
    Functions of a mode.

    Attributes
    ----------
    dynamics, guards
        ``(x, u, t, p) -> values``.
    watched
        Both in one function, since they have much in common.
    project
        ``(x, p) -> x`` on the constraints.
    slip
        ``(x, p) -> velocity of slip``; None where the mode has none.
    names
        Names of the guards.
    charts
        Number of guards, at the end, that belong to charts.

    """

    dynamics: ca.Function
    project: ca.Function
    guards: ca.Function
    watched: ca.Function
    slip: ca.Function | None
    names: tuple[str, ...]
    charts: int

    @property
    def functions(self) -> tuple[ca.Function, ...]:
        """Functions that are compiled."""
        slip = () if self.slip is None else (self.slip,)
        return self.dynamics, self.project, self.guards, self.watched, *slip


@once_per_system
def equations(system: RollingSystem, mode: str) -> Equations:
    """Return the equations of a mode of a system, the same object each time."""
    these, slip = mode_functions(system, mode), system.modes[mode].slip
    guards = [] if these.guards is None else [these.guards]
    return Equations(
        dynamics=joined('dynamics', system, [these.dynamics]),
        project=_dense('project', these.projection),
        guards=joined('guards', system, guards),
        watched=joined('watched', system, [these.dynamics, *guards]),
        slip=None if slip is None else _dense('slip', slip),
        names=these.names,
        charts=these.charts,
    )


def _dense(name: str, function: ca.Function) -> ca.Function:
    """Return a function ``(x, p)`` as one of scalar expressions."""
    x, p = (ca.SX.sym('xp'[k], function.numel_in(k)) for k in range(2))
    return ca.Function(name, [x, p], [ca.cse(ca.densify(function(x, p)))])


class MappedKernel:
    """The steps of the machine code by CasADi, ten times slower."""

    compiled = False
    width = 1

    def __init__(self, equations: Equations, view: RollingSystem) -> None:
        """Build the steps of a system in a mode."""
        self._view = view
        self._watch, self._rates = equations.guards, equations.dynamics
        self._equations = equations
        x, u, t, p = equations.dynamics.mx_in()
        h = ca.MX.sym('h')
        stages, end = runge_kutta(equations.dynamics, x, u, t, h, p)
        y = equations.project(end, p)
        guards = equations.guards(y, u, t + h, p)
        if equations.slip is not None:
            guards = ca.vertcat(guards, minimum_cosine(equations.slip, x, (*stages, y), p))
        self._step = ca.Function('rk4_step', [x, u, t, h, p], [y, guards])
        self._mapped = self._step, 1

    def carry(self, batch: Batch, number: int, longest: float) -> int:
        """See :class:`.VectorKernel`."""
        todo = (batch.stop == 0) & (batch.mode == number) & (batch.t < batch.goal)
        span = np.where(todo, batch.goal - batch.t, 0.0)
        steps = np.where(todo, np.maximum(np.ceil(span / longest * (1 - 1e-12)), 1), 0)
        h = span / np.maximum(steps, 1)
        taken = self._taken(batch, h, steps)
        done = taken == steps
        batch.h[...] = np.where(done, 0.0, h)
        batch.t[...] = np.where(todo & done, batch.goal, batch.t + taken * h)
        return int((~done).sum())

    def _taken(self, batch: Batch, h: Array, steps: Array) -> NDArray[np.int64]:
        """Take so many steps of each trajectory, in place; return the number of steps taken."""
        taken = np.zeros(batch.size, np.int64)
        left = np.flatnonzero(steps > 0)
        for k in range(int(steps.max(initial=0))):
            left = left[steps[left] > k]
            if not left.size:
                break
            given = (batch.t[left] + k * h[left], h[left])
            y, guards = self._step_of(left.size)(
                batch.x[:, left], batch.u[:, left], *(a[None, :] for a in given), batch.p[:, left]
            )
            states, watched = np.array(y), np.array(guards)
            good = np.isfinite(states.sum(axis=0))
            good &= (watched >= batch.levels[: len(watched), left]).all(axis=0)
            left = left[good]
            batch.x[:, left] = states[:, good]
            taken[left] += 1
        return taken

    def _step_of(self, size: int) -> ca.Function:
        if self._mapped[1] != size:
            self._mapped = self._step.map(size), size
        return self._mapped[0]

    @cached_property
    def _adaptive(self) -> ca.Function:
        e = self._equations
        return step_function(self._view, e.dynamics, e.guards if e.names else None)

    def dop853(
        self, batch: Batch, rate: Array, h: Array, asked: Array, tolerance: tuple[float, float]
    ) -> Attempt:
        """See :class:`.VectorKernel`."""
        n, attempt = len(batch.x), Attempt.empty(len(batch.x), batch.size)
        k = np.flatnonzero(asked)
        slope = batch.slope if batch.slope.size else np.zeros_like(batch.u)
        curved = np.zeros((len(batch.u), INSTANTS.size * k.size))
        out = np.array(
            self._adaptive.map(k.size)(
                np.vstack([batch.x[:, k], rate[:, k]]),
                *(batch.u[:, k], slope[:, k], curved, batch.t[None, k], h[None, k]),
                *(batch.p[:, k], np.tile(np.reshape(tolerance, (2, 1)), k.size)),
                batch.levels[: len(self._equations.names), k],
            )
        )
        where = StepOutputs(n, len(self._view.state.entries)).slices
        both = out[where['state']]
        attempt.x[:, k], attempt.rate[:, k] = both[:n], both[n:]
        attempt.error[k], attempt.least[k] = out[where['error']], out[where['least']]
        attempt.dense[:, :, k] = out[where['dense']].reshape(POWER, n, -1)
        return attempt

    def rates(self, batch: Batch) -> Array:
        """See :class:`.VectorKernel`."""
        return np.array(self._rates.map(batch.size)(batch.x, batch.u, batch.t[None, :], batch.p))

    def guards(self, batch: Batch) -> Array:
        """See :class:`.VectorKernel`."""
        found = self._watch.map(batch.size)(batch.x, batch.u, batch.t[None, :], batch.p)
        return np.array(found).reshape(-1, batch.size)

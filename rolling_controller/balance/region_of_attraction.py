"""
Region from which a balance regulator returns the system to rest without losing contact.

The regulator's cost to go V serves as the measure. The region is V <= level, for the highest level
at which all sampled states of that value converge in the simulated closed loop, within the limits
of control and contact. It is an estimate by sampling, not a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import BalanceLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.batch.trajectories import equations
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.compiled_solver import closed_loop

HOME = 1e-2  # fraction of V at the start below which a run has come home
HALVINGS = 12
LOOK = 0.1  # s between looks at whether runs have come home
STEP = 4e-3  # s, maximum step of the simulated loop, in which the law acts continuously
GREATEST = 1e3  # level that is tried


@dataclass(frozen=True, eq=False)
class RegionOfAttraction:
    """
    States with a cost to go of at most ``level``.

    Attributes
    ----------
    regulator
        The regulator.
    level
        Maximum V.
    samples
        Number of states of this value that were tried.
    limit
        Limit that the first runs from outside the region reach: the name of a guard, or the time.

    """

    regulator: BalanceLqr
    level: float
    samples: int
    limit: str = ''

    def contains(self, x: ArrayLike) -> bool:
        """Return whether a state lies in the region."""
        return self.regulator.value(x) <= self.level


def region_of_attraction(
    regulator: BalanceLqr,
    *,
    samples: int = 500,
    duration: float | None = None,
) -> RegionOfAttraction:
    """
    Return the region found by sampling.

    Parameters
    ----------
    regulator
        The regulator, with its limits of control.
    samples
        States tried on the border of each level.
    duration
        Time in which a run must converge [s]. If None: 3 s or six times the regulator's slowest
        time constant, whichever is longer.

    Raises
    ------
    ParameterError
        Not even the lowest level brings every sample to rest.

    Examples
    --------
    >>> from rolling_controller import Hold, region_of_attraction
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spin_rolling_ball')
    >>> hold = Hold(s.system, s.p, s.x0, control_limits=1.0)
    >>> region_of_attraction(hold, samples=4).contains(hold.x)
    True

    """
    if duration is None:
        duration = max(3.0, 6 * regulator.slowest)
    directions = _unit_levels(regulator, samples, np.random.default_rng(0))
    obstacle, limit = _Border(regulator, directions, duration).obstacle, ''
    high = low = GREATEST
    while found := obstacle(low):
        high, low, limit = low, low / 4, found
        if low < 1e-12 * GREATEST:
            raise ParameterError(
                'no region of attraction: the closed loop does not come home from anywhere near '
                f'({limit}); check weights, limits of control and the time given'
            )
    for _ in range(HALVINGS):
        if high <= low * 1.02:
            break
        middle = float(np.sqrt(low * high))
        found = obstacle(middle)
        low, high = (low, middle) if found else (middle, high)
        limit = found or limit
    return RegionOfAttraction(regulator, low, samples, limit)


def _unit_levels(regulator: BalanceLqr, samples: int, rng: np.random.Generator) -> list[Array]:
    """Return tangent vectors of V = 1 in random directions of what can be controlled."""
    basis = regulator.basis
    S = basis.T @ regulator.cost @ basis
    root = np.linalg.cholesky((S + S.T) / 2)
    out = []
    for _ in range(samples):
        direction = rng.normal(size=len(S))
        out.append(basis @ np.linalg.solve(root.T, direction / np.linalg.norm(direction)))
    return out


class _Border:
    """Closed loops that start from tangent vectors of V = 1 times a size, all at once."""

    def __init__(self, regulator: BalanceLqr, directions: list[Array], duration: float) -> None:
        self._regulator, self._directions = regulator, np.array(directions).T
        self._looks, self._late = round(duration / LOOK), f'not home after {duration:g} s'
        system = regulator.system
        loop = closed_loop(system, regulator.law)
        mode, n = next(iter(loop.modes)), len(directions)
        self._batch = BatchSimulator(loop, n, LOOK, max_step=STEP, mode=mode, threads=1)
        self._guards = equations(loop, mode).guards.map(n)
        self._names = list(loop.modes[mode].guards)
        self._retract, self._difference = system.retract.map(n), system.difference.map(n)
        self._home = np.tile(regulator.x, (n, 1)).T

    def obstacle(self, level: float) -> str:
        """Return what keeps runs from V = level from coming home; empty if all do."""
        batch, p = self._batch, self._regulator.p
        x = np.array(self._retract(self._home, np.sqrt(level) * self._directions))
        u = np.zeros(self._regulator.u.size)
        given = (np.tile(a, (batch.size, 1)).T for a in (u, 0.0, p))
        margins = np.array(self._guards(x, *given)).min(axis=1)
        if not (margins > 0).all():
            return self._names[int(margins.argmin())]
        goal, home = HOME * self._values(x), np.zeros(batch.size, bool)
        batch.reset(states=x.T, parameters=p)
        for _ in range(self._looks):
            batch.step(u)
            home |= batch.running & (self._values(batch.states.T) < goal)
            if home.all() or not (batch.running | home).all():
                break
        stopped = batch.stopped[~home & ~batch.running]
        ended, counts = np.unique(stopped, return_counts=True)
        late = '' if home.all() else self._late
        return str(ended[counts.argmax()]) if ended.size else late

    def _values(self, x: Array) -> Array:
        """Return the cost to go of states, shape (n, samples)."""
        d = np.array(self._difference(x, self._home))
        return np.asarray(np.sum(d * (self._regulator.cost @ d), axis=0))

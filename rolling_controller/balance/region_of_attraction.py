"""
Region from which a balance regulator brings the system home without losing contact.

The regulator's cost to go V serves as the measure. The region is V <= level for the greatest level
at which every one of many sampled states of that value comes home in the simulated closed loop,
with its limits of control and contact; an estimate by sampling, not a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.simulation import Stepper

HOME = 1e-2  # share of V at the start below which a run has come home
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class RegionOfAttraction:
    """
    States with a cost to go of at most ``level``.

    Attributes
    ----------
    regulator
        The regulator.
    level
        Greatest V.
    samples
        How many states of this value were tried.

    """

    regulator: BalanceLqr
    level: float
    samples: int

    def contains(self, x: ArrayLike) -> bool:
        """Tell whether a state lies in the region."""
        return self.regulator.value(x) <= self.level


def region_of_attraction(
    regulator: BalanceLqr,
    *,
    samples: int = 60,
    duration: float = 3.0,
    dt: float = 4e-3,
    greatest: float = 1e3,
    seed: int = 0,
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
        Time in which a run must come home [s].
    dt
        Period of the control in the simulated loop [s].
    greatest
        Greatest level that is tried.
    seed
        Of the directions.

    Raises
    ------
    ParameterError
        Not even the least level brings every sample home.

    """
    runner = _Runner(regulator, duration, dt)
    borders = _unit_levels(regulator, samples, np.random.default_rng(seed))

    def holds(level: float) -> bool:
        return all(runner.comes_home(np.sqrt(level) * d) for d in borders)

    high = greatest
    low = high
    while not holds(low):
        high, low = low, low / 4
        if low < 1e-12 * greatest:
            raise ParameterError(
                'no region of attraction: the closed loop does not come home from anywhere near; '
                'check weights, limits of control and the time given'
            )
    for _ in range(HALVINGS):
        if high <= low * 1.02:
            break
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return RegionOfAttraction(regulator, low, samples)


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


class _Runner:
    """Runs the closed loop from a tangent vector at the equilibrium."""

    def __init__(self, regulator: BalanceLqr, duration: float, dt: float) -> None:
        system = regulator.system
        self.regulator, self.dt, self.steps = regulator, dt, round(duration / dt)
        self._stepper = Stepper(system, regulator.p, max_step=dt)
        mode = next(iter(system.modes.values()))
        x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
        t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
        guards = [g(x, u, t, p) for g in mode.guards.values()]
        least = ca.mmin(ca.vertcat(1, *guards))
        self._margin = FastFunction(ca.Function('margin', [x, u, t, p], [ca.densify(least)]))
        self._margin.inputs[3][:] = regulator.p

    def comes_home(self, d: Array) -> bool:
        """Tell whether the closed loop brings a state home, in contact all the way."""
        regulator = self.regulator
        x = np.array(regulator.system.retract(regulator.x, d)).ravel()
        goal = HOME * regulator.value(x)
        for k in range(self.steps):
            u = regulator.command(x)
            self._margin.inputs[0][:], self._margin.inputs[1][:] = x, u
            if not self._margin.evaluate()[0] > 0:
                return False
            try:
                x = self._stepper.step(x, u, self.dt)
            except SimulationError:
                return False
            if k % 25 == 24 and regulator.value(x) < goal:
                return True
        return False

"""First guesses of machines whose driven bodies carry or roll others: straight to the goal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import DrivenContacts, offers
from rolling_dynamics.simulation.guards import projection
from rolling_planner.problem import PlanProblem
from rolling_planner.seeds.guess import Guess

STEPS = 20  # of a segment, by the midpoint rule
REACHED = 0.01  # error of a configuration (m, rad) from which on the guess is of use
HALF, WELL = 0.5, 0.9  # fraction of the way ahead that may be missed, until well along it
KEPT = 1e3  # weight of closed contacts over the way to the goal
LAST = 1 - 1e-6  # fraction of the way after which its direction is kept
BARRIER = 1e-6  # of a guess at which the solver need not look around


class _Straight:
    """
    Speeds for which contacts roll at their depth and configurations go straight to a goal.

    Attributes
    ----------
    at, driven
        Numbers of all speeds in the state, and of those that are prescribed, which come last.
    places
        Numbers of the configurations that the goal names.

    """

    def __init__(self, problem: PlanProblem, rows: ca.Function, *names: Sequence[str]) -> None:
        """Take a problem, and the driven contacts of its machine."""
        layout, self.problem, self.rows = problem.system.state, problem, rows
        every = np.arange(layout.size)
        self.at, self.driven = (np.concatenate([every[layout.slice(n)] for n in m]) for m in names)
        self.goal, matters = problem.goal_state
        self.places = np.setdiff1d(np.flatnonzero(matters), self.at)
        self._dynamics = next(iter(problem.system.modes.values())).dynamics
        by = self._by_controls(problem.x_start)[1]
        still = np.flatnonzero(np.abs(by).max(axis=1, initial=0.0) == 0)
        self._still = np.eye(len(self.at))[still + len(self.at) - len(self.driven)]

    def _rates(self, states: Array, controls: Array) -> Array:
        """Return rates of states or under controls, each in a column."""
        return np.array(self._dynamics(states, controls, 0.0, self.problem.p))

    def __call__(self, x: Array, way: float) -> tuple[Array, Array, float]:
        """Return rate of the state, speeds, and the fraction of the way ahead that is missed."""
        u, n = np.zeros(self.problem.system.control.size), len(self.at)
        units = np.tile(x[:, None], n + 1)
        units[self.at] = np.eye(n, n + 1)
        columns = self._rates(units, u)
        by = columns[:, :-1] - columns[:, -1:]
        by[self.at] = 0.0
        rows, free = np.array(self.rows(x, self.problem.p)), n - len(self.driven)
        loose = np.eye(free, n)
        loose[:, :free] -= np.linalg.pinv(rows[:, :free], rcond=1e-9) @ rows[:, :free]
        kept = KEPT * np.vstack([rows, loose, self._still])
        ahead = (self.goal - x)[self.places] / (1.0 - min(way, LAST))
        wanted = np.append(np.zeros(len(kept)), ahead)
        speeds = np.linalg.lstsq(np.vstack([kept, by[self.places]]), wanted, rcond=1e-9)[0]
        missed = np.linalg.norm(by[self.places] @ speeds - ahead)
        return by @ speeds, speeds, float(missed / (np.linalg.norm(ahead) + 1e-300))

    def control(self, x: Array, acceleration: Array) -> Array:
        """Return the control (m) nearest to zero with which prescribed speeds have rates."""
        free, by = self._by_controls(x)
        return np.asarray(np.linalg.lstsq(by, acceleration - free, rcond=None)[0])

    def _by_controls(self, x: Array) -> tuple[Array, Array]:
        """Return rates of the prescribed speeds without control, and by each active control."""
        names = self.problem.system.control.names
        units = np.diag([float(name in self.problem.active_controls) for name in names])
        columns = self._rates(x, np.column_stack([units, 0 * units[0]]))[self.driven]
        return columns[:, -1], columns[:, :-1] - columns[:, -1:]


def carried_guesses(problem: PlanProblem) -> Iterator[Guess]:
    """
    Yield the motion straight to the goal in which contacts roll and keep their depth.

    The speeds are the least that do so, by a polynomial of degree five in time, at rest at both
    ends; what contacts leave free stays. Nothing is yielded where that does not arrive, such as
    where only a loop turns a ball.
    """
    contacts = offers(problem.system, DrivenContacts)
    if contacts is None or contacts.driven_contacts is None:
        return
    straight = _Straight(problem, *contacts.driven_contacts)
    project = projection(problem.system)
    time = np.linspace(0.0, 1.0, STEPS * problem.segments + 1)
    way = time**3 * (10 - 15 * time + 6 * time**2)
    pace = 30 * time**2 * (1 - time) ** 2 / problem.horizon
    x, states = np.array(problem.x_start), []
    for k, s in enumerate(way):
        rate, speeds, missed = straight(x, s)
        if s < WELL and missed > HALF:
            return
        states.append(x.copy())
        states[-1][straight.at] = pace[k] * speeds
        if k + 1 < len(way):
            h = way[k + 1] - s
            middle, *_ = straight(x + h / 2 * rate, s + h / 2)
            x = np.array(project(x + h * middle, problem.p)).ravel()
    if np.abs((x - straight.goal)[straight.places]).max(initial=0.0) > REACHED:
        return
    path = np.array(states)
    pushed = np.gradient(path[:, straight.driven], problem.horizon * time, axis=0)[::STEPS]
    nodes = path[::STEPS]
    controls = np.array([straight.control(y, a) for y, a in zip(nodes, pushed, strict=True)])
    times = problem.horizon * time[::STEPS]
    yield Guess.from_samples(times, nodes, controls, BARRIER, 'carried')

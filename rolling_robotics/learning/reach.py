"""The task of any machine: reach the goal of its scenario's plan."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.learning.tasks import Batch, less_effort, near, Observed, Task, Verdict

SPREAD = 0.02  # of starts, over the scale of an entry
ARRIVED = 0.1  # of its scale, within which each entry of a goal is reached
MOST = 1e3  # greatest observation, in the unit of an entry


class _Closed(Protocol):
    def placed(self, p: ArrayLike, x: ArrayLike) -> Array:
        """Return the nearest state with closed contacts that roll."""


class ReachGoal(Task):
    """
    Any machine reaches the goal that the section ``plan`` of a scenario names.

    Observed is the deviation from the goal in tangent units, of all entries. Actions are the
    controls over their limits, or over one where there is none. Deviations of what the goal names
    count over the scales of their entries: the reward is 0.24 where they are what they are at the
    start, and near 1 at the goal. Guards of the system end an episode. Success: each within a
    tenth of its scale.
    """

    dt, max_step, steps = 0.02, 2e-3, 500

    def __init__(self, *, scenario: str | Mapping[str, Any] = 'ball_on_plate_hard') -> None:
        """Take a scenario, by its file, its name or its entries."""
        self.described = scenario  # type: ignore[misc]  # of this task, not of the class
        found = load_scenario(scenario)
        problem = read_problem(found)
        if problem.object_goal:
            raise ParameterError(
                f'goal.{next(iter(problem.object_goal))}: this environment takes goals of the '
                'state, not of the object in the world'
            )
        system, x0 = found.system, found.x0
        goal, matters = problem.goal_state
        self._goal, self._difference, self._retract = goal, system.difference, system.retract
        self._scale = np.array([e.scale for e in system.tangent.entries for _ in range(e.size)])
        self._counted = np.zeros(system.tangent.size, dtype=bool)
        for entry, turn in zip(system.state.entries, system.tangent.entries, strict=True):
            named, where = matters[system.state.slice(entry.name)], system.tangent.slice(turn.name)
            self._counted[where] = named.any() if entry.kind == 'quaternion' else named
            if entry.name in problem.free_axes:
                self._counted[where.start + problem.free_axes[entry.name]] = False
        self._far = max(float(self._distance(self._errors(x0[None]))[0]), ARRIVED)

    @cached_property
    def actions(self) -> Mapping[str, float]:  # type: ignore[override]
        """Component of the control -> its limit, one where it has none."""
        names, limits = self.scenario.system.control.names, self.scenario.control_limits
        most = np.full(len(names), np.inf) if limits is None else np.asarray(limits, dtype=float)
        return dict(zip(names, np.where(np.isfinite(most), most, 1.0).tolist(), strict=True))

    @cached_property
    def observed(self) -> tuple[Observed, ...]:  # type: ignore[override]
        """Deviations from the goal, an entry each of the tangent space."""
        return tuple(
            Observed(name=f'{e.name} from the goal', unit=e.unit, size=e.size, most=MOST)
            for e in self.scenario.system.tangent.entries
        )

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state near the start of the scenario; the goal is its own."""
        d = SPREAD * np.where(self._counted, self._scale, 0.0)
        d *= rng.uniform(-1, 1, d.size)
        closed = offers(self.scenario.system, _Closed)
        for nearer in (1.0, 0.1, 0.01, 0.0):  # until contacts that closed at the start close
            x = np.array(self._retract(self.scenario.x0, nearer * d)).ravel()
            with suppress(ParameterError):
                return x if closed is None else closed.placed(self.scenario.p, x), np.zeros(0)
        return x, np.zeros(0)

    def observe(self, batch: Batch) -> Array:
        """Return the deviations from the goal, shape (size, n), units as in ``observed``."""
        return self._errors(batch.states)

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """Reward a small deviation from the goal; actions [1] have shape (size, m)."""
        errors = self._errors(batch.states)
        within = np.abs(errors) <= ARRIVED * self._scale
        return Verdict(
            reward=near(self._distance(errors), self._far) * less_effort(actions),
            success=np.asarray((within | ~self._counted).all(axis=1)),
            failed=np.zeros(len(errors), dtype=bool),
        )

    def _errors(self, states: Array) -> Array:
        goals = np.tile(self._goal[:, None], len(states))
        return np.array(self._difference(states.T, goals)).T

    def _distance(self, errors: Array) -> Array:
        columns = (errors / self._scale).T[self._counted]
        out = np.zeros(len(errors))
        for column in columns:  # in one order, however many motions there are
            out += column**2
        return np.sqrt(out)

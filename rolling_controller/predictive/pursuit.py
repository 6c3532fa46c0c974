"""
Pursuit of a goal: the predictive law on plans that are made anew where that is worth it.

A new plan begins at the state that is predicted for the time at which it will be there, so that
it takes over without a jump. It is wanted when the goal moved, when a push took the motion so far
from its plan that the end would be missed, and when the plan is over and the goal is not reached:
a ball at rest comes to its attitude by a loop, which no feedback about rest can find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.predictive.law import PredictiveLaw
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_error

Array = NDArray[np.float64]
Answer = Callable[[], Plan | None]  # raises RollingError where there is no plan
Ask = Callable[[PlanProblem], Answer]


@dataclass(frozen=True, kw_only=True, slots=True)
class Replanning:
    """
    When a plan is made anew.

    Attributes
    ----------
    lead
        Time from the wish for a plan until it takes over [s]; shorter than the horizon.
    tolerance
        Goal error up to which nothing is done about it (m, rad, m/s, rad/s).
    deviation
        Expected goal error at the end of a plan, from which on a new one is made on the way.
    settle
        Time after the end of a plan, or after a failure, before the goal is judged [s].
    least, most
        Shortest and longest plan, over the horizon of the problem.
    averaging
        Time constant of the mean over which the goal error is judged at rest [s].

    """

    lead: float = 0.4
    tolerance: float = 5e-3
    deviation: float = 0.3
    settle: float = 0.3
    least: float = 0.5
    most: float = 1.5
    averaging: float = 0.05


class _Awaited(NamedTuple):
    """A plan that was asked for: its answer, and when it takes over [s]."""

    answer: Answer
    at: float


class Pursuit:
    """
    A law that brings a system to a goal that may move; see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    law
        The predictive law, on the newest plan.
    problem
        What plans are asked for; its start, horizon and warm start change.
    replans, failures
        How many plans took over, and how many could not be made or came late.
    trouble
        Why the last one could not, or the empty string.

    """

    def __init__(
        self,
        law: PredictiveLaw,
        problem: PlanProblem,
        ask: Ask,
        replanning: Replanning | None = None,
    ) -> None:
        """
        Take over a law on a first plan.

        Parameters
        ----------
        law
            The law on the first plan.
        problem
            What that plan was made for.
        ask
            Has a plan made, and returns what gives it: None as long as it is not there. It may do
            all of it in the call, or elsewhere.
        replanning
            When plans are made anew.

        """
        self.law, self._ask, self._options = law, ask, replanning or Replanning()
        self._first = problem
        self._unit = max(goal_error(problem, problem.x_start), self._options.tolerance)
        self.replans, self.failures, self.trouble = 0, 0, ''
        self._awaited: _Awaited | None = None
        self._quiet_until, self._stretch = 0.0, 1.0
        self._mean: tuple[float, Array] | None = None
        self.pursue(dict(_whole_goal(problem)))
        self._moved = False

    def pursue(self, goal: Mapping[str, ArrayLike | None]) -> None:
        """
        Change the goal, entries that are not named staying as they are.

        Raises
        ------
        ParameterError
            It is no goal of the problem; the old one stays.

        """
        wanted = {**_whole_goal(self._first), **goal}
        self.problem = replace(self._first, goal=wanted)
        self._first = self.problem
        self._moved = True

    def command(self, t: float, x: ArrayLike) -> Array:
        """Return the control at a time [s] in a state; see :class:`PredictiveLaw`."""
        x = np.asarray(x, dtype=float)
        if self._awaited is not None:
            self._take_over(t, self._awaited)
        elif self._wanted(t, x):
            self._request(t)
        return self.law.command(t, x)

    def error(self, x: Array) -> float:
        """Return the goal error of a state."""
        return goal_error(self.problem, x)

    def _wanted(self, t: float, x: Array) -> bool:
        """Tell whether a new plan is worth it."""
        mean, end = self._averaged(t, x), self.law.reference.end
        if self._moved:
            return True
        if t < self._quiet_until:
            return False
        if t < end:
            return self.law.expected_miss(t, x) > self._options.deviation
        settled = t >= end + self._options.settle
        return settled and self.error(mean) > self._options.tolerance

    def _averaged(self, t: float, x: Array) -> Array:
        """Return the state without most of its noise, at rest."""
        system, before = self.law.system, self._mean
        if before is None or t < self.law.reference.end:
            self._mean = t, x
            return x
        share = min((t - before[0]) / self._options.averaging, 1.0)
        d = share * np.array(system.difference(x, before[1])).ravel()
        mean = np.array(system.retract(before[1], d)).ravel()
        self._mean = t, mean
        return mean

    def _request(self, t: float) -> None:
        """Ask for a plan from where the prediction is at its beginning."""
        at, policy = t + self._options.lead, self.law.policy
        if policy is None:
            return
        start = self.law.moved_to(policy.state_at(at))
        miss = goal_error(self.problem, start)
        options, horizon = self._options, self._first.horizon
        share = np.clip(np.sqrt(miss / self._unit), options.least, options.most)
        try:
            problem = replace(
                self.problem,
                x_start=start,
                horizon=float(share * self._stretch * horizon),
                warm_start=None,
            )
            self._awaited = _Awaited(self._ask(problem), at)
        except RollingError as e:
            self._fail(t, str(e))
        self._moved = False

    def _take_over(self, t: float, awaited: _Awaited) -> None:
        """Follow the plan that was asked for when its time has come."""
        if t < awaited.at - 1e-9:
            return
        try:
            plan = awaited.answer()
            if plan is None:
                raise ParameterError(f'no plan came within {self._options.lead:g} s')
            reference = self.law.reference_of(plan, origin=awaited.at)
        except RollingError as e:
            self._fail(t, str(e))
            return
        self.law.follow(reference)
        self._awaited, self.trouble = None, ''
        self.replans += 1
        self._stretch = 1.0
        self._mean = None
        self._quiet_until = t + self._options.settle

    def _fail(self, t: float, why: str) -> None:
        """Note that there is no plan; the next one gets more time."""
        self._awaited = None
        self.failures += 1
        self.trouble = why
        self._stretch = min(self._stretch * 1.3, 2.0)
        self._quiet_until = t + self._options.settle
        self._moved = False


def _whole_goal(problem: PlanProblem) -> dict[str, ArrayLike | None]:
    """Return a goal with what it has by default from its start, which will be another one."""
    x, matters = problem.goal_state
    goal: dict[str, ArrayLike | None] = dict(problem.goal)
    for entry in problem.system.state.entries:
        where = problem.system.state.slice(entry.name)
        if matters[where].all():
            goal[entry.name] = x[where]
    return goal

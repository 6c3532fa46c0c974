"""
Pursuit of a goal: the predictive law on plans that are made anew where that is worth it.

A new plan begins at the state that is predicted for the time at which it will be there, so that
it takes over without a jump. It is wanted when the goal moved, when a push or what was learned of
the model took the motion so far from its plan that the end would be missed, and when the plan is
over and the goal is not reached: a ball at rest comes to its attitude by a loop, which no feedback
about rest can find. As long as there is time for it, a new plan ends when the old one would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.predictive.policy import Policy
from rolling_dynamics.contract.capabilities import offers, RestGoal
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
        Goal error at rest up to which nothing is done about it (m, rad).
    deviation
        Expected goal error at the end of a plan, from which on a new one is made on the way.
    learned
        Relative change of a parameter from which on a plan is made anew on the way.
    settle
        Time after a new plan, a failure, or the end of a plan, before small errors matter [s].
    shortest
        Time left of a plan below which it is not made anew before its end [s].
    least, most
        Shortest and longest plan from rest, over the horizon of the problem.

    """

    lead: float = 0.25
    tolerance: float = 7e-3
    deviation: float = 0.01
    learned: float = 0.01
    settle: float = 0.2
    shortest: float = 0.6
    least: float = 0.5
    most: float = 1.5


class _Awaited(NamedTuple):
    """A plan that was asked for: its answer, when it takes over [s], and for what it is."""

    answer: Answer
    at: float
    problem: PlanProblem


class Pursuit:
    """
    A law that brings a system to a goal that may move; see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    law
        The predictive law, on the newest plan.
    problem
        What plans are asked for; start, parameters, horizon and warm start change.
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
        self.problem = replace(problem, goal=_whole_goal(problem))
        self._unit = max(goal_error(problem, problem.x_start), self._options.tolerance)
        self.replans, self.failures, self.trouble = 0, 0, ''
        self._awaited: _Awaited | None = None
        self._quiet_until, self._stretch, self._moved = 0.0, 1.0, False
        self._known, self._horizon = law.p, problem.horizon

    def pursue(self, goal: Mapping[str, ArrayLike | None]) -> None:
        """
        Change the goal, in units of the state; entries that are not named stay as they are.

        Raises
        ------
        ParameterError
            It is no goal of the problem; the old one stays.

        """
        self.problem = replace(self.problem, goal={**self.problem.goal, **goal})
        self._moved, self._quiet_until = True, -np.inf

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
        options, end = self._options, self.law.reference.end
        if t < self._quiet_until:
            return False
        if self._moved:
            return True
        if t >= end:
            expected = self._missed(self.law.expected_end(t, x))
            if t < end + options.settle:
                return expected > options.deviation
            return min(self._missed(x), expected) > options.tolerance
        if end - t - options.lead < options.shortest:
            return False
        learned = np.abs(self.law.p - self._known) > options.learned * np.abs(self._known)
        return bool(learned.any()) or self.law.expected_miss(t, x) > options.deviation

    def _missed(self, x: Array) -> float:
        """Return the goal error without what comes to rest by itself."""
        resting = offers(self.law.system, RestGoal)
        layout, x = self.law.system.state, np.array(x)
        if resting is not None:
            for name in resting.rest_goal(x):
                x[layout.slice(name)] = self.problem.goal_state[0][layout.slice(name)]
        return self.error(x)

    def _request(self, t: float) -> None:
        """Ask for a plan from where the prediction is at its beginning."""
        at, policy = t + self._options.lead, self.law.policy
        if policy is None:
            return
        start = self.law.moved_to(policy.state_at(at))
        left = self.law.reference.end - at
        on_the_way = left >= self._options.shortest and not self._moved
        horizon = left if on_the_way else max(left, self._duration(start))
        try:
            problem = replace(
                self.problem,
                p=self.law.p,
                x_start=start,
                horizon=float(self._stretch * horizon),
                start_controls=self._going_on(policy, at),
                warm_start=self.law.reference.rest_of_plan(at) if on_the_way else None,
            )
            self._awaited = _Awaited(self._ask(problem), at, problem)
        except RollingError as e:
            self._fail(t, str(e))

    def _going_on(self, policy: Policy, at: float) -> dict[str, float]:
        """Return the predicted controls at a time [s], for a plan that takes over then."""
        u = np.clip([np.interp(at, policy.times, c) for c in policy.controls.T], *self.law.limits)
        names = self.law.system.control.names
        return {n: float(u[names.index(n)]) for n in self.problem.active_controls}

    def _duration(self, start: Array) -> float:
        """Return how long a plan from a state is to last [s]: a loop grows as the root of it."""
        share = np.sqrt(goal_error(self.problem, start) / self._unit)
        return float(np.clip(share, self._options.least, self._options.most) * self._horizon)

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
        self._stretch, self._known = 1.0, awaited.problem.p
        self._moved = self._moved and awaited.problem.goal is not self.problem.goal
        self._quiet_until = t + self._options.settle

    def _fail(self, t: float, why: str) -> None:
        """Note that there is no plan; the next one gets more time."""
        self._awaited = None
        self.failures += 1
        self.trouble = why
        self._stretch = min(self._stretch * 1.3, 2.0)
        self._quiet_until = t + self._options.settle


def _whole_goal(problem: PlanProblem) -> dict[str, ArrayLike | None]:
    """Return a goal with what it has by default from its start, which will be another one."""
    x, matters = problem.goal_state
    goal = dict(problem.goal)
    for entry in problem.system.state.entries:
        where = problem.system.state.slice(entry.name)
        if matters[where].all():
            goal[entry.name] = x[where]
    return goal

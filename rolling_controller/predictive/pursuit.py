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
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import Course
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.reference import Reference
from rolling_dynamics.contract.capabilities import CarriedObject, offers, RestGoal
from rolling_dynamics.errors import RollingError
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_error
from rolling_planner.problem.object_motion import object_entry
from transforms3d.quaternions import mat2quat

Array = NDArray[np.float64]
Answer = Callable[[], Plan | None]  # raises RollingError where there is no plan
Ask = Callable[[PlanProblem], Answer]
LOOKED_AHEAD = 0.9  # share of the horizon that a plan may wait for


@dataclass(frozen=True, kw_only=True, slots=True)
class Replanning:
    """
    When a plan is made anew.

    Attributes
    ----------
    lead
        Time from the wish for a plan until it takes over [s]; shorter than the horizon. One that
        came late lengthens it for the next.
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
    tries
        Plans that fail, one after another, before a goal half as far takes the place of one that
        moved, or what is missed at rest is left.
    halvings
        How often that is done; then the goal is given up, and the plan before goes on.

    """

    lead: float = 0.25
    tolerance: float = 7e-3
    deviation: float = 0.01
    learned: float = 0.01
    settle: float = 0.2
    shortest: float = 0.6
    least: float = 0.5
    most: float = 1.5
    tries: int = 3
    halvings: int = 3


class _Awaited(NamedTuple):
    """A plan that was asked for: its answer, when it takes over [s], and for what it is."""

    answer: Answer
    at: float
    problem: PlanProblem
    reference: Future[Reference] | None = None  # once the plan came


class Pursuit:
    """
    A law that brings a system to a goal that may move; see :class:`rolling_controller.law.Law`.

    :meth:`pursue` may be called from another thread.

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
    shortfall
        Why the goal that is pursued is not the one asked for, or the empty string.

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
        self.replans, self.failures, self.trouble, self.shortfall = 0, 0, '', ''
        self._awaited: _Awaited | None = None
        self._designer = ThreadPoolExecutor(1, 'reference')
        self._quiet_until, self._stretch, self._moved = 0.0, 1.0, False
        self._lead, self._in_turn, self._halved, self._failed_at = self._options.lead, 0, 0, 0.0
        self._known, self._horizon = law.p, problem.horizon

    def pursue(self, goal: Mapping[str, ArrayLike | None], *, alone: bool = False) -> None:
        """
        Change the goal.

        Parameters
        ----------
        goal
            Wanted values by name, in units of the state; entries that are not named stay as they
            are.
        alone
            Whether those, but for what comes to rest, are free from now on.

        Raises
        ------
        ParameterError
            It is no goal of the problem; the old one stays.

        """
        before = self.problem.goal
        if alone:
            resting = offers(self.law.system, RestGoal)
            kept = {} if resting is None else resting.rest_goal(self.problem.x_start)
            before = {name: value for name, value in before.items() if name in kept}
        self.problem = replace(self.problem, goal={**before, **goal})
        self.shortfall, self._in_turn, self._halved = '', 0, 0
        self._moved, self._quiet_until = True, -np.inf

    @property
    def course(self) -> Course:
        """The motion that is kept; its end is open as long as a plan is awaited."""
        reference = self.law.reference
        end = max(reference.end, self._failed_at) + 2 * self._options.settle
        return Course(
            reference.times,
            reference.states,
            np.inf if self._moved or self._awaited is not None else end,
            reference.plan.states[-1],
            self.shortfall,
        )

    def command(self, t: float, x: ArrayLike) -> Array:
        """Return the control at a time [s] in a state; see :class:`PredictiveLaw`."""
        x = np.asarray(x, dtype=float)
        self._attend(t, x)
        return self.law.command(t, x)

    def predict(self, t: float, x: Array) -> Policy | None:
        """Return the policy from a time [s] and state on; see :meth:`PredictiveLaw.predict`."""
        self._attend(t, x)
        return self.law.predict(t, x)

    def _attend(self, t: float, x: Array) -> None:
        """Take over a plan that is there, or ask for one that is wanted."""
        if self._awaited is not None:
            self._take_over(t, self._awaited)
        elif self._wanted(t, x):
            self._request(t)

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
            hopeful = self._in_turn < options.tries
            return hopeful and min(self._missed(x), expected) > options.tolerance
        if end - t - self._lead < options.shortest:
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
        at, policy = t + self._lead, self.law.policy
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
        u = np.clip(policy.control_at(at), *self.law.limits)
        names = self.law.system.control.names
        return {n: float(u[names.index(n)]) for n in self.problem.active_controls}

    def _duration(self, start: Array) -> float:
        """Return how long a plan from a state is to last [s]: a loop grows as the root of it."""
        share = np.sqrt(self._missed(start) / self._unit)
        return float(np.clip(share, self._options.least, self._options.most) * self._horizon)

    def _take_over(self, t: float, awaited: _Awaited) -> None:
        """Have the plan that was asked for made a reference, and follow it in its time."""
        try:
            if awaited.reference is None and (plan := awaited.answer()) is not None:
                coming = self._designer.submit(self.law.reference_of, plan, awaited.at)
                self._awaited = awaited = awaited._replace(reference=coming)
            if t < awaited.at - 1e-9:
                return
            if awaited.reference is None:
                self._come_late(t)
                return
            reference = awaited.reference.result()
        except RollingError as e:
            self._fail(t, str(e))
            return
        self.law.follow(reference)
        self._moved = self._moved and awaited.problem.goal is not self.problem.goal
        self._awaited, self.trouble = None, ''
        self.replans += 1
        self._stretch, self._known, self._in_turn = 1.0, awaited.problem.p, 0
        self._quiet_until = t + self._options.settle

    def _come_late(self, t: float) -> None:
        """Note that a plan is not there in time; the next one gets a longer lead."""
        horizon, lead = self.law.horizon, self._lead
        self._lead = min(1.5 * lead, LOOKED_AHEAD * horizon.stages * horizon.step)
        self._fail(t, f'no plan came within {lead:.3g} s', late=self._lead > lead)

    def _fail(self, t: float, why: str, *, late: bool = False) -> None:
        """Note that there is no plan; unless it was late, the next one gets more time."""
        self._awaited, self.trouble, self._failed_at = None, why, t
        self.failures += 1
        self._quiet_until = t + self._options.settle
        if late:
            return
        self._in_turn += 1
        self._stretch = min(self._stretch * 1.3, 2.0)
        if self._moved and self._in_turn >= self._options.tries:
            self._come_nearer(why)

    def _come_nearer(self, why: str) -> None:
        """Go half of the way to a goal that no plan leads to, or give it up."""
        reached, told = self.law.reference.plan.states[-1], 'stays where it was led before'
        if self._halved < self._options.halvings:
            self.problem = replace(self.problem, goal=_halfway(self.problem, reached))
            self._halved, self._in_turn = self._halved + 1, 0
            told = f'goes to {0.5**self._halved:.3g} of the way'
        else:
            self._moved = False
        self.shortfall = f'the goal is out of reach ({why}); it {told}'


def problem_of(law: PredictiveLaw) -> PlanProblem:
    """Return the problem of coming to where the plan of a law ends, and to rest, within limits."""
    system, plan = law.system, law.reference.plan
    moving, end = set(law.used.moving.tolist()), plan.states[-1]
    numbers = range(system.tangent.size)
    moved = (
        entry.name
        for entry, turn in zip(system.state.entries, system.tangent.entries, strict=True)
        if moving.intersection(numbers[system.tangent.slice(turn.name)])
    )
    resting = offers(system, RestGoal)
    rest = {} if resting is None else resting.rest_goal(plan.states[0])
    active = {system.control.names[k]: k for k in law.used.active}
    low, high = law.limits
    limits = {name: (float(low[k]), float(high[k])) for name, k in active.items()}
    return PlanProblem(
        system=system,
        p=law.p,
        x_start=plan.states[0],
        goal={name: end[system.state.slice(name)] for name in moved if name not in rest},
        horizon=plan.duration,
        active_controls=list(active),
        control_limits={n: pair for n, pair in limits.items() if np.isfinite(pair).all()},
    )


def _halfway(problem: PlanProblem, x: Array) -> dict[str, ArrayLike | None]:
    """Return the goal half as far from a state; rest is wanted all the same."""
    out, layout = dict(problem.goal), problem.system.state
    resting = offers(problem.system, RestGoal)
    rest = {} if resting is None else resting.rest_goal(x)
    for name, value in problem.goal.items():
        if value is None or name in rest:
            continue
        here, there = _numbers_of(problem, name, x), np.asarray(value, dtype=float).reshape(-1)
        turns = name == 'q_WO' or (name in layout and layout.entry(name).kind == 'quaternion')
        middle = here + np.copysign(1.0, here @ there) * there if turns else (here + there) / 2
        out[name] = middle / np.linalg.norm(middle) if turns else middle
    return out


def _numbers_of(problem: PlanProblem, name: str, x: Array) -> Array:
    """Return what a state has of a name of a goal."""
    layout, carrying = problem.system.state, offers(problem.system, CarriedObject)
    if name in layout:
        return x[layout.slice(name)]
    if name in layout.names or carrying is None:
        return x[[layout.names.index(name)]]
    entry, where = object_entry(name)
    value = np.array(carrying.object_motion(entry)(x, problem.p)).ravel()
    return np.array(mat2quat(value.reshape(3, 3).T) if value.size == 9 else value[where])


def _whole_goal(problem: PlanProblem) -> dict[str, ArrayLike | None]:
    """Return a goal with what it has by default from its start, which will be another one."""
    x, matters = problem.goal_state
    goal = dict(problem.goal)
    for entry in problem.system.state.entries:
        where = problem.system.state.slice(entry.name)
        if matters[where].all():
            goal[entry.name] = x[where]
    return goal

"""
Pursuit of a goal: the predictive law on plans that are replaced where that pays.

A new plan starts at the state predicted for the time when it takes over, so that there is no jump.
It is requested when the goal moved, when a push or an identified parameter makes the plan miss its
end, and when the plan is over without reaching the goal. A ball at rest reaches its attitude by a
loop, which no feedback about rest can find. If there is time for it, a new plan ends when the old
one would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import Course
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.reference import Reference
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, offers, RestGoal
from rolling_dynamics.errors import RollingError
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.constraints import object_entry
from rolling_planner.problem.goal import goal_error, nearest_turn
from transforms3d.quaternions import mat2quat

Answer = Callable[[float], Plan | None]  # raises RollingError where there is no plan
Ask = Callable[[PlanProblem], Answer]
LONGEST_LEAD = 4.0  # s
HASTY_SEGMENTS, HASTY_EFFORT = 16, 75
PART_LEAD = 0.8  # of the lead, for a plan to a part of a goal, which is found soon


@dataclass(frozen=True, kw_only=True, slots=True)
class Replanning:
    """
    Conditions for making a new plan.

    Attributes
    ----------
    lead
        Time from the request for a plan until it takes over [s]. A late plan doubles it for the
        next.
    patience
        Wall-clock time to wait for a plan that has to take over [s]. Simulated time stops
        meanwhile, so the plan takes over at the same instant on a busy computer.
    tolerance
        Goal error at rest that is accepted (m, rad).
    within
        The same for single entries of the state, or numbers, by name, in units of the layout.
    slow
        Time at rest after which an error that feedback was expected to correct counts as missed
        [s]. Under an unmodelled bias it would otherwise request one loop after another.
    deviation
        Expected goal error at the end of a plan that triggers a new one on the way.
    learned
        Relative change of a parameter that triggers a new plan on the way.
    settle
        Time after a new plan, a failure, or the end of a plan, before small errors matter [s].
    certain
        Time for which a new plan to the same goal has to be worthwhile before the request [s]:
        right after a push the estimate, and the start of a plan, are still wrong.
    rest
        Maximum time by which the end of a plan is delayed while feedback still damps a push [s].
    rough
        Goal error allowed to the first plan to a goal that moved on the way: it is computed
        quickly, on fewer segments, and refined while it is followed.
    haste
        Duration of such a plan relative to another: with more time it is found sooner.
    shortest
        Remaining time of a plan below which its replacement ends later, and only an expected goal
        error triggers one [s].
    least, most
        Minimum and maximum duration of a plan from rest, over the horizon of the problem.
    tries
        Consecutive failed plans before a goal that moved is replaced by one half as far, or an
        error at rest is accepted.
    halvings
        Maximum number of such halvings; then the goal is given up, and the previous plan
        continues.

    """

    lead: float = 0.25
    patience: float = 0.0
    tolerance: float = 7e-3
    within: Mapping[str, float] = field(default_factory=dict)
    slow: float = np.inf
    deviation: float = 0.01
    learned: float = 0.01
    settle: float = 0.2
    certain: float = 0.1
    rest: float = 2.0
    rough: float = 5e-3
    haste: float = 1.3
    shortest: float = 0.6
    least: float = 0.5
    most: float = 1.5
    tries: int = 3
    halvings: int = 3


class _Awaited(NamedTuple):
    """A requested plan: its answer, the time when it takes over [s], and its purpose."""

    answer: Answer
    at: float
    problem: PlanProblem
    goal: Mapping[str, ArrayLike | None]  # the whole one; the problem may have a part of it
    reference: Future[Reference] | None = None  # once the plan came


class Pursuit:
    """
    A law that brings a system to a goal that may move; see :class:`rolling_controller.law.Law`.

    Its memory is its own: one run at a time. :meth:`pursue` may be called from another thread.

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

    period: float | None = None
    opaque = 'pursuit: plans that are made elsewhere take over when they are there'

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
            Has a plan made, and returns what gives it within a wall-clock time [s]: None as long
            as it is not there. It may do all of it in the call, or elsewhere.
        replanning
            When plans are made again.

        Raises
        ------
        ParameterError
            An entry of ``within`` does not exist.

        """
        self.law, self._ask, self._options = law, ask, replanning or Replanning()
        self.inputs, self.output = law.inputs, law.output
        self.problem = replace(problem, goal=_whole_goal(problem))
        index = law.system.state.index
        within = self._options.within.items()
        self._within = [(index(name, 'within: no entry'), most) for name, most in within]
        self._unit = max(goal_error(problem, problem.x_start), self._options.tolerance)
        self.replans, self.failures, self.trouble, self.shortfall = 0, 0, '', ''
        self._awaited: _Awaited | None = None
        self._designer = ThreadPoolExecutor(1, 'reference')
        self._quiet_until, self._stretch, self._moved, self._rough = 0.0, 1.0, False, False
        self._lead, self._in_turn, self._halved = self._options.lead, 0, 0
        self._worth_since = self._off_since = np.inf
        self._failed_at = self._active_at = 0.0
        self._astray = self._partly = self._parted = False
        self._known, self._horizon, self._led = law.p, problem.horizon, self.problem.goal

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
            It is not a goal of the problem; the old one stays.

        """
        before = self.problem.goal
        if alone:
            resting = offers(self.law.system, RestGoal)
            kept = {} if resting is None else resting.rest_goal(self.problem.x_start)
            before = {name: value for name, value in before.items() if name in kept}
        self.problem = replace(self.problem, goal={**before, **goal})
        self.shortfall, self._in_turn, self._halved = '', 0, 0
        self._moved, self._quiet_until = True, -np.inf
        self._partly = self._parted = False

    @property
    def course(self) -> Course:
        """The motion that is kept; its end is open as long as a plan is awaited."""
        reference = self.law.reference
        end = max(reference.end, self._failed_at, self._active_at) + 2 * self._options.settle
        return Course(
            reference.times,
            reference.states,
            np.inf if self._moved or self._awaited is not None else end,
            reference.plan.states[-1],
            self.shortfall,
            self.error,
        )

    def start(self, before: None = None) -> None:
        """Start at the start of the first plan; see :class:`rolling_controller.law.Law`."""
        self.law.start(before)

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:
        """Return the control at a time [s]; see :class:`rolling_controller.law.Law`."""
        if self.law.due(t):
            self._attend(t, self.law.taken(inputs))
        return self.law.step(memory, inputs, t)

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
        elif self._comes_to_rest(t, x):
            self._active_at = t

    def _comes_to_rest(self, t: float, x: Array) -> bool:
        """Return whether the plan is over and feedback is expected to correct more."""
        if not 0.0 <= t - self.law.reference.end < self._options.rest:
            return False
        better = self.error(x) - self.error(self.law.expected_end(t, x))
        return better > self._options.deviation

    def error(self, x: Array) -> float:
        """Return the goal error of a state."""
        return goal_error(self.problem, x)

    def _wanted(self, t: float, x: Array) -> bool:
        """Return whether a new plan is worth it, and has been for long enough."""
        quiet = t < self._quiet_until
        if self._moved:
            return not quiet
        if quiet or not self._worth_it(t, x):
            self._worth_since = np.inf
            return False
        self._worth_since = min(self._worth_since, t)
        return t >= self._worth_since + self._options.certain - 1e-9

    def _worth_it(self, t: float, x: Array) -> bool:
        """Return whether a new plan to the same goal would end better."""
        options, end = self._options, self.law.reference.end
        self._astray = False
        if t >= end:
            expected = self.law.expected_end(t, x)
            if t < end + options.settle:
                return self._missed(expected) > options.deviation
            off = self._is_off(x)
            self._off_since = min(self._off_since, t) if off else np.inf
            lasts = t >= self._off_since + options.slow
            return off and (lasts or self._is_off(expected)) and self._in_turn < options.tries
        self._off_since = np.inf
        left = end - t - self._lead
        if left < options.shortest:
            self._astray = left > 0.0 and self.law.expected_miss(t, x) > options.deviation
            return self._astray
        if self._rough:
            return True
        learned = np.abs(self.law.p - self._known) > options.learned * np.abs(self._known)
        return bool(learned.any()) or self.law.expected_miss(t, x) > options.deviation

    def _is_off(self, x: Array) -> bool:
        """Return whether a state at rest misses the goal by more than nothing is done about."""
        off = self._missed(x) > self._options.tolerance
        if off or not self._within:
            return off
        goal, matters = self.problem.goal_state
        missed = np.where(matters, nearest_turn(self.law.system, x, goal) - goal, 0.0)
        return any(np.linalg.norm(missed[where]) > most for where, most in self._within)

    def _missed(self, x: Array) -> float:
        """Return the goal error without what comes to rest by itself."""
        resting = offers(self.law.system, RestGoal)
        layout, x = self.law.system.state, np.array(x)
        if resting is not None:
            for name in resting.rest_goal(x):
                x[layout.slice(name)] = self.problem.goal_state[0][layout.slice(name)]
        return self.error(x)

    def _request(self, t: float) -> None:
        """Request a plan from the predicted state at its start."""
        lead = PART_LEAD * self._lead if self._partly else self._lead
        at, policy = t + lead, self.law.policy
        if policy is None:
            return
        x, u = self._predicted(policy, at)
        start = self.law.moved_to(x)
        left = self.law.reference.end - at
        under_way = left >= self._options.shortest
        kept = under_way and not self._moved
        missed = self.law.expected_end(at, start) if kept else start
        horizon = max(left, self._duration(missed))
        try:
            problem = replace(
                self.problem,
                p=self.law.p,
                x_start=start,
                horizon=float(self._stretch * horizon),
                state_limits=_around(self.problem, start),
                start_controls=self._going_on(u),
                warm_start=self.law.reference.rest_of_plan(at) if under_way else None,
            )
            if self._partly:
                problem = self._easier(problem)
            elif self._moved and under_way and not self._parted:
                problem = self._in_haste(problem)
            self._awaited = _Awaited(self._ask(problem), at, problem, self.problem.goal)
        except RollingError as e:
            self._fail(t, str(e))

    def _in_haste(self, problem: PlanProblem) -> PlanProblem:
        """Return a problem of which a plan is found sooner, if a rougher one."""
        return replace(
            self._roughly(problem),
            horizon=self._options.haste * problem.horizon,
            effort=HASTY_EFFORT,
        )

    def _easier(self, problem: PlanProblem) -> PlanProblem:
        """Return a problem that leaves the attitude open: it takes no loop, and little time."""
        return replace(
            self._roughly(problem), goal={**problem.goal, **dict.fromkeys(_turns(problem))}
        )

    def _roughly(self, problem: PlanProblem) -> PlanProblem:
        """Return a problem of a rougher plan."""
        return replace(
            problem,
            goal_tolerance=max(self._options.rough, problem.goal_tolerance),
            segments=min(HASTY_SEGMENTS, problem.segments),
            guess='stationary',
        )

    def _predicted(self, policy: Policy, at: float) -> tuple[Array, Array]:
        """Return state and control that are predicted for a time [s]; later on, those planned."""
        seen, reference = float(policy.times[-1]), self.law.reference
        if at > seen and reference.end > seen:
            return reference.at(at)
        return policy.state_at(at), policy.control_at(at)

    def _going_on(self, u: Array) -> dict[str, float]:
        """Return controls by name, within limits, for a plan that takes over from them."""
        u = np.clip(u, *self.law.limits)
        names = self.law.system.control.names
        return {n: float(u[names.index(n)]) for n in self.problem.active_controls}

    def _duration(self, start: Array) -> float:
        """
        Return how long a plan from a state is to last [s].

        A loop that turns by an angle is as long as the root of it, and with the same friction it
        takes the root of its length.
        """
        fraction = (self._missed(start) / self._unit) ** 0.25
        return float(np.clip(fraction, self._options.least, self._options.most) * self._horizon)

    def _take_over(self, t: float, awaited: _Awaited) -> None:
        """Have the plan that was asked for made a reference, and follow it in its time."""
        due = t >= awaited.at - 1e-9
        patience = self._options.patience if due else 0.0
        try:
            if awaited.reference is None and (plan := awaited.answer(patience)) is not None:
                law = self.law
                coming = self._designer.submit(law.reference_of, plan, awaited.at, law.p)
                self._awaited = awaited = awaited._replace(reference=coming)
            if not due:
                return
            if awaited.reference is None:
                self._come_late(t)
                return
            reference = awaited.reference.result()
        except RollingError as e:
            self._fail(t, str(e))
            return
        self.law.follow(reference)
        ended = goal_error(awaited.problem, reference.plan.states[-1])
        hasty = self._moved and awaited.problem.warm_start is not None
        self._rough = self._partly or (hasty and ended > self.problem.goal_tolerance)
        self._parted, self._partly = self._partly, False
        if not self._parted:
            self._moved = self._moved and awaited.goal is not self.problem.goal
        self._awaited, self.trouble = None, ''
        self.replans += 1
        self._stretch, self._known, self._in_turn = 1.0, awaited.problem.p, 0
        self._led = awaited.problem.goal
        self._quiet_until = t + self._options.settle

    def _come_late(self, t: float) -> None:
        """Note that a plan is not there in time; the next one gets a longer lead."""
        lead = self._lead
        why = f'no plan came within {lead:.3g} s'
        if not self._may_be_parted():
            self._lead = min(2 * lead, LONGEST_LEAD)
        self._fail(t, why, late=self._lead > lead)

    def _fail(self, t: float, why: str, *, late: bool = False) -> None:
        """Note that there is no plan; unless it was late, the next one gets more time."""
        self._awaited, self.trouble, self._failed_at = None, why, t
        self.failures += 1
        if self._may_be_parted():
            self._partly, self._rough, self._quiet_until = True, False, t
            return
        self._parted, self._partly = self._parted or self._partly, False
        self._quiet_until = t + self._options.settle
        if late:
            return
        self._rough = False
        self._in_turn += 1
        self._stretch = min(self._stretch * 1.3, 2.0)
        if self._moved and self._in_turn >= self._options.tries:
            self._come_nearer(why)

    def _may_be_parted(self) -> bool:
        """Return whether there is hurry, and a part of the goal that is easier not tried yet."""
        hurry = self._moved or self._astray
        return hurry and not self._partly and not self._parted and bool(_turns(self.problem))

    def _come_nearer(self, why: str) -> None:
        """Go half of the way to a goal that no plan leads to, or give it up."""
        reached, outcome = self.law.reference.plan.states[-1], 'stays where it was led before'
        if self._halved < self._options.halvings:
            self.problem = replace(self.problem, goal=_halfway(self.problem, reached))
            self._halved, self._in_turn = self._halved + 1, 0
            outcome = f'goes to {0.5**self._halved:.3g} of the way'
        else:
            self._moved, self.problem = False, replace(self.problem, goal=self._led)
        self.shortfall = f'the goal is out of reach ({why}); it {outcome}'


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


def _around(problem: PlanProblem, x: Array) -> dict[str, tuple[float, float]]:
    """Return the limits of states; twice as wide as a start needs that is beyond, and moves."""
    names = problem.system.state.names
    given = {name: float(x[names.index(name)]) for name in problem.state_limits}
    return {
        name: (min(low, 2 * given[name] - low), max(high, 2 * given[name] - high))
        for name, (low, high) in problem.state_limits.items()
    }


def _wanted_of(problem: PlanProblem) -> list[str]:
    """Return the names of a goal that have a value, but for what comes to rest."""
    resting = offers(problem.system, RestGoal)
    rest = {} if resting is None else resting.rest_goal(problem.x_start)
    return [n for n, value in problem.goal.items() if value is not None and n not in rest]


def _is_turn(problem: PlanProblem, name: str) -> bool:
    """Return whether a name of a goal is an attitude."""
    layout = problem.system.state
    return name == 'q_WO' or (name in layout and layout.entry(name).kind == 'quaternion')


def _turns(problem: PlanProblem) -> list[str]:
    """Return the attitudes in a goal; none where nothing else is wanted."""
    wanted = _wanted_of(problem)
    turns = [n for n in wanted if _is_turn(problem, n)]
    return turns if len(turns) < len(wanted) else []


def _halfway(problem: PlanProblem, x: Array) -> dict[str, ArrayLike | None]:
    """Return the goal half as far from a state; rest is wanted all the same."""
    out = dict(problem.goal)
    for name in _wanted_of(problem):
        here = _numbers_of(problem, name, x)
        there = np.asarray(problem.goal[name], dtype=float).reshape(-1)
        turns = _is_turn(problem, name)
        middle = here + np.copysign(1.0, here @ there) * there if turns else (here + there) / 2
        out[name] = middle / np.linalg.norm(middle) if turns else middle
    return out


def _numbers_of(problem: PlanProblem, name: str, x: Array) -> Array:
    """Return the value of a state for a name of a goal."""
    layout, carrying = problem.system.state, offers(problem.system, CarriedObject)
    if name in layout:
        return x[layout.slice(name)]
    if name in layout.names or carrying is None:
        return x[[layout.names.index(name)]]
    entry, where = object_entry(name)
    value = np.array(carrying.object_motion(entry)(x, problem.p)).ravel()
    return np.array(mat2quat(value.reshape(3, 3).T) if value.size == 9 else value[where])


def _whole_goal(problem: PlanProblem) -> dict[str, ArrayLike | None]:
    """Return a goal with the defaults that it takes from its start, as the start will change."""
    x, matters = problem.goal_state
    goal = dict(problem.goal)
    for entry in problem.system.state.entries:
        where = problem.system.state.slice(entry.name)
        if matters[where].all():
            goal[entry.name] = x[where]
    return goal

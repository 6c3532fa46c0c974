"""Real-time iteration: one quadratic program about the motion last predicted, period by period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import time

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.linearization import moving_directions, step_functions
from rolling_controller.lqr_weights import limit_arrays, Limits, LqrWeights
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.program import (
    Costs,
    Rows,
    Solution,
    solve,
    solver,
    UnsolvedError,
)
from rolling_controller.predictive.reference import Reference, Used
from rolling_controller.predictive.stage import StageFunction, Stages
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import envelope, offers, StateBounds
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.suggestion import check_names
from rolling_planner.plan import Plan

Array = NDArray[np.float64]
SHORTEST = 1e-4  # that a node counts [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """
    How far a prediction looks, and how often.

    Attributes
    ----------
    stages
        Number of stages.
    step
        Duration of a stage [s]; the first one ends with the grid of the plan.
    period
        Time between two quadratic programs [s].
    tail
        How long the end of a plan counts [s].
    slew
        Greatest rate of each control over its range [1/s]: what a new plan may ask for at once.
    normal_force_min
        Least normal force as a share of the weight.
    patience
        Programs without a solution, one after another, after which the safe command is given.

    """

    stages: int = 16
    step: float = 0.05
    period: float = 2e-3
    tail: float = 2.0
    slew: float = math.inf
    normal_force_min: float = 0.05
    patience: int = 25


@dataclass(slots=True)
class Record:
    """
    What the predictions came to.

    Attributes
    ----------
    solved, failed
        Number of programs with and without a solution.
    failed_in_turn
        Those without one since the last that had one.
    seconds
        Processor time of the last one [s].
    slack
        Greatest excess over a limit in the last prediction.
    iterations
        Of the solver in the last one.
    trouble
        Why the last one failed, or the empty string.

    """

    solved: int = 0
    failed: int = 0
    failed_in_turn: int = 0
    seconds: float = 0.0
    slack: float = 0.0
    iterations: int = 0
    trouble: str = ''


class PredictiveLaw:
    """
    Feedback by predictions along a plan, within limits; fits :class:`rolling_controller.law.Law`.

    Not for use from two threads at once.

    Attributes
    ----------
    reference
        The motion that predictions come back to.
    record
        What the predictions came to.
    policy
        The newest prediction, None before the first.
    difference
        ``(x, y) -> d`` with dense output, as policies take it.
    safe
        ``x -> u``: what is commanded when predictions go on failing.

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        plan: Plan,
        weights: LqrWeights | None = None,
        *,
        active_controls: Sequence[str] | None = None,
        control_limits: Limits = math.inf,
        horizon: Horizon | None = None,
        safe: Callable[[Array], Array] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Compile the stages and take a plan.

        Parameters
        ----------
        system, p
            The system of the plan and its parameters.
        plan
            The motion to come back to.
        weights
            Weights of deviations; the system's default weights where None.
        active_controls
            Controls that may be used; those that the plan uses if None, all if it uses none.
        control_limits
            Least and greatest value by scalar name, or what the magnitude may be: one number for
            all, or one for each control.
        horizon
            How far a prediction looks, and how often.
        safe
            ``x -> u``: what is commanded when predictions go on failing; no control if None.
        interrupted
            Asked now and then whether to give up.

        Raises
        ------
        ParameterError
            The plan is not one of this system, a name does not exist, or there is no solver.
        SimulationError
            The motion under the planned controls, or its linearisation, is not finite.
        CancelledError
            Interrupted.

        """
        solver()
        self.system, self.p = system, np.asarray(p, dtype=float)
        self.horizon, self.weights = horizon or Horizon(), (weights or LqrWeights()).of(system)
        active = self._active(plan, active_controls)
        names = [system.control.names[k] for k in active]
        self.used = Used(moving_directions(system, names, plan.states[0]), active)
        self.limits = limit_arrays(system.control, control_limits)
        self.safe = safe or (lambda _: np.zeros(system.control.size))
        least = _least_margins(system, self.horizon)
        self._least = np.array(list(least.values()))
        count = self.horizon.stages + 1
        self._stage = StageFunction(system, *self.used, tuple(least), count)
        functions = _moves(system, count)
        self.difference = functions[1]
        self._move, self._apart, self._rate = (FastFunction(f) for f in functions)
        self._step = FastFunction(step_functions(system)[0])
        self._bounds = _bounds(system, self.p, self.used.moving)
        self._effort = self.weights.control_diagonal(system.control)[active]
        self.record = Record()
        self._given: tuple[float, Array] | None = None  # the last command and when
        self.follow(self.reference_of(plan, interrupted=interrupted))

    def reference_of(
        self,
        plan: Plan,
        origin: float = 0.0,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Reference:
        """Return a plan as a reference that begins at a time [s]; it may take some 0.1 s."""
        return Reference(
            self.system,
            self.p,
            plan,
            self.used,
            self.weights,
            step=self.horizon.step,
            tail=self.horizon.tail,
            origin=origin,
            interrupted=interrupted,
        )

    def follow(self, reference: Reference) -> None:
        """Come back to this motion from now on; the slew bounds what that asks for at once."""
        self.reference = reference
        self.policy: Policy | None = None
        self._due, self._first = -math.inf, 0

    def know(self, p: ArrayLike) -> None:
        """Predict and plan with these parameters from now on; the motion to follow stays."""
        self.p = np.array(p, dtype=float)

    def command(self, t: float, x: ArrayLike) -> Array:
        """
        Return the control at a time, predicting anew where that is due.

        Parameters
        ----------
        t
            Time [s], not decreasing.
        x
            State, shape (state.size,).

        """
        x = np.asarray(x, dtype=float)
        if t >= self._due - 1e-9:
            self._due = t + self.horizon.period
            self.predict(t, x)
        if self.policy is None or self.record.failed_in_turn >= self.horizon.patience:
            return self.safe(x)
        return self.slewed(t, self.policy.command(t, x, self._apart))

    def slewed(self, t: float, u: Array) -> Array:
        """Return a control as near to this as the slew allows since the last one."""
        if self._given is not None and math.isfinite(self.horizon.slew):
            since, last = self._given
            reach = self._reach(t - since)
            u = np.clip(u, last - reach, last + reach)
        self._given = t, u
        return u

    def _reach(self, duration: float) -> Array:
        """Return by how much controls may change in a time [s]."""
        return self.horizon.slew * (self.limits[1] - self.limits[0]) * max(duration, 0.0)

    def expected_miss(self, t: float, x: Array) -> float:
        """
        Return what feedback along the plan is expected not to correct any more, to first order.

        Parameters
        ----------
        t
            Time [s].
        x
            State.

        Returns
        -------
        float
            Norm of the deviation that remains once the end was held (m, rad, m/s, rad/s).

        """
        return float(np.linalg.norm(self._left(t, x)))

    def expected_end(self, t: float, x: Array) -> Array:
        """Return the state that is expected once the end was held, to first order."""
        d = np.zeros(self.system.tangent.size)
        d[self.used.moving] = self._left(t, x)
        return np.array(self.system.retract(self.reference.states[-1], d)).ravel()

    def _left(self, t: float, x: Array) -> Array:
        """Return the deviation that remains once the end was held, of what moves."""
        d = self._apart(x, self.reference.at(t)[0])[self.used.moving]
        return self.reference.transition(t) @ d

    def moved_to(self, x: Array) -> Array:
        """Return a state as a start of plans: what the active controls cannot move as planned."""
        planned = self.reference.states[-1]
        d = np.zeros(self.system.tangent.size)
        d[self.used.moving] = self._apart(x, planned)[self.used.moving]
        return np.array(self.system.retract(planned, d)).ravel()

    def predict(self, t: float, x: Array) -> Policy | None:
        """
        Return the policy from a time [s] and state on; the one before where there is no new one.

        Why there is none stands in ``record.trouble``.
        """
        started = time.thread_time()
        times, states, controls = self._shifted(t, x)
        try:
            changes = self._solve(times, states, controls)
        except UnsolvedError as e:
            self.record.failed += 1
            self.record.failed_in_turn += 1
            self.record.trouble = str(e)
            return self.policy
        states, controls = states.copy(), controls.copy()
        controls[:, self.used.active] += changes.controls
        states[1:] = self._moved(states, changes.states)[1:]
        self.policy = Policy(
            times,
            states,
            np.clip(controls, *self.limits),
            self._rates(times, states, controls),
            self.used,
            self.reference.gain(t),
            *self.limits,
        )
        self.record.solved += 1
        self.record.failed_in_turn, self.record.trouble = 0, ''
        self.record.slack, self.record.iterations = changes.slack, changes.iterations
        self.record.seconds = time.thread_time() - started
        return self.policy

    def _shifted(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        """Return times, states and controls of the nodes, as last predicted or else as planned."""
        reference, count = self.reference, self.horizon.stages
        first = reference.node_after(t)
        nodes = np.arange(first, first + count)
        times = np.concatenate([[t], reference.node_times(nodes)])
        known = np.clip(nodes, 0, len(reference.times) - 1)
        states = np.vstack([x, reference.states[known]])
        controls = np.vstack([reference.at(t)[1], reference.controls[known]])
        if self.policy is not None:
            old = self.policy
            kept = max(count - (first - self._first), 0)
            if kept:
                states[1 : kept + 1] = old.states[-kept:]
                controls[1 : kept + 1] = old.controls[-kept:]
            controls[0] = [np.interp(t, old.times, u) for u in old.controls.T]
            for k in range(kept, count):  # a new node: the old motion goes on by the reference
                states[k + 1] = self._after(times[k : k + 2], states[k], controls[k : k + 2])
        self._first = first
        return times, states, controls

    def _after(self, times: Array, x: Array, controls: Array) -> Array:
        """Return the state at the second time, controls going straight from one to the other."""
        return self._step(x, controls[0], controls[1], times[0], times[1] - times[0], self.p)

    def _solve(self, times: Array, states: Array, controls: Array) -> Solution:
        """Return the changes that the program asks for."""
        reference, active = self.reference, self.used.active
        h = np.append(np.diff(times), 0.0)
        nodes = np.clip(self._first + np.arange(-1, len(times) - 1), 0, len(reference.times) - 1)
        wanted_x, wanted_u = reference.states[nodes], reference.controls[nodes]
        wanted_x[0], wanted_u[0] = reference.at(times[0])
        stages = self._stage.along(
            self.p,
            np.column_stack([times, h]),
            np.vstack([states, states[-1:]]),
            np.vstack([controls, controls[-1:]]),
            wanted_x,
        )
        costs = Costs(
            durations=np.maximum((h + np.append(0.0, h[:-1])) / 2, SHORTEST),
            state_roots=reference.roots(nodes),
            control=self._effort,
            end_root=reference.cost_to_go(int(nodes[-1])),
            offset=(controls - wanted_u)[:, active],
        )
        low, high = (np.tile(limit[active], (len(times), 1)) for limit in self.limits)
        if self._given is not None and math.isfinite(self.horizon.slew):
            since, last = self._given
            reach, u = self._reach(times[0] - since)[active], last[active]
            low[0], high[0] = np.maximum(low[0], u - reach), np.minimum(high[0], u + reach)
        low, high = low - controls[:, active], high - controls[:, active]
        return solve(stages, costs, low, high, self._rows(stages, states))

    def _rows(self, stages: Stages, states: Array) -> Rows:
        """Return the limits of contact and states, linearised."""
        where, index, sign, bound = self._bounds
        k, n, m = stages.B.shape
        selected = np.zeros((len(where), n))
        selected[np.arange(len(where)), index] = sign
        return Rows(
            np.concatenate([stages.C, np.broadcast_to(selected, (k, *selected.shape))], axis=1),
            np.concatenate([stages.D, np.zeros((k, len(where), m))], axis=1),
            np.hstack([self._least - stages.margins, sign * (bound - states[:, where])]),
        )

    def _moved(self, states: Array, changes: Array) -> Array:
        self._move.inputs[0][:] = states.ravel()
        self._move.inputs[1].reshape(len(states), -1)[:, self.used.moving] = changes
        return self._move.evaluate().reshape(states.shape).copy()

    def _rates(self, times: Array, states: Array, controls: Array) -> Array:
        values = (states, controls, times)
        for given, value in zip(self._rate.inputs, values, strict=False):
            given[:] = value.ravel()
        self._rate.inputs[3][:] = self.p
        return self._rate.evaluate().reshape(states.shape).copy()

    def _active(self, plan: Plan, names: Sequence[str] | None) -> NDArray[np.int_]:
        known = self.system.control.names
        if names is None:
            used = np.any(plan.controls != 0, axis=0)
            return np.flatnonzero(used if used.any() else np.ones(len(known), dtype=bool))
        check_names(names, known, 'active_controls: no control')
        return np.array([known.index(n) for n in names])


def _least_margins(system: RollingSystem, horizon: Horizon) -> dict[str, float]:
    """Return the least value of each function of the envelope."""
    floors = {'normal_force': horizon.normal_force_min}
    return {name: floors.get(name, 0.0) for name in envelope(system)}


def _bounds(
    system: RollingSystem, p: Array, moving: NDArray[np.int_]
) -> tuple[NDArray[np.int_], NDArray[np.int_], Array, Array]:
    """Return of each bound of a state: its place in state and tangent, its side and value."""
    own = offers(system, StateBounds)
    given = {} if own is None else own.state_bounds(p)
    names = [system.tangent.names[k] for k in moving]
    found = [
        (system.state.names.index(name), names.index(name), sign, value)
        for name, pair in given.items()
        for sign, value in zip((1.0, -1.0), pair, strict=True)
        if math.isfinite(value) and name in names
    ]
    where, index, sign, bound = np.array(found, dtype=float).reshape(-1, 4).T
    return where.astype(int), index.astype(int), sign, bound


def _moves(system: RollingSystem, count: int) -> tuple[ca.Function, ...]:
    """Return retraction, difference and rates compiled, all but the second for so many nodes."""
    f = next(iter(system.modes.values())).dynamics
    x, d = ca.SX.sym('x', system.state.size, count), ca.SX.sym('d', system.tangent.size, count)
    y, u = ca.SX.sym('y', system.state.size), ca.SX.sym('u', system.control.size, count)
    t, p = ca.SX.sym('t', count), ca.SX.sym('p', system.parameters.size)
    nodes = range(count)
    moved = [system.retract(x[:, k], d[:, k]) for k in nodes]
    rates = [f(x[:, k], u[:, k], t[k], p) for k in nodes]
    apart = system.difference(x[:, 0], y)
    return compiled(
        ca.Function('moved', [x, d], [ca.densify(ca.horzcat(*moved))]),
        ca.Function('apart', [x[:, 0], y], [ca.densify(apart)]),
        ca.Function('rates', [x, u, t, p], [ca.densify(ca.horzcat(*rates))]),
    )

"""Real-time iteration: one quadratic program about the motion last predicted, period by period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import math
import time
import warnings

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import state_inputs
from rolling_controller.nominal import step_functions
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.program import (
    Costs,
    Program,
    Solution,
    solver,
    UnsolvedError,
)
from rolling_controller.predictive.reference import Reference, Used
from rolling_controller.predictive.stage import blocks_of, side_by_side, StageFunction
from rolling_controller.time_varying_lqr import limit_arrays, Limits, LqrWeights, no_feedback
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import envelope, offers, smooth_mode, StateBounds
from rolling_dynamics.contract.rolling_system import Entry, RollingSystem, Symbols
from rolling_dynamics.errors import check_names
from rolling_dynamics.restriction import moving_directions
from rolling_planner.plan import Plan

SHORTEST = 1e-4  # that a node counts [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """
    Length and period of a prediction.

    Attributes
    ----------
    stages
        Number of stages.
    step
        Duration of a stage [s]; the first one ends with the grid of the plan.
    period
        Time between two quadratic programs [s].
    tail
        Time for which the end of a plan counts [s].
    slew
        Maximum rate of each control over its range [1/s], which also limits jumps to a new plan.
    normal_force_min
        Minimum normal force as a fraction of the weight.
    patience
        Number of consecutive programs without a solution after which the safe command is given.

    Examples
    --------
    >>> from rolling_controller import Horizon
    >>> horizon = Horizon(stages=20, step=0.04)
    >>> horizon.stages, horizon.period
    (20, 0.002)

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
    Results of the predictions so far.

    Attributes
    ----------
    solved, failed
        Number of programs with and without a solution.
    failed_in_turn
        Failures since the last solution.
    seconds
        Processor time of the last one [s].
    slack
        Maximum excess over a limit in the last prediction.
    iterations
        Iterations of the solver in the last one.
    trouble
        Reason why the last one failed, or the empty string.
    safe
        Whether the last command was the safe one, for want of a prediction.

    """

    solved: int = 0
    failed: int = 0
    failed_in_turn: int = 0
    seconds: float = 0.0
    slack: float = 0.0
    iterations: int = 0
    trouble: str = ''
    safe: bool = False


class PredictiveLaw:
    """
    Feedback by predictions along a plan, within limits; see :class:`rolling_controller.law.Law`.

    Its memory is its own: one run at a time, started by :meth:`start`, and in one thread.

    Attributes
    ----------
    inputs, output
        Layouts of the inputs, which are the state and the factors of parameters, and of the
        control.
    reference
        The reference motion of predictions.
    record
        Results of the predictions.
    policy
        The newest prediction, None before the first.
    difference
        ``(x, y) -> d`` with dense output, as policies take it.
    safe
        ``x -> u``: command after repeated failures of predictions.
    given, last
        The last command and its time [s], None before the first; and the one from which the slew
        of the next program counts.
    warning
        Reason why there is no feedback; else empty.

    Examples
    --------
    >>> from rolling_controller import PredictiveLaw
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import plan_rolling, read_problem
    >>> problem = read_problem(load_scenario('ball_on_plate_straight'))
    >>> law = PredictiveLaw(problem.system, problem.p, plan_rolling(problem))
    >>> memory, u = law.step(law.start(), problem.x_start, 0.5)

    """

    period: float | None = None
    opaque = 'a quadratic program that starts from the prediction before'

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        plan: Plan,
        weights: LqrWeights | None = None,
        *,
        rest: LqrWeights | None = None,
        active_controls: Sequence[str] | None = None,
        control_limits: Limits = math.inf,
        horizon: Horizon | None = None,
        safe: Callable[[Array], Array] | None = None,
        scaled: Sequence[str] = (),
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Compile the stages and take a plan.

        Parameters
        ----------
        system, p
            The system of the plan and its parameters.
        plan
            The reference motion.
        weights
            Weights of deviations; the system's default weights where None.
        rest
            Weights of deviations after the end of a plan; ``weights`` if None.
        active_controls
            Controls that may be used; those that the plan uses if None, all if it uses none.
        control_limits
            Minimum and maximum by scalar name; or the maximum magnitude, one number for all or one
            for each control.
        horizon
            Length and period of a prediction.
        safe
            ``x -> u``: command after repeated failures of predictions; no control if None.
        scaled
            Entries of the parameters that an estimator corrects: each is an input by its name, a
            factor, 1 where it is not estimated.
        interrupted
            Called now and then; returns whether to give up.

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
        self._scaled = [system.parameters.slice(name) for name in scaled]
        self._believed = self.p
        inputs = state_inputs(system, *(Entry(name, (f'{name}_factor',), '') for name in scaled))
        self.inputs = replace(inputs, defaults=dict.fromkeys(scaled, (1.0,)))
        self.output = system.control
        self.horizon, self.weights = horizon or Horizon(), (weights or LqrWeights()).of(system)
        self._rest = None if rest is None else rest.of(system)
        active = self._active(plan, active_controls)
        names = [system.control.names[k] for k in active]
        self.used = Used(moving_directions(system, plan.states[0], names), active)
        self.limits = limit_arrays(system.control, control_limits)
        self.safe = safe or (lambda _: np.zeros(system.control.size))
        count = self.horizon.stages + 1
        limits, least = _limited(system, self.p, self.horizon, self.used.moving)
        self._least = np.tile(least, (count, 1))
        self._blocks = blocks_of(
            system, self.p, plan.states[0], plan.controls[0], self.horizon.step
        )
        self._stage = StageFunction(system, *self.used, limits, count, self._blocks)
        self._program = Program(self._stage.stages)
        functions = _moves(system, count)
        self.difference = functions[1]
        self._turns = [system.state.slice(e.name) for e in system.state.entries if e.has_unit_norm]
        self._move, self._apart = (FastFunction(f) for f in functions)
        self._step = FastFunction(step_functions(system)[0])
        self._range = [np.tile(limit[active], (count, 1)) for limit in self.limits]
        self._effort = self.weights.control_diagonal(system.control)[active]
        self.record = Record()
        self.given: tuple[float, Array] | None = None
        self.last: tuple[float, Array] | None = None
        self.follow(self.reference_of(plan, interrupted=interrupted))
        self.warning = ''
        if not np.any(self.reference.gains):
            self.warning = no_feedback(system, self.weights, active)
            warnings.warn(self.warning, stacklevel=2)

    def reference_of(
        self,
        plan: Plan,
        origin: float = 0.0,
        p: Array | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Reference:
        """
        Return a plan as a reference that starts at a time [s]; it may take about 0.1 s.

        Another thread passes the parameters p, as the identified ones may change meanwhile.
        """
        return Reference(
            self.system,
            self.p if p is None else p,
            plan,
            self.used,
            self.weights,
            step=self.horizon.step,
            tail=self.horizon.tail,
            rest=self._rest,
            blocks=self._blocks,
            origin=origin,
            interrupted=interrupted,
        )

    def follow(self, reference: Reference) -> None:
        """Come back to this motion from now on; the slew bounds what that asks for at once."""
        self.reference = reference
        self.policy: Policy | None = None
        self._due, self._first = -math.inf, 0

    def start(self, before: None = None) -> None:  # noqa: ARG002
        """Start at the start of the reference; see :class:`rolling_controller.law.Law`."""
        self.record, self.given, self.last = Record(), None, None
        self.follow(self.reference)

    def know(self, p: ArrayLike) -> None:
        """Predict and plan with these parameters from now on; the motion to follow stays."""
        self.p = np.array(p, dtype=float)

    def due(self, t: float) -> bool:
        """Return whether a command at a time [s] predicts again."""
        return t >= self._due - 1e-9

    def taken(self, inputs: ArrayLike) -> Array:
        """Return the state in the inputs of a step, its parameters known from now on."""
        given, n = np.asarray(inputs, dtype=float), self.system.state.size
        if self._scaled:
            p = self._believed.copy()
            for where, factor in zip(self._scaled, given[n:].tolist(), strict=True):
                p[where] *= factor
            self.know(p)
        return given[:n]

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:  # noqa: ARG002
        """Return the control at a time [s], after a new prediction where one is due."""
        x = self.taken(inputs)
        if self.due(t):
            self._due, self.last = t + self.horizon.period, self.given
            self.predict(t, x)
        given_up = self.record.failed_in_turn >= self.horizon.patience
        return None, self.commanded(t, x, None if given_up else self.policy, self._apart)

    def commanded(
        self, t: float, x: Array, policy: Policy | None, difference: FastFunction
    ) -> Array:
        """
        Return the control by a policy, within the slew since the last one.

        Without a policy, and where its control is not finite, it is the safe command.
        """
        u = None if policy is None else self._slewed(t, policy.command(t, x, difference))
        self.record.safe = u is None or not np.isfinite(u).all()
        if u is None or self.record.safe:
            return self.safe(x)
        self.given = t, u
        return u

    def _slewed(self, t: float, u: Array) -> Array:
        """Return a control as near to this as the slew allows since the last one."""
        if self.given is None or not math.isfinite(self.horizon.slew):
            return u
        since, last = self.given
        reach = self._reach(t - since)
        return np.clip(u, last - reach, last + reach)

    def _reach(self, duration: float) -> Array:
        """Return the maximum change of controls in a time [s], infinite without limits."""
        span = self.limits[1] - self.limits[0]
        # times repeat while no state comes, and infinity times zero is not a number
        return self.horizon.slew * span * max(duration, np.finfo(float).tiny)

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
        """Return a start of plans: a state, as planned where the active controls move nothing."""
        planned = self.reference.states[-1]
        d = np.zeros(self.system.tangent.size)
        d[self.used.moving] = self._apart(x, planned)[self.used.moving]
        return np.array(self.system.retract(planned, d)).ravel()

    def predict(self, t: float, x: Array) -> Policy | None:
        """
        Return the policy from a time [s] and state on; the previous one where there is no new one.

        ``record.trouble`` has the reason.
        """
        started = time.thread_time()
        times, states, controls, nodes = self._shifted(t, x)
        try:
            changes = self._solve(times, states, controls, nodes)
            controls[:, self.used.active] += changes.controls
            states, rates = self._moved(times, states, controls, changes.states)
        except UnsolvedError as e:
            self.record.failed += 1
            self.record.failed_in_turn += 1
            self.record.trouble = str(e)
            return self.policy
        self.policy = Policy(
            times,
            states,
            np.minimum(np.maximum(controls, self.limits[0]), self.limits[1]),
            rates,
            self.used,
            self.reference.gain(t),
            changes.room,
            self._stage.stages.D.copy(),
            *self.limits,
        )
        self.record.solved += 1
        self.record.failed_in_turn, self.record.trouble = 0, ''
        self.record.slack = float(np.max(-changes.room, initial=0.0))
        self.record.iterations = changes.iterations
        self.record.seconds = time.thread_time() - started
        return self.policy

    def _shifted(self, t: float, x: Array) -> tuple[Array, Array, Array, NDArray[np.int_]]:
        """
        Return times, states, controls and numbers of the nodes, as last predicted or as planned.

        The first one is at the present, and has the number of the node before.
        """
        reference, count = self.reference, self.horizon.stages
        first = reference.node_after(t)
        nodes = np.arange(first - 1, first + count)
        times = reference.node_times(nodes)
        times[0] = t
        states = reference.states.take(nodes, axis=0, mode='clip')
        controls = reference.controls.take(nodes, axis=0, mode='clip')
        states[0], controls[0] = reference.at(t)
        self._stage.wanted[:], self._planned = states, controls.copy()
        states[0] = x
        if self.policy is not None:
            old = self.policy
            kept = max(count - (first - self._first), 0)
            if kept:
                states[1 : kept + 1] = old.states[-kept:]
                controls[1 : kept + 1] = old.controls[-kept:]
            controls[0] = old.control_at(t)
            for k in range(kept, count):  # a new node: the reference continues the old motion
                states[k + 1] = self._after(times[k : k + 2], states[k], controls[k : k + 2])
        for q in self._turns:  # q and -q are one attitude, but no cubic goes from one to the other
            states[0, q] *= np.copysign(1.0, states[0, q] @ states[1, q])
        self._first = first
        return times, states, controls, nodes

    def _after(self, times: Array, x: Array, controls: Array) -> Array:
        """Return the state at the second time, controls going straight from one to the other."""
        return self._step(x, controls[0], controls[1], times[0], times[1] - times[0], self.p)

    def _solve(
        self, times: Array, states: Array, controls: Array, nodes: NDArray[np.int_]
    ) -> Solution:
        """Return the changes that the program asks for."""
        stage, active = self._stage, self.used.active
        h = np.zeros(len(times))
        h[:-1] = times[1:] - times[:-1]
        counts = h.copy()
        counts[1:] += h[:-1]
        counts = np.maximum(counts / 2, SHORTEST)
        stage.p[:] = self.p
        stage.clock[:, 0], stage.clock[:, 1] = times, h
        stage.states[:], stage.after[:-1], stage.after[-1] = states, states[1:], states[-1]
        stage.controls[:] = controls
        stage.after_controls[:-1], stage.after_controls[-1] = controls[1:], controls[-1]
        stage.roots[:] = self.reference.roots(nodes, counts)
        stage.roots[-1] = self.reference.cost_to_go(int(nodes[-1]))
        stage.evaluate()
        low, high = (limit - controls[:, active] for limit in self._range)
        if self.last is not None and math.isfinite(self.horizon.slew):
            since, last = self.last
            reach, u = self._reach(times[0] - since)[active], (last - controls[0])[active]
            low[0], high[0] = np.maximum(low[0], u - reach), np.minimum(high[0], u + reach)
        costs = Costs(counts[:, None] * self._effort, (controls - self._planned)[:, active])
        return self._program.solve(costs, low, high, self._least)

    def _moved(
        self, times: Array, states: Array, controls: Array, changes: Array
    ) -> tuple[Array, Array]:
        """Return the states after their changes, and their rates."""
        d = np.zeros((len(states), self.system.tangent.size))
        d[:, self.used.moving] = changes
        given = (states.ravel(), d.ravel(), controls.ravel(), times, self.p)
        values = self._move(*given).reshape(len(states), -1)
        if not (np.isfinite(values).all() and np.isfinite(controls).all()):
            raise UnsolvedError('the prediction is not finite')
        return values[:, : states.shape[1]], values[:, states.shape[1] :]

    def _active(self, plan: Plan, names: Sequence[str] | None) -> NDArray[np.int_]:
        known = self.system.control.names
        if names is None:
            used = np.any(plan.controls != 0, axis=0)
            return np.flatnonzero(used if used.any() else np.ones(len(known), dtype=bool))
        check_names(names, known, 'active_controls: no control')
        return np.array([known.index(n) for n in names])


def _limited(
    system: RollingSystem, p: Array, horizon: Horizon, moving: NDArray[np.int_]
) -> tuple[tuple[ca.Function, ...], Array]:
    """Return the limited functions, of the envelope and states, and their minimum values."""
    known = envelope(system)
    least = [
        horizon.normal_force_min if name.startswith('normal_force') else 0.0 for name in known
    ]
    own = offers(system, StateBounds)
    moved = {system.tangent.names[k] for k in moving}
    sided = [
        (sign, system.state.names.index(name), value)
        for name, pair in ({} if own is None else own.state_bounds(p)).items()
        for sign, value in zip((1.0, -1.0), pair, strict=True)
        if math.isfinite(value) and name in moved
    ]
    symbols = Symbols.of(system.state, system.control, system.parameters)
    states = ca.vertcat(*(sign * symbols.x[place] for sign, place, _ in sided), ca.SX(0, 1))
    bounds = ca.Function('bounds', [*symbols], [states])
    least += [sign * value for sign, _, value in sided]
    return (*known.values(), bounds), np.array(least, dtype=float)


def _moves(system: RollingSystem, count: int) -> tuple[ca.Function, ...]:
    """Return ``(x, d, u, t, p) -> x, rates`` for so many nodes, and ``(x, y) -> d``, compiled."""
    f = smooth_mode(system).dynamics
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    d, y = ca.SX.sym('d', system.tangent.size), ca.SX.sym('y', system.state.size)
    moved = system.retract(x, d)
    after = ca.Function(
        'moved', [x, d, u, t, p], [ca.densify(ca.vertcat(moved, f(moved, u, t, p)))]
    )
    apart = ca.Function('apart', [x, y], [ca.densify(system.difference(x, y))])
    return compiled(side_by_side('moved', after, count), apart)

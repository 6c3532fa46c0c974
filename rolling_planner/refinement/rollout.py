"""Rollout of a plan, in open loop and under feedback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import envelope, smooth_mode
from rolling_dynamics.contract.rolling_system import RollingSystem, Symbols
from rolling_dynamics.errors import CancelledError, RollingError
from rolling_dynamics.simulation.stepper import ramp_step
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem

LIMIT_OF = 'limit of '  # prefix of the name of a state, in violations
LIMIT_TOLERANCE = 1e-6  # fraction of a state's range by which a bound may be exceeded


@dataclass(frozen=True)
class Violation:
    """
    A constraint that a simulated trajectory breaks.

    Attributes
    ----------
    name
        Name of the constraint.
    amount
        Largest violation.
    time
        Time of the largest violation [s].

    """

    name: str
    amount: float
    time: float

    def __str__(self) -> str:
        """Return the constraint, its violation and the time."""
        return f'{self.name} by {self.amount:.3g} at t = {self.time:.4g} s'


@dataclass(frozen=True, eq=False)
class Rollout:
    """
    A simulated plan.

    Attributes
    ----------
    times, states, controls, wrenches
        Values at every sample; shapes (k,), (k, n), (k, m), (k, 6).
    margins
        Envelope functions by name, shape (k,) each.
    stride
        Samples per segment.

    """

    times: Array
    states: Array
    controls: Array
    wrenches: Array
    margins: dict[str, Array]
    stride: int


class RolloutSimulator:
    """Integrates piecewise-linear controls with a compiled fixed-step method of order 4."""

    def __init__(self, system: RollingSystem, samples: int) -> None:
        """
        Compile the step.

        Parameters
        ----------
        system
            Any rolling system.
        samples
            Steps per segment.

        """
        self.system, self.samples = system, samples
        mode = smooth_mode(system)
        x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
        outputs = [mode.wrench(x, u, t, p)] if mode.wrench is not None else [ca.SX.zeros(6)]
        limits = envelope(system)
        self.envelope = list(limits)
        outputs += [limit(x, u, t, p) for limit in limits.values()]
        values = ca.cse(ca.densify(ca.vertcat(*outputs)))  # limits share terms with the dynamics
        evaluate = ca.Function('rollout_judge', [x, u, t, p], [values])
        step, evaluate = compiled(ramp_step(system), evaluate)
        self.step = FastFunction(step)
        self._segment = FastFunction(step.mapaccum('segment', samples, 1))
        self._evaluate = FastFunction(evaluate.map(samples))
        self._evaluate_end = FastFunction(evaluate)

    def run(self, p: Array, x_start: Array, times: Array, controls: Array) -> Rollout:
        """
        Return the simulated trajectory.

        Parameters
        ----------
        p, x_start
            Parameters and state at the start.
        times, controls
            Nodes of the piecewise-linear control, shapes (N + 1,) and (N + 1, m).

        Returns
        -------
        Rollout
            ``samples`` points per segment, and the end.

        """
        s, N = self.samples, len(times) - 1
        T, U = np.empty(N * s + 1), np.empty((N * s + 1, controls.shape[1]))
        X = np.empty((N * s + 1, self.system.state.size))
        values = np.empty((N * s + 1, 6 + len(self.envelope)))
        T[-1], U[-1], X[0], all_p = times[-1], controls[-1], x_start, np.tile(p, s)
        for k in range(N):
            a, b = k * s, (k + 1) * s
            T[a:b], U[a:b], X[a + 1 : b + 1] = self._along(p, times, k, X[a], controls)
            found = self._evaluate(X[a:b].ravel(), U[a:b].ravel(), T[a:b], all_p)
            values[a:b] = found.reshape(s, -1)
        values[-1] = self._evaluate_end(X[-1], U[-1], T[-1], p)
        return self._rollout(T, X, U, values)

    def _along(
        self, p: Array, times: Array, k: int, x: Array, controls: Array
    ) -> tuple[Array, Array, Array]:
        """Return times and controls before, and states after, each step of a segment."""
        s, length, rise = self.samples, times[k + 1] - times[k], controls[k + 1] - controls[k]
        fraction = np.arange(s + 1) / s
        t, u = times[k] + fraction[:-1] * length, controls[k] + fraction[:, None] * rise
        block = self._segment(x, u[:-1].ravel(), u[1:].ravel(), t, length / s, np.tile(p, s))
        return t, u[:-1], block.reshape(s, -1)

    def _rollout(self, times: Array, states: Array, controls: Array, values: Array) -> Rollout:
        margins = {name: values[:, 6 + k] for k, name in enumerate(self.envelope)}
        return Rollout(times, states, controls, values[:, :6], margins, self.samples)

    def run_under(
        self,
        law: Callable[[float, Array], Array],
        p: Array,
        x_start: Array,
        times: Array,
        period: float,
    ) -> Rollout:
        """
        Return the motion under a law whose control is held for a period.

        Parameters
        ----------
        law
            ``(t, x) -> u``.
        p, x_start
            Parameters and state at the start.
        times
            Ends of the segments [s], shape (N + 1,).
        period
            Longest time for which a control is held [s].

        Returns
        -------
        Rollout
            ``samples`` points per segment, and the end.

        """
        s, N = self.samples, len(times) - 1
        T = np.append(
            (times[:-1, None] + np.arange(s) / s * np.diff(times)[:, None]).ravel(), times[-1]
        )
        X = np.empty((N * s + 1, self.system.state.size))
        U = np.empty((N * s + 1, self.system.control.size))
        values = np.empty((N * s + 1, 6 + len(self.envelope)))
        x = np.array(x_start, dtype=float)
        for k, t in enumerate(T):
            X[k], U[k] = x, law(t, x)
            values[k] = self._evaluate_end(x, U[k], t, p)
            if k == N * s:
                break
            steps = max(1, math.ceil((T[k + 1] - t) / period * (1 - 1e-9)))
            h = (T[k + 1] - t) / steps
            for j in range(steps):
                u = U[k] if j == 0 else law(t + j * h, x)
                x = self.step(x, u, u, t + j * h, h, p)
        return self._rollout(T, X, U, values)


def violations(
    problem: PlanProblem, rollout: Rollout, bounds: dict[str, float], tolerance: float
) -> list[Violation]:
    """
    Return the constraints that a simulated trajectory breaks, each at its worst instant.

    Parameters
    ----------
    problem
        The problem.
    rollout
        The simulated trajectory.
    bounds
        Minimum of each envelope function.
    tolerance
        Tolerance of an envelope function.

    Returns
    -------
    list of Violation
        Empty if the trajectory is valid.

    """
    found = []
    for name, least in bounds.items():
        wanted = np.full(len(rollout.times), least)
        if problem.release:  # the margin is dropped in the last segment
            wanted[-rollout.stride :] = 0.0
        short = wanted - rollout.margins[name]
        k = int(np.argmax(short))
        if not short[k] <= tolerance:
            found.append(Violation(name, float(short[k]), float(rollout.times[k])))
    for name, (low, high) in problem.limits.items():
        x = rollout.states[:, problem.system.state.names.index(name)]
        over = np.maximum(low - x, x - high)
        k = int(np.argmax(over))
        allowed = LIMIT_TOLERANCE * max(1.0, *(abs(b) for b in (low, high) if np.isfinite(b)))
        if not over[k] <= allowed:
            found.append(Violation(LIMIT_OF + name, float(over[k]), float(rollout.times[k])))
    return found


REGULATOR = 'rolling_controller.time_varying_lqr', 'TimeVaryingLqr'  # checked above
UNSTABLE = 1e8  # growth above which a plan is simulated under feedback: 1e-11 becomes 1e-3
SMALL = 1e-6  # size of the tracked error, in tangent units
PERIOD = 1e-3  # longest time for which the regulator's control is held [s]


class Growth(NamedTuple):
    """
    Growth of errors of a plan in open loop.

    Attributes
    ----------
    factor
        Size of a small error at the end over its size at the start, in tangent units.
    defect
        Maximum distance of a segment's simulated end from the next node, in tangent units.

    """

    factor: float
    defect: float


def growth(
    system: RollingSystem,
    step: FastFunction,
    p: Array,
    plan: Plan,
    steps: Callable[[float], int],
    interrupted: Callable[[], bool] = lambda: False,
) -> Growth:
    """
    Return the growth of errors along the states of a plan.

    Parameters
    ----------
    system, step, p
        The system, its compiled :func:`ramp_step`, and its parameters.
    plan
        The plan, whose controls are linear between its times.
    steps
        Function from the duration of a segment [s] to its number of simulation steps.
    interrupted
        Called at each segment; True interrupts.

    Raises
    ------
    CancelledError
        Interrupted.

    """
    nodes, controls, times = plan.states, plan.controls, plan.times.tolist()

    def end_of(k: int, x: Array) -> Array:
        """Return the end of a segment from its own start."""
        if interrupted():
            raise CancelledError('the simulation of the plan was interrupted')
        count = steps(times[k + 1] - times[k])
        h, ramp = (times[k + 1] - times[k]) / count, (controls[k + 1] - controls[k]) / count
        for j in range(count):
            u = controls[k] + j * ramp
            x = step(x, u, u + ramp, times[k] + j * h, h, p)
        return np.array(x)

    def apart(x: Array, y: Array) -> Array:
        return np.array(system.difference(x, y)).ravel()

    ends = np.array([end_of(k, x) for k, x in enumerate(nodes[:-1])])
    missed = system.difference.map(len(ends))(ends.T, nodes[1:].T)
    defect = float(np.linalg.norm(np.array(missed), axis=0).max())
    direction, log = np.ones(system.tangent.size) / math.sqrt(system.tangent.size), 0.0
    for k, end in enumerate(ends):
        moved = np.array(system.retract(nodes[k], SMALL * direction)).ravel()
        d = apart(end_of(k, moved), end) / SMALL
        size = float(np.linalg.norm(d))
        if not 0 < size < math.inf:
            return Growth(size, defect)
        direction, log = d / size, log + math.log(size)
    return Growth(math.exp(min(log, 700.0)), defect)


def collocated_states(system: RollingSystem, p: Array, plan: Plan, times: Array) -> Array:
    """
    Return states between the nodes of a plan by cubic Hermite interpolation.

    Parameters
    ----------
    system, p
        The system and its parameters.
    plan
        The plan, whose states are used unchanged.
    times
        Times [s], shape (k,).

    Returns
    -------
    Array
        Shape (k, n).

    """
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  rarely needed, and large

    f = smooth_mode(system).dynamics.map(len(plan.times))
    rates = np.array(f(plan.states.T, plan.controls.T, plan.times[None], p)).T
    return np.array(CubicHermiteSpline(plan.times, plan.states, rates)(times))


def under_feedback(
    problem: PlanProblem, simulator: RolloutSimulator, plan: Plan
) -> Rollout | None:
    """
    Return the motion under the regulator along the collocated states of a plan.

    Parameters
    ----------
    problem
        The problem.
    simulator
        Simulator of the problem's system.
    plan
        Collocated states and controls at the ends of the segments.

    Returns
    -------
    Rollout or None
        None if no regulator can be made, or its motion is not finite.

    """
    module, name = REGULATOR
    try:
        law = getattr(import_module(module), name)(
            problem.system,
            problem.p,
            plan,
            active_controls=problem.active_controls,
            control_limits={n: problem.control_limit(n) for n in problem.system.control.names},
            nominal='plan',
        )

        def command(t: float, x: Array) -> Array:
            u: Array = law.step(None, x, t)[1]
            return u

        return simulator.run_under(command, problem.p, problem.x_start, plan.times, PERIOD)
    except RollingError:
        return None

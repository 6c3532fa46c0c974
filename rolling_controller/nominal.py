"""
Nominal trajectory of a plan on a fine, uniform grid, and its linearisation in the tangent space.

d_(k+1) = A_k d_k + B_k e_k, where d is the difference of states and e a change of control held
over the step. Differences of attitudes are rotation vectors. The derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled_once, FastFunction
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import (
    CancelledError,
    check_choice,
    check_positive,
    ParameterError,
    SimulationError,
)
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.stepper import ramp_step, step_of_order_4
from rolling_planner.plan import check_states_fit, HOLD, Plan
from rolling_planner.refinement.rollout import collocated_states, growth, UNSTABLE
from rolling_planner.transcription.transcription import BY_DIRECTION, LARGE

DERIVATION = 'steps 1'  # changes with how they follow from the dynamics


class LinearSteps(NamedTuple):
    """Linearised steps: A of shape (k, n, n), B of shape (k, n, m)."""

    A: Array
    B: Array


@once_per_system
def step_functions(system: RollingSystem) -> tuple[ca.Function, ca.Function]:
    """Return the compiled ``ramp_step`` and ``(x, x_next, u0, u1, t, h, p) -> (A, B)``."""
    f = smooth_mode(system).dynamics
    content = ''.join(g.serialize() for g in (f, system.retract, system.difference))
    derivation = DERIVATION + BY_DIRECTION * _large(system)
    step, jacobian = compiled_once(
        f'{derivation} {content}',
        ('ramp_step', 'linear_step'),
        lambda: (ramp_step(system), _linear_step(system)),
    )
    return step, jacobian


def _large(system: RollingSystem) -> bool:
    """Return whether the derivatives of a step take minutes to compile, written out."""
    directions = system.tangent.size + system.control.size
    return bool(smooth_mode(system).dynamics.n_instructions() * directions > LARGE)


def _linear_step(system: RollingSystem) -> ca.Function:
    n, m = system.tangent.size, system.control.size
    x, x_next = (ca.SX.sym(s, system.state.size) for s in ('x', 'x_next'))
    d, e = ca.SX.sym('d', n), ca.SX.sym('e', m)
    u0, u1 = ca.SX.sym('u0', m), ca.SX.sym('u1', m)
    t, h, p = ca.SX.sym('t'), ca.SX.sym('h'), ca.SX.sym('p', system.parameters.size)
    if _large(system):
        return _linear_step_by_direction(system)
    end = ramp_step(system)(system.retract(x, d), u0 + e, u1 + e, t, h, p)
    J = ca.jacobian(system.difference(end, x_next), ca.vertcat(d, e))
    J = ca.substitute(J, ca.vertcat(d, e), ca.DM.zeros(n + m))
    return ca.Function('linear_step', [x, x_next, u0, u1, t, h, p], [ca.densify(J)])


def _linear_step_by_direction(system: RollingSystem) -> ca.Function:
    """Return the same as a loop over unit vectors: written out it takes minutes to compile."""
    n, m, f = system.tangent.size, system.control.size, smooth_mode(system).dynamics
    sizes = system.state.size, system.state.size, m, m, 1, 1, system.parameters.size
    names = 'x', 'dx', 'u', 'du', 't', 'h', 'p'
    x, dx, u, du, t, _, p = map(ca.SX.sym, names, sizes)
    d, way = ca.SX.sym('d', n), ca.SX.sym('way', n)
    slope = f(x, u, t, p)
    slopes = ca.vertcat(slope, ca.jtimes(slope, ca.vertcat(x, u), ca.vertcat(dx, du)))
    rate = ca.Function('rate', [ca.vertcat(x, dx), u, du, t, p], [ca.cse(slopes)])
    moved = ca.substitute(ca.jtimes(system.retract(x, d), d, way), d, ca.DM.zeros(n))
    start = ca.Function('start', [x, way], [ca.vertcat(x, moved)])
    other = ca.SX.sym('other', x.numel())
    left = ca.densify(ca.jtimes(system.difference(x, other), x, dx))
    finish = ca.Function('finish', [ca.vertcat(x, dx), other], [left])
    given = [ca.MX.sym(f'in_{k}', size) for k, size in enumerate(sizes)]
    at, following, u0, u1, time, h, params = given
    turn = ca.MX.sym('turn', n + m)
    controls, times = (u0, (u0 + u1) / 2, u1), (time, time + h / 2, time + h)
    _, reached = step_of_order_4(
        lambda both, k: rate(both, controls[k], turn[n:], times[k], params), start(at, turn[:n]), h
    )
    one = ca.Function('one', [*given, turn], [finish(reached, following)])
    every = one.map('every', 'serial', n + m, list(range(len(given))), [])
    return ca.Function('linear_step', given, [every(*given, ca.MX(ca.DM.eye(n + m)))])


class Linearization:
    """Linearised Runge-Kutta steps of order 4. Not for use from two threads at once."""

    def __init__(self, system: RollingSystem) -> None:
        """Take a step of the first mode, compiled once for each system."""
        self._n, self._m = system.tangent.size, system.control.size
        self._jacobian = FastFunction(step_functions(system)[1])

    def along(
        self, p: Array, times: Array, states: Array, ramps: tuple[Array, Array]
    ) -> LinearSteps:
        """
        Return the linearised steps between the times of a trajectory.

        Parameters
        ----------
        p
            Parameters of the system.
        times, states
            Shapes (k + 1,), (k + 1, n).
        ramps
            Controls at the start and at the end of each step, shape (k, m) each; straight in
            between.

        Returns
        -------
        LinearSteps
            k steps.

        Raises
        ------
        SimulationError
            They are not finite.

        """
        self._jacobian.renew()
        x, x_next, u0, u1, t, h, params = self._jacobian.inputs
        params[:] = p
        out = np.empty((len(times) - 1, (self._n + self._m) * self._n))
        for k in range(len(out)):  # call by call, so that other threads have their turns
            x[:], x_next[:] = states[k], states[k + 1]
            u0[:], u1[:] = ramps[0][k], ramps[1][k]
            t[0], h[0] = times[k], times[k + 1] - times[k]
            out[k] = self._jacobian.evaluate()
        if not np.isfinite(out).all():
            raise SimulationError(
                f'the linearisation along the plan is not finite between {times[0]:.6g} and '
                f'{times[-1]:.6g} s: the motion comes near a singularity there'
            )
        J = out.reshape(-1, self._n + self._m, self._n).transpose(0, 2, 1)
        return LinearSteps(J[:, :, : self._n], J[:, :, self._n :])


NOMINALS = ('simulated', 'plan')
ELSEWHERE = 1e-3  # distance from the end of a plan, in tangent units
MAX_KNOTS = 100_000  # 200 s at 2 ms; the derivatives of the contact system then take 150 MB
SLICE = 256  # steps between two questions whether to give up


class NominalTrajectory(NamedTuple):
    """
    Motion that feedback is to follow.

    Attributes
    ----------
    times, states, controls
        Shapes (k + 1,), even [s]; (k + 1, n); (k + 1, m).
    unstable
        Whether its errors grow so much in open loop that every control is needed to follow it.

    """

    times: Array
    states: Array
    controls: Array
    unstable: bool = False


def nominal_trajectory(
    system: RollingSystem,
    p: Array,
    plan: Plan,
    nominal: str | None,
    knot: float,
    interrupted: Callable[[], bool] = lambda: False,
) -> NominalTrajectory:
    """
    Return the reference trajectory of feedback.

    Parameters
    ----------
    system, p
        The system of the plan and its parameters.
    plan
        The plan.
    nominal
        ``simulated``, or ``plan`` for the plan's own states. None: simulated, except for a plan so
        unstable in open loop that its controls do not reproduce its states.
    knot
        Maximum time between two knots [s].
    interrupted
        Called every few hundred steps; returns whether to give up.

    Raises
    ------
    ParameterError
        The plan is not one of this system, needs more than ``MAX_KNOTS`` knots, or the option is
        unknown.
    SimulationError
        The motion under the planned controls is not finite.
    CancelledError
        Interrupted.

    """
    check_states_fit(plan, system)
    if nominal is not None:
        check_choice('nominal', nominal, NOMINALS)
    times = plan.times[0] + _knots(plan.duration, knot)
    controls = plan.controls_at(times)
    if nominal == 'plan':
        if plan.interpolation == HOLD:
            raise ParameterError(
                "nominal 'plan' needs controls that are linear between the times, and "
                "plan.interpolation is 'hold': take nominal 'simulated'"
            )
        return NominalTrajectory(times, collocated_states(system, p, plan, times), controls)
    # steps end at the plan's nodes, where the slope of the control jumps
    stops = np.unique(np.concatenate([times, plan.times]))
    stops = stops[np.concatenate([[True], np.diff(stops) > 1e-12])]
    k = np.searchsorted(stops, times - 1e-12).clip(max=len(stops) - 1)
    states = _simulated(system, p, plan, stops, interrupted)
    linear = nominal is None and plan.interpolation != HOLD
    if linear and _has_left(system, plan, states[-1]):
        step = FastFunction(step_functions(system)[0])
        grown = growth(system, step, p, plan, lambda h: math.ceil(h / knot), interrupted)
        if grown.factor >= UNSTABLE:
            reference = collocated_states(system, p, plan, times)
            return NominalTrajectory(times, reference, controls, unstable=True)
    return NominalTrajectory(times, states[k], controls)


def _has_left(system: RollingSystem, plan: Plan, end: Array) -> bool:
    """Return whether the controls of a plan, played back, end elsewhere than its states."""
    apart = np.linalg.norm(np.array(system.difference(end, plan.states[-1])))
    return bool(apart > ELSEWHERE)


def _knots(duration: float, knot: float) -> Array:
    """Return even times from 0 on, or raise ParameterError where they are too many."""
    check_positive('knot', knot, 's')
    if not duration <= MAX_KNOTS * knot:
        raise ParameterError(
            f'the plan lasts {duration:.6g} s; feedback keeps at most {MAX_KNOTS} knots, '
            f'which at {knot:g} s each is {MAX_KNOTS * knot:g} s: give a shorter plan, or '
            'several one after the other'
        )
    return np.linspace(0.0, duration, max(int(np.ceil(duration / knot)), 2) + 1)


def _simulated(
    system: RollingSystem,
    p: Array,
    plan: Plan,
    times: Array,
    interrupted: Callable[[], bool],
) -> Array:
    """Return the motion under the controls of a plan, step by step."""
    step = FastFunction(step_functions(system)[0])
    x, u0, u1, t, h, params = step.inputs
    params[:], x[:] = p, plan.states[0]
    before, after = plan.ramps_between(times)
    states = np.empty((len(times), system.state.size))
    states[0] = x
    for k in range(len(times) - 1):  # call by call, so that other threads have their turns
        if k % SLICE == 0:
            if interrupted():
                raise CancelledError('the simulation of the plan was interrupted')
            _check_motion(times[k], x)
        u0[:], u1[:] = before[k], after[k]
        t[0], h[0] = times[k], times[k + 1] - times[k]
        states[k + 1] = step.evaluate()
        x[:] = states[k + 1]
    _check_motion(times[-1], x)
    return states


def _check_motion(t: float, x: Array) -> None:
    if not np.isfinite(x).all():
        raise SimulationError(
            f'the motion under the controls of the plan is not finite at {t:.6g} s: they are too '
            'large, or the contact becomes singular'
        )

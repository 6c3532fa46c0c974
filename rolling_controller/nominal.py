"""Nominal trajectory of a plan at a fine, even grid."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_controller.linearization import step_functions
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import CancelledError, ParameterError, SimulationError
from rolling_planner.plan import Plan
from rolling_planner.plan_fit import check_states_fit
from rolling_planner.plan_validity import HOLD
from rolling_planner.refinement.feedback import collocated_states, growth, UNSTABLE

NOMINALS = ('simulated', 'plan')
ELSEWHERE = 1e-3  # distance from the end of a plan, in tangent units
MAX_KNOTS = 100_000  # 200 s at 2 ms; what is kept of the contact system then takes 150 MB
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

    times: NDArray[np.float64]
    states: NDArray[np.float64]
    controls: NDArray[np.float64]
    unstable: bool = False


def nominal_trajectory(
    system: RollingSystem,
    p: NDArray[np.float64],
    plan: Plan,
    nominal: str | None,
    knot: float,
    interrupted: Callable[[], bool] = lambda: False,
) -> NominalTrajectory:
    """
    Return the trajectory that feedback is to follow.

    Parameters
    ----------
    system, p
        The system of the plan and its parameters.
    plan
        The plan.
    nominal
        ``simulated``; ``plan``, its own states; or None: simulated, but for a plan whose errors
        grow so much in open loop that its controls do not keep its states.
    knot
        Greatest time between two knots [s].
    interrupted
        Asked every some hundred steps whether to give up.

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
    if nominal not in (None, *NOMINALS):
        raise ParameterError(f'nominal must be one of {NOMINALS}, got {nominal!r}')
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
    left = nominal is None and _has_left(system, plan, states[-1])
    if left and plan.interpolation != HOLD and _is_unstable(system, p, plan, knot, interrupted):
        reference = collocated_states(system, p, plan, times)
        return NominalTrajectory(times, reference, controls, unstable=True)
    return NominalTrajectory(times, states[k], controls)


def _has_left(system: RollingSystem, plan: Plan, end: NDArray[np.float64]) -> bool:
    """Return whether the controls of a plan, played back, end elsewhere than its states."""
    apart = np.linalg.norm(np.array(system.difference(end, plan.states[-1])))
    return bool(apart > ELSEWHERE)


def _knots(duration: float, knot: float) -> NDArray[np.float64]:
    """Return even times from 0 on, or raise ParameterError where they are too many."""
    if not knot > 0:
        raise ParameterError(f'knot must be positive [s], got {knot!r}')
    if not duration <= MAX_KNOTS * knot:
        raise ParameterError(
            f'the plan lasts {duration:.6g} s; feedback keeps at most {MAX_KNOTS} knots, '
            f'which at {knot:g} s each is {MAX_KNOTS * knot:g} s: give a shorter plan, or '
            'several one after the other'
        )
    return np.linspace(0.0, duration, max(int(np.ceil(duration / knot)), 2) + 1)


def _simulated(
    system: RollingSystem,
    p: NDArray[np.float64],
    plan: Plan,
    times: NDArray[np.float64],
    interrupted: Callable[[], bool],
) -> NDArray[np.float64]:
    """Return what the controls of a plan do, step by step."""
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


def _is_unstable(
    system: RollingSystem,
    p: NDArray[np.float64],
    plan: Plan,
    knot: float,
    interrupted: Callable[[], bool],
) -> bool:
    """Return whether errors of a plan grow so much in open loop that it needs its feedback."""
    step = FastFunction(step_functions(system)[0])

    def segment_ends(
        times: NDArray[np.float64], starts: NDArray[np.float64], controls: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        out = np.array(starts)
        if interrupted():
            raise CancelledError('the simulation of the plan was interrupted')
        for k, (begin, end) in enumerate(pairwise(times.tolist())):
            steps = max(1, int(np.ceil((end - begin) / knot)))
            h, ramp = (end - begin) / steps, (controls[k + 1] - controls[k]) / steps
            for j in range(steps):
                u = controls[k] + j * ramp
                out[k] = step(out[k], u, u + ramp, begin + j * h, h, p)
        return out

    return growth(system, segment_ends, plan).factor >= UNSTABLE


def _check_motion(t: float, x: NDArray[np.float64]) -> None:
    if not np.isfinite(x).all():
        raise SimulationError(
            f'the motion under the controls of the plan is not finite at {t:.6g} s: they are too '
            'large, or the contact becomes singular'
        )

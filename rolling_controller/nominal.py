"""Nominal trajectory of a plan at a fine, even grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_controller.linearization import step_functions
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_planner.plan import Plan

NOMINALS = ('simulated', 'plan')


class NominalTrajectory(NamedTuple):
    """Times, shape (k + 1,), even; states (k + 1, n); controls (k + 1, m)."""

    times: NDArray[np.float64]
    states: NDArray[np.float64]
    controls: NDArray[np.float64]


def nominal_trajectory(
    system: RollingSystem, p: NDArray[np.float64], plan: Plan, nominal: str, knot: float
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
        ``simulated`` or ``plan``.
    knot
        Greatest time between two knots [s].

    Raises
    ------
    ParameterError
        The plan is not one of this system, or the option is unknown.

    """
    if tuple(plan.state_names) != tuple(system.state.names):
        raise ParameterError(
            f'the plan is of a system with states {", ".join(plan.state_names)}; this one has '
            f'{", ".join(system.state.names)}'
        )
    if tuple(plan.control_names) != tuple(system.control.names):
        raise ParameterError(
            f'the plan has the controls {", ".join(plan.control_names)}; this system has '
            f'{", ".join(system.control.names)}'
        )
    if nominal not in NOMINALS:
        raise ParameterError(f'nominal must be one of {NOMINALS}, got {nominal!r}')
    count = max(int(np.ceil(plan.duration / knot)), 2)
    times = plan.times[0] + np.linspace(0.0, plan.duration, count + 1)
    controls = np.column_stack([np.interp(times, plan.times, c) for c in plan.controls.T])
    if nominal == 'plan':
        return NominalTrajectory(times, _interpolated(system, p, plan, times), controls)
    # steps end at the plan's nodes, where the slope of the control jumps
    stops = np.unique(np.concatenate([times, plan.times]))
    stops = stops[np.concatenate([[True], np.diff(stops) > 1e-12])]
    k = np.searchsorted(stops, times - 1e-12).clip(max=len(stops) - 1)
    return NominalTrajectory(times, _simulated(system, p, plan, stops)[k], controls)


def _simulated(
    system: RollingSystem, p: NDArray[np.float64], plan: Plan, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what the controls of a plan do, step by step."""
    step = FastFunction(step_functions(system)[0])
    x, u0, u1, t, h, params = step.inputs
    params[:], x[:] = p, plan.states[0]
    controls = np.column_stack([np.interp(times, plan.times, c) for c in plan.controls.T])
    states = np.empty((len(times), system.state.size))
    states[0] = x
    for k in range(len(times) - 1):  # call by call, so that other threads have their turns
        u0[:], u1[:] = controls[k], controls[k + 1]
        t[0], h[0] = times[k], times[k + 1] - times[k]
        states[k + 1] = step.evaluate()
        x[:] = states[k + 1]
    return states


def _interpolated(
    system: RollingSystem, p: NDArray[np.float64], plan: Plan, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  rarely needed, and large

    f = next(iter(system.modes.values())).dynamics.map(len(plan.times))
    rates = np.array(f(plan.states.T, plan.controls.T, plan.times[None], p)).T
    return np.array(CubicHermiteSpline(plan.times, plan.states, rates)(times))

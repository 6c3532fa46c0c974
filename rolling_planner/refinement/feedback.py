"""
Plans of unstable systems: simulated under the feedback that will run, not in open loop.

An unstable plant leaves any plan exponentially when its controls are played back: what the
collocation misses in a segment, its defect, grows. Such a plan is simulated under the regulator
along its collocated states, which stay its reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.refinement.rollout import Rollout, RolloutSimulator

REGULATOR = 'rolling_controller.time_varying_lqr', 'TimeVaryingLqr'  # above, so by name alone
UNSTABLE = 1e8  # growth from which on a plan is simulated under feedback: 1e-11 becomes 1e-3
SMALL = 1e-6  # size of the error that is followed, in tangent units
PERIOD = 1e-3  # longest time for which the regulator's control is held [s]


class Growth(NamedTuple):
    """
    How errors of a plan grow in open loop.

    Attributes
    ----------
    factor
        Size of a small error at the end over its size at the start, in tangent units.
    defect
        Greatest distance of a segment's simulated end from the next node, in tangent units.

    """

    factor: float
    defect: float


SegmentEnds = Callable[[Array, Array, Array], Array]  # (times, starts, controls) -> ends


def growth(system: RollingSystem, segment_ends: SegmentEnds, plan: Plan) -> Growth:
    """
    Return the growth of errors along the states of a plan.

    Parameters
    ----------
    system
        The system.
    segment_ends
        Times, shape (N + 1,) [s], states at the start of each segment, shape (N, n), and controls
        at its ends, shape (N + 1, m) -> states at the ends of the segments, shape (N, n).
    plan
        The plan, whose controls are linear between its times.

    """
    nodes, controls, times = plan.states, plan.controls, plan.times
    ends = segment_ends(times, nodes[:-1], controls)

    def apart(x: Array, y: Array) -> Array:
        return np.array(system.difference(x, y)).ravel()

    defects = [np.linalg.norm(apart(x, y)) for x, y in zip(ends, nodes[1:], strict=True)]
    direction, log = np.ones(system.tangent.size) / math.sqrt(system.tangent.size), 0.0
    for k, end in enumerate(ends):
        moved = np.array(system.retract(nodes[k], SMALL * direction)).ravel()
        two = slice(k, k + 2)
        there = segment_ends(times[two], moved[None], controls[two])[0]
        d = apart(there, end) / SMALL
        size = float(np.linalg.norm(d))
        if not 0 < size < math.inf:
            return Growth(size, float(max(defects)))
        direction, log = d / size, log + math.log(size)
    return Growth(math.exp(min(log, 700.0)), float(max(defects)))


def collocated_states(system: RollingSystem, p: Array, plan: Plan, times: Array) -> Array:
    """
    Return states between the nodes of a plan by cubic Hermite interpolation.

    Parameters
    ----------
    system, p
        The system and its parameters.
    plan
        The plan, whose states are taken as they are.
    times
        Times [s], shape (k,).

    Returns
    -------
    Array
        Shape (k, n).

    """
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  rarely needed, and large

    f = next(iter(system.modes.values())).dynamics.map(len(plan.times))
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
        That of the problem's system.
    plan
        Collocated states and controls at the ends of the segments.

    Returns
    -------
    Rollout or None
        None where no regulator can be made, or its motion is not finite.

    """
    module, name = REGULATOR
    limits: float | Mapping[str, tuple[float, float]] = problem.control_limits
    if not isinstance(limits, float | int):
        limits = dict.fromkeys(problem.system.control.names, (-math.inf, math.inf)) | dict(limits)
    try:
        law = getattr(import_module(module), name)(
            problem.system,
            problem.p,
            plan,
            active_controls=problem.active_controls,
            control_limits=limits,
            nominal='plan',
        )

        def command(t: float, x: Array) -> Array:
            u: Array = law.step(None, x, t)[1]
            return u

        return simulator.run_under(command, problem.p, problem.x_start, plan.times, PERIOD)
    except RollingError:
        return None

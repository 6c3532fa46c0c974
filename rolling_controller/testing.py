"""Checks of planning and regulation, next to :mod:`rolling_dynamics.testing`."""

from __future__ import annotations

from collections.abc import Mapping
import math
import warnings

import numpy as np
from rolling_controller.law import StateFeedback
from rolling_controller.lockstep import run_lockstep
from rolling_controller.time_varying_lqr import LqrWeights, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.testing import CHECKS, Failed, NotApplicable, Subject
from rolling_dynamics.testing.motion import Check, scales, values
from rolling_planner import Plan, plan_rolling, PlanProblem

NODES = 11
PUSH = 0.02  # of the control of the known motion, over its scale
ASIDE = 1e-3  # offset from the plan at the start of a regulator, over the scales of the state
TOLERANCE = 1e-3


def planning(s: Subject) -> None:
    """Check that a plan is found to a state that a small control is known to reach."""
    problem, _ = known_motion(s)
    try:
        plan = plan_rolling(problem)
    except PlanningError as e:
        raise Failed(f'a plan is expected, found: {e}'.splitlines()[0]) from None
    if not plan.report['goal_error'] <= TOLERANCE:
        error = plan.report['goal_error']
        raise Failed(f'a goal error of {TOLERANCE:g} at most is expected, found {error:.3g}')


def regulation(s: Subject) -> None:
    """Check that a regulator along a motion has a gain, and costs less than no feedback."""
    system, p, (_, plan) = s.system, s.p, known_motion(s)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # the verdict below replaces its text
        law = TimeVaryingLqr(system, p, plan)
    if not np.any(law.gains):
        raise Failed(f'a gain is expected, found none: {law.warning}')
    d = ASIDE * np.random.default_rng(s.seed).normal(size=system.tangent.size)
    d *= scales(system.tangent)
    start = values(system.retract, law.states[0], d)
    with_feedback = _missed(s, law, start, feedback=True)
    without = _missed(s, law, start, feedback=False)
    if not with_feedback <= without * (1 + 1e-3):
        raise Failed(
            'less deviation with feedback than without is expected, found '
            f'{with_feedback:.4g} and {without:.4g} (cost of the regulator)'
        )


def _missed(s: Subject, law: TimeVaryingLqr, start: Array, *, feedback: bool) -> float:
    """Return the cost of the deviation from the plan and of the feedback's controls."""
    weights = LqrWeights().of(s.system)
    Q = weights.tracking_diagonal(s.system.tangent)
    P1 = weights.terminal_diagonal(s.system.tangent)
    R = weights.control_diagonal(s.system.control)

    unaided = StateFeedback(s.system, lambda *given: given[-1], lambda t: law.nominal(t)[1])
    used = law if feedback else unaided
    run = run_lockstep(s.system, s.p, start, used, float(law.times[-1]))
    if run.events and run.events[-1].terminal:
        return math.inf
    cost, h = 0.0, float(np.diff(run.times).mean())
    for t, x in zip(run.times, run.states, strict=True):
        x_nom, u_nom = law.nominal(t)
        d, e = values(s.system.difference, x, x_nom), used.step(None, x, t)[1] - u_nom
        cost += h * float(Q @ d**2 + R @ e**2)
    return cost + float(P1 @ d**2)


def known_motion(s: Subject) -> tuple[PlanProblem, Plan]:
    """
    Return a motion under small controls with equal start and end values.

    It raises NotApplicable where there is none.
    """
    system = s.system
    if system.control.size == 0:
        raise NotApplicable('the system has no control')
    if s.mode.dynamics.jac_sparsity(0, 2).nnz() > 0:
        raise NotApplicable('the equations depend on the time itself')
    T = s.duration
    times = np.linspace(0.0, T, NODES)
    shape = np.sin(2 * np.pi * times / T)[:, None]
    controls = PUSH * shape * scales(system.control)
    motion = simulate(system, s.p, s.x, (times, controls), T, t_eval=times, switch_charts=False)
    if len(motion.times) < NODES:
        raise NotApplicable('the motion from this state ends too early to plan one')
    plan = Plan.of(
        system,
        times=times,
        states=motion.states,
        controls=controls,
    )
    goal = {e.name: motion.states[-1][system.state.slice(e.name)] for e in system.state.entries}
    problem = PlanProblem(
        system=system,
        p=s.p,
        x_start=s.x,
        goal=goal,
        horizon=T,
        active_controls=system.control.names,
        goal_tolerance=TOLERANCE,
        segments=NODES - 1,
        warm_start=plan,
        normal_force_min=0.0,
    )
    return problem, plan


#: The checks of :mod:`rolling_dynamics.testing` and these.
ALL_CHECKS: Mapping[str, Check] = {**CHECKS, 'planning': planning, 'regulation': regulation}

"""Bounds of variables and constraints of a transcribed problem."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import GoalRows
from rolling_planner.refinement.rollout import LIMIT_OF
from rolling_planner.transcription.formulation import envelope_bounds, Formulation
from rolling_planner.transcription.interior_point import Bounds
from rolling_planner.transcription.transcription import Transcription

GOAL_SHARE = 0.2  # half width of the goal box as a fraction of the goal tolerance
RELEASE_SHARE = 1e-5  # half width of the box of the contact force at release, in weights


def plan_bounds(
    problem: PlanProblem,
    formulation: Formulation,
    transcription: Transcription,
    tighter: dict[str, float],
    goal: GoalRows,
    guess_end: Array,
) -> Bounds:
    """
    Return the bounds.

    Parameters
    ----------
    problem, formulation, transcription
        The problem, its functions, and the grid.
    tighter
        By how much to tighten envelope functions and limits, named as in violations.
    goal
        Linear rows of the goal.
    guess_end
        Last moving states of the guess, which choose the winding of angles.

    """
    z_low, z_high = _variables(problem, formulation, transcription, tighter)
    g_low = np.zeros(transcription.nlp['g'].numel())
    g_high = g_low.copy()
    rows = transcription.rows
    count = len(goal.values) + len(formulation.terminal_names)
    # the vector part of a quaternion is half a turn: half the width serves all rows
    box = GOAL_SHARE * problem.goal_tolerance / np.sqrt(max(count, 1)) / 2
    wanted = goal.values_near(guess_end)
    g_low[rows['goal']], g_high[rows['goal']] = wanted - box, wanted + box
    width = np.array(
        [RELEASE_SHARE if name == 'release' else box for name in formulation.terminal_names]
    )
    g_low[rows['terminal']], g_high[rows['terminal']] = -width, width
    least = envelope_bounds(problem)
    path = np.tile(
        [least[n] + tighter.get(n, 0.0) for n in formulation.envelope], (transcription.n_nodes, 1)
    )
    if problem.release:
        # the margin is lifted in the last segment, where the force goes to zero
        lifted = np.arange(transcription.n_nodes) > transcription.segment_nodes[-2]
        if 'normal_force' in formulation.envelope:
            path[lifted, formulation.envelope.index('normal_force')] = 0.0
        path[-1] = -np.inf
    g_low[rows['path']], g_high[rows['path']] = path.ravel(), np.inf
    return Bounds(z_low=z_low, z_high=z_high, g_low=g_low, g_high=g_high)


def _variables(
    problem: PlanProblem,
    formulation: Formulation,
    transcription: Transcription,
    tighter: dict[str, float],
) -> tuple[Array, Array]:
    model, system = formulation.model, problem.system
    nx = model.state.size
    low = np.full((transcription.n_nodes, formulation.nodes.size), -np.inf)
    high = -low
    for k, i in enumerate(model.state_index):
        name = system.state.names[i]
        if name in problem.limits:
            least, most = problem.limits[name]
            inward = min(tighter.get(LIMIT_OF + name, 0.0), (most - least) / 4)
            low[1:-1, k], high[1:-1, k] = least + inward, most - inward
            low[-1, k], high[-1, k] = least, most
    for k, i in enumerate(model.control_index):
        low[:, nx + k], high[:, nx + k] = control_limit(problem, system.control.names[i])
    if problem.quiet_ends:
        low[[0, -1], nx:] = high[[0, -1], nx:] = 0.0
    for name, value in problem.start_controls.items():
        at = nx + [system.control.names[i] for i in model.control_index].index(name)
        low[0, at] = high[0, at] = value
    low[0, :nx] = high[0, :nx] = problem.x_start[model.state_index]
    return low, high


def control_limit(problem: PlanProblem, name: str) -> tuple[float, float]:
    """Return least and greatest value of a control."""
    limits = problem.control_limits
    if isinstance(limits, (int, float)):
        return -float(limits), float(limits)
    low, high = limits.get(name, (-np.inf, np.inf))
    return float(low), float(high)

"""The cost of a plan, Woodruff & Lynch, Eq. (48), with every weight and wanted value as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import ChartView, offers
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.restriction import Restriction
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import nearest_turn


@dataclass(frozen=True, eq=False)
class CostExpressions:
    """
    Cost of a node and of the end, in the symbols of a model and of ``data``.

    Attributes
    ----------
    running, terminal
        The expressions.
    data
        Symbols: weights of the controls; where something is tracked, also weights of the running
        and of the terminal cost, wanted values, and the state at the goal.

    """

    running: ca.SX
    terminal: ca.SX
    data: ca.SX


def tracked_view(problem: PlanProblem) -> str | None:
    """Return what is tracked, None if only controls cost."""
    w = problem.weights
    if problem.goal_mode == 'terminal_weight' and not w.terminal:
        raise ParameterError("goal_mode 'terminal_weight' needs weights.terminal")
    ends = bool(w.terminal) and problem.goal_mode == 'terminal_weight'
    return w.view if w.tracking or ends else None


def cost_expressions(model: Restriction[RollingSystem], view: str | None) -> CostExpressions:
    """Return the cost of a model; view is what is tracked, see :class:`Weights`."""
    R = ca.SX.sym('R', model.control.size)
    running = ca.dot(R, model.symbols.u**2) / 2
    if view is None:
        return CostExpressions(running, ca.SX(0), R)
    layout, function = _view(model.whole, view)
    n = layout.size
    Q, P1, wanted = (ca.SX.sym(name, n) for name in ('Q', 'P1', 'wanted'))
    goal = ca.SX.sym('x_goal', model.whole.state.size)
    s = model.symbols
    away = function(model.whole_state(s.x, s.p), model.whole_parameters(s.p), goal) - wanted
    return CostExpressions(
        running + ca.dot(Q, away**2) / 2,
        ca.dot(P1, away**2) / 2,
        ca.vertcat(R, Q, P1, wanted, goal),
    )


def cost_data(problem: PlanProblem, shares: Array, guess_end: Array, *, tracking: bool) -> Array:
    """
    Return the data of nodes, shape (k, n).

    Parameters
    ----------
    problem
        The problem.
    shares
        Time of each node as a share of the horizon, shape (k,).
    guess_end
        Last state of the guess; it chooses the winding of angles.
    tracking
        False sets the tracking weights to zero.

    """
    w, k = problem.weights, len(shares)
    R = np.broadcast_to(np.asarray(w.control, dtype=float), (len(problem.active_controls),))
    if not np.all(np.isfinite(R)) or np.any(R < 0):
        raise ParameterError(f'weights.control must be zero or positive, got {w.control!r}')
    # the model's controls stand in the order of the system's layout
    R = R[np.argsort([problem.system.control.names.index(c) for c in problem.active_controls])]
    view = tracked_view(problem)
    if view is None:
        return np.tile(R, (k, 1))
    layout, function = _view(problem.system, view)
    x_goal = nearest_turn(problem.system, problem.goal_state[0], guess_end)
    first, last = (
        np.array(function(x, problem.p, x_goal)).ravel() for x in (problem.x_start, x_goal)
    )
    Q = _diagonal(layout, w.tracking, 'weights.tracking') * tracking
    P1 = _diagonal(layout, w.terminal, 'weights.terminal')
    fixed = np.tile(np.concatenate([R, Q, P1]), (k, 1))
    wanted = first + np.outer(shares, last - first)
    return np.hstack([fixed, wanted, np.tile(x_goal, (k, 1))])


def _view(system: RollingSystem, view: str) -> tuple[Layout, ca.Function]:
    """Return the names of what is tracked, and ``(x, p, x_goal) -> values``."""
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    goal = ca.SX.sym('goal', system.state.size)
    if view == 'chart':
        viewed = offers(system, ChartView)
        if viewed is None:
            raise ParameterError(f'a system of kind {system.name!r} has no chart view')
        layout, chart = viewed.chart_view
        return layout, ca.Function('view', [x, p, goal], [chart(x, p)])
    return system.tangent, ca.Function('view', [x, p, goal], [system.difference(x, goal)])


def _diagonal(layout: Layout, weights: Mapping[str, float], what: str) -> Array:
    out = np.zeros(layout.size)
    for name, value in weights.items():
        if not (np.isfinite(value) and value >= 0):
            raise ParameterError(f'{what}.{name} must be zero or positive, got {value!r}')
        out[layout.index(name, f'{what}: no entry')] = value
    return out

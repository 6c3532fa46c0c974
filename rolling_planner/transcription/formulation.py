"""Formulation of a plan as a nonlinear program: cost, constraints, guesses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import newest
from rolling_dynamics.contract.capabilities import ChartView, envelope, offers
from rolling_dynamics.contract.rolling_system import Layout, RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.restriction import restricted, Restriction
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_rows, GoalRows, nearest_turn, object_rows
from rolling_planner.refinement.rollout import LIMIT_OF, RolloutSimulator
from rolling_planner.transcription.interior_point import Bounds
from rolling_planner.transcription.transcription import (
    node_functions,
    NodeFunctions,
    Terminal,
    terminal_functions,
    transcribe,
    Transcription,
)


def tracked_view(problem: PlanProblem) -> str | None:
    """Return the name of the tracked view, None if the cost is only on controls."""
    w = problem.weights
    if problem.goal_mode == 'terminal_weight' and not w.terminal:
        raise ParameterError("goal_mode 'terminal_weight' needs weights.terminal")
    ends = bool(w.terminal) and problem.goal_mode == 'terminal_weight'
    return w.view if w.tracking or ends else None


def cost_expressions(
    model: Restriction[RollingSystem], view: str | None
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """
    Return the cost of a node, the cost of the end, and the symbols of their data.

    The data are weights of the controls; with tracking also weights of the running and terminal
    cost, desired values, and the state at the goal.

    Parameters
    ----------
    model
        Model with the controls and states.
    view
        Tracked view, see :class:`Weights`; None for no tracking.

    """
    R = ca.SX.sym('R', model.control.size)
    running = ca.dot(R, model.symbols.u**2) / 2
    if view is None:
        return running, ca.SX(0), R
    layout, function = _view(model.whole, view)
    n = layout.size
    Q, P1, wanted = (ca.SX.sym(name, n) for name in ('Q', 'P1', 'wanted'))
    goal = ca.SX.sym('x_goal', model.whole.state.size)
    s = model.symbols
    away = function(model.whole_state(s.x, s.p), model.whole_parameters(s.p), goal) - wanted
    tracked, ended = (ca.dot(weight, away**2) / 2 for weight in (Q, P1))
    return running + tracked, ended, ca.vertcat(R, Q, P1, wanted, goal)


def cost_data(
    problem: PlanProblem, fractions: Array, guess_end: Array, *, tracking: bool
) -> Array:
    """
    Return the data of nodes, shape (k, n).

    Parameters
    ----------
    problem
        The problem.
    fractions
        Time of each node as a fraction of the horizon, shape (k,).
    guess_end
        Last state of the guess; it chooses the winding of angles.
    tracking
        False sets the tracking weights to zero.

    """
    w, k = problem.weights, len(fractions)
    R = np.broadcast_to(np.asarray(w.control, dtype=float), (len(problem.active_controls),))
    # the model's controls are in the order of the system's layout
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
    wanted = first + np.outer(fractions, last - first)
    return np.hstack([fixed, wanted, np.tile(x_goal, (k, 1))])


def _view(system: RollingSystem, view: str) -> tuple[Layout, ca.Function]:
    """Return the names of the tracked values, and ``(x, p, x_goal) -> values``."""
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    goal = ca.SX.sym('goal', system.state.size)
    if view == 'chart':
        viewed = offers(system, ChartView)
        if viewed is None:
            raise ParameterError(f'a system of type {system.name!r} has no chart view')
        layout, chart = viewed.chart_view
        return layout, ca.Function('view', [x, p, goal], [chart(x, p)])
    return system.tangent, ca.Function('view', [x, p, goal], [system.difference(x, goal)])


def _diagonal(layout: Layout, weights: Mapping[str, float], what: str) -> Array:
    out = np.zeros(layout.size)
    for name, value in weights.items():
        out[layout.index(name, f'{what}: no entry')] = value
    return out


KEPT = 12  # cached formulations
KEPT_TRANSCRIPTIONS = 4  # cached grids of each


@dataclass(frozen=True, eq=False)
class Formulation:
    """
    Functions shared by problems of one type.

    Attributes
    ----------
    model
        The part of the system that the active controls move.
    nodes
        Functions of a node.
    terminal
        Cost and nonlinear constraints of the last node, or None.
    terminal_names
        Goal of each of those constraints.
    envelope
        Names of the path constraints.
    simulator
        Simulates plans.
    n_data
        Number of data of a node; the functions of the nodes use the first of them.

    """

    model: Restriction[RollingSystem]
    nodes: NodeFunctions
    terminal: Terminal | None
    terminal_names: tuple[str, ...]
    envelope: tuple[str, ...]
    simulator: RolloutSimulator
    n_data: int
    _transcriptions: OrderedDict[Hashable, Transcription] = field(default_factory=OrderedDict)

    def goal(self, problem: PlanProblem) -> GoalRows:
        """Return the linear rows of the goal; none if the goal is a weight."""
        rows = goal_rows(problem, self.model)
        if problem.goal_mode == 'hard':
            return rows
        return GoalRows(rows.rows[:0], rows.values[:0], rows.periods[:0], ())

    def data(
        self, problem: PlanProblem, fractions: Array, guess_end: Array, *, tracking: bool
    ) -> Array:
        """Return the data of nodes at fractions of the horizon, shape (k, n)."""
        object_goal = [values for values, _ in problem.object_goal.values()]
        fixed = self.model.take_parameters(problem.p, problem.x_start)
        cost = cost_data(problem, fractions, guess_end, tracking=tracking)
        end = np.concatenate([np.zeros(0), *object_goal])
        rows = (len(fractions), 1)
        return np.hstack([np.tile(fixed, rows), cost, np.tile(end, rows)])

    def transcription(
        self, times: Array, method: str, rows: Array, poll: Callable[[], object] = lambda: None
    ) -> Transcription:
        """
        Return the programme on a grid of times [s], shape (N + 1,), cached for the next call.

        ``rows`` is a matrix of data for the nodes, in units of the formulation.
        """
        key = times.tobytes(), method, rows.tobytes()
        if key not in self._transcriptions:
            self._transcriptions[key] = transcribe(
                self.nodes, self.n_data, times, method, rows, self.terminal, poll
            )
            if len(self._transcriptions) > KEPT_TRANSCRIPTIONS:
                self._transcriptions.popitem(last=False)
        self._transcriptions.move_to_end(key)
        return self._transcriptions[key]


KEEP_OUT = 'keep_out'  # prefix of the names of envelope functions of keep-out regions
_KEPT: OrderedDict[Hashable, Formulation] = OrderedDict()


def envelope_bounds(problem: PlanProblem) -> dict[str, float]:
    """Return the minimum of each constrained function of the contact's envelope."""
    known = envelope(problem.system)
    bounds = {'normal_force': problem.normal_force_min, 'depth': 0.0, 'gap': 0.0, KEEP_OUT: 0.0}
    if problem.friction_cone:
        bounds['friction'] = 0.0
    if problem.spin_friction:
        bounds['spin'] = 0.0
    return {
        name: bounds[kind]
        for kind in ('normal_force', 'friction', 'spin', 'depth', 'gap', KEEP_OUT)
        for name in known
        if kind in bounds and (name == kind or name.startswith(f'{kind}_'))
    }


def formulate(problem: PlanProblem) -> Formulation:
    """Return the formulation of a problem, from the cache if possible."""
    system = problem.system
    key = (
        system.name,
        system.model_hash,
        tuple(system.state.names),
        tuple(sorted(problem.active_controls)),
        (problem.x_start != 0).tobytes(),
        tuple(envelope_bounds(problem)),
        tracked_view(problem),
        problem.release,
        problem.samples,
        tuple((name, used.tobytes()) for name, (_, used) in problem.object_goal.items()),
        problem.goal_mode == 'hard',
    )
    kept = _KEPT.get(key)
    if kept is None or newest(kept.nodes.value) is not kept.nodes.value:  # compiled by now
        _KEPT[key] = _formulate(problem)
        if len(_KEPT) > KEPT:
            _KEPT.popitem(last=False)
    _KEPT.move_to_end(key)
    return _KEPT[key]


def _formulate(problem: PlanProblem) -> Formulation:
    system = problem.system
    model = restricted(
        system, None, problem.x_start, problem.active_controls, [next(iter(system.modes))]
    )
    s = model.symbols
    kept, limits = tuple(envelope_bounds(problem)), envelope(system)
    path = [model.of(limits[name])(*s) for name in kept]
    view = tracked_view(problem)
    running, at_end, symbols = cost_expressions(model, view)
    object_goal = ca.SX.sym('object_goal', sum(len(v) for v, _ in problem.object_goal.values()))
    at_nodes = ca.vertcat(s.p, symbols)
    data = ca.vertcat(at_nodes, object_goal)  # the last one is only for the end
    nodes = node_functions(
        s.x,
        s.u,
        at_nodes,
        model.smooth_mode.dynamics(*s),
        ca.vertcat(*path) if path else ca.SX(0, 1),
        running,
    )
    rows, names = object_rows(problem, model, object_goal)
    if problem.goal_mode != 'hard':
        rows, names = ca.SX(0, 1), []
    if problem.release:
        rows = ca.vertcat(rows, _contact_force(problem, model))
        names += ['release'] * 3
    terminal = None
    if names or view is not None:
        terminal = terminal_functions(ca.vertcat(s.x, s.u), data, at_end, rows)
    return Formulation(
        model,
        nodes,
        terminal,
        tuple(names),
        kept,
        RolloutSimulator(system, problem.samples),
        data.numel(),
    )


def _contact_force(problem: PlanProblem, model: Restriction[RollingSystem]) -> ca.SX:
    """Return the contact force over the weight; it is zero where the contact ends."""
    s, function = model.symbols, model.smooth_mode.wrench
    if function is None:
        raise ParameterError(f'release: a system of type {problem.system.name!r} has no contact')
    params = problem.system.parameters.split(model.whole_parameters(s.p))
    mass, gravity = params['mass'], params['gravity_W']
    return function(*s)[3:6] / (mass * (ca.norm_2(gravity) + 1e-9))


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
        Amounts by which to tighten envelope functions and limits, named as in violations.
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
        # the margin is dropped in the last segment, where the force goes to zero
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
        low[:, nx + k], high[:, nx + k] = problem.control_limit(system.control.names[i])
    if problem.quiet_ends:
        low[[0, -1], nx:] = high[[0, -1], nx:] = 0.0
    for name, value in problem.start_controls.items():
        at = nx + [system.control.names[i] for i in model.control_index].index(name)
        low[0, at] = high[0, at] = value
    low[0, :nx] = high[0, :nx] = problem.x_start[model.state_index]
    return low, high

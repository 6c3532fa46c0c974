"""
The functions of a planning problem, written out once for a model and kept.

Parameters, weights, wanted values and the values of states that rest are arguments: problems that
differ only in them share one formulation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import newest
from rolling_dynamics.contract.capabilities import envelope
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.restriction import restricted, Restriction
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_rows, GoalRows, object_rows
from rolling_planner.refinement.rollout import RolloutSimulator
from rolling_planner.transcription.cost import cost_data, cost_expressions, tracked_view
from rolling_planner.transcription.node_functions import (
    node_functions,
    NodeFunctions,
    Terminal,
    terminal_functions,
)
from rolling_planner.transcription.transcription import transcribe, Transcription

KEPT = 12  # formulations
KEPT_TRANSCRIPTIONS = 4  # of each


@dataclass(frozen=True, eq=False)
class Formulation:
    """
    Functions shared by the problems of one kind.

    Attributes
    ----------
    model
        The part of the system that the active controls move.
    nodes
        Functions of a node.
    terminal
        Cost and nonlinear constraints of the last node, or None.
    terminal_names
        What each of those constraints belongs to.
    envelope
        Names of the path constraints.
    simulator
        Simulates and judges.
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
        """Return the linear rows of the goal; none where the goal is a weight."""
        rows = goal_rows(problem, self.model)
        if problem.goal_mode == 'hard':
            return rows
        return GoalRows(rows.rows[:0], rows.values[:0], rows.periods[:0], ())

    def data(
        self, problem: PlanProblem, shares: Array, guess_end: Array, *, tracking: bool
    ) -> Array:
        """Return the data of nodes at shares of the horizon, shape (k, n)."""
        object_goal = [values for values, _ in problem.object_goal.values()]
        fixed = self.model.take_parameters(problem.p, problem.x_start)
        cost = cost_data(problem, shares, guess_end, tracking=tracking)
        end = np.concatenate([np.zeros(0), *object_goal])
        rows = (len(shares), 1)
        return np.hstack([np.tile(fixed, rows), cost, np.tile(end, rows)])

    def transcription(
        self, times: Array, method: str, rows: Array, poll: Callable[[], object] = lambda: None
    ) -> Transcription:
        """
        Return the programme on a grid of times [s], shape (N + 1,), kept for the next call.

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


KEEP_OUT = 'keep_out'  # beginning of the names of envelope functions of places to stay out of
_KEPT: OrderedDict[Hashable, Formulation] = OrderedDict()


def envelope_bounds(problem: PlanProblem) -> dict[str, float]:
    """Return the least value of each function of the contact's envelope that is to be kept."""
    known = envelope(problem.system)
    bounds = {'normal_force': problem.normal_force_min}
    if problem.friction_cone:
        bounds['friction'] = 0.0
    if problem.spin_friction:
        bounds['spin'] = 0.0
    bounds |= {name: 0.0 for name in known if name.startswith(KEEP_OUT)}
    return {name: least for name, least in bounds.items() if name in known}


def formulate(problem: PlanProblem) -> Formulation:
    """Return the formulation of a problem, from those kept where there is one."""
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
    cost = cost_expressions(model, view)
    object_goal = ca.SX.sym('object_goal', sum(len(v) for v, _ in problem.object_goal.values()))
    at_nodes = ca.vertcat(s.p, cost.data)
    data = ca.vertcat(at_nodes, object_goal)  # the last is for the end alone
    nodes = node_functions(
        s.x,
        s.u,
        at_nodes,
        model.mode.dynamics(*s),
        ca.vertcat(*path) if path else ca.SX(0, 1),
        cost.running,
    )
    rows, names = object_rows(problem, model, object_goal)
    if problem.goal_mode != 'hard':
        rows, names = ca.SX(0, 1), []
    if problem.release:
        rows = ca.vertcat(rows, _contact_force(problem, model))
        names += ['release'] * 3
    terminal = None
    if names or view is not None:
        terminal = terminal_functions(ca.vertcat(s.x, s.u), data, cost.terminal, rows)
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
    """Return the contact force over the weight; it vanishes where the contact ends."""
    s, function = model.symbols, model.mode.wrench
    if function is None:
        raise ParameterError(f'release: a system of kind {problem.system.name!r} has no contact')
    params = problem.system.parameters.split(model.whole_parameters(s.p))
    mass, gravity = params['mass'], params['gravity_W']
    return function(*s)[3:6] / (mass * (ca.norm_2(gravity) + 1e-9))

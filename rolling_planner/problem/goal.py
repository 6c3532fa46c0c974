"""The goal of a plan: rows for the last state, and the error of a state."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, ChartCoordinates, offers
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_dynamics.restriction import Restriction
from rolling_dynamics.rotations import rotation_matrix
from rolling_planner.problem.constraints import axis_miss
from rolling_planner.problem.plan_problem import PlanProblem
from rolling_planner.progress import InfeasibleError
from transforms3d.quaternions import mat2quat, qconjugate, qmult


class GoalRows(NamedTuple):
    """``rows x_last = values`` for the moving states, each value up to whole periods."""

    rows: Array
    values: Array
    periods: Array  # 0 if there is none
    names: tuple[str, ...]

    def values_near(self, x: Array) -> Array:
        """Return the values shifted by whole periods to be nearest to x."""
        period = np.where(self.periods > 0, self.periods, 1.0)
        turns = np.round((self.rows @ x - self.values) / period) * (self.periods > 0)
        return self.values + turns * self.periods


def periods(system: RollingSystem) -> Array:
    """Return the period of each component of the state, 0 if it has none."""
    out = np.zeros(system.state.size)
    for entry in system.state.entries:
        if entry.kind == 'angle':
            out[system.state.slice(entry.name)] = 2 * np.pi
    charted = offers(system, ChartCoordinates)
    if charted is not None:
        for name, period in charted.chart_periods.items():
            out[system.state.slice(name)] = period
    return out


def nearest_turn(system: RollingSystem, x: Array, near: Array) -> Array:
    """Return x with each angle shifted by whole periods to be closest to another state."""
    period = periods(system)
    used = period > 0
    out = np.array(x, dtype=float)
    out[used] -= period[used] * np.round((out[used] - near[used]) / period[used])
    return out


def goal_rows(problem: PlanProblem, model: Restriction[RollingSystem]) -> GoalRows:
    """
    Return the goal as linear constraints on the last moving state.

    An attitude is reached where the vector part of goal^-1 q vanishes, which is linear in q and
    independent of its norm and sign.

    Raises
    ------
    InfeasibleError
        A state that the active controls cannot move is too far from its goal.

    """
    x_goal, matters = problem.goal_state
    layout, period = problem.system.state, periods(problem.system)
    out: list[tuple[Array, float, float, str]] = []
    for entry in layout.entries:
        where = layout.slice(entry.name)
        if not matters[where].any():
            continue
        if entry.kind == 'quaternion':
            block = attitude_rows(x_goal[where])
            if entry.name in problem.free_axes:
                block = np.delete(block, problem.free_axes[entry.name], axis=0)
            wanted, turn = np.zeros(len(block)), np.zeros(len(block))
        else:
            used = matters[where]
            block, wanted = np.eye(entry.size)[used], x_goal[where][used]
            turn = period[where][used]
        full = np.zeros((len(block), layout.size))
        full[:, where] = block
        wanted = wanted - full[:, model.rest_index] @ problem.x_start[model.rest_index]
        for row, value, turns in zip(full[:, model.state_index], wanted, turn, strict=True):
            if np.any(row):
                out.append((row, value, turns, entry.name))
            elif abs(value) > problem.goal_tolerance:
                raise InfeasibleError(
                    f'no plan: goal.{entry.name} differs from the start by {abs(value):.3g}, '
                    f'and the active controls {", ".join(problem.active_controls)} cannot move '
                    'it; use more degrees of freedom of the hand or another goal'
                )
    n = model.state.size
    return GoalRows(
        np.array([o[0] for o in out]).reshape(-1, n),
        np.array([o[1] for o in out]),
        np.array([o[2] for o in out]),
        tuple(o[3] for o in out),
    )


def attitude_rows(q: Array) -> Array:
    """Return the matrix that maps a quaternion to the vector part of q^-1 times it."""
    w, x, y, z = q
    return np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])


def object_rows(
    problem: PlanProblem, model: Restriction[RollingSystem], goal: ca.SX
) -> tuple[ca.SX, list[str]]:
    """
    Return the object's motion as rows that vanish at the goal, and the name of each.

    Parameters
    ----------
    problem, model
        The problem, and the part of the system that moves.
    goal
        Symbols of the desired values, for all entries of the problem's object goal.

    """
    system = problem.system
    if not problem.object_goal:
        return ca.SX(0, 1), []
    carrying = offers(system, CarriedObject)
    if carrying is None:
        raise ParameterError(
            f'goal.{next(iter(problem.object_goal))}: a system of type '
            f'{system.name!r} has no object of its own'
        )
    s = model.symbols
    whole = model.whole_state(s.x, s.p), model.whole_parameters(s.p)
    rows, start = [], 0
    names: list[str] = []
    for entry, (values, matters) in problem.object_goal.items():
        value = carrying.object_motion(entry)(*whole)
        wanted = goal[start : start + len(values)]
        start += len(values)
        if entry == 'q_WO':
            row = _attitude_miss(value, wanted)
        else:
            row = (value - wanted)[np.flatnonzero(matters).tolist()]
        rows.append(row)
        names += [entry] * row.numel()
    return ca.vertcat(*rows), names


def _attitude_miss(value: ca.SX, goal: ca.SX) -> ca.SX:
    if value.numel() == 4:
        w, x, y, z = (goal[k] for k in range(4))
        rows = ca.vertcat(
            ca.horzcat(-x, w, z, -y), ca.horzcat(-y, -z, w, x), ca.horzcat(-z, y, -x, w)
        )
        return rows @ value
    R = rotation_matrix(goal).T @ ca.reshape(value, 3, 3)
    return ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]) / 4


def goal_error(problem: PlanProblem, x: Array) -> float:
    """
    Return the Euclidean norm of the error from the goal.

    Contact positions are in metres on the hand, rotations in radians, velocities in metres and
    radians per second.
    """
    return float(np.linalg.norm(np.concatenate([np.zeros(1), *goal_misses(problem, x).values()])))


def goal_misses(problem: PlanProblem, x: Array) -> dict[str, Array]:
    """Return the error vectors from the goal by name, in the units of :func:`goal_error`."""
    x_goal, matters = problem.goal_state
    system = problem.system
    apart = np.array(system.difference(nearest_turn(system, x, x_goal), x_goal)).ravel()
    out = {}
    for entry, turn in zip(system.state.entries, system.tangent.entries, strict=True):
        where = matters[system.state.slice(entry.name)]
        if where.any():
            miss = apart[system.tangent.slice(turn.name)]
            if entry.name in problem.free_axes:
                place = system.state.slice(entry.name)
                miss = axis_miss(x[place], x_goal[place], problem.free_axes[entry.name])
            out[entry.name] = miss if entry.kind == 'quaternion' else miss * where
    charted = offers(system, ChartCoordinates)
    if charted is not None:
        whole = {e.name for e in system.state.entries if matters[system.state.slice(e.name)].all()}
        out = charted.in_lengths(problem.p, x, x_goal, out, whole)
    carrying = offers(system, CarriedObject)
    if carrying is None:
        return out
    for name, (wanted, used) in problem.object_goal.items():
        value = np.array(carrying.object_motion(name)(x, problem.p)).ravel()
        if name == 'q_WO':
            q = value if value.size == 4 else mat2quat(value.reshape(3, 3).T)
            out[name] = rotation_vector(qmult(qconjugate(wanted), q / np.linalg.norm(q)))
        else:
            out[name] = (value - wanted) * used
    return out


def turned(q: Array, by: Array) -> Array:
    """Return the quaternion of R(q) after a rotation about one of its own axes, ``by`` [rad]."""
    angle = float(np.linalg.norm(by))
    if angle < 1e-12:
        return np.array(q, dtype=float)
    turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) / angle * np.asarray(by)])
    return np.asarray(qmult(q, turn))

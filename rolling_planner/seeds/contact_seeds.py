"""Seeds of an object on a hand: rolled, tilted, with a turned hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import closest_points
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import convert_state
from rolling_dynamics.contract.rolling_system import Symbols
from rolling_dynamics.errors import RollingError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.quaternions import rotation_vector
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import turned
from rolling_planner.progress import Watch
from rolling_planner.seeds.guess import Guess
from rolling_planner.seeds.kinematic_seed import (
    KinematicPlanner,
    KinematicSeed,
    rolling_path,
    SeedProblem,
)
from transforms3d.quaternions import qconjugate, qmult, quat2mat

LARGEST_TILT = 0.6  # rad
SOFT = 1e-4  # keeps the least-squares problem regular if a tilt has no effect


def tilt_seed(
    system: ContactSystem, p: Array, seed: KinematicSeed, active_controls: Array
) -> tuple[Array, Array]:
    """
    Return whole states and controls at the times of the seed, shapes (k, n) and (k, m).

    Parameters
    ----------
    system, p
        The contact system and its parameters.
    seed
        A rolling path, and the hand along it.
    active_controls
        Indices of the controls that may be used.

    """
    push = _push(system, p, seed, active_controls)  # (k, 6): tilt and acceleration of the hand
    times, layout = seed.times, system.state
    tilt, accel = push[:, :3], push[:, 3:]
    rate = np.gradient(tilt, times, axis=0)
    states = seed.states.copy()
    attitude = layout.slice('q_WH')
    for k, turn in enumerate(tilt):
        states[k, attitude] = turned(states[k, attitude], turn)
    velocity = _integral(accel, times)
    states[:, layout.slice('w_WH_H')] += rate
    states[:, layout.slice('v_WH_H')] += velocity
    states[:, layout.slice('p_WH')] += _integral(velocity, times)
    controls = np.zeros((len(times), system.control.size))
    controls[:, 0:3] = np.gradient(states[:, layout.slice('w_WH_H')], times, axis=0)
    controls[:, 3:6] = accel
    controls[:, [k for k in range(system.control.size) if k not in active_controls]] = 0.0
    return states, controls


def _integral(values: Array, times: Array) -> Array:
    steps = (values[1:] + values[:-1]) / 2 * np.diff(times)[:, None]
    return np.vstack([np.zeros(values.shape[1]), np.cumsum(steps, axis=0)])


def _push(system: ContactSystem, p: Array, seed: KinematicSeed, active: Array) -> Array:
    found = _sensitivity(system).map(len(seed.times))(seed.states.T, p)
    values, jacobians = np.array(found[0]).T, np.array(found[1]).reshape(3, -1, 6)
    out = np.zeros((len(seed.times), 6))
    used = np.array([k for k in range(6) if k in active], dtype=int)
    if not used.size:
        return out
    for k in range(len(out)):
        J = jacobians[:, k][:, used]
        if not (np.all(np.isfinite(J)) and np.all(np.isfinite(values[k]))):
            continue
        wanted = seed.rolling_rate[k] - values[k]
        scale = max(np.abs(J).max(), 1e-12)
        out[k, used] = np.linalg.lstsq(
            np.vstack([J / scale, SOFT * np.eye(len(used))]),
            np.concatenate([wanted / scale, np.zeros(len(used))]),
            rcond=None,
        )[0]
    out[:, :3] = np.clip(out[:, :3], -LARGEST_TILT, LARGEST_TILT)
    return out


@once_per_system
def _sensitivity(system: ContactSystem) -> ca.Function:
    """Return ``(x, p) -> rolling rate, its Jacobian`` in tilt and acceleration of the hand."""
    x, u, _, prm = Symbols.of(system.state, system.control, system.parameters)
    d, turn = ca.SX.sym('d', 3), ca.SX.zeros(system.tangent.size)
    turn[0:3] = d
    rate = system.mode.dynamics(system.retract(x, turn), u, 0, prm)[system.state.slice('w_HO_H')]
    at_rest = ca.substitute(rate, u[0:3], ca.SX.zeros(3))
    sensitivity = ca.jacobian(at_rest, ca.vertcat(d, u[3:6]))
    zero = [d, u], [ca.SX.zeros(3), ca.SX.zeros(6)]
    outputs = ca.substitute([at_rest, sensitivity], *zero)
    return ca.Function('push', [x, prm], [ca.densify(o) for o in outputs])


STEPS = 10  # Gauss-Newton steps at each time
CLOSE = 1e-6  # rad


def with_turning_hand(
    system: ContactSystem, p: Array, seed: KinematicSeed, active: Array
) -> KinematicSeed:
    """
    Return a seed whose hand keeps the object on top; the same seed if it already stays there.

    Parameters
    ----------
    system, p
        The contact system and its parameters.
    seed
        A rolling path; the hand rests in it.
    active
        Indices of the controls that may be used.

    """
    gravity, axes = system.gravity(p), np.array([k for k in range(3) if k in active], dtype=int)
    weight = float(np.linalg.norm(gravity))
    if not (weight > 0 and axes.size):
        return seed
    up, frame = -gravity / weight, system.contact_frame
    frames = np.array(frame.map(len(seed.times))(seed.states.T, p))
    if np.min(up @ frames[:3, 2 :: frame.size2_out(0)]) > 0:
        return seed
    normal, states, attitude = _normal(system), seed.states.copy(), system.state.slice('q_WH')
    for k, x in enumerate(states):
        x[attitude] = states[max(k - 1, 0), attitude]
        for _ in range(STEPS if k else 0):
            n, J = (np.array(v) for v in normal(x, p))
            turn = np.zeros(3)
            turn[axes] = np.linalg.lstsq(J[:, axes], up - n.ravel(), rcond=None)[0]
            x[attitude] = turned(x[attitude], turn)
            if np.linalg.norm(turn) < CLOSE:
                break
    steps = [
        rotation_vector(qmult(qconjugate(a), b))
        for a, b in zip(states[:-1, attitude], states[1:, attitude], strict=True)
    ]
    travelled = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    states[:, system.state.slice('w_WH_H')] += np.gradient(travelled, seed.times, axis=0)
    return replace(seed, states=states)


@once_per_system
def _normal(system: ContactSystem) -> ca.Function:
    """Return ``(x, p) -> contact normal in W, its Jacobian`` in a rotation of the hand about H."""
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    d = ca.SX.sym('d', 3)
    turn = ca.SX.zeros(system.tangent.size)
    turn[0:3] = d
    n = system.contact_frame(system.retract(x, turn), p)[:3, 2]
    values = ca.substitute([n, ca.jacobian(n, d)], [d], [ca.SX.zeros(3)])
    return ca.Function('normal', [x, p], [ca.densify(v) for v in values])


GUESSES = 4  # kinematic seeds that are tried


class ContactSeeds:
    """Seeds of an object on a hand."""

    def prepare(self, problem: PlanProblem) -> None:
        """Compile the path of the contact."""
        twin = _seed_system(_system(problem))
        if twin is not None:
            rolling_path(twin)

    def guesses(self, problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
        """Yield paths of the contact that reach the goal, with the tilt of the hand for them."""
        system, p = _system(problem), problem.p
        twin = _seed_system(system)
        if twin is None:
            return
        x_start = problem.x_start
        if twin is not system:
            x_start = convert_state(system, twin, p, x_start)
        goal, weights = _seed_goal(problem, system, twin, x_start)
        names = system.control.names
        active = np.array([names.index(c) for c in problem.active_controls])
        planner = KinematicPlanner(
            SeedProblem(
                system=twin,
                p=p,
                x_start=x_start,
                goal=goal,
                weights=weights,
                horizon=problem.horizon,
                seed=problem.seed,
            )
        )
        for k, seed in enumerate(planner.seeds(watch)):
            if k == GUESSES:
                return
            held = with_turning_hand(twin, p, seed, active)
            states, controls = tilt_seed(twin, p, held, active)
            if twin is not system:
                converted = _converted(twin, system, problem, states)
                if converted is None:
                    continue
                states = converted
            yield Guess.from_samples(seed.times, states, controls, name=f'kinematic {k}')


SEEDS = ContactSeeds()


def _system(problem: PlanProblem) -> ContactSystem:
    return cast('ContactSystem', problem.system)  # which names these seeds


@once_per_system
def _seed_system(system: ContactSystem) -> ContactSystem | None:
    """Return the system for the search for seeds, None if there are none."""
    if system.representation.name == 'attitude':
        return system
    if system.object_surface.support is None or system.object_surface.side != 'outside':
        return None
    return system.with_representation('attitude')


def _seed_goal(
    problem: PlanProblem, system: ContactSystem, twin: ContactSystem, x_start: Array
) -> tuple[Array, Array]:
    """Return the goal in the attitude representation, and the mask of its 3 + 2 components."""
    x_goal, matters = problem.goal_state
    layout, source = twin.state, system.state
    if twin is system:
        goal = x_goal.copy()
        turns = float(matters[source.slice('q_HO')].any())
    else:
        goal = convert_state(system, twin, problem.p, x_goal)
        whole = np.r_[source.slice('contact_o'), source.slice('psi')]
        turns = float(matters[whole].all())
    weights = np.concatenate([np.full(3, turns), matters[source.slice('contact_h')].astype(float)])
    values = {name: value for name, (value, used) in problem.object_goal.items() if used.all()}
    if 'q_WO' in values:  # the hand is taken to end as it starts
        goal[layout.slice('q_HO')] = qmult(
            qconjugate(x_start[layout.slice('q_WH')]), values['q_WO']
        )
        weights[:3] = 1.0
    if 'p_WO' in values:
        contact = _contact_below(twin, problem.p, goal, x_start, values['p_WO'])
        if contact is not None:
            goal[layout.slice('contact_h')], weights[3:] = contact, 1.0
    return goal, weights


def _contact_below(
    system: ContactSystem, p: Array, goal: Array, x_start: Array, p_WO: Array
) -> Array | None:
    """Return the point of the hand, in its initial pose, nearest to an object at p_WO."""
    layout, params = system.state, system.parameters.unpack(p)
    R_WH = quat2mat(x_start[layout.slice('q_WH')])
    try:
        return closest_points(
            system.object_surface,
            system.hand_surface,
            quat2mat(goal[layout.slice('q_HO')]),
            R_WH.T @ (p_WO - x_start[layout.slice('p_WH')]),
            object_parameters=params['object_surface'],
            hand_parameters=params['hand_surface'],
            hand_chart=system.hand_chart,
            near=x_start[layout.slice('contact_h')],
        ).contact_h
    except RollingError:
        return None


def _converted(
    twin: ContactSystem, system: ContactSystem, problem: PlanProblem, states: Array
) -> Array | None:
    """Return states on the problem's charts, each angle continuing the previous one."""
    out = [problem.x_start]
    where = system.state.slice('contact_o')
    spin = system.state.slice('psi')
    for x in states[1:]:
        try:
            y = convert_state(twin, system, problem.p, x, near_o=out[-1][where])
        except RollingError:  # off the chart: no guess for this representation
            return None
        y[spin] += 2 * np.pi * np.round((out[-1][spin] - y[spin]) / (2 * np.pi))
        out.append(y)
    return np.array(out)

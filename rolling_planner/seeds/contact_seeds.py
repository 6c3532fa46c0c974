"""First guesses of plans of an object on a hand, by the kinematics of rolling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import closest_points, ContactSystem, convert_state
from rolling_dynamics.errors import RollingError
from rolling_planner.problem import PlanProblem
from rolling_planner.progress import Watch
from rolling_planner.seeds.guess import Guess
from rolling_planner.seeds.kinematic_seed import KinematicPlanner, SeedProblem
from rolling_planner.seeds.rolling_path import RollingPath
from rolling_planner.seeds.tilt_seed import tilt_seed
from rolling_planner.seeds.turned_hand import with_turning_hand
from transforms3d.quaternions import qconjugate, qmult, quat2mat

GUESSES = 4  # kinematic ones that are tried


class ContactSeeds:
    """Seeds of an object on a hand."""

    def prepare(self, problem: PlanProblem) -> None:
        """Compile the path of the contact."""
        twin = _seed_system(_system(problem))
        if twin is not None:
            RollingPath.of(twin)

    def guesses(self, problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
        """Yield paths of the contact that reach the goal, with the hand tilting for them."""
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


def _seed_system(system: ContactSystem) -> ContactSystem | None:
    """Return the system on which seeds are sought, None if there are none."""
    if system.representation.name == 'attitude':
        return system
    if system.object_surface.support is None or system.object_surface.side != 'outside':
        return None
    return system.with_representation('attitude')


def _seed_goal(
    problem: PlanProblem, system: ContactSystem, twin: ContactSystem, x_start: Array
) -> tuple[Array, Array]:
    """Return the goal in the attitude representation, and which of its 3 + 2 numbers matter."""
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
    """Return the point of the hand, as it stands at the start, nearest an object at p_WO."""
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
    """Return states on the problem's charts, each angle continuing the one before."""
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

"""Carry a cylinder through waypoints, rolling it on three compliant fingertips."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
import math
import sys

import numpy as np
from rolling_dynamics.scenario import load_scenario
from rolling_planner import Plan, plan_rolling, PlanProblem
from rolling_planner.problem.scenario import read_problem

TIP, SUNK, DEPTH = 0.015, 0.002, 0.004  # radius of a tip, depth at the start and at most [m]
WAYPOINTS = (  # position [m] and turn about the axis [rad], at rest
    ((0.015, 0.010, 0.005), 0.3),
    ((-0.010, 0.015, 0.010), -0.3),
    ((0.000, -0.015, 0.020), 0.2),
    ((0.000, 0.000, 0.000), 0.0),
)


def grasped(diameter: float) -> PlanProblem:
    """Return the problem of a cylinder of a diameter [m] in three fingertips."""
    given, away = load_scenario('three_fingertips').raw, diameter / 2 + TIP - SUNK
    machine, turns = given['machine'], [2 * math.pi * k / 3 for k in range(3)]
    cylinder = {**machine['bodies']['cylinder'], 'radius': diameter / 2}
    contacts = {tip: {**c, 'depth': DEPTH} for tip, c in machine['contacts'].items()}
    scenario = {
        **given,
        'machine': {
            **machine,
            'bodies': {**machine['bodies'], 'cylinder': cylinder},
            'contacts': contacts,
        },
        'initial': {
            f'p_tip_{k}': [away * math.cos(t), away * math.sin(t), 0.0]
            for k, t in enumerate(turns, 1)
        },
        'control': {},
        'duration': 1,
        'plan': {
            'active_controls': [f'finger_{k}_v_{a}' for k in (1, 2, 3) for a in 'xyz'],
            'segments': 10,
            'goal': {'p_cylinder': [0, 0, 0], 'q_cylinder': [1, 0, 0, 0]}
            | {f'v_tip_{k}': [0, 0, 0] for k in (1, 2, 3)},
        },
    }
    return read_problem(load_scenario(scenario))


def carried(
    diameter: float, waypoints: Sequence[tuple[Sequence[float], float]] = WAYPOINTS
) -> Iterator[Plan]:
    """Yield a plan to each waypoint, from where the last one ended."""
    problem = grasped(diameter)
    for position, turn in waypoints:
        q = np.array([math.cos(turn / 2), 0, 0, math.sin(turn / 2)])
        goal = {**problem.goal, 'p_cylinder': np.array(position), 'q_cylinder': q}
        plan = plan_rolling(replace(problem, goal=goal))
        yield plan
        problem = replace(problem, x_start=plan.states[-1])


def main() -> None:
    """Carry cylinders of the diameters [m] that the command line names."""
    for diameter in map(float, sys.argv[1:] or ('0.06', '0.08', '0.1')):
        for plan, (position, _) in zip(carried(diameter), WAYPOINTS, strict=True):
            where = grasped(diameter).system.state.unpack(plan.states[-1])['p_cylinder']
            missed = np.linalg.norm(where - position)
            margin = min(plan.report['least_margins'].values())
            print(
                f'{diameter:g} m: {position} missed by {missed:.2g} m, least margin {margin:.2g}'
            )


if __name__ == '__main__':
    main()

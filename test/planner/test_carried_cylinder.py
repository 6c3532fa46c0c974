"""A cylinder that three compliant fingertips carry to a place, rolling on it."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_planner import plan_rolling
from rolling_planner.problem.scenario import read_problem

TIP, SUNK = 0.015, 0.002
PLACE, TURN = [0.015, 0.010, 0.005], 0.15  # [m], [rad]
TURNS = [2 * math.pi * k / 3 for k in range(3)]
STILL = {f'v_tip_{k}': [0, 0, 0] for k in (1, 2, 3)}


def tips(radius, place, turn):
    """Return where fingertips are that sink in alike, having rolled round by a turn [rad]."""
    lever = radius - SUNK
    away, moved = lever + TIP, turn * lever / (lever + TIP)
    return {
        f'p_tip_{k}': place + away * np.array([math.cos(t + moved), math.sin(t + moved), 0.0])
        for k, t in enumerate(TURNS, 1)
    }


def grasped(radius):
    """Return the problem of a cylinder of a radius [m] in three fingertips."""
    given = load_scenario('three_fingertips').raw
    bodies = given['machine']['bodies']
    bodies = {**bodies, 'cylinder': {**bodies['cylinder'], 'radius': radius}}
    scenario = {
        **given,
        'machine': {**given['machine'], 'bodies': bodies},
        'initial': {name: at.tolist() for name, at in tips(radius, [0, 0, 0], 0.0).items()},
        'control': {},
        'duration': 1,
        'plan': {
            'active_controls': [f'finger_{k}_v_{a}' for k in (1, 2, 3) for a in 'xyz'],
            'segments': 10,
            'time_budget': 60,
            'goal': {'p_cylinder': [0, 0, 0], **STILL},
        },
    }
    return read_problem(load_scenario(scenario))


@pytest.mark.slow  # plans
def test_fingertips_carry_and_turn_a_cylinder():
    """Simulated with the planned controls: at most 1 mm from the place; it turns by rolling."""
    radius = 0.04
    problem = grasped(radius)
    ends = {name: np.array(at) for name, at in tips(radius, PLACE, TURN).items()}
    leg = replace(problem, goal={**problem.goal, **ends, 'p_cylinder': np.array(PLACE)})
    plan = plan_rolling(leg)
    state = leg.system.state.unpack(plan.states[-1])
    assert np.linalg.norm(state['p_cylinder'] - PLACE) < 1e-3
    # the lever is that of the depth to which the tips sink, which may change on the way
    turned = 2 * math.atan2(state['q_cylinder'][3], state['q_cylinder'][0])
    assert turned == pytest.approx(TURN, rel=0.1)
    assert min(plan.report['least_margins'].values()) > 0  # each contact in its cone

"""Straight rolls of a ball: they reach the goal, and the optimised plan is shorter (Fig. 9)."""

import numpy as np
from planning_problems import reorientation, turn
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_planner import plan_rolling
from rolling_planner.seeds.geometric_path import roll_straight, triangle_path, whole_turns_path
from transforms3d.quaternions import qconjugate, qmult

START = [1.0, 0, 0, 0]


@pytest.mark.parametrize('planner', [whole_turns_path, triangle_path])
@pytest.mark.parametrize(
    'case', [*range(2), *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 6))]
)
def test_the_goal_is_reached(planner, case):
    rng = np.random.default_rng(case)
    q, goal = rng.normal(size=4), rng.uniform(-0.1, 0.1, 2)
    q /= np.linalg.norm(q)
    path = planner(0.1, [0.0, 0.0], goal, START, q)
    np.testing.assert_allclose(path.corners[-1], goal, atol=1e-12)
    assert np.linalg.norm(rotation_vector(qmult(qconjugate(q), path.q_HO))) < 1e-8


def test_a_straight_roll():
    """A roll by a quarter turn along y takes the top to the front."""
    R = roll_straight([0, 0.1 * np.pi / 2], 0.1)
    np.testing.assert_allclose(R @ [0, 0, 1], [0, 1, 0], atol=1e-15)


def test_nothing_to_do():
    assert whole_turns_path(0.1, [0, 0], [0, 0], START, START).length == 0
    assert triangle_path(0.1, [0, 0], [0, 0], START, START).length == 0


def test_what_is_out_of_reach_is_refused():
    with pytest.raises(ParameterError, match='two whole turns go'):
        whole_turns_path(0.01, [0, 0], [1, 0], START, START)
    with pytest.raises(ParameterError, match='radius must be positive'):
        triangle_path(-1.0, [0, 0], [1, 0], START, START)


def test_the_optimised_path_is_shorter_than_the_geometric_one():
    problem = reorientation()
    plan = plan_rolling(problem)
    places = plan.states[:, problem.system.state.slice('contact_h')]
    length = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
    path = whole_turns_path(0.1, [0, 0], [0, -0.033], START, turn('x', np.pi / 2))
    assert length < 0.7 * path.length

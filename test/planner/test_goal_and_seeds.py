"""Goals as rows and errors; kinematic seeds and the hand motion that follows them."""

from dataclasses import replace

import numpy as np
from planning_problems import (
    at_rest,
    ball,
    ball_in_dish,
    ellipsoid_on_plate,
    published,
    reorientation,
    TILT,
    turn,
)
import pytest
from rolling_dynamics import load_scenario
from rolling_dynamics.errors import CancelledError, ParameterError, SurfaceError
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere
from rolling_planner import InfeasibleError, Planner, PlanProblem
from rolling_planner.planners.planner import planner_of
from rolling_planner.problem.goal import goal_error, goal_misses, rotation_vector
from rolling_planner.progress import Watch
from rolling_planner.seeds.guess import initial_guesses
from rolling_planner.transcription.formulation import formulate
from transforms3d.quaternions import qmult


def first_guess(problem):
    return next(iter(initial_guesses(problem, Watch(None, np.inf))))


# -- goals ----------------------------------------------------------------------------------------


def test_rows_vanish_at_the_goal_and_measure_the_miss():
    problem = reorientation()
    model = formulate(problem).model
    rows = formulate(problem).goal(problem)
    x_goal, _ = problem.goal_state
    np.testing.assert_allclose(rows.rows @ x_goal[model.state_index], rows.values, atol=1e-15)
    x = x_goal.copy()
    where = problem.system.state.slice('q_HO')
    x[where] = -qmult(x_goal[where], turn('y', 0.2))  # either sign is the same attitude
    miss = (rows.rows @ x[model.state_index] - rows.values)[np.array(rows.names) == 'q_HO']
    np.testing.assert_allclose(np.abs(miss), [0, np.sin(0.1), 0], atol=1e-15)
    assert goal_error(problem, x) == pytest.approx(0.2)


def test_angles_are_met_up_to_whole_turns():
    problem = published(goal_mode='hard')
    rows = formulate(problem).goal(problem)
    model = formulate(problem).model
    x, _ = problem.goal_state
    layout = problem.system.state
    x = x.copy()
    x[layout.slice('psi')] += 2 * np.pi
    x[layout.slice('contact_o')] += [0, -4 * np.pi]
    np.testing.assert_allclose(
        rows.values_near(x[model.state_index]), rows.rows @ x[model.state_index], atol=1e-12
    )
    assert goal_error(problem, x) < 1e-12


def test_goal_error_is_in_metres_on_a_curved_hand():
    problem = ball_in_dish()
    x, _ = problem.goal_state
    x = x.copy()
    x[problem.system.state.slice('contact_h')] += [0.01, 0]
    assert goal_error(problem, x) == pytest.approx(0.4 * 0.01, rel=1e-3)


def test_goal_error_of_contact_coordinates_is_a_turn():
    problem = published()
    x, _ = problem.goal_state
    x = x.copy()
    x[problem.system.state.slice('psi')] += 0.05
    assert goal_error(problem, x) == pytest.approx(0.05)


def test_a_freed_entry_does_not_count():
    problem = reorientation(goal={'contact_h': [0, 0.1], 'q_WH': None, 'w_HO_H': None})
    assert set(goal_misses(problem, problem.x_start)) == {'contact_h', 'w_WH_H', 'v_WH_H'}


def test_object_goals_are_judged_in_the_world():
    problem = reorientation(goal={'p_WO': [0.03, 0, 0.1], 'q_WO': turn('x', 0.3)})
    misses = goal_misses(problem, problem.x_start)
    np.testing.assert_allclose(misses['p_WO'], [-0.03, 0, 0])
    assert np.linalg.norm(misses['q_WO']) == pytest.approx(0.3)


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.5, 3.0])
def test_rotation_vector(angle):
    np.testing.assert_allclose(rotation_vector(turn('y', angle)), [0, angle, 0], atol=1e-15)
    np.testing.assert_allclose(rotation_vector(-turn('y', angle)), [0, angle, 0], atol=1e-15)


def test_a_residual_velocity_of_the_hand_that_no_control_moves_is_within_the_tolerance():
    """A hand that has come to rest turns by some 1e-9 rad/s about its normal still."""
    problem = reorientation()
    residual = problem.x_start.copy()
    residual[problem.system.state.slice('w_WH_H')] += [5e-9, 0, 5e-9]
    rows = formulate(replace(problem, x_start=residual)).goal
    assert rows(problem).names == formulate(problem).goal(problem).names
    assert np.isfinite(rows(replace(problem, x_start=residual)).values).all()
    residual[problem.system.state.slice('w_WH_H')] += [1, 0, 1]
    moved = replace(problem, x_start=residual)
    with pytest.raises(InfeasibleError, match=r'w_WH_H differs from the start by 1, '):
        formulate(moved).goal(moved)


def test_what_the_hand_cannot_move_is_refused_at_once():
    with pytest.raises(InfeasibleError, match=r'goal\.p_WH .* alpha_WH_H_x'):
        Planner(reorientation(goal={'contact_h': [0, 0], 'p_WH': [0.1, 0, 0]}))


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'horizon': 0.0}, 'horizon must be positive'),
        ({'horizon': float('nan')}, 'horizon must be positive'),
        ({'goal': {'contact': [0, 0]}}, r"no such state; did you mean 'contact_h'\? .*p_WO"),
        ({'control_limits': {'alpha_WH_x': (-1, 1)}}, "did you mean 'alpha_WH_H_x'"),
        ({'state_limits': {'alpha_WH_H_x': (-1, 1)}}, r'^state_limits\.alpha_WH_H_x: no such'),
        ({'active_controls': ['alpha_WH_x']}, "no such control: 'alpha_WH_x'; did you mean"),
        ({'goal': {'contact_h': [0, np.nan]}}, r'goal\.contact_h must be finite'),
        ({'goal': {'contact_h': [0, 0, 0]}}, r'goal\.contact_h: takes 2 numbers u_h v_h, got 3'),
        ({'goal': {'q_HO': [1, 1, 0, 0]}}, r'goal\.q_HO must be a unit quaternion'),
        ({'goal': {'v_WO_W': [1, 0]}}, r'goal\.v_WO_W: takes 3 numbers'),
        ({'control_limits': -1.0}, 'control_limits must be positive'),
        ({'control_limits': {'alpha': (-1, 1)}}, "control_limits: no control 'alpha'"),
        ({'state_limits': {'u_h': (0.1, 0.2)}}, r'x_start\.u_h must lie between 0\.1 and 0\.2'),
        ({'method': 'euler'}, 'method must be one of'),
        ({'p': [0.05, 0.03]}, r'p takes \d+ finite numbers, got shape \(2,\)'),
        ({'x_start': [0.0]}, r'x_start takes 22 finite numbers, got shape \(1,\)'),
        ({'segments': 1}, 'segments must be an integer, at least 2'),
        ({'time_budget': 0}, 'time_budget must be positive'),
        ({'effort': 0}, 'effort must be positive'),
        ({'goal': {'q_HO': {'rpi': [0, 0, 1]}}}, r"goal\.q_HO\.rpi: unknown .*mean 'rpy'"),
        ({'goal': {'contact_h': {'rpy': [0, 0, 1]}}}, r'goal\.contact_h: takes 2 numbers'),
    ],
)
def test_a_problem_that_is_none_is_refused(change, text):
    with pytest.raises(ParameterError, match=text):
        reorientation(**change)


def test_names_and_attitudes_are_those_of_a_scenario():
    """An entry of the controls stands for its numbers, and an attitude has any of its forms."""
    problem = reorientation(
        goal={'q_HO': {'rpy': [0, 0, 1.0]}}, active_controls=['a_WH_H_z', 'alpha_WH_H']
    )
    assert problem.active_controls == ['a_WH_H_z', 'alpha_WH_H_x', 'alpha_WH_H_y', 'alpha_WH_H_z']
    np.testing.assert_allclose(problem.goal['q_HO'], turn('z', 1.0), atol=1e-15)
    assert reorientation(active_controls=()).active_controls == problem.system.control.names
    assert replace(problem, horizon=2.0).goal is problem.goal


@pytest.mark.parametrize(
    ('name', 'goal'),
    [
        ('driven_shell', {'c_shell_x': 1.0, 'c_shell_y': 2.0}),
        ('two_wheeler', {'p_body_x': 1.0, 'p_body_y': 2.0, 'p_body_z': 0.08}),  # its axle's height
        ('ball_on_plate_straight', {'p_WO_x': 1.0, 'p_WO_y': 2.0}),
        ('mecanum_wheel', {}),  # its carriage slides along axes of its own
    ],
)
def test_a_place_in_the_world_is_a_goal_of_what_rolls(name, goal):
    scenario = load_scenario(name)
    planner = planner_of(scenario.system.name)
    assert planner.goal_at(scenario, np.array([1.0, 2.0, 3.0])) == pytest.approx(goal)


def test_a_goal_off_the_plate_is_refused():
    system, p = ball(hand=Plane(u_bounds=(-0.1, 0.1)))
    text = r'goal\.u_h must lie between -0\.1 and 0\.1, the edge'
    with pytest.raises(ParameterError, match=text):
        PlanProblem(
            system=system,
            p=p,
            x_start=at_rest(system),
            goal={'contact_h': [0.2, 0]},
            horizon=1.0,
            active_controls=TILT,
        )


def test_a_start_at_the_pole_of_the_hands_chart_is_refused():
    system, p = ball(0.05, hand=Sphere(0.4, side='inside'))
    with pytest.raises((ParameterError, SurfaceError), match='chart'):
        PlanProblem(
            system=system,
            p=p,
            x_start=at_rest(system, contact_h=[np.pi, 0]),
            goal={},
            horizon=1.0,
            active_controls=TILT,
        )


# -- seeds ----------------------------------------------------------------------------------------

SEEDED = {
    'ball': reorientation,
    'ball that goes one straight roll': lambda: reorientation(0.033 / (np.pi / 2)),
    'ball spun about the vertical': lambda: reorientation(
        goal={'contact_h': [0, 0], 'q_HO': turn('z', 1.5)}
    ),
    'ellipsoid': ellipsoid_on_plate,
    'ball in a dish': ball_in_dish,
    'ellipsoid in a dish': lambda: ball_in_dish(Ellipsoid(0.06, 0.05, 0.04)),
}


@pytest.mark.parametrize('name', SEEDED)
def test_the_holonomy_of_a_seed_reaches_the_goal(name):
    problem = SEEDED[name]()
    guess = first_guess(problem)
    assert guess.name.startswith('kinematic')
    end = guess.states(np.array([problem.horizon]))[0]
    misses = goal_misses(problem, end)
    assert np.linalg.norm(misses['contact_h']) < 2e-3
    assert np.linalg.norm(misses['q_HO']) < 5e-3
    start, layout = guess.states(np.array([0.0]))[0], problem.system.state
    for entry in ('contact_h', 'q_HO', 'w_HO_H', 'p_WH'):
        where = layout.slice(entry)
        np.testing.assert_allclose(start[where], problem.x_start[where], atol=1e-9)


def test_a_seed_rolls():
    """Without spin, the object turns by what the contact point goes: w = (-v_y, v_x) / R."""
    problem = reorientation()
    guess, layout = first_guess(problem), problem.system.state
    t = np.linspace(0, problem.horizon, 400)
    x = guess.states(t)
    velocity = np.gradient(x[:, layout.slice('contact_h')], t, axis=0)
    w = x[:, layout.slice('w_HO_H')]
    np.testing.assert_allclose(w[5:-5, 0], -velocity[5:-5, 1] / 0.1, atol=0.5)
    np.testing.assert_allclose(w[5:-5, 1], velocity[5:-5, 0] / 0.1, atol=0.5)
    np.testing.assert_allclose(w[:, 2], 0, atol=1e-12)


def test_a_seed_starts_and_ends_rolling():
    system, p = ball()
    problem = PlanProblem(
        system=system,
        p=p,
        x_start=at_rest(system, w_HO_H=[0, 2, 0]),
        goal={'contact_h': [0.1, 0], 'w_HO_H': [1, 0, 0]},
        horizon=1.0,
        active_controls=TILT,
    )
    x = first_guess(problem).states(np.array([0.0, 1.0]))[:, system.state.slice('w_HO_H')]
    np.testing.assert_allclose(x, [[0, 2, 0], [1, 0, 0]], atol=1e-9)


def test_seeds_differ_and_come_in_the_same_order():
    problem = reorientation()
    ends = []
    for _ in range(2):
        guesses = list(initial_guesses(problem, Watch(None, np.inf)))
        assert len(guesses) >= 3
        assert guesses[-1].name == 'stationary'
        ends.append([g.states(np.array([0.7]))[0] for g in guesses])
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.abs(ends[0][0] - ends[0][1]).max() > 1e-3


def test_the_search_for_a_seed_can_be_cancelled():
    def report(iteration):
        assert iteration.stage == 'guess'
        return iteration.number < 3

    with pytest.raises(CancelledError):
        next(iter(initial_guesses(reorientation(), Watch(report, np.inf))))


def test_the_winding_follows_the_seed():
    """In contact coordinates the goal is met at the turn to which the seed leads."""
    system, p = ball(representation='coordinates')
    problem = PlanProblem(
        system=system,
        p=p,
        x_start=at_rest(system),
        goal={'contact_o': [np.pi / 2, 0.1], 'psi': 2 * np.pi},
        horizon=2.0,
        active_controls=TILT,
    )
    end = first_guess(problem).states(np.array([2.0]))[0]
    assert goal_error(problem, end) < 0.5

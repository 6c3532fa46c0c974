"""Plans reach their goals and keep their constraints, judged by an independent integration."""

import contextlib
import json
import time

import numpy as np
from planning_problems import (
    at_rest,
    ball,
    ball_in_dish,
    ellipsoid_on_plate,
    published,
    reorientation,
    TILT,
    TRANSLATION,
    turn,
)
import pytest
from rolling_dynamics.contact.closest_points import closest_points
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid
from rolling_planner import (
    InfeasibleError,
    NotConvergedError,
    Plan,
    plan_rolling,
    PlanningTimeoutError,
    PlanProblem,
)
from rolling_planner.problem.goal import goal_error
from rolling_planner.refinement import planner
from rolling_planner.refinement.attempt import attempt
from rolling_planner.seeds.guess import warm_guess
from rolling_planner.spin_rolling.motion import contact_of_attitude
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling

JUDGED = 50  # points of a segment


@pytest.fixture(scope='module')
def cold():
    """Return the plan of the reorientation without a start."""
    return plan_rolling(reorientation())


def test_the_path_is_shorter_than_the_geometric_one(cold):
    """Fig. 9: the contact goes a shorter way than straight rolls in closed form."""
    where = reorientation().system.state.slice('contact_h')
    length = np.linalg.norm(np.diff(cold.states[:, where], axis=0), axis=1).sum()
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    ends = ([0, 0], np.eye(3)), ([0, -0.033], about_x)
    path = plan_pure_rolling(0.1, *(contact_of_attitude(*end) for end in ends))
    assert length < 0.7 * path.length


def replay(problem, plan):
    """Return states and contact wrenches of the plan's controls, integrated adaptively."""
    t = np.linspace(0, plan.duration, JUDGED * (len(plan.times) - 1) + 1)
    states = simulate(
        problem.system,
        problem.p,
        problem.x_start,
        (plan.times, plan.controls),
        plan.duration,
        t_eval=t,
        rtol=1e-10,
        atol=1e-12,
        events=(),
    ).states
    u = np.column_stack([np.interp(t, plan.times, c) for c in plan.controls.T])
    wrench = problem.system.mode.wrench.map(len(t))(states.T, u.T, 0, problem.p)
    return t, states, np.array(wrench).T


def check(problem, plan):
    """Assert that the replayed plan is valid; return states and wrenches over the weight."""
    _, x, wrench = replay(problem, plan)
    weight = problem.p[0] * 9.81
    assert goal_error(problem, x[-1]) <= problem.goal_tolerance
    assert goal_error(problem, x[-1]) == pytest.approx(plan.report['goal_error'], abs=1e-5)
    f = wrench / weight
    if not problem.release:
        assert f[:, 5].min() >= problem.normal_force_min - 1e-3
    if problem.friction_cone:
        mu = problem.system.parameters.unpack(problem.p)['mu'][0]
        assert np.max(np.hypot(f[:, 3], f[:, 4]) - mu * f[:, 5]) < 1e-3
    limits = problem.control_limits
    assert np.abs(plan.controls).max() <= limits * (1 + 1e-6)
    idle = [k for k, n in enumerate(plan.control_names) if n not in problem.active_controls]
    assert np.all(plan.controls[:, idle] == 0)
    return x, f


def test_hard(cold):
    problem = reorientation()
    x, _ = check(problem, cold)
    where = problem.system.state.slice('contact_h')
    np.testing.assert_allclose(x[-1, where], [0, -0.033], atol=1e-3)


@pytest.mark.slow
def test_straight_by_the_published_loop():
    problem = published()
    plan = plan_rolling(problem)
    check(problem, plan)
    assert plan.report['method'] == 'trapezoidal'
    assert plan.report['segments'] >= 50


@pytest.mark.slow
def test_the_published_guess_fails_where_it_lies_in_a_symmetry_plane_with_the_goal():
    """The solver reports success far from the goal; the simulated goal error is what says."""
    problem = published(0.1, refinements=0)
    with pytest.raises(NotConvergedError, match=r'goal error 0\.[4-9].* most in goal\.contact_o'):
        plan_rolling(problem)
    reached = plan_rolling(published(0.1, guess='kinematic', goal_tolerance=0.1))
    assert reached.report['goal_error'] < 0.1


@pytest.mark.slow
def test_contact_coordinates_reach_the_hard_goal():
    system, p = ball(representation='coordinates')
    problem = PlanProblem(
        system=system,
        p=p,
        x_start=at_rest(system),
        goal={'contact_h': [0, -0.033], 'contact_o': [np.pi / 2, np.pi / 2], 'psi': 0},
        horizon=2.0,
        active_controls=TILT,
        control_limits=50.0,
    )
    check(problem, plan_rolling(problem))


@pytest.mark.slow
def test_an_active_friction_cone_is_kept_everywhere():
    free = reorientation(friction_cone=False)
    _, f = check(free, plan_rolling(free))
    assert np.max(np.hypot(f[:, 3], f[:, 4]) / f[:, 5]) > 0.12  # so that mu = 0.1 binds
    problem = reorientation(mu=0.1)
    _, f = check(problem, plan_rolling(problem))
    excess = np.hypot(f[:, 3], f[:, 4]) - 0.1 * f[:, 5]
    assert -0.01 < excess.max() < 1e-3


@pytest.mark.slow
def test_state_limits_are_kept_between_the_nodes():
    problem = reorientation(state_limits={'u_h': (-0.2, 0.2)})
    x, _ = check(problem, plan_rolling(problem))
    u = x[:, problem.system.state.names.index('u_h')]
    assert np.abs(u).max() < 0.2 + 1e-5
    assert np.abs(u).max() > 0.19


@pytest.mark.slow
def test_tightened_plan_starts_from_the_multipliers_of_the_one_before(monkeypatch):
    """It is the same optimum as without them, in far fewer iterations."""
    problem = reorientation(state_limits={'u_h': (-0.2, 0.2)})
    made = []

    def noted(*arguments, **options):
        made.append((arguments, options, attempt(*arguments, **options)))
        return made[-1][2]

    monkeypatch.setattr(planner, 'attempt', noted)
    plan_rolling(problem)
    arguments, options, warm = next(m for m in made if m[1]['previous'] is not None)
    cold = attempt(*arguments, **{**options, 'previous': None})
    assert warm.optimum.solved
    assert warm.optimum.cost == pytest.approx(cold.optimum.cost, rel=0.02)
    assert warm.optimum.iterations < 0.6 * cold.optimum.iterations


@pytest.mark.slow
def test_spin_friction_in_pure_rolling():
    def problem(mu_spin):
        system, p = ball(friction='pure_rolling', mu_spin=mu_spin)
        return PlanProblem(
            system=system,
            p=p,
            x_start=at_rest(system),
            goal={'contact_h': [0, -0.033], 'q_HO': turn('x', np.pi / 2)},
            horizon=2.0,
            active_controls=TILT,
            control_limits=50.0,
        )

    loose = problem(0.02)
    x, f = check(loose, plan_rolling(loose))
    np.testing.assert_allclose(x[:, loose.system.state.slice('w_HO_H')][:, 2], 0, atol=1e-6)
    needed = np.max(np.abs(f[:, 2]) / f[:, 5])
    tight = problem(0.6 * needed)
    _, f = check(tight, plan_rolling(tight))
    assert np.max(np.abs(f[:, 2]) - 0.6 * needed * f[:, 5]) < 1e-3 * needed


BODIES = {
    'ellipsoid on a plate': ellipsoid_on_plate,
    'ball in a dish': ball_in_dish,
    'ellipsoid in a dish': lambda: ball_in_dish(Ellipsoid(0.06, 0.05, 0.04)),
}


@pytest.mark.slow
@pytest.mark.parametrize('name', BODIES)
def test_other_bodies(name):
    problem = BODIES[name]()
    check(problem, plan_rolling(problem))


def on_plate(**options):
    system, p = ball()
    return PlanProblem(
        **{
            'system': system,
            'p': p,
            'x_start': at_rest(system),
            'horizon': 2.0,
            'active_controls': TILT,
            'control_limits': 50.0,
            **options,
        }
    )


FAST = ('translation', 'goal still rolling', 'goal with free parts')
MOTIONS = {
    'translation': {
        'goal': {'contact_h': [0.02, -0.033], 'q_HO': turn('x', 0.3)},
        'active_controls': TRANSLATION,
    },
    'tilt and translation, back to the start': {
        'goal': {'contact_h': [0.02, -0.033], 'q_HO': turn('x', 0.5), 'p_WH': [0, 0, 0]},
        'active_controls': (*TILT, *TRANSLATION[:2]),
    },
    'six degrees of freedom': {
        'goal': {'contact_h': [0.02, -0.03], 'q_HO': turn('z', 0.5), 'p_WH': [0.1, 0, 0]},
        'active_controls': (
            'alpha_WH_H_x',
            'alpha_WH_H_y',
            'alpha_WH_H_z',
            *TRANSLATION,
        ),
    },
    'goal still rolling': {
        'goal': {'contact_h': [0.05, 0], 'w_HO_H': [0, 2, 0]},
        'horizon': 1.0,
    },
    'goal with free parts': {
        'goal': {'u_h': 0.05, 'q_WH': None, 'w_HO_H': None},
        'horizon': 1.0,
    },
    'pose of the object in the world': {
        'goal': {'p_WO': [0.03, 0.02, 0.1], 'q_WO': turn('y', 0.8)},
    },
    'velocity of the object in the world': {
        'goal': {'v_WO_W': [0.2, 0.1, 0], 'contact_h': [0.1, 0]},
        'horizon': 1.0,
    },
}


@pytest.mark.parametrize(
    'name',
    [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in MOTIONS],
)
def test_motions(name):
    problem = on_plate(**MOTIONS[name])
    check(problem, plan_rolling(problem))


@pytest.mark.slow
def test_rolling_start():
    system, p = ball()
    problem = PlanProblem(
        system=system,
        p=p,
        x_start=at_rest(system, w_HO_H=[0, 2, 0]),
        goal={'contact_h': [0.1, 0], 'q_HO': turn('x', 0.3)},
        horizon=2.0,
        active_controls=TILT,
        control_limits=50.0,
    )
    check(problem, plan_rolling(problem))


# -- release --------------------------------------------------------------------------------------


def test_release_into_free_flight():
    problem = on_plate(
        goal={'v_WO_W': [0.3, 0, 1.0], 'q_WO': turn('y', 0.5)},
        horizon=0.6,
        release=True,
        active_controls=('alpha_WH_H_y', 'a_WH_H_x', 'a_WH_H_z'),
        control_limits=200.0,
    )
    plan = plan_rolling(problem)
    x, f = check(problem, plan)
    assert np.linalg.norm(f[-1, 3:]) < 2e-3  # the whole force, not its normal part alone
    assert np.all(f[: -JUDGED - 1, 5] > problem.normal_force_min - 1e-3)  # until the last segment
    assert np.all(f[-JUDGED:, 5] > -1e-3)
    release = plan.report['release']
    assert release['force_rate'] < 0
    assert release['acceleration_excess'] > 0  # a_z,rel > a_z,roll
    assert release['gap'] > 0
    assert gap_in_flight(problem, x[-1], plan, 0.02) > 1e-5


def gap_in_flight(problem, x, plan, after):
    """Return the gap when the object flies and the hand goes on with its last slope."""
    X_WH, X_WO, _ = map(np.array, problem.system.pose(x, problem.p))
    start = problem.system.state.unpack(x)
    slope = (plan.controls[-1] - plan.controls[-2]) / (plan.times[-1] - plan.times[-2])
    R, p, w, v = X_WH[:3, :3], X_WH[:3, 3], start['w_WH_H'], start['v_WH_H']
    v_W, w, n = R @ v, w.copy(), 2000
    for k in range(n):
        u = plan.controls[-1] + slope * after * (k + 0.5) / n
        v_W = v_W + R @ u[3:] * after / n
        p = p + v_W * after / n
        w = w + u[:3] * after / n
        R = R @ (
            np.eye(3)
            + np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]) * after / n
        )
    R = np.linalg.svd(R)[0] @ np.linalg.svd(R)[2]
    v_O = X_WO[:3, :3] @ np.array(problem.system.object_twist(x, problem.p)[1]).ravel()
    p_WO = X_WO[:3, 3] + v_O * after - np.array([0, 0, 9.81]) * after**2 / 2
    return closest_points(
        problem.system.object_surface, problem.system.hand_surface, np.eye(3), R.T @ (p_WO - p)
    ).gap


# -- failures -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'mu': 0.01}, r'friction cone cannot be kept: mu = 0\.01 is given, .* needs 0\.1'),
        ({'control_limits': 2.0}, r'control_limits cannot be kept \(alpha_WH_H_[xy] in \[-2, 2\]'),
        ({'horizon': 0.25}, 'goal error|horizon|control_limits|normal force'),
        ({'state_limits': {'u_h': (-0.001, 0.001)}}, 'state_limits of u_h cannot be kept'),
    ],
)
def test_a_failure_names_the_constraint(change, text):
    with pytest.raises(InfeasibleError, match=text):
        plan_rolling(reorientation(refinements=0, iterations=100, **change))


@pytest.mark.slow
def test_a_path_that_cannot_return_says_which_goal_is_missed():
    """By translation alone the contact goes 5/7 of the way that the hand goes."""
    problem = on_plate(
        goal={'contact_h': [0.02, 0], 'p_WH': [0, 0, 0]}, active_controls=TRANSLATION[:2]
    )
    with pytest.raises(InfeasibleError, match=r'goal\.contact_h'):
        plan_rolling(problem)


@pytest.mark.usefixtures('cold')  # what is read at the first plan is there
def test_the_time_budget_is_kept():
    start = time.process_time()
    with pytest.raises(PlanningTimeoutError, match=r'time budget of 0\.05 s.* allow more time'):
        plan_rolling(reorientation(mu=0.02, time_budget=0.05))
    assert time.process_time() - start < 2.0


def test_effort_is_kept_and_finer_grids_count_more():
    seen = []

    def on_iteration(iteration):
        if iteration.stage == 'optimise' and (not seen or seen[-1] is not iteration):
            seen.append(iteration)

    with pytest.raises(PlanningTimeoutError, match='no plan within an effort of 30: '):
        plan_rolling(reorientation(goal_tolerance=1e-9, segments=6, effort=30.0), on_iteration)
    effort = np.array([i.segments for i in seen]) / 6
    assert effort.max() > 1
    assert 30 <= effort.sum() < 30 + effort.max()


@pytest.mark.parametrize(
    'stage', ['guess', 'optimise', pytest.param('diagnose', marks=pytest.mark.slow)]
)
def test_cancellation(stage):
    """From the answer False to the exception; every report asks."""
    asked = []

    def on_iteration(iteration):
        asked.append(iteration)
        return not (iteration.stage == stage and iteration.number >= 2)

    with pytest.raises(CancelledError):
        plan_rolling(reorientation(mu=0.01, refinements=0, iterations=60), on_iteration)
    assert asked[-1].stage == stage


@pytest.mark.slow
@pytest.mark.parametrize(
    'problem',
    [reorientation(), reorientation(segments=400), published(0.1)],
    ids=['coarse', 'fine', 'published'],
)
def test_each_iteration_is_reported_so_that_it_can_cancel(problem):
    """None is left out; `make bench` measures the longest time between reports."""
    numbers = {}

    def on_iteration(iteration):
        numbers.setdefault((iteration.stage, iteration.segments), []).append(iteration.number)

    with contextlib.suppress(NotConvergedError):
        plan_rolling(problem, on_iteration)
    assert any(stage == 'optimise' for stage, _ in numbers)
    assert all(np.diff(reported).max(initial=0) <= 1 for reported in numbers.values())


# -- determinism, warm start, plans ---------------------------------------------------------------


@pytest.mark.slow
def test_one_seed_gives_one_plan():
    first, second = (plan_rolling(reorientation(seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first.controls, second.controls)
    np.testing.assert_array_equal(first.states, second.states)


def test_warm_start(cold):
    problem = reorientation(
        warm_start=cold, horizon=2.1, goal={'contact_h': [0.003, -0.03], 'q_HO': turn('x', 1.5)}
    )
    warm = plan_rolling(problem)
    check(problem, warm)
    assert warm.report['guess'] == 'warm start'
    assert warm.report['iterations'] < 1.5 * cold.report['iterations']


@pytest.mark.slow
def test_goal_that_moved_is_aimed_at_on_a_coarse_grid(cold):
    """The simulation of so few segments ends beside the goal, where it was not aimed beside."""
    problem = reorientation(
        warm_start=cold, segments=10, goal={'contact_h': [0.08, 0.02], 'q_HO': turn('y', 0.7)}
    )
    warm = plan_rolling(problem)
    check(problem, warm)
    assert (warm.report['guess'], warm.report['segments']) == ('warm start', 10)


def test_held_controls_of_a_warm_start_are_a_guess_of_steps():
    cold = reorientation(horizon=2.0)
    size = cold.system.state.size
    held = Plan(
        system=cold.system.name,
        model_hash=cold.system.model_hash,
        state_names=cold.system.state.names,
        control_names=cold.system.control.names,
        times=[0.5, 1.0, 1.5],
        states=np.arange(3.0 * size).reshape(3, size),
        controls=[[1.0] * 6, [2.0] * 6, [0.0] * 6],
        interpolation='hold',
    )
    guess = warm_guess(cold, held)
    times = np.array([0.0, 0.9, 1.1, 2.0])  # stretched from 1 s to 2 s
    assert guess.controls(times)[:, 0].tolist() == [1.0, 1.0, 2.0, 0.0]
    assert guess.states(times)[[0, -1]] == pytest.approx(held.states[[0, -1]])


def test_a_warm_start_of_another_system_is_refused():
    cold = plan_rolling(reorientation(goal={'contact_h': [0.01, 0]}))
    with pytest.raises(ParameterError, match='warm_start'):
        published(warm_start=cold)


def test_a_plan_survives_json():
    plan = plan_rolling(reorientation(goal={'contact_h': [0.01, 0]}))
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    np.testing.assert_array_equal(again.states, plan.states)
    assert again.report == plan.report
    assert plan.contact_wrenches.shape == (len(plan.times), 6)
    with pytest.raises(ParameterError, match='this is not a plan'):
        Plan.from_dict({})


@pytest.mark.slow
def test_quiet_ends_make_the_controls_zero_at_both_ends():
    plan = plan_rolling(reorientation(quiet_ends=True))
    np.testing.assert_allclose(plan.controls[[0, -1]], 0.0, atol=1e-12)
    assert plan.report['goal_error'] <= 1e-3


@pytest.mark.slow
def test_a_plan_may_begin_with_the_controls_of_another_motion():
    begun = {TILT[0]: 2.0, TILT[1]: -1.0}
    plan = plan_rolling(reorientation(quiet_ends=True, start_controls=begun))
    columns = [plan.control_names.index(name) for name in TILT]
    np.testing.assert_allclose(plan.controls[0, columns], list(begun.values()), atol=1e-12)
    np.testing.assert_allclose(plan.controls[-1], 0.0, atol=1e-12)
    assert plan.report['goal_error'] <= 1e-3
    with pytest.raises(ParameterError, match='start_controls: no active control'):
        reorientation(start_controls={'alpha_WH_H_z': 1.0})

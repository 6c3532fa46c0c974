"""Sequences of gaits: through the waypoints, clear of the circles, at rest, within the limits."""

from dataclasses import replace
import itertools

from evidence.benchmarks.pendulum_sphere import COURSE, course, direct_plan, OBSTACLES, plan_effort
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.simulation import simulate
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import Circle, GaitProblem, Waypoint

SI = paper_parameters()
SYSTEM = PendulumSphere()


@pytest.fixture(scope='module')
def plan():
    return plan_gaits(course())


def path_of(plan, samples=4001):
    return plan.reference(np.linspace(0, plan.duration, samples)).position


def test_path_passes_every_waypoint_and_no_obstacle(plan):
    path = path_of(plan)
    for w in COURSE:
        assert np.hypot(*(path - w).T).min() < 0.02
    for c, r in OBSTACLES:
        assert np.hypot(*(path - c).T).min() > r + SI.shell_radius
    order = [int(np.argmin(np.hypot(*(path - w).T))) for w in COURSE]
    assert order == sorted(order)


def test_manoeuvre_starts_and_ends_at_rest(plan):
    ends = plan.reference([0.0, plan.duration, plan.duration + 1])
    np.testing.assert_allclose(ends.velocity, 0, atol=1e-12)
    np.testing.assert_allclose(ends.position[1:], [COURSE[-1]] * 2, atol=1e-9)


def test_motion_is_continuous(plan):
    t = np.linspace(0, plan.duration, 40001)
    ref = plan.reference(t)
    h = t[1]
    moved = np.diff(ref.position, axis=0) / h
    np.testing.assert_allclose(moved, (ref.velocity[1:] + ref.velocity[:-1]) / 2, atol=1e-4)
    assert np.abs(np.diff(ref.velocity, axis=0)).max() < 20 * h


@pytest.mark.slow
def test_limits_hold_with_their_reserve(plan):
    effort = plan.effort(2000.0)
    assert effort['friction'] <= 0.7 * SI.mu * (1 + 1e-3)
    assert effort['least_normal_force'] > 0.3 * 1.1 * 9.81
    weak = plan_gaits(replace(course(), limits=GaitLimits(torque=0.5, friction=0.2)))
    effort = weak.effort(2000.0)
    assert effort['peak_torque'] <= 0.7 * 0.5 * (1 + 1e-3)
    assert effort['friction'] <= 0.7 * 0.2 * (1 + 1e-3)
    assert weak.duration > plan.duration


@pytest.mark.slow
def test_torque_of_the_plan_alone_moves_the_full_model_to_the_goal():
    problem = GaitProblem(
        params=SI, start=(0, 0), waypoints=[Waypoint(position=p) for p in COURSE[:2]]
    )
    plan = plan_gaits(problem)
    x0 = SYSTEM.rolling_state(SI)
    edges = np.unique([0, *(v for s in plan.steps for v in (s.start, s.end)), plan.duration])
    x = x0
    for a, b in itertools.pairwise(edges):  # the torque jumps at the borders
        middle = np.nextafter(a, b), np.nextafter(b, a)
        run = simulate(
            SYSTEM,
            SYSTEM.pack_parameters(SI),
            x,
            lambda t, m=middle: plan.reference(np.clip(t, *m)).torque[0],
            b - a,
            start=a,
            rtol=1e-10,
            atol=1e-12,
        )
        assert run.terminal_event is None
        x = run.states[-1]
    np.testing.assert_allclose(x[SYSTEM.state.slice('contact')], COURSE[1], atol=1e-5)
    np.testing.assert_allclose(x[SYSTEM.state.slice('w_WS_W')], 0, atol=1e-4)


def test_waiting_is_resting():
    problem = GaitProblem(
        params=SI,
        start=(0, 0),
        waypoints=[Waypoint(position=(1, 0), wait=0.7), Waypoint(position=(1, 1))],
    )
    plan = plan_gaits(problem)
    arrival = plan.steps[1].end
    assert plan.steps[2].start == pytest.approx(arrival + 0.7)
    ref = plan.reference(arrival + np.linspace(0, 0.7, 11))
    np.testing.assert_allclose(ref.position, [[1, 0]] * 11, atol=1e-9)


def test_of_two_ways_the_faster_is_taken():
    """Without the detour's corners the straight way is the faster one, if it is free."""
    away = plan_gaits(GaitProblem(params=SI, start=(0, 0), waypoints=[Waypoint(position=(2, 0))]))
    past = plan_gaits(
        GaitProblem(
            params=SI,
            start=(0, 0),
            waypoints=[Waypoint(position=(2, 0))],
            obstacles=[Circle(center=(1, 0.1), radius=0.3)],
        )
    )
    assert len(away.steps) == 2
    assert past.duration > away.duration
    assert path_of(past)[:, 1].min() < -0.2  # below, the shorter side
    assert past.report['ways'] >= 2


@pytest.mark.parametrize('azimuth', [0.0, 2.0])
def test_plan_on_a_slope_swings_from_the_equilibrium(azimuth):
    params = SI.on_slope(np.radians(2), azimuth)
    plan = plan_gaits(
        GaitProblem(
            params=params,
            start=(0, 0),
            waypoints=[Waypoint(position=(1, 0)), Waypoint(position=(1.5, 1))],
        )
    )
    path = path_of(plan)
    assert np.hypot(*(path - (1, 0)).T).min() < 0.02
    ends = plan.reference([-1.0, plan.duration + 1])
    np.testing.assert_allclose(ends.velocity, 0, atol=1e-8)
    np.testing.assert_allclose(ends.position[1], (1.5, 1), atol=1e-8)
    assert np.linalg.norm(ends.torque[0]) == pytest.approx(
        1.1 * 9.81 * 0.15 * np.sin(np.radians(2)), rel=1e-9
    )


def test_plan_as_the_suite_holds_it(plan):
    held = plan.to_plan()
    assert held.system == 'pendulum_sphere'
    assert held.states.shape == (len(held.times), 16)
    middle = len(held.times) // 2
    np.testing.assert_allclose(
        held.states[middle, :2], plan.reference(held.times[middle]).position[0]
    )


@pytest.mark.slow
def test_course_round_five_obstacles_takes_twenty_swings():
    plan = plan_gaits(course())
    assert len(plan.steps) >= 20


def test_bad_input_is_refused_with_what_would_work():
    with pytest.raises(ParameterError, match=r'waypoints\[0\].*inside obstacles\[0\]') as e:
        GaitProblem(
            params=SI,
            start=(0, 0),
            waypoints=[Waypoint(position=(1, 0))],
            obstacles=[Circle(center=(1.1, 0), radius=0.2)],
        )
    near = str(e.value).split('free point is (')[1].rstrip(')').split(', ')
    GaitProblem(
        params=SI,
        start=(0, 0),
        waypoints=[Waypoint(position=tuple(float(v) * (1 - 1e-5) for v in near))],
        obstacles=[Circle(center=(1.1, 0), radius=0.2)],
    )
    with pytest.raises(ParameterError, match=r'no equilibrium.*at most'):
        GaitProblem(params=SI.on_slope(0.3), start=(0, 0), waypoints=[Waypoint(position=(1, 0))])
    ring = [
        Circle(center=(0.6 * np.cos(a), 0.6 * np.sin(a)), radius=0.2)
        for a in np.linspace(0, 2 * np.pi, 9)[:-1]
    ]
    with pytest.raises(PlanningError, match='there is no path'):
        plan_gaits(
            GaitProblem(
                params=SI, start=(0, 0), waypoints=[Waypoint(position=(3, 0))], obstacles=ring
            )
        )
    with pytest.raises(PlanningError, match='no swing is possible'):
        plan_gaits(
            GaitProblem(
                params=SI,
                start=(0, 0),
                waypoints=[Waypoint(position=(3, 0))],
                limits=GaitLimits(torque=1e-6),
            )
        )


@pytest.mark.slow
def test_collocation_needs_less_energy_than_gaits_in_the_same_time():
    problem = GaitProblem(
        params=SI,
        start=(0, 0),
        waypoints=[Waypoint(position=(1, 0))],
        limits=GaitLimits(torque=0.5),
    )
    gaits = plan_gaits(problem)
    plan = direct_plan(problem, gaits.duration)
    direct = plan_effort(plan)
    assert direct['time'] == pytest.approx(gaits.duration)
    assert direct['energy'] < gaits.effort()['energy']  # gaits are fixed in shape
    assert direct['peak_torque'] <= 0.35 * (1 + 1e-6)
    np.testing.assert_allclose(plan.states[-1, :2], (1, 0), atol=2e-3)

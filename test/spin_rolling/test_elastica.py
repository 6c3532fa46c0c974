"""Extremals of pure rolling: derivatives, a second derivation, optimality, 200 shootings."""

from functools import reduce

from benchmarks.random_contacts import random_contact, random_pairs
import numpy as np
import pytest
from rolling_planner.spin_rolling import (
    contact_at,
    least_length,
    plan_closed_form,
    plan_spin_rolling,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.elastica import (
    BATCH,
    extremals_by_length,
    guesses,
    shoot,
    shooting_function,
    target_of,
)
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from transforms3d.quaternions import mat2quat

R = 0.3


def integrated(z):
    """Second derivation: pendulum equation and rotation matrix by DOP853."""
    a, b, heading, curvature, length = z
    A, theta_p = np.hypot(a, b), np.arctan2(b, a)

    def rates(_, y):
        w = np.array([-np.sin(y[0]), np.cos(y[0]), 0])
        return np.r_[
            y[1],
            -A * np.sin(y[0] - theta_p),
            np.cos(y[0]),
            np.sin(y[0]),
            np.cross(w, y[4:].reshape(3, 3), axisb=0, axisc=0).ravel(),
        ]

    y0 = np.r_[heading, curvature, 0, 0, np.eye(3).ravel()]
    y = solve_ivp(rates, (0, length), y0, 'DOP853', rtol=1e-11, atol=1e-12).y[:, -1]
    return y[2:4], y[4:].reshape(3, 3)


def random_target(seed, size=2.0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-size, size, 2), Rotation.random(random_state=rng)


def quaternion(turn):
    return np.array(mat2quat(turn.as_matrix()))


def test_jacobian_of_the_shooting_agrees_with_differences():
    z = guesses(np.random.default_rng(0), BATCH, 1.0)
    place, turn = random_target(1)
    target = np.repeat(target_of(place, quaternion(turn))[:, None], BATCH, axis=1)
    f, h = shooting_function(), 1e-6
    slope = np.array(f(z, target))[5:].T.reshape(BATCH, 5, 5).transpose(0, 2, 1)
    for j in range(5):
        step = np.zeros((5, 1))
        step[j] = h
        ahead, behind = (np.array(f(z + s * step, target))[:5] for s in (1, -1))
        assert slope[:, :, j] == pytest.approx(((ahead - behind) / (2 * h)).T, abs=1e-5)


def test_extremals_hit_their_target_by_another_integration():
    for seed in range(3):
        place, turn = random_target(seed)
        for extremal in extremals_by_length(place, quaternion(turn), shots=80)[:3]:
            end, matrix = integrated(extremal)
            assert end == pytest.approx(place, abs=2e-3)  # the shooting takes 40 steps
            assert matrix == pytest.approx(turn.as_matrix(), abs=2e-3)


@pytest.mark.slow
def test_extremal_is_locally_shortest():
    """Wiggled headings that still reach the goal are longer: first and second variation."""
    place, turn = random_target(7)
    best = extremals_by_length(place, quaternion(turn), shots=120)[0]
    start = contact_at([0, 0, 0, 0, 0])
    matrix = turn.as_matrix() @ np.array(start.R_SO)
    goal = start._replace(
        u_s=R * place[0], v_s=R * place[1], R_SO=tuple(map(tuple, matrix.tolist()))
    )
    plan = plan_spin_rolling(
        SpinRollingProblem(radius=R, start=start, goal=goal, mode='pure_rolling', shots=120)
    )
    assert plan.report['length'] == pytest.approx(R * best.length, rel=2e-3)
    assert plan.report['length'] == pytest.approx(R * _polygon_length(place, turn, best), rel=0.02)


def _polygon_length(place, turn, extremal, legs=14):
    """Shorten a polygon of rolls under the goal as constraint, from the extremal, by SciPy."""
    a, b, heading, curvature, length = extremal
    s = (np.arange(legs) + 0.5) / legs * length
    y = solve_ivp(
        lambda _, y: [y[1], -(a * np.sin(y[0]) - b * np.cos(y[0]))],
        (0, length),
        [heading, curvature],
        t_eval=s,
        rtol=1e-9,
        atol=1e-10,
    ).y[0]
    x0 = np.r_[length / legs * np.cos(y), length / legs * np.sin(y)]
    x0 += np.random.default_rng(0).normal(size=x0.size) * 0.01

    def miss(x):
        dx, dy = x[:legs], x[legs:]
        rolls = Rotation.from_rotvec(np.c_[-dy, dx, 0 * dx]).as_matrix()
        end = reduce(lambda before, roll: roll @ before, rolls)
        apart = (Rotation.from_matrix(end) * turn.inv()).as_rotvec()
        return np.r_[dx.sum() - place[0], dy.sum() - place[1], apart]

    found = minimize(
        lambda x: np.sum(np.hypot(x[:legs], x[legs:])),
        x0,
        method='SLSQP',
        constraints={'type': 'eq', 'fun': miss},
        options={'maxiter': 300, 'ftol': 1e-10},
    )
    assert np.max(np.abs(miss(found.x))) < 1e-6
    return found.fun


@pytest.mark.slow
def test_plans_are_shorter_than_the_closed_form_and_never_shorter_than_possible():
    for start, goal in random_pairs(8, R, seed=3):
        plan = plan_spin_rolling(
            SpinRollingProblem(radius=R, start=start, goal=goal, mode='pure_rolling')
        )
        assert plan.report['method'] == 'elastica'
        closed = plan_closed_form(R, start, goal).length
        assert least_length(R, start, goal) - 1e-9 < plan.report['length'] < closed


def listed_goals(count=100):
    """Yield the displacements [radius] and rotations of the comparison."""
    rng = np.random.default_rng(2024)
    for _ in range(count):
        yield rng.uniform(-3, 3, 2), Rotation.random(random_state=rng)


@pytest.mark.slow
def test_plans_are_within_two_percent_of_the_best_of_200_shootings():
    ratios = []
    start = contact_at([0, 0, 0, 0, 0])
    for place, turn in listed_goals():
        reference = extremals_by_length(place, quaternion(turn), shots=200, seed=99)[0]
        matrix = turn.as_matrix() @ np.array(start.R_SO)
        goal = start._replace(
            u_s=R * place[0], v_s=R * place[1], R_SO=tuple(map(tuple, matrix.tolist()))
        )
        problem = SpinRollingProblem(radius=R, start=start, goal=goal, mode='pure_rolling')
        plan = plan_spin_rolling(problem)
        ratios.append(plan.report['length'] / (R * reference.length))
    assert np.max(ratios) < 1.02, np.sort(ratios)[-5:]


def test_shooting_is_seeded():
    target = target_of([1.0, 0.5], [0.5, 0.5, 0.5, 0.5])
    first, second = (shoot(target, guesses(np.random.default_rng(4), 40, 1.0)) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert first[1].any()


def test_random_contacts_differ():
    rng = np.random.default_rng(0)
    assert random_contact(rng, 1.0) != random_contact(rng, 1.0)

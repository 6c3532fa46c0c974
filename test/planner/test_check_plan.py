"""Is another stack's hand trajectory safe? Margins and first failure, against known motions."""

import dataclasses

import numpy as np
from planning_problems import at_rest, ball, reorientation, turn
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.surfaces import Plane
from rolling_planner import plan_rolling
from rolling_planner.check_plan import check_hand_trajectory, check_plan
from rolling_planner.hand_trajectory import hand_trajectory, right_jacobian
from rolling_planner.planners.planner import planner_of
from transforms3d.quaternions import quat2mat

GRAVITY = 9.81


def sliding(acceleration, duration=1.0, k=11):
    """Return samples of a level hand that goes along x with a constant acceleration."""
    t = np.linspace(0, duration, k)
    x, zero = np.zeros((k, 3)), np.zeros((k, 3))
    x[:, 0] = acceleration * t**2 / 2
    v, a = zero.copy(), zero.copy()
    v[:, 0], a[:, 0] = acceleration * t, acceleration
    q = np.tile([1.0, 0, 0, 0], (k, 1))
    return {
        'times': t,
        'q_WH': q,
        'p_WH': x,
        'w_WH_H': zero,
        'v_WH_H': v,
        'alpha_WH_H': zero,
        'a_WH_H': a,
    }


def without(samples, *names):
    return {k: v for k, v in samples.items() if k not in names}


def test_a_safe_motion_and_its_friction():
    """A ball on a plate that accelerates by a needs the friction m a 2/7."""
    system, p = ball(mu=0.5)
    report = check_hand_trajectory(system, p, at_rest(system), **sliding(2.0))
    assert report.ok
    assert report.reason == ''
    assert np.isnan(report.first_failure_time)
    assert report.margins['normal_force'] == pytest.approx(0.1 * GRAVITY, rel=1e-6)
    friction = 0.1 * (0.5 * GRAVITY - 2.0 * 2 / 7)
    assert report.margins['friction'] == pytest.approx(friction, rel=1e-6)


@pytest.mark.parametrize(
    'missing', [(), ('alpha_WH_H', 'a_WH_H'), ('alpha_WH_H', 'a_WH_H', 'w_WH_H', 'v_WH_H')]
)
def test_what_is_not_given_is_interpolated(missing):
    system, p = ball(mu=0.5)
    samples = without(sliding(2.0), *missing)
    report = check_hand_trajectory(system, p, at_rest(system), **samples)
    assert report.ok
    friction = 0.1 * (0.5 * GRAVITY - 2.0 * 2 / 7)
    assert report.margins['friction'] == pytest.approx(friction, rel=0.02)


def test_a_hand_that_drops_loses_the_object():
    """The hand falls with a growing acceleration: contact ends where that is gravity's."""
    system, p = ball()
    t = np.linspace(0, 1.0, 41)
    rate = 20.0  # m/s^3
    samples = sliding(0.0, k=41)
    samples['p_WH'][:, 2] = -rate * t**3 / 6
    samples['v_WH_H'][:, 2], samples['a_WH_H'][:, 2] = -rate * t**2 / 2, -rate * t
    report = check_hand_trajectory(system, p, at_rest(system), **samples)
    assert not report.ok
    assert report.first_failure_time == pytest.approx(GRAVITY / rate, abs=1e-4)
    assert 'leaves the hand' in report.reason


def test_the_edge_is_named():
    system, p = ball(hand=Plane(u_bounds=(-0.05, 0.05)))
    report = check_hand_trajectory(system, p, at_rest(system), **sliding(2.0))
    assert not report.ok
    assert 'edge' in report.reason
    # the contact goes -5/7 of the way of the hand
    assert report.first_failure_time == pytest.approx(np.sqrt(0.05 * 2 / (2.0 * 5 / 7)), abs=1e-5)


def test_a_motion_that_slides_at_once():
    system, p = ball(mu=0.02)
    report = check_hand_trajectory(system, p, at_rest(system), **sliding(2.0))
    assert not report.ok
    assert report.first_failure_time == 0
    assert 'slides' in report.reason
    assert report.margins['friction'] < 0


def test_a_plan_of_ours_is_safe():
    problem = reorientation(goal={'contact_h': [0.05, 0]}, segments=10, horizon=1.0)
    plan = plan_rolling(problem)
    parts = problem.system.state.unpack(plan.states)
    names = ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H')
    report = check_hand_trajectory(
        problem.system,
        problem.p,
        problem.x_start,
        plan.times,
        **{
            n: parts[n] / (np.linalg.norm(parts[n], axis=1)[:, None] if n == 'q_WH' else 1.0)
            for n in names
        },
        alpha_WH_H=plan.controls[:, :3],
        a_WH_H=plan.controls[:, 3:],
    )
    assert report.ok
    end = report.trajectory.state_at(plan.duration)
    where = problem.system.state.slice('contact_h')
    np.testing.assert_allclose(end[where], plan.states[-1, where], atol=5e-3)


def test_attitudes_are_met_at_the_samples():
    """Integrating the interpolated accelerations comes through the samples."""
    k = 5
    t = np.linspace(0, 1, k)
    angle, rate, bend = 0.3 * t**3, 0.9 * t**2, 1.8 * t
    q = np.array([turn('y', a) for a in angle])
    zero = np.zeros((k, 3))
    w, alpha = zero.copy(), zero.copy()
    w[:, 1], alpha[:, 1] = rate, bend
    hand = hand_trajectory(t, q, zero, w_WH_H=w, v_WH_H=zero, alpha_WH_H=alpha, a_WH_H=zero)
    s = np.linspace(0, 1, 33)
    expected = np.outer(s, [0, 1.8, 0, 0, 0, 0])
    np.testing.assert_allclose(hand.controls(s), expected, atol=1e-8)


def test_the_right_jacobian():
    r, d = np.array([0.4, -0.7, 0.2]), 1e-6
    for k in range(3):
        step = np.eye(3)[k] * d

        def R(v):
            n = np.linalg.norm(v)
            return quat2mat(np.concatenate([[np.cos(n / 2)], np.sin(n / 2) * v / n]))

        rate = (R(r).T @ (R(r + step) - R(r - step))) / (2 * d)
        w = np.array([rate[2, 1], rate[0, 2], rate[1, 0]])
        np.testing.assert_allclose(right_jacobian(r)[:, k], w, atol=1e-8)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'times': [0, 1, 1]}, 'times must be finite and increase'),
        ({'p_WH': np.zeros((2, 3))}, 'p_WH takes numbers of shape'),
        ({'p_WH': np.full((11, 3), np.nan)}, 'p_WH must be finite'),
        ({'q_WH': np.ones((11, 4))}, 'unit quaternions'),
        ({'v_WH_H': None}, 'v_WH_H is needed'),
        ({'w_WH_H': None, 'v_WH_H': None}, 'accelerations need velocities'),
    ],
)
def test_samples_that_are_no_trajectory_are_refused(change, text):
    system, p = ball()
    with pytest.raises(ParameterError, match=text):
        check_hand_trajectory(system, p, at_rest(system), **{**sliding(1.0), **change})


@pytest.fixture(scope='module')
def planned():
    """Return system, parameters and plan of a ball that is moved and turned."""
    problem = reorientation(goal={'contact_h': [0.05, 0]}, segments=10, horizon=1.0)
    return problem.system, problem.p, plan_rolling(problem)


def test_a_plan_is_checked_as_it_is(planned):
    system, p, plan = planned
    found = check_plan(system, p, plan)
    assert found.ok, found.reason
    assert found.trajectory.state_at(plan.duration) == pytest.approx(plan.states[-1], abs=5e-3)
    forces = np.asarray(plan.contact_wrenches)[:, 5]
    assert found.margins['normal_force'] <= forces.min() + 1e-6
    assert found.margins['normal_force'] == pytest.approx(forces.min(), rel=0.05)


def test_a_plan_that_drops_the_object_tells_when(planned):
    system, p, plan = planned
    controls = plan.controls.copy()
    fall = np.flatnonzero(plan.times >= 0.5)[0]
    controls[fall:, 5] = -2 * 9.81  # the hand falls faster than the object
    found = check_plan(system, p, dataclasses.replace(plan, controls=controls))
    assert not found.ok
    assert 'slides' in found.reason  # friction goes to zero with the normal force
    before, after = plan.times[fall - 1 : fall + 1]
    assert before < found.first_failure_time < after


def test_another_start_counts_and_another_system_is_refused(planned):
    system, p, plan = planned
    moved = plan.states[0].copy()
    moved[system.state.slice('contact_h')] = [10.0, 0.0]  # off the plate
    assert not check_plan(system, p, plan, moved).ok
    with pytest.raises(ParameterError, match='model_hash'):
        check_plan(system, p, dataclasses.replace(plan, model_hash='other'))


def test_a_kinematic_plan_has_no_margins():
    scenario = load_scenario('spin_rolling_plan')
    plan = planner_of(scenario.system.name).plan(scenario, lambda _: True).plan
    found = check_plan(scenario.system, scenario.p, plan)
    assert (found.ok, found.margins) == (True, {})

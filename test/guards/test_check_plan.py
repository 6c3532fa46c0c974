"""Whether a plan holds: each margin, at the start, in between, where it falls, and at the end."""

import math

from cart import Carried, Cart, P, plan_of
import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_planner.check_plan import check_hand_trajectory, check_plan


def edge(cart):
    return cart.end - cart.s


def grip(cart):
    return 3 - ca.fabs(cart.u) - cart.v / 10


def check(plan, x_start=None, p=P, on_progress=None, **guards):
    return check_plan(Cart(**guards), p, plan, x_start, on_progress=on_progress)


# from 0.5 m at 1 m/s against -2 m/s^2: it turns at 0.75 m, 0.5 s later, between two times
TURNS = plan_of([2.0, 3.0], [-2.0, -2.0], (0.5, 1.0))


def test_margins_are_the_least_between_the_times():
    report = check(TURNS, edge=edge, grip=grip)
    assert report.ok
    assert report.reason == ''
    assert math.isnan(report.first_failure_time)
    assert report.margins == pytest.approx({'edge': 0.25, 'grip': 0.9}, abs=1e-8)
    assert report.trajectory.state_at(2.5) == pytest.approx([0.75, 0.0], abs=1e-8)


def test_a_margin_that_falls_between_the_times_is_found_and_dated_from_the_start():
    report = check(TURNS, p=np.array([0.69]), edge=edge, grip=grip)
    assert not report.ok
    # 0.5 + t - t^2 = 0.69
    when = (1 - math.sqrt(1 - 4 * 0.19)) / 2
    assert report.first_failure_time == pytest.approx(when, abs=1e-6)
    assert report.reason == (
        f'the contact reaches the edge of the hand {when:.4g} s after the start'
    )
    assert report.margins['edge'] == pytest.approx(0.0, abs=1e-6)
    assert report.margins['grip'] == pytest.approx(0.9, abs=1e-8)  # at the start
    assert report.trajectory.end == pytest.approx(2 + when, abs=1e-6)


@pytest.mark.parametrize(
    ('start', 'broken'), [((1.5, 0.0), 'edge'), ((1.0, 0.0), 'edge'), ((0.0, 30.0), 'grip')]
)
def test_a_margin_that_is_not_positive_at_the_start_fails_there(start, broken):
    report = check(plan_of([1.0, 2.0], [0.0, 0.0]), start, edge=edge, grip=grip)
    assert not report.ok
    assert report.first_failure_time == 0.0
    assert report.trajectory is None
    assert report.margins[broken] <= 0
    words = {'edge': 'the contact reaches the edge of the hand', 'grip': 'grip falls through zero'}
    assert report.reason == f'{words[broken]} 0 s after the start'


def test_the_control_at_the_first_time_counts_at_the_start():
    report = check(plan_of([4.0, 5.0], [3.5, 0.0]), grip=grip)
    assert (report.ok, report.first_failure_time) == (False, 0.0)
    assert report.margins == pytest.approx({'grip': -0.5})


def not_a_number(cart):
    return 1 + ca.acos(ca.if_else(cart.t < 0.5, 0.5, 2.0))


def test_a_margin_that_is_not_a_number_fails():
    at_start = check(plan_of([0.0, 1.0], [0.0, 0.0]), root=lambda cart: ca.sqrt(cart.s - 1))
    assert not at_start.ok
    later = check(plan_of([0.0, 1.0], [0.0, 0.0]), late=not_a_number)
    assert not later.ok
    assert math.isnan(later.margins['late'])
    assert later.first_failure_time == pytest.approx(0.5)
    assert later.reason == 'late falls through zero 0.5 s after the start'


def test_a_margin_that_only_touches_zero_fails():
    """No sign changes, so that no event ends the motion; the points in between tell."""
    plan = plan_of(np.linspace(1.0, 2.0, 5), np.zeros(5))
    report = check(plan, edge=edge, touch=lambda cart: ca.fabs(cart.t - 1.4))
    assert not report.ok
    assert report.margins == pytest.approx({'touch': 0.0, 'edge': 1.0}, abs=1e-12)
    assert report.first_failure_time == pytest.approx(0.4)
    assert report.reason == 'touch falls through zero 0.4 s after the start'
    assert report.trajectory.end == 2.0


def test_twenty_points_between_two_times_are_looked_at_and_the_first_failure_is_told():
    """At 57 of 80, which fewer points or others would pass by."""

    def near(share):
        return lambda cart: ca.fabs(cart.t - (1 + share)) - 1e-9

    plan = plan_of(np.linspace(1.0, 2.0, 5), np.zeros(5))
    report = check(plan, after=near(57 / 80), before=near(13 / 80))
    assert report.margins == pytest.approx({'after': -1e-9, 'before': -1e-9}, abs=1e-15)
    assert report.reason == 'before falls through zero 0.1625 s after the start'
    assert check(plan, late=near(57 / 80)).first_failure_time == pytest.approx(0.7125)


def test_the_last_point_counts():
    """A margin that is positive but at the very end."""
    plan = plan_of([0.0, 0.5, 1.0], [0.0, 0.0, 0.0])
    report = check(plan, late=lambda cart: ca.if_else(cart.t >= 1.0, 1e-3, 1.0))
    assert report.ok
    assert report.margins == pytest.approx({'late': 1e-3})


def test_states_of_a_plan_are_its_start_unless_another_is_given():
    plan = plan_of([0.0, 1.0], [0.0, 0.0], (0.25, 0.0))
    assert check(plan, edge=edge).margins == pytest.approx({'edge': 0.75})
    assert check(plan, [0.5, 0.0], edge=edge).margins == pytest.approx({'edge': 0.5})
    assert check(plan, [0, 1], p=np.array([3.0]), edge=edge).margins == pytest.approx({'edge': 2})


def test_held_controls_are_held():
    plan = plan_of([0.0, 1.0, 2.0], [1.0, -1.0, 0.0], interpolation='hold')
    report = check(plan, edge=edge)  # 0.5 m and 1 m/s after 1 s, at rest at 1 m after 2 s
    assert report.margins['edge'] == pytest.approx(0.0, abs=1e-8)
    assert report.trajectory.state_at(1.0) == pytest.approx([0.5, 1.0], abs=1e-8)


def test_a_motion_without_margins_holds():
    report = check(plan_of([0.0, 1.0], [1.0, 1.0]))
    assert report.ok
    assert report.margins == {}
    assert report.trajectory.states[-1] == pytest.approx([0.5, 1.0])


def test_a_motion_that_cannot_be_simulated_fails_with_its_reason():
    with np.errstate(all='ignore'):
        report = check(plan_of([0.0, 1.0], [1e308, 1e308]), far=lambda cart: 2 + 0 * cart.u)
    assert report.ok is False
    assert report.reason.startswith('the motion fails: ')
    assert report.margins == {'far': 2.0}
    assert report.first_failure_time == 0.0
    assert report.trajectory is None


def test_cancelling_is_no_failure_of_the_plan():
    long = plan_of(np.linspace(2.0, 3.0, 600), np.zeros(600))  # a step for each, at least
    with pytest.raises(CancelledError):
        check(long, on_progress=lambda _: False, edge=edge)
    told = []
    assert check(long, on_progress=told.append, edge=edge).ok
    assert told
    assert all(2.0 <= t <= 3.0 for t in told)


def test_a_plan_of_another_system_is_refused():
    with pytest.raises(ParameterError, match=r"^plan\.system must be 'cart', got 'barrow'"):
        check(plan_of([0.0, 1.0], [0.0, 0.0], system='barrow'), edge=edge)


# -- while the hand follows a trajectory ---------------------------------------------------------


def drawn(spin=0.0, fall=0.0):
    """
    Return samples of a hand from t = 1 s to 2 s, and the state at the end.

    It is drawn along by 0.5 m/s^2, turned by an acceleration and let fall more and more; a cart
    on it begins at 0.25 m with 0.5 m/s.
    """
    t = np.linspace(0.0, 1.0, 9)
    zero, one = np.zeros(9), np.ones(9)
    half = spin * t**2 / 4
    x_axis = np.array([np.cos(2 * half), -np.sin(2 * half)])  # of the world, in the hand
    samples = {
        'q_WH': np.column_stack([np.cos(half), zero, zero, np.sin(half)]),
        'p_WH': np.column_stack([t**2 / 4, 3 * one, -fall * t**3 / 6]),
        'w_WH_H': np.column_stack([zero, zero, spin * t]),
        'v_WH_H': np.column_stack([*(x_axis * t / 2), -fall * t**2 / 2]),
        'alpha_WH_H': np.column_stack([zero, zero, spin * one]),
        'a_WH_H': np.column_stack([*(x_axis / 2), -fall * t]),
    }
    end = [0.75, 0.5, *(samples[name][-1] for name in ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H'))]
    return {'times': 1.0 + t, **samples}, np.hstack(end)


def follow(samples, **given):
    x = np.full(15, math.nan)  # what the trajectory says of the hand takes their place
    x[:2] = 0.25, 0.5
    return check_hand_trajectory(Carried(), P, x, **(samples | given))


def test_the_hand_goes_as_its_samples_say():
    samples, end = drawn(spin=0.8)
    samples['p_WH'][:, 1] = end[7] = 3.5
    report = follow(samples)
    assert report.ok
    assert report.margins == pytest.approx({'edge': 0.25, 'normal_force': 10.0}, abs=1e-6)
    assert report.trajectory.end == 2.0
    assert report.trajectory.states[-1] == pytest.approx(end, abs=1e-6)


def test_a_state_of_whole_numbers_takes_the_hand_as_it_is():
    samples, _ = drawn()
    samples['p_WH'][:, 1] = 3.5
    x = [0, 0, *(13 * [0])]
    report = check_hand_trajectory(Carried(), P, x, **samples)
    assert report.trajectory.states[0][7] == 3.5


DERIVATIVES = ('alpha_WH_H', 'a_WH_H', 'w_WH_H', 'v_WH_H')


@pytest.mark.parametrize(('left_out', 'within'), [(DERIVATIVES[:2], 2e-3), (DERIVATIVES, 0.06)])
def test_what_is_left_out_is_interpolated(left_out, within):
    samples, end = drawn(spin=0.8)
    less = {k: v for k, v in samples.items() if k not in left_out}
    report = follow(less)
    assert report.ok
    assert report.trajectory.states[-1] == pytest.approx(end, abs=within)


def test_a_hand_that_falls_ever_faster_loses_the_cart():
    """Its acceleration grows by 16 m/s^3: free fall is reached after 10/16 s."""
    samples, _ = drawn(fall=16.0)
    report = follow(samples)
    assert (report.ok, report.first_failure_time) == (False, pytest.approx(0.625, abs=1e-6))
    assert report.reason == (
        'the normal force falls to zero: the object leaves the hand 0.625 s after the start'
    )


def test_a_hand_that_goes_on_may_be_cancelled():
    samples, _ = drawn()
    t = np.linspace(1.0, 2.0, 600)
    still = {name: np.tile(samples[name][0], (600, 1)) for name in ('q_WH', 'p_WH')}
    with pytest.raises(CancelledError):
        follow({'times': t, **still}, on_progress=lambda _: False)

"""What ends the tracking of a plan: margins that stay negative, and what counts as an error."""

import math

from cart import Cart, P, plan_of
import casadi as ca
import numpy as np
import pytest
from rolling_controller.law import Course, Following
from rolling_controller.tracker import Tracker
from rolling_dynamics.errors import ParameterError

STATES = np.array([[1.0, 0.0], [0.2, 1.0], [0.0, 0.0]])
PLAN = plan_of([0.0, 2.0, 4.0], [0.0, 0.0, 0.0], states=STATES)


def edge(cart):
    return cart.end - cart.s


def grip(cart):
    return 2 - ca.fabs(cart.u) - cart.t / 10


class Tracked(Tracker):
    """A tracker whose steps are under a control of 0.5 where none is given."""

    def step(self, t, x, u=0.5):
        return super().step(t, x, np.array([u]))


def tracker(*, holds=False, settle=0.0, **options):
    made = Tracked(Cart(edge=edge, grip=grip), P, **options)
    made.begin(PLAN, Following(None, PLAN.times, STATES, holds=holds), settle=settle)
    return made


def at(s, v=0.0):
    return np.array([s, v])


def test_a_step_tells_margins_and_error_against_the_motion_of_the_law():
    step = tracker(limits=[2.0]).step(1.0, at(0.5, 0.3))
    assert step.t == 1.0
    assert step.margins == pytest.approx({'edge': 0.5, 'grip': 1.4, 'control': 0.75})
    assert step.error == pytest.approx(math.hypot(0.5 - 0.6, 0.3 - 0.5))
    assert (step.lost, step.ended) == ('', False)


@pytest.mark.parametrize(
    ('t', 'reference'),
    [(-1.0, (1.0, 0.0)), (0.5, (0.8, 0.25)), (2.0, (0.2, 1.0)), (3.0, (0.1, 0.5)), (9.0, (0, 0))],
)
def test_the_error_is_that_from_the_motion_at_the_time(t, reference):
    assert tracker().step(t, at(*reference)).error == pytest.approx(0.0, abs=1e-12)


def test_what_does_not_count_is_no_error():
    made = tracker(uncounted=('v',))
    assert made.step(0.0, at(1.0, 30.0)).error == 0.0
    assert made.goal_error(at(0.25, 9.0)) == pytest.approx(0.25)  # from the plan's end
    assert made.start_error(PLAN, at(0.25, 9.0)) == pytest.approx(0.75)
    assert math.isnan(made.start_error(PLAN, at(math.nan)))  # no distance: it passes no bound
    with pytest.raises(ParameterError, match=r'^uncounted: no tangent entry'):
        tracker(uncounted=('w',))


@pytest.mark.parametrize(
    ('u', 'limits', 'margin'), [(2.0, [2.0], 0.0), (1.0, [2.0], 0.5), (5.0, None, 1.0)]
)
def test_the_margin_of_the_control_is_no_contact(u, limits, margin):
    made = tracker(limits=limits)
    assert made.limits.tolist() == (limits or [math.inf])
    step = made.step(0.0, at(0.0), u)
    assert step.margins['control'] == margin
    assert step.lost == ''


def test_a_margin_that_stays_negative_loses_the_contact():
    made = tracker(patience=0.25)
    assert made.step(1.0, at(1.5)).lost == ''
    assert made.step(1.125, at(1.5)).lost == ''
    assert made.step(1.25, at(1.75)).lost == 'edge = -0.75, it must be positive'


@pytest.mark.parametrize('s', [1.0, math.nan])
def test_a_margin_of_zero_or_without_a_number_is_a_negative_one(s):
    made = tracker(patience=0.25)
    assert made.step(1.0, at(s)).lost == ''
    assert made.step(1.25, at(s)).lost.startswith('edge = ')


def test_a_margin_that_recovers_is_forgiven():
    made = tracker(patience=0.25)
    made.step(1.0, at(1.5))
    assert made.step(1.125, at(0.5)).lost == ''
    assert made.step(1.25, at(1.5)).lost == ''
    assert made.step(1.375, at(1.5)).lost == ''
    assert made.step(1.5, at(1.5)).lost != ''


def test_a_new_plan_starts_with_new_patience():
    made = tracker(patience=0.25)
    made.step(1.0, at(1.5))
    made.begin(PLAN, Following(None, PLAN.times, STATES))
    assert made.step(1.5, at(1.5)).lost == ''


def test_the_worst_margin_is_named():
    made = tracker(patience=0.1)  # grip is -0.5 - t / 10 under a control of 2.5
    made.step(1.0, at(1.25), 2.5)
    assert made.step(1.5, at(1.25), 2.5).lost == 'grip = -0.65, it must be positive'
    assert made.step(1.5, at(2.0), 2.5).lost == 'edge = -1, it must be positive'


def test_patience_is_20_ms_where_none_is_given():
    made = tracker()
    made.step(1.0, at(1.5))
    assert made.step(1.015, at(1.5)).lost == ''
    assert made.step(1.025, at(1.5)).lost != ''


@pytest.mark.parametrize(
    ('holds', 'settle', 'end'), [(False, 0.0, 4.0), (True, 1.0, 5.0), (False, 1.0, 4.0)]
)
def test_a_plan_is_over_at_its_end_or_when_it_has_settled(holds, settle, end):
    made = tracker(holds=holds, settle=settle)
    assert not made.step(end - 1e-9, at(0.0)).ended
    assert made.step(end, at(0.0)).ended


def test_motion_that_changes_on_the_way_counts_from_then_on():
    made = Tracked(Cart(edge=edge, grip=grip), P)
    first = Course(PLAN.times, STATES, math.inf, STATES[-1])
    courses = [first]
    law = Following(None, PLAN.times, STATES, holds=True, course=lambda: courses[-1])
    made.begin(PLAN, law, settle=1.0)
    assert not made.step(9.0, at(0.0)).ended
    courses.append(Course(PLAN.times + 3.0, STATES + at(0.5), 7.0, at(0.5), 'too far'))
    assert (made.end, made.shortfall) == (7.0, 'too far')
    assert made.goal_error(at(0.5)) == 0.0
    step = made.step(5.0, at(0.7, 1.0))
    assert step.error == pytest.approx(0.0)
    assert not made.step(7.9, at(0.5)).ended
    assert made.step(8.0, at(0.5)).ended
    courses.append(courses[-1]._replace(missed=lambda x: float(x[0]) + 3.0))
    assert made.goal_error(at(0.5)) == pytest.approx(3.5)

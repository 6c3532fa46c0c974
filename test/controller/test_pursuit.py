"""Pursuit of a goal: when plans are made anew, and how they take over."""

from numpy.testing import assert_allclose
import pytest
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_controller.predictive.pursuit import Pursuit, Replanning
from rolling_dynamics.errors import ParameterError
from rolling_planner.errors import InfeasibleError

COARSE = Horizon(period=0.01, slew=10.0)
OPTIONS = Replanning(lead=0.2, settle=0.1, tolerance=0.05)


class Planners:
    """Answers with plans, and remembers what it was asked for."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, problem):
        self.asked.append(problem)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return lambda: answer


@pytest.fixture
def started(hard):
    """Return what makes a pursuit of the plan, a few steps into it."""
    problem, plan = hard

    def start(*answers):
        law = PredictiveLaw(problem.system, problem.p, plan, control_limits=50.0, horizon=COARSE)
        planners = Planners(*answers)
        pursuit = Pursuit(law, problem, planners, OPTIONS)
        for t in (0.48, 0.49, 0.5):
            pursuit.command(t, plan.state_at(t))
        return pursuit, planners, plan

    return start


def test_nothing_is_asked_for_on_the_way(started):
    _, planners, _ = started()
    assert planners.asked == []


def test_moved_goal_is_planned_from_the_predicted_state_and_taken_over_in_time(started, hard):
    problem, plan = hard
    pursuit, planners, _ = started(plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.command(0.51, plan.state_at(0.51))
    (asked,) = planners.asked
    assert_allclose(asked.goal['contact_h'], [0.1, 0.0])
    assert_allclose(asked.goal['q_HO'], problem.goal['q_HO'])
    assert_allclose(asked.goal['q_WH'], [1, 0, 0, 0])  # not the tilt of its start
    assert_allclose(asked.x_start, plan.state_at(0.71), atol=0.1)
    before = pursuit.law.reference
    pursuit.command(0.70, plan.state_at(0.70))
    assert pursuit.law.reference is before
    pursuit.command(0.71, plan.state_at(0.71))
    assert pursuit.replans == 1
    assert pursuit.law.reference.origin == pytest.approx(0.71)


def test_failed_plan_is_reported_and_the_next_one_gets_more_time(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(InfeasibleError('no plan: too far'), plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.command(0.51, plan.state_at(0.51))
    assert pursuit.trouble == 'no plan: too far'
    assert pursuit.failures == 1
    end = pursuit.law.reference.end + OPTIONS.settle
    x = plan.states[-1].copy()
    x[pursuit.law.system.state.slice('contact_h')] += 0.1
    for t in (end + 0.01, end + 0.02):
        pursuit.command(t, x)
    assert len(planners.asked) == 2
    assert planners.asked[1].horizon > planners.asked[0].horizon * 1.1


def test_goal_that_is_none_is_refused_and_the_old_one_stays(started):
    pursuit, planners, plan = started()
    with pytest.raises(ParameterError, match='contact_h'):
        pursuit.pursue({'contact_h': [1.0, 2.0, 3.0]})
    pursuit.command(0.51, plan.state_at(0.51))
    assert planners.asked == []


def test_strong_push_is_answered_on_the_way(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    x = plan.state_at(1.5)
    x[pursuit.law.system.state.slice('w_HO_H')] += [0.0, 0.0, 3.0]
    pursuit.command(1.5, x)
    pursuit.command(1.51, x)
    assert len(planners.asked) == 1


def test_missed_goal_is_planned_for_at_rest(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    end = pursuit.law.reference.end
    x = pursuit.law.reference.states[-1].copy()
    x[pursuit.law.system.state.slice('contact_h')] += 0.1
    pursuit.command(end + 0.5 * OPTIONS.settle, x)
    assert planners.asked == []
    for t in (end + 1.1 * OPTIONS.settle, end + 1.2 * OPTIONS.settle):
        pursuit.command(t, x)
    assert len(planners.asked) == 1

"""Pursuit of a goal: when plans are made again, and how they take over."""

from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.predictive import pursuit as pursuit_module
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_controller.predictive.pursuit import problem_of, Pursuit, Replanning
from rolling_dynamics.errors import ParameterError
from rolling_planner.progress import InfeasibleError
from transforms3d.quaternions import qmult

COARSE = Horizon(period=0.01, slew=10.0)
OPTIONS = Replanning(lead=0.2, settle=0.1, certain=0.0, tolerance=0.05, deviation=0.2)


class Planners:
    """Answers with plans, and remembers what it was asked for."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, problem):
        self.asked.append(problem)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return lambda patience: answer(patience) if callable(answer) else answer


@pytest.fixture(scope='module')
def first_law(hard):
    problem, plan = hard
    return PredictiveLaw(problem.system, problem.p, plan, control_limits=50.0, horizon=COARSE)


@pytest.fixture
def started(hard, first_law):
    """Return what makes a pursuit of the plan, a few steps into it."""
    problem, plan = hard

    def start(*answers, options=OPTIONS):
        law = copy(first_law)
        law.start()
        planners = Planners(*answers)
        pursuit = Pursuit(law, problem, planners, options)
        for t in (0.48, 0.49, 0.5):
            pursuit.step(None, plan.state_at(t), t)
        return pursuit, planners, plan

    return start


def test_nothing_is_asked_for_on_the_way(started):
    _, planners, _ = started()
    assert planners.asked == []


def test_moved_goal_is_planned_from_the_predicted_state_and_taken_over_in_time(started, hard):
    problem, plan = hard
    pursuit, planners, _ = started(plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    (asked,) = planners.asked
    assert_allclose(asked.goal['contact_h'], [0.1, 0.0])
    assert_allclose(asked.goal['q_HO'], problem.goal['q_HO'])
    assert_allclose(asked.goal['q_WH'], [1, 0, 0, 0])  # not the tilt of its start
    assert_allclose(asked.x_start, plan.state_at(0.71), atol=0.1)
    assert_allclose(asked.warm_start.states[0], plan.state_at(0.71), atol=1e-6)
    before = pursuit.law.reference
    pursuit.step(None, plan.state_at(0.70), 0.70)
    assert pursuit.law.reference is before
    pursuit.step(None, plan.state_at(0.71), 0.71)
    assert pursuit.replans == 1
    assert pursuit.law.reference.origin == pytest.approx(0.71)


def test_first_plan_to_a_moved_goal_is_made_in_haste_and_made_anew_once_followed(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan, plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    for t in (0.71, 0.82):
        pursuit.step(None, plan.state_at(t - 0.71), t)
    hasty, anew = planners.asked
    wanted = pursuit.problem
    assert (hasty.segments, hasty.goal_tolerance) == (16, OPTIONS.rough)
    assert (anew.segments, anew.goal_tolerance) == (wanted.segments, wanted.goal_tolerance)
    assert anew.goal is hasty.goal
    assert anew.horizon == pytest.approx(0.71 + plan.duration - 1.02)  # it ends with the first


def test_hasty_plan_that_is_as_good_as_wanted_is_kept(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    pursuit.pursue(dict(pursuit.problem.goal))  # where the plan ends
    pursuit.step(None, plan.state_at(0.51), 0.51)
    for t in (0.71, 0.82, 0.9):
        pursuit.step(None, plan.state_at(t - 0.71), t)
    assert len(planners.asked) == 1


def test_plan_that_failed_is_reported_and_tried_again_with_more_time(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(InfeasibleError('no plan: too far'), plan)
    pursuit.pursue({'contact_h': [0.1, 0.0], 'q_HO': None})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    assert pursuit.trouble == 'no plan: too far'
    assert pursuit.failures == 1
    for t in (0.52, 0.60):
        pursuit.step(None, plan.state_at(t), t)
    assert len(planners.asked) == 1
    pursuit.step(None, plan.state_at(0.62), 0.62)
    first, second = planners.asked
    assert_allclose(second.goal['contact_h'], [0.1, 0.0])
    assert second.horizon > first.horizon * 1.1


@pytest.mark.parametrize('answer', [InfeasibleError('no plan: too far'), None])
def test_goal_whose_plan_does_not_come_is_led_to_in_position_first(started, hard, answer):
    _, plan = hard
    pursuit, planners, _ = started(answer, plan, plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    for t in (0.51, 0.71, 0.72, 0.88):
        pursuit.step(None, plan.state_at(t), t)
    whole, part = planners.asked
    assert (part.goal['q_HO'], part.goal['q_WH']) == (None, whole.goal['q_WH'])
    assert part.goal['contact_h'] == whole.goal['contact_h']
    assert pursuit.replans == 1
    assert pursuit.course.end == np.inf
    for t in (0.93, 0.99):
        pursuit.step(None, plan.state_at(t - 0.7), t)
    anew = planners.asked[-1]
    assert anew.goal is whole.goal
    assert (anew.segments, anew.effort) == (pursuit.problem.segments, np.inf)
    pursuit.step(None, plan.state_at(0.5), 1.2)
    assert pursuit.replans == 2
    assert pursuit.course.end < np.inf


def test_part_of_a_goal_is_tried_once(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(*[InfeasibleError('no plan: too far')] * 3)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    for t in (0.51, 0.52, 0.63):
        pursuit.step(None, plan.state_at(t), t)
    assert [p.goal['q_HO'] is None for p in planners.asked] == [False, True, False]


def test_push_near_the_end_is_given_more_time_where_feedback_is_expected_to_miss(started, hard):
    problem, plan = hard
    pursuit, planners, _ = started(plan, options=replace(OPTIONS, deviation=0.05))
    late = plan.duration - OPTIONS.shortest
    pushed = plan.state_at(late)
    where = problem.system.state.slice('w_HO_H')
    pushed[where] += [0.0, 0.05, 0.0]
    pursuit.step(None, pushed, late)
    assert planners.asked == []
    pushed[where] += [0.0, 0.5, 0.0]
    pursuit.step(None, pushed, late + 0.01)
    (asked,) = planners.asked
    assert asked.goal['q_HO'] is not None
    assert asked.horizon > OPTIONS.shortest


def test_goal_that_moves_while_a_plan_is_awaited_is_planned_for_after_it(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan, plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    pursuit.pursue({'contact_h': [0.2, 0.0]})
    for t in (0.71, 0.82):
        pursuit.step(None, plan.state_at(t - 0.71), t)
    assert_allclose([p.goal['contact_h'][0] for p in planners.asked], [0.1, 0.2])
    assert pursuit.replans == 1


def test_what_is_learned_of_the_model_is_planned_with_and_ends_when_the_plan_did(started, hard):
    problem, plan = hard
    pursuit, planners, _ = started(plan)
    p = problem.p.copy()
    where = problem.system.parameters.slice('inertia')
    p[where] *= 1.005
    pursuit.law.know(p)
    pursuit.step(None, plan.state_at(0.51), 0.51)
    assert planners.asked == []
    p[where] *= 1.1
    pursuit.law.know(p)
    pursuit.step(None, plan.state_at(0.52), 0.52)
    (asked,) = planners.asked
    assert_allclose(asked.p, p)
    assert asked.horizon == pytest.approx(plan.duration - 0.72)
    assert_allclose(asked.warm_start.states[0], plan.state_at(0.72), atol=1e-6)
    assert asked.warm_start.duration == pytest.approx(asked.horizon)
    wanted = plan.control_at(0.72)
    for name, value in asked.start_controls.items():
        assert value == pytest.approx(wanted[problem.system.control.names.index(name)], abs=2.0)


class Done:
    """Does a job when it is asked for, or when its result is."""

    def __init__(self, job, *, late):
        self.result = job if late else partial(lambda made: made, job())


class Executor:
    """Does jobs at once or as late as it may, as a thread does on an idle or a busy machine."""

    def __init__(self, *, late):
        self.late = late

    def submit(self, job, *given):
        return Done(partial(job, *given), late=self.late)


def test_commands_do_not_depend_on_when_the_reference_was_made(started, hard, monkeypatch):
    problem, plan = hard
    where = problem.system.parameters.slice('inertia')
    commands = []
    for late in (False, True):
        executor = partial(Executor, late=late)
        monkeypatch.setattr(pursuit_module, 'ThreadPoolExecutor', lambda *_, e=executor: e())
        pursuit, _, _ = started(plan)
        pursuit.pursue({'contact_h': [0.1, 0.0]})
        p = problem.p.copy()
        for k in range(30):
            p[where] *= 1.0002  # learned on the way
            pursuit.law.know(p)
            t = 0.51 + 0.01 * k
            commands.append(pursuit.step(None, plan.state_at(t), t)[1])
        assert pursuit.replans == 1
    at_once, as_late_as_may_be = np.split(np.array(commands), 2)
    assert np.array_equal(at_once, as_late_as_may_be)


def test_goal_that_is_none_is_refused_and_the_old_one_stays(started):
    pursuit, planners, plan = started()
    with pytest.raises(ParameterError, match='contact_h'):
        pursuit.pursue({'contact_h': [1.0, 2.0, 3.0]})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    assert planners.asked == []


def test_strong_push_is_answered_on_the_way(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    x = plan.state_at(0.7)
    x[pursuit.law.system.state.slice('w_HO_H')] += [0.0, 0.0, 3.0]
    pursuit.step(None, x, 0.7)
    pursuit.step(None, x, 0.71)
    assert len(planners.asked) == 1


def test_missed_goal_is_planned_for_at_rest(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    end, system = pursuit.law.reference.end, pursuit.law.system
    d = np.zeros(system.tangent.size)
    d[system.tangent.slice('d_HO')] = [0.0, 0.0, 0.1]
    x = np.array(system.retract(plan.states[-1], d)).ravel()
    pursuit.step(None, x, end + 0.5 * OPTIONS.settle)
    assert planners.asked == []
    pursuit.step(None, x, end + 1.1 * OPTIONS.settle)
    assert len(planners.asked) == 1
    assert planners.asked[0].warm_start is None


def test_push_at_rest_is_answered_at_once(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    t = pursuit.law.reference.end + 0.5 * OPTIONS.settle
    x = plan.states[-1].copy()
    x[pursuit.law.system.state.slice('w_HO_H')] += [0.0, 1.0, 2.0]
    pursuit.step(None, x, t)
    assert len(planners.asked) == 1


def resting_off(pursuit, x, size):
    """Return a state at rest so far off [m, rad] that feedback is expected to correct all."""
    law = pursuit.law
    system, reference = law.system, law.reference
    where = np.r_[system.tangent.slice('contact_h'), system.tangent.slice('d_HO')]
    free = np.isin(law.used.moving, where)
    least = np.linalg.svd(reference.transition(reference.end)[:, free])[2][-1]
    d = np.zeros(system.tangent.size)
    d[law.used.moving[free]] = size * least
    return np.array(system.retract(x, d)).ravel()


def test_what_feedback_does_not_correct_as_expected_is_planned_for(started):
    plan = started()[2]
    pursuit, planners, _ = started(plan, options=replace(OPTIONS, slow=0.5))
    x, t = resting_off(pursuit, plan.states[-1], 0.1), pursuit.law.reference.end + 0.11
    for k in range(50):
        pursuit.step(None, x, t + 0.01 * k)
    assert planners.asked == []
    pursuit.step(None, x, t + 0.5)
    assert len(planners.asked) == 1


@pytest.mark.parametrize(('within', 'count'), [(2e-3, 0), (0.5e-3, 1)])
def test_single_entries_have_a_tolerance_of_their_own(started, within, count):
    plan = started()[2]
    options = replace(OPTIONS, within={'contact_h': within}, slow=0.0)
    pursuit, planners, _ = started(plan, options=options)
    x = plan.states[-1].copy()
    x[pursuit.law.system.state.slice('contact_h')] += [0.6e-3, 0.8e-3]
    pursuit.step(None, x, pursuit.law.reference.end + 0.11)
    assert len(planners.asked) == count


def test_tolerance_of_an_entry_that_does_not_exist_is_refused(started):
    with pytest.raises(ParameterError, match="within: no entry 'contact_hh'; did you mean 'cont"):
        started(options=replace(OPTIONS, within={'contact_hh': 1e-3}))


def test_what_is_missed_for_a_moment_is_not_planned_for(started):
    """An estimate right after a push is not a start of a plan, and a plan takes its time."""
    plan = started()[2]
    pursuit, planners, _ = started(plan, options=replace(OPTIONS, certain=0.05))
    begin, system = pursuit.law.reference.end + 1.1 * OPTIONS.settle, pursuit.law.system
    d = np.zeros(system.tangent.size)
    d[system.tangent.slice('d_HO')] = [0.0, 0.0, 0.1]
    x = np.array(system.retract(plan.states[-1], d)).ravel()
    pursuit.step(None, x, begin)
    pursuit.step(None, plan.states[-1], begin + 0.04)
    for k in range(5):
        pursuit.step(None, x, begin + 0.05 + 0.01 * k)
    assert planners.asked == []
    pursuit.step(None, x, begin + 0.1)
    assert len(planners.asked) == 1


def test_end_is_open_until_the_plan_for_a_moved_goal_is_followed(started):
    pursuit, _, plan = started()
    assert pursuit.course.end == pytest.approx(plan.duration + 2 * OPTIONS.settle)
    pursuit, _, _ = started(plan)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    assert pursuit.course.end == np.inf
    pursuit.step(None, plan.state_at(0.51), 0.51)
    assert pursuit.course.end == np.inf
    pursuit.step(None, plan.state_at(0.71), 0.71)
    course = pursuit.course
    assert course.end == pytest.approx(0.71 + plan.duration + 2 * OPTIONS.settle)
    assert course.times[0] == pytest.approx(0.71)
    assert_allclose(course.goal, plan.states[-1])


def test_end_is_put_off_while_feedback_brings_a_push_to_rest(started):
    pursuit, planners, plan = started()
    end, settle = pursuit.law.reference.end, OPTIONS.settle
    rolling = plan.states[-1].copy()
    rolling[pursuit.law.system.state.slice('w_HO_H')] += [0.0, 0.25, 0.0]
    later = end + 2 * settle
    pursuit.step(None, plan.states[-1], later)
    assert pursuit.course.end == pytest.approx(end + 2 * settle)  # at rest
    pursuit.step(None, rolling, later + 0.1)
    assert planners.asked == []
    assert pursuit.course.end == pytest.approx(later + 0.1 + 2 * settle)
    pursuit.step(None, rolling, end + OPTIONS.rest + 0.1)[1]  # for how long at most
    assert pursuit.course.end == pytest.approx(later + 0.1 + 2 * settle)


def test_goal_alone_frees_what_does_not_come_to_rest(started):
    pursuit, _, _ = started()
    pursuit.pursue({'p_WO_x': 0.1}, alone=True)
    goal = pursuit.problem.goal
    assert not {'contact_h', 'q_HO'} & set(goal)
    assert {'q_WH', 'w_HO_H', 'p_WO_x'} <= set(goal)


def test_what_is_free_is_no_error_at_the_end(started):
    pursuit, _, plan = started()
    system = pursuit.law.system
    d = np.zeros(system.tangent.size)
    d[system.tangent.slice('d_HO')] = [0.0, 0.0, 0.3]
    turned = np.array(system.retract(plan.states[-1], d)).ravel()
    assert pursuit.course.missed(turned) == pytest.approx(0.3, abs=0.01)
    end = np.array(system.object_motion('p_WO')(plan.states[-1], pursuit.law.p)).ravel()
    pursuit.pursue({'p_WO_x': end[0] + 0.05}, alone=True)
    assert pursuit.course.missed(turned) == pytest.approx(0.05, abs=5e-3)


def test_late_plan_is_asked_for_earlier_but_made_no_longer_the_next_time(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(None, plan)
    pursuit.pursue({'contact_h': [0.1, 0.0], 'q_HO': None})
    for t in (0.51, 0.72, 0.83):
        pursuit.step(None, plan.state_at(t), t)
    assert pursuit.trouble == 'no plan came within 0.2 s'
    first, second = planners.asked
    assert second.horizon < 1.2 * first.horizon
    pursuit.step(None, plan.state_at(1.22), 0.83 + 0.39)
    assert pursuit.replans == 0
    pursuit.step(None, plan.state_at(1.23), 0.83 + 0.4)
    assert pursuit.replans == 1


def test_plan_that_has_to_take_over_is_waited_for_with_patience_alone(started, hard):
    _, plan = hard
    waited = []

    def answer(patience):
        waited.append(patience)
        return plan if patience else None

    pursuit, _, _ = started(answer, options=replace(OPTIONS, patience=3.0))
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    for t in (0.51, 0.7, 0.71):
        pursuit.step(None, plan.state_at(t), t)
    assert waited == [0.0, 3.0]
    assert (pursuit.replans, pursuit.failures) == (1, 0)


def test_start_beyond_what_is_predicted_is_where_the_plan_will_be(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan, options=replace(OPTIONS, lead=1.0))
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    assert pursuit.law.policy.times[-1] < 1.4
    (asked,) = planners.asked
    assert_allclose(asked.x_start, plan.state_at(1.51), atol=0.06)


def test_start_beyond_the_limits_of_a_plan_widens_them(started, hard):
    _, plan = hard
    pursuit, planners, _ = started(plan)
    there = plan.state_at(0.71)[pursuit.law.system.state.names.index('u_h')]
    limits = {'u_h': (-0.4, there - 0.01), 'v_h': (-0.4, 0.4)}
    pursuit.problem = replace(pursuit.problem, x_start=plan.states[-1], state_limits=limits)
    pursuit.pursue({'contact_h': [0.1, 0.0]})
    pursuit.step(None, plan.state_at(0.51), 0.51)
    (asked,) = planners.asked
    assert asked.state_limits['u_h'] == pytest.approx((-0.4, there + 0.01), abs=2e-3)
    assert asked.state_limits['v_h'] == (-0.4, 0.4)


def test_goal_out_of_reach_is_come_nearer_to_by_halves_and_then_given_up(started, hard):
    problem, plan = hard
    tries, halvings = OPTIONS.tries, OPTIONS.halvings
    answers = [InfeasibleError('no plan: too far')] * (tries * (halvings + 1))
    pursuit, planners, _ = started(*answers)
    end = np.array(problem.system.object_motion('p_WO')(plan.states[-1], problem.p)).ravel()
    pursuit.pursue({'p_WO_x': 0.8}, alone=True)
    t = 0.5
    while len(planners.asked) < len(answers):
        t += 0.11
        pursuit.step(None, plan.state_at(t), t)
    asked = [float(np.ravel(p.goal['p_WO_x'])[0]) for p in planners.asked[::tries]]
    assert_allclose(asked, [end[0] + (0.8 - end[0]) / 2**k for k in range(halvings + 1)])
    assert 'too far' in pursuit.shortfall
    assert 'stays' in pursuit.shortfall
    assert np.isfinite(pursuit.course.end)
    assert pursuit.course.missed(plan.states[-1]) < OPTIONS.tolerance
    pursuit.pursue({'p_WO_x': 0.1})
    assert pursuit.shortfall == ''


def test_attitude_half_of_the_way_is_half_of_the_turn(started, hard):
    _, plan = hard
    q = np.array([np.cos(0.6), 0.0, np.sin(0.6), 0.0])
    failures = OPTIONS.tries + 1  # one of them to the position alone
    pursuit, planners, _ = started(*[InfeasibleError('no plan: too far')] * failures, plan)
    end = plan.states[-1][pursuit.law.system.state.slice('q_HO')]
    pursuit.pursue({'q_HO': -qmult(end, q)})
    t = 0.5
    while len(planners.asked) <= failures:
        t += 0.11
        pursuit.step(None, plan.state_at(t), t)
    half = qmult(end, [np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    assert abs(half @ planners.asked[-1].goal['q_HO']) == pytest.approx(1.0, abs=1e-12)


def test_problem_of_a_law_is_to_come_where_its_plan_ends(started):
    pursuit, _, plan = started()
    law = pursuit.law
    problem, where = problem_of(law), law.system.state.slice
    assert set(problem.goal) == {'contact_h', 'q_HO'}
    for name, value in problem.goal.items():
        assert_allclose(value, plan.states[-1][where(name)])
    assert problem.control_limits == dict.fromkeys(problem.active_controls, (-50.0, 50.0))

"""Feedback along a plan: linearisation, gains, limits, closed loop."""

import dataclasses
import sys
import threading

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller import (
    LqrWeights,
    OpenLoop,
    run_lockstep,
    StateFeedback,
    TimeVaryingLqr,
)
from rolling_controller.law import Following
from rolling_controller.nominal import Linearization
from rolling_controller.tracker import Tracker
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.surfaces import Ellipsoid, Sphere
from rolling_planner import plan_rolling
from rolling_planner.problem.goal import goal_error
from scipy.optimize import fsolve


def perturbed(problem, rng):
    """Return the start 3 mm and 0.05 rad off, in random directions."""
    system = problem.system
    d = np.zeros(system.tangent.size)
    for name, size in (('contact_h', 3e-3), ('d_HO', 0.05)):
        where = system.tangent.slice(name)
        direction = rng.normal(size=where.stop - where.start)
        d[where] = size * direction / np.linalg.norm(direction)
    return np.array(system.retract(problem.x_start, d)).ravel()


def test_linearisation_equals_finite_differences_of_the_step():
    rng = np.random.default_rng(3)
    system = ContactSystem(Ellipsoid(0.05, 0.06, 0.08), Sphere(0.5, side='inside', pole='x'))
    p = system.pack_parameters(mass=0.3, inertia=[3e-4, 4e-4, 5e-4])
    q = rng.normal(size=(2, 4))
    q_WH, q_HO = q / np.linalg.norm(q, axis=1)[:, None]
    x = system.state.pack(
        q_WH=q_WH,
        p_WH=rng.normal(size=3),
        q_HO=q_HO,
        contact_h=[1.2, -0.4],
        w_WH_H=rng.normal(size=3),
        v_WH_H=rng.normal(size=3),
        w_HO_H=rng.normal(size=3),
    )
    u = rng.normal(size=6)
    h, step = 2e-3, 1e-6
    stepper = Stepper(system, p, max_step=h)
    end = stepper.step(x, u, h)
    n, m = system.tangent.size, system.control.size
    A, B = np.empty((n, n)), np.empty((n, m))

    def moved(d, e):
        start = np.array(system.retract(x, d)).ravel()
        return np.array(system.difference(stepper.step(start, u + e, h), end)).ravel()

    for k in range(n):
        d = step * np.eye(n)[k]
        A[:, k] = (moved(d, 0) - moved(-d, 0)) / (2 * step)
    for k in range(m):
        e = step * np.eye(m)[k]
        B[:, k] = (moved(np.zeros(n), e) - moved(np.zeros(n), -e)) / (2 * step)
    steps = Linearization(system).along(
        p, np.array([0.0, h]), np.array([x, end]), (u[None], u[None])
    )
    assert_allclose(steps.A[0], A, atol=1e-8)
    assert_allclose(steps.B[0], B, atol=1e-8)


def test_closed_loop_is_twenty_times_better_than_open_loop(hard):
    problem, plan = hard
    lqr = TimeVaryingLqr(problem.system, problem.p, plan, control_limits=50.0)
    unaided = StateFeedback(
        problem.system, lambda *given: given[-1], lambda t: lqr.nominal(t + 5e-4)[1]
    )
    rng = np.random.default_rng(4)
    for _ in range(5):
        x = perturbed(problem, rng)
        errors = [
            goal_error(problem, run_lockstep(problem.system, problem.p, x, law, 2.0).states[-1])
            for law in (unaided, lqr)
        ]
        assert errors[1] < errors[0] / 20


def test_the_feedback_does_the_work(hard):
    problem, plan = hard
    off = LqrWeights(tracking={}, terminal={})
    with pytest.warns(UserWarning, match='no weight is positive'):
        idle = TimeVaryingLqr(problem.system, problem.p, plan, off)
    x = perturbed(problem, np.random.default_rng(5))
    loop = run_lockstep(problem.system, problem.p, x, idle, 2.0)
    assert goal_error(problem, loop.states[-1]) > 0.5


def test_without_error_the_command_is_the_plan(hard):
    problem, plan = hard
    lqr = TimeVaryingLqr(problem.system, problem.p, plan)
    for t in np.linspace(0, 2, 37):
        x, u = lqr.nominal(t)
        assert_allclose(lqr.step(None, x, t)[1], u, atol=1e-9)


def test_commands_respect_their_limits(hard):
    problem, plan = hard
    limits = {'alpha_WH_H_x': (-3.0, 1.0), 'alpha_WH_H_y': (-2.0, 2.0)}
    lqr = TimeVaryingLqr(problem.system, problem.p, plan, control_limits=limits)
    rng = np.random.default_rng(6)
    for t in np.linspace(0, 2, 50):
        u = lqr.step(None, perturbed(problem, rng), t)[1]
        assert -3.0 <= u[0] <= 1.0
        assert -2.0 <= u[1] <= 2.0
        assert_allclose(u[2:], 0.0)


def test_a_symmetry_plane_is_reported(straight, hard):
    problem, plan = straight
    lqr = TimeVaryingLqr(problem.system, problem.p, plan)
    assert lqr.warning == ''  # nothing that a user could do about it
    # the turn of the plate and of the ball about the normal; a place that does not fit the turn
    assert 'errors of d_WH_z, v_h, w_HO_H_z, to first order' in lqr.notice
    assert lqr.gramian_least < 1e-12 * lqr.gramian_greatest
    problem, plan = hard
    lqr = TimeVaryingLqr(problem.system, problem.p, plan)
    assert (lqr.warning, lqr.notice) == ('', '')
    assert lqr.gramian_least > 0
    assert not lqr.left(perturbed(problem, np.random.default_rng(1))).any()


@pytest.mark.parametrize('seed', [1, 2])
def test_what_feedback_leaves_of_a_start_is_known_to_first_order(straight, seed):
    """Measured in closed loop, in the directions that are left."""
    problem, plan = straight
    system, rng = problem.system, np.random.default_rng(seed)
    lqr = TimeVaryingLqr(system, problem.p, plan)
    d = np.zeros(system.tangent.size)
    for name in ('d_WH', 'd_HO', 'contact_h'):
        d[system.tangent.slice(name)] = 1e-4 * rng.normal(size=d[system.tangent.slice(name)].size)
    x = np.array(system.retract(lqr.states[0], d)).ravel()
    loop = run_lockstep(system, problem.p, x, lqr, float(lqr.times[-1]))
    end = np.array(system.difference(loop.states[-1], lqr.states[-1])).ravel()
    left = lqr.left(x)
    # by the weights, the rest of the error is orthogonal to what is left
    Q = LqrWeights().of(system).tracking_diagonal(system.tangent)
    assert left @ (Q * end) == pytest.approx(left @ (Q * left), rel=0.02)
    assert 1e-5 < np.linalg.norm(left) < 1e-3


def test_what_is_left_matters_where_the_goal_does_not_allow_it(straight):
    """The turn of plate and ball about the normal stays, and a place across the motion."""
    problem, plan = straight
    system = problem.system
    following = TimeVaryingLqr(system, problem.p, plan).following()
    tracker = Tracker(system, problem.p, uncounted=('p_WH', 'd_WH'))
    for name, off, left in (('v_h', 2e-3, 1), ('u_h', 2e-3, 0), ('d_WH_z', 0.01, 0)):
        d = off * (np.array(system.tangent.names) == name)
        x = np.array(system.retract(plan.states[0], d)).ravel()
        matters, text = following.of_goal(x, tracker.norm, 1e-3)
        assert matters == bool(left), name
        assert ('this goal needs them' in text) == matters
        assert ('this goal leaves them free' in text) != matters
        assert 'does not correct errors of d_WH_z, v_h, w_HO_H_z' in text
        assert text.endswith('stays, goal_tolerance is 0.001')
    free = Following(following.law, following.times, following.states)
    assert free.of_goal(x, tracker.norm, 0.0) == (False, '')


@pytest.mark.slow
def test_coarse_plan_is_followed_to_its_end(hard):
    # Woodruff & Lynch, Fig. 10: the controls of a coarse plan miss its end, feedback does not
    problem = dataclasses.replace(
        hard[0], method='trapezoidal', segments=25, refinements=0, goal_tolerance=4.0
    )
    plan = plan_rolling(problem)
    f = problem.system.mode.dynamics
    states = [plan.states[0]]
    for k, h in enumerate(np.diff(plan.times)):  # what the trapezoidal rule believes, Eq. (49)
        u = plan.controls[k : k + 2]
        left = states[-1] + h / 2 * np.array(f(states[-1], u[0], 0, problem.p)).ravel()

        def defect(x, left=left, u=u, h=h):
            return x - left - h / 2 * np.array(f(x, u[1], 0, problem.p)).ravel()

        states.append(fsolve(defect, states[-1], xtol=1e-13))
    coarse = dataclasses.replace(plan, states=np.array(states))
    lqr = TimeVaryingLqr(problem.system, problem.p, coarse, nominal='plan')
    errors = []
    for law in (OpenLoop(problem.system, coarse), lqr):
        loop = run_lockstep(problem.system, problem.p, problem.x_start, law, 2.0)
        missed = problem.system.difference(loop.states[-1], coarse.states[-1])
        errors.append(np.linalg.norm(np.array(missed)))
    assert errors[1] < errors[0] / 10


def test_foreign_plan_is_refused(hard):
    problem, plan = hard
    other = problem.system.with_representation('coordinates')
    with pytest.raises(ParameterError, match=r'plan.state_names must be'):
        TimeVaryingLqr(other, problem.p, plan)


def test_bad_weights_are_refused(hard):
    problem, plan = hard
    for weights, text in (
        (LqrWeights(control=0.0), 'control'),
        (LqrWeights(tracking={'d_HO': -1.0}), 'tracking.d_HO'),
        (LqrWeights(terminal={'contact_h': np.nan}), 'terminal.contact_h'),
    ):
        with pytest.raises(ParameterError, match=text):
            TimeVaryingLqr(problem.system, problem.p, plan, weights)


def test_design_can_be_interrupted(hard):
    problem, plan = hard
    asked = []
    with pytest.raises(CancelledError, match='interrupted'):
        TimeVaryingLqr(
            problem.system,
            problem.p,
            plan,
            interrupted=lambda: asked.append(None) or len(asked) > 2,
        )
    assert len(asked) == 3


def test_plan_without_controls_is_only_played_back(hard):
    problem, plan = hard
    still = dataclasses.replace(plan, controls=0.0 * plan.controls)
    with pytest.warns(UserWarning, match='the plan uses no control'):
        lqr = TimeVaryingLqr(problem.system, problem.p, still)
    assert lqr.warning == 'the plan uses no control: there is no feedback'
    assert lqr.gains.shape[1] == 0
    assert_allclose(lqr.step(None, problem.x_start, 1.0)[1], 0.0)


@pytest.mark.slow
def test_slices_make_no_difference(hard, monkeypatch):
    problem, plan = hard
    whole, sliced = (
        TimeVaryingLqr(problem.system, problem.p, plan)
        for size in (10_000, 97)
        if monkeypatch.setattr('rolling_controller.time_varying_lqr.SLICE', size) is None
    )
    assert_allclose(sliced.gains, whole.gains, rtol=1e-9, atol=1e-9 * np.abs(whole.gains).max())
    assert sliced.gramian_least == pytest.approx(whole.gramian_least, rel=1e-6)
    assert sliced.gramian_greatest == pytest.approx(whole.gramian_greatest)


def test_a_start_is_judged_in_one_thread_while_another_judges_a_hold(straight):
    """Both use one compiled function, whose buffers are its own."""
    problem, plan = straight
    tracker = Tracker(problem.system, problem.p)
    away = plan.states[-1]
    expected, wrong = tracker.start_error(plan, away), []
    done, before = threading.Event(), sys.getswitchinterval()

    def judge():
        while not done.is_set():
            if tracker.jumped(plan.states[0], plan.states[0]):
                wrong.append('jumped')

    thread = threading.Thread(target=judge)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        found = {tracker.start_error(plan, away) for _ in range(5000)}
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(before)
    assert found == {expected}
    assert not wrong

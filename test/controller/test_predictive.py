"""Predictive control: its quadratic program, its stages, and the loop that it closes."""

from dataclasses import replace
from itertools import pairwise
import threading
import time
from types import SimpleNamespace

import casadi as ca
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from rolling_controller import run_lockstep, StateFeedback, TimeVaryingLqr
from rolling_controller.law import GoingOn, replay
from rolling_controller.nominal import LinearSteps, step_functions
from rolling_controller.predictive import program as program_module
from rolling_controller.predictive.beside import PredictingBeside, STALE
from rolling_controller.predictive.law import Horizon, PredictiveLaw, Record
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.program import Costs, Program, UnsolvedError
from rolling_controller.predictive.reference import moved_root, Used
from rolling_controller.predictive.stage import blocks_of, StageFunction, Stages
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_planner import Plan
from rolling_planner.problem.goal import goal_error
from scipy.optimize import lsq_linear

LIMIT = 50.0
COARSE = Horizon(period=0.01)  # a program at each tenth step: the tests have no machine code
NODES, N, M, C = 6, 4, 2, 1
UNLIMITED = np.full((NODES, C), -1e9)


def program(rng):
    """Return stages and costs of an arbitrary program."""
    stages = Stages(
        A=np.eye(N) + 0.3 * rng.normal(size=(NODES, N, N)),
        B=rng.normal(size=(NODES, N, 2 * M)),
        defect=0.1 * rng.normal(size=(NODES, N)),
        turn=np.eye(N) + 0.1 * rng.normal(size=(NODES, N, N)),
        error=rng.normal(size=(NODES, N)),
        C=rng.normal(size=(NODES, C, N)),
        D=rng.normal(size=(NODES, C, M)),
        margins=rng.normal(size=(NODES, C)),
    )
    return stages, Costs(rng.uniform(0.5, 1.0, (NODES, M)), rng.normal(size=(NODES, M)))


def residuals(stages, costs, e):
    """Return what the cost is half the square of, by going through the stages one by one."""
    d, out = np.zeros(N), []
    for k in range(NODES):
        out.append(stages.error[k] + stages.turn[k] @ d)
        out.append(np.sqrt(costs.control[k]) * (costs.offset[k] + e[k]))
        if k < NODES - 1:
            d = stages.A[k] @ d + stages.B[k] @ e[k : k + 2].ravel() + stages.defect[k]
    return np.concatenate(out)


@pytest.mark.parametrize('seed', range(3))
def test_program_finds_the_bounded_least_squares(seed):
    """Another solver, on the cost as it is written, comes to the same controls."""
    stages, costs = program(np.random.default_rng(seed))
    low, high = np.full((NODES, M), -0.3), np.full((NODES, M), 0.5)
    zero = residuals(stages, costs, np.zeros((NODES, M)))
    columns = [residuals(stages, costs, e.reshape(NODES, M)) - zero for e in np.eye(NODES * M)]
    expected = lsq_linear(np.array(columns).T, -zero, (-0.3, 0.5), tol=1e-14).x
    found = Program(stages).solve(costs, low, high, UNLIMITED)
    assert_allclose(found.controls.ravel(), expected, atol=1e-6)
    assert np.isclose(found.controls, -0.3).any()


def test_program_is_solved_anew_when_its_stages_change():
    """Nothing of the program before is left in what is kept for the next one."""
    stages, costs = program(np.random.default_rng(0))
    low, high = np.full((NODES, M), -0.3), np.full((NODES, M), 0.5)
    kept = Program(stages)
    kept.solve(costs, low, high, UNLIMITED)
    others, costs = program(np.random.default_rng(1))
    for here, other in zip(stages, others, strict=True):
        here[:] = other
    again, fresh = (p.solve(costs, low, high, UNLIMITED) for p in (kept, Program(others)))
    assert_allclose(again.controls, fresh.controls, atol=1e-12)
    assert_allclose(again.states, fresh.states, atol=1e-12)


def broken(stages, found, least):
    values = np.einsum('kcn,kn->kc', stages.C, found.states) + stages.margins
    return np.max(least - values - np.einsum('kcm,km->kc', stages.D, found.controls))


def test_limits_that_can_be_kept_are_kept_exactly():
    stages, costs = program(np.random.default_rng(5))
    low, high = np.full((NODES, M), -50.0), np.full((NODES, M), 50.0)
    free = Program(stages).solve(costs, low, high, UNLIMITED)
    assert broken(stages, free, 0.2) > 0.5
    kept = Program(stages).solve(costs, low, high, np.full((NODES, C), 0.2))
    assert broken(stages, kept, 0.2) < 1e-6
    assert kept.room.min() > -1e-6


def test_limits_that_cannot_be_kept_leave_a_solution_and_are_reported():
    stages, costs = program(np.random.default_rng(5))
    low, high = np.full((NODES, M), -0.01), np.full((NODES, M), 0.01)
    found = Program(stages).solve(costs, low, high, np.full((NODES, C), 9.0))
    assert np.abs(found.controls).max() <= 0.01
    assert -found.room.min() == pytest.approx(broken(stages, found, 9.0))
    assert found.room.min() < -1.0


@pytest.mark.parametrize('penalty', [1e-3, 10.0])
def test_program_without_slack_counts_only_where_the_penalty_is_exact(penalty, monkeypatch):
    """What is solved first, without slack, is what comes out with it, or is not taken."""
    stages, costs = program(np.random.default_rng(5))
    low, high, least = (
        np.full((NODES, M), -50.0),
        np.full((NODES, M), 50.0),
        np.full((NODES, C), 0.2),
    )
    monkeypatch.setattr(program_module, 'PENALTY', penalty)
    found = Program(stages).solve(costs, low, high, least)
    solve, calls = program_module.solver(), []

    def refused_once(*given):
        calls.append(given)
        return (given[1], 0.0, -1, {}) if len(calls) == 1 else solve(*given)

    monkeypatch.setattr(program_module, 'solver', lambda: refused_once)
    softened = Program(stages).solve(costs, low, high, least)
    assert len(calls) == 2
    assert (softened.room.min() < -0.01) == (penalty < 1.0)
    assert_allclose(found.controls, softened.controls, atol=1e-5)


def test_stages_are_those_of_the_step(hard):
    """Against the step of the linear regulator, whose derivatives are of a higher order."""
    problem, plan = hard
    system, h = problem.system, 1e-3
    everything, controls = np.arange(system.tangent.size), np.arange(system.control.size)
    friction = system.envelope['friction']
    function = StageFunction(system, everything, controls, (friction,), 1)
    x, reference = plan.states[12], plan.states[11]
    u = np.array([3.0, -2.0, 1.0, 0.5, -0.3, 0.2])
    step, jacobian = step_functions(system)
    end = np.array(step(x, u, 2 * u, 0.0, h, problem.p)).ravel()
    roots = np.diag(np.arange(1.0, 1.0 + system.tangent.size))
    function.p[:], function.clock[:], function.roots[:] = problem.p, [0.0, h], roots
    function.states[:], function.after[:], function.wanted[:] = x, end, reference
    function.controls[:], function.after_controls[:] = u, 2 * u
    found = function.evaluate()
    assert_allclose(found.defect, 0, atol=1e-9)
    J = np.array(jacobian(x, end, u, 2 * u, 0.0, h, problem.p))
    assert_allclose(found.A[0], J[:, : system.tangent.size], atol=5e-5)
    by_both = found.B[0, :, : u.size] + found.B[0, :, u.size :]
    assert_allclose(by_both, J[:, system.tangent.size :], atol=1e-6)
    assert_allclose(found.error[0], roots @ np.array(system.difference(x, reference)).ravel())
    near = 1e-6 * np.ones(system.tangent.size)
    turned = np.array(system.difference(system.retract(x, near), reference)).ravel()
    assert_allclose(found.turn[0] @ near, roots @ turned - found.error[0], atol=1e-9)
    assert_allclose(found.margins[0, 0], float(friction(x, u, 0, problem.p)))
    e = 1e-6 * np.eye(system.control.size)
    by_control = [(friction(x, u + k, 0, problem.p) - friction(x, u - k, 0, problem.p)) for k in e]
    assert_allclose(found.D[0, 0], np.array(by_control).ravel() / 2e-6, atol=1e-6)


def test_stage_of_many_blocks_is_that_of_as_many_short_steps(hard):
    """Over 50 ms with a ramp of the controls, against 50 steps with their own derivatives."""
    problem, plan = hard
    system, h, count = problem.system, 1e-3, 50
    everything, active = np.arange(system.tangent.size), np.arange(2)
    function = StageFunction(system, everything, active, (), 1, blocks=32)
    step, jacobian = step_functions(system)
    x = start = plan.states[12]
    u = np.linspace([3.0, -2.0, 0, 0, 0, 0], [-9.0, 5.0, 0, 0, 0, 0], count + 1)
    A, B = np.eye(len(everything)), np.zeros((len(everything), 2 * len(active)))
    for k in range(count):
        end = np.array(step(x, u[k], u[k + 1], k * h, h, problem.p)).ravel()
        J = np.array(jacobian(x, end, u[k], u[k + 1], k * h, h, problem.p))
        by_control, share = J[:, len(everything) :][:, active], (k + 0.5) / count
        A, B = J[:, : len(everything)] @ A, J[:, : len(everything)] @ B
        B += np.hstack([(1 - share) * by_control, share * by_control])
        x = end
    function.p[:], function.clock[:], function.roots[:] = problem.p, [0.0, count * h], A
    function.states[:], function.after[:], function.wanted[:] = start, x, start
    function.controls[:], function.after_controls[:] = u[0], u[-1]
    found = function.evaluate()
    assert_allclose(found.defect, 0, atol=1e-8)
    assert_allclose(found.A[0], A, atol=5e-5 * np.abs(A).max())
    assert_allclose(found.B[0], B, atol=2e-4 * np.abs(B).max())


def test_fast_modes_divide_stages():
    """A mode of 400/s over 50 ms: 13.3 blocks of 1.5; a kinematic system has none."""
    for name, blocks in (('scenarios/ball_balancer.yaml', 14), ('spin_rolling_ball.yaml', 1)):
        scenario = load_scenario(name)
        system = scenario.system
        resting = np.zeros(system.control.size)
        assert blocks_of(system, scenario.p, np.array(scenario.x0), resting, 0.05) == blocks


def test_what_grows_by_itself_hides_nothing_that_controls_move():
    """A mode that grows by 3e6, one that stays, and one that is not driven."""
    steps, growth = 100, np.exp(0.15)
    A, B = np.diag([growth, 1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    linear = LinearSteps(np.tile(A, (steps, 1, 1)), np.tile(B, (steps, 1, 1)))
    assert_allclose(
        moved_root(linear, np.diag([1.0, 2.0, 3.0])), np.diag([1.0, 2.0, 0]), atol=1e-9
    )


def pushed(problem, plan, law, rng):
    """Return the motion of a ball 10 % heavier, 3 mm off and pushed by 20 mm/s in the middle."""
    system = problem.system
    p = problem.p.copy()
    p[system.parameters.slice('mass')] *= 1.1
    middle = problem.horizon / 2
    x = problem.x_start.copy()
    x[system.state.slice('contact_h')] += 3e-3
    before = run_lockstep(system, p, x, law, middle)
    x = before.states[-1].copy()
    x[system.state.slice('w_HO_H')] += np.append(0.2 * rng.normal(size=2), 0.0)
    rest = problem.horizon - middle
    later = GoingOn(law, None, -middle)
    after = run_lockstep(system, p, x, later, rest)
    return after.states[-1], np.vstack([before.controls, after.controls])


def test_pushed_ball_ends_nearer_to_its_goal_than_without_feedback(hard):
    problem, plan = hard
    law = PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    lqr = TimeVaryingLqr(problem.system, problem.p, plan, control_limits=LIMIT)
    end, controls = pushed(problem, plan, law, np.random.default_rng(1))
    alone = StateFeedback(problem.system, lambda *given: given[-1], lambda t: lqr.nominal(t)[1])
    lost, _ = pushed(problem, plan, alone, np.random.default_rng(1))
    assert goal_error(problem, end) < 0.5 * goal_error(problem, lost)
    assert np.abs(controls).max() <= LIMIT
    assert law.record.failed == 0
    assert law.record.solved == pytest.approx(200, abs=2)


def test_end_of_a_plan_has_its_weight_while_predictions_see_it(hard):
    """What no control moves at rest must be right at the end: afterwards it costs nothing."""
    problem, plan = hard
    law = PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    reference, tangent = law.reference, problem.system.tangent
    nodes = np.arange(len(reference.times))
    last = int(np.argmin(np.abs(reference.times - reference.end)))
    roots = reference.roots(nodes, np.full(len(nodes), 0.05))
    weights = law.weights.terminal_diagonal(tangent)[law.used.moving]
    assert_allclose(np.square(np.diag(roots[last])), weights)
    least = np.linalg.eigvalsh(reference.cost_to_go(last).T @ reference.cost_to_go(last))[0]
    assert least > 0.9 * weights.min()
    after = reference.cost_to_go(last + 1)
    assert np.linalg.eigvalsh(after.T @ after)[0] < 1e-6 * weights.min()


def test_weights_of_rest_count_once_a_plan_is_over(hard):
    problem, plan = hard
    known = problem.system, problem.p, plan
    stiff = LqrWeights(tracking={'contact_h': 400.0})
    plain, both, throughout = (
        PredictiveLaw(*known, weights, rest=rest, control_limits=LIMIT, horizon=COARSE).reference
        for weights, rest in ((None, None), (None, stiff), (stiff, None))
    )
    assert_allclose(both.gain(plan.duration + 0.1), throughout.gain(plan.duration + 0.1))
    assert np.abs(both.gain(plan.duration + 0.1) - plain.gain(plan.duration + 0.1)).max() > 0.1
    last = int(np.argmin(np.abs(both.times - both.end)))
    counts = np.full(last + 2, 0.05)
    roots = [r.roots(np.arange(last + 2), counts) for r in (plain, both, throughout)]
    assert_allclose(roots[1][:-1], roots[0][:-1])
    assert_allclose(roots[1][-1], roots[2][-1])


def test_both_quaternions_of_an_attitude_are_one_state(hard):
    """Estimates and plans may take either; between two programs that must not matter."""
    problem, plan = hard
    system, t = problem.system, 0.53
    law = PredictiveLaw(system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    difference = FastFunction(law.difference)
    x, seen = (law.reference.at(when)[0] for when in (t, t + 0.009))
    y = x.copy()
    y[system.state.slice('q_HO')] *= -1.0
    commands = []
    for start in (x, y):
        law.follow(law.reference)
        policy = law.predict(t, start)
        commands.append(policy.command(t + 0.009, seen, difference))
    assert_allclose(*commands, atol=1e-6)


def test_end_of_a_plan_is_held(hard):
    """The attitude of a ball at rest takes a loop to correct: it is left, and nothing moves."""
    problem, plan = hard
    system = problem.system
    law = PredictiveLaw(system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    x = plan.states[-1].copy()
    x[system.state.slice('contact_h')] += [2e-3, 0.0]
    later = GoingOn(law, None, -plan.duration)
    run = run_lockstep(system, problem.p, x, later, 1.5)
    error = np.array(system.difference(run.states[-1], law.reference.states[-1])).ravel()
    assert np.abs(error[system.tangent.slice('w_HO_H')]).max() < 0.02
    assert np.linalg.norm(error[system.tangent.slice('contact_h')]) < 2e-3


def test_narrow_limits_are_never_passed(hard):
    problem, plan = hard
    limits = {'alpha_WH_H_x': (-4.0, 6.0), 'alpha_WH_H_y': (-5.0, 5.0)}
    law = PredictiveLaw(problem.system, problem.p, plan, control_limits=limits, horizon=COARSE)
    x = problem.x_start.copy()
    x[problem.system.state.slice('contact_h')] += 0.02
    run = run_lockstep(problem.system, problem.p, x, law, 0.3)
    for k, (low, high) in enumerate(limits.values()):
        assert low <= run.controls[:, k].min()
        assert run.controls[:, k].max() <= high
    assert any(run.controls[:, k].max() == pair[1] for k, pair in enumerate(limits.values()))


def test_without_solutions_the_last_prediction_goes_on_until_the_safe_command(hard, monkeypatch):
    problem, plan = hard
    braking = np.full(problem.system.control.size, -1.0)
    law = PredictiveLaw(
        problem.system,
        problem.p,
        plan,
        control_limits=LIMIT,
        horizon=COARSE,
        safe=lambda _: braking,
    )
    law.step(None, plan.state_at(0.5), 0.5)
    predicted = law.policy

    def fails(*_):
        raise UnsolvedError('no solution today')

    monkeypatch.setattr(Program, 'solve', fails)
    times = 0.5 + COARSE.period * np.arange(1, COARSE.patience + 2)
    given = [law.step(None, plan.state_at(t), t)[1] for t in times]
    assert law.policy is predicted
    assert law.record.trouble == 'no solution today'
    for t, u in zip(times[: COARSE.patience - 1], given, strict=False):
        assert np.abs(u - plan.control_at(t)).max() < 3.0
    assert_allclose(given[-1], braking)
    monkeypatch.undo()
    assert not np.allclose(law.step(None, plan.state_at(0.9), 0.9)[1], braking)
    assert law.record.failed_in_turn == 0


@pytest.mark.parametrize('period', [1e-3, 0.05])
def test_new_plan_takes_over_by_the_slew(hard, period):
    """A plan that begins with other controls does not make command or prediction jump."""
    problem, plan = hard
    slew = 2.0
    horizon = Horizon(period=period, slew=slew)
    law = PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=horizon)
    x = problem.x_start
    given = [law.step(None, x, k * 1e-3)[1] for k in range(3)]
    law.follow(law.reference_of(plan, origin=-0.7))  # the same plan, further on
    given.append(law.step(None, x, 3e-3)[1])
    assert_allclose(law.policy.controls[0], given[-1])  # the program knows what is given at most
    given += [law.step(None, x, k * 1e-3)[1] for k in range(4, 8)]
    steps = [np.abs(b - a).max() for a, b in pairwise(given[2:])]
    assert max(steps) <= slew * 2 * LIMIT * 1e-3 + 1e-9
    assert max(steps) > 0.5 * slew * 2 * LIMIT * 1e-3


def test_slew_holds_while_the_time_repeats_and_leaves_unlimited_controls_free(hard):
    """A state that is repeated has one time; infinity times no time is not a number."""
    problem, plan = hard
    limits = {'alpha_WH_H_x': (-LIMIT, LIMIT)}  # no other control has any
    horizon = Horizon(period=1e-3, slew=2.0)
    law = PredictiveLaw(problem.system, problem.p, plan, control_limits=limits, horizon=horizon)
    first = law.step(None, problem.x_start, 0.1)[1]
    aside = problem.x_start.copy()
    aside[problem.system.state.slice('contact_h')] += 0.02
    law.start()
    for _ in range(3):
        law.step(None, problem.x_start, 0.1)
        law.follow(law.reference)  # so that the repeated time predicts again
        again = law.step(None, aside, 0.1)[1]
    assert again[0] == pytest.approx(first[0], abs=1e-9)
    assert abs(again[1] - first[1]) > 0.1
    assert (law.record.failed, law.record.safe) == (0, False)


@pytest.mark.filterwarnings('ignore:invalid value:RuntimeWarning')
def test_command_that_is_not_finite_is_a_fault_of_the_law(hard):
    """The prediction before goes on, and the safe command stands in for what is not finite."""
    problem, plan = hard
    braking = np.full(problem.system.control.size, -1.0)
    given = problem.system, problem.p, plan
    law = PredictiveLaw(*given, control_limits=LIMIT, horizon=COARSE, safe=lambda _: braking)
    law.step(None, plan.state_at(0.5), 0.5)
    predicted = law.policy
    assert_allclose(law.step(None, np.full(problem.x_start.shape, np.nan), 0.52)[1], braking)
    assert law.policy is predicted
    assert law.record.safe
    assert (law.record.failed, bool(law.record.trouble)) == (1, True)
    assert (
        np.abs(law.step(None, plan.state_at(0.525), 0.525)[1] - plan.control_at(0.525)).max() < 3.0
    )
    assert not law.record.safe
    law.step(None, plan.state_at(0.54), 0.54)
    assert (law.policy is predicted, law.record.trouble) == (False, '')


def test_feedback_goes_no_further_than_the_limits_that_the_prediction_keeps():
    """Half of the room of one limit is used, then none; what leads away from limits is free."""
    size, identity = 3, np.eye(3)
    apart = FastFunction(ca.Function('apart', *_subtraction(size)))
    policy = Policy(
        times=np.array([0.0, 1.0]),
        states=np.zeros((2, size)),
        controls=np.zeros((2, size)),
        rates=np.zeros((2, size)),
        used=Used(np.arange(size), np.arange(size)),
        gain=identity,
        room=np.array([[0.5, 2.0], [-0.5, 2.0]]),
        by_control=np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (2, 1, 1)),
        low=np.full(size, -9.0),
        high=np.full(size, 9.0),
    )
    assert_allclose(policy.command(0.0, np.array([1.0, 0.0, 4.0]), apart), [-0.5, 0.0, -2.0])
    assert_allclose(policy.command(0.9, np.array([1.0, 0.0, 4.0]), apart), 0.0)
    assert_allclose(policy.command(0.0, np.array([2.0, 8.0, 0.0]), apart), [-0.5, -2.0, 0.0])
    assert_allclose(policy.command(0.9, np.array([-1.0, 1.0, 0.0]), apart), [1.0, -1.0, 0.0])


def test_a_policy_is_held_at_its_ends():
    policy = Policy(
        times=np.array([0.0, 1.0]),
        states=np.array([[0.0], [2.0]]),
        controls=np.array([[3.0], [5.0]]),
        rates=np.array([[1.0], [1.0]]),
        used=Used(np.arange(1), np.arange(1)),
        gain=np.ones((1, 1)),
        room=np.full((2, 1), 1e9),
        by_control=np.ones((2, 1, 1)),
        low=np.full(1, -9.0),
        high=np.full(1, 9.0),
    )
    apart = FastFunction(ca.Function('apart', *_subtraction(1)))
    for t, state, control in ((-1.0, 0.0, 3.0), (0.0, 0.0, 3.0), (1.0, 2.0, 5.0), (1.5, 2.0, 5.0)):
        assert policy.state_at(t).tolist() == [state]
        assert policy.control_at(t).tolist() == [control]
        assert policy.command(t, np.array([state + 0.5]), apart).tolist() == [control - 0.5]


def _subtraction(size):
    x, y = ca.SX.sym('x', size), ca.SX.sym('y', size)
    return [x, y], [x - y]


def stepped(law, x, t):
    """Return the control by the newest answer of the thread, as the loop has it."""
    return law.step(None, np.r_[x, law.sources['prediction']()], t)[1]


def test_beside_a_loop_the_newest_state_is_predicted_from(hard):
    """Another thread predicts, the loop evaluates what it has; the thread ends with the law."""
    problem, plan = hard
    before = set(threading.enumerate())
    law = PredictingBeside(
        PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    )
    assert set(threading.enumerate()) == before  # a replay asks for no answer
    law.sources['prediction']()
    (thread,) = set(threading.enumerate()) - before
    assert (thread.name, thread.daemon) == ('prediction', True)
    x, spin = plan.state_at(0.4), problem.system.state.slice('w_HO_H').stop - 1
    x[spin] += 0.1
    end = time.monotonic() + 60.0
    while law.age != 0.0 or law.law.record.solved < 2:
        u = stepped(law, x, 0.4)
        assert time.monotonic() < end
        time.sleep(1e-3)  # the loop's own period
    assert np.abs(u).max() <= LIMIT
    assert_allclose(law.predicted()[0], x)
    health = law.health()
    assert health['predictions failed'] == 0
    off = x[spin] - law.law.reference.states[-1][spin]
    assert health['not regulated at the end: w_HO_H_z'] == pytest.approx(off, abs=1e-9)
    assert not any('w_HO_H_x' in name for name in health)
    del law
    thread.join(60.0)
    assert not thread.is_alive()


def test_beside_a_loop_the_thread_ends_where_no_state_ever_came(hard):
    problem, plan = hard
    before = set(threading.enumerate())
    law = PredictingBeside(
        PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    )
    law.sources['prediction']()
    (thread,) = set(threading.enumerate()) - before
    del law
    thread.join(60.0)
    assert not thread.is_alive()


def test_beside_a_loop_old_policies_give_way_to_the_safe_command(hard):
    problem, plan = hard
    braking = np.full(problem.system.control.size, -1.0)
    law = PredictingBeside(
        PredictiveLaw(
            problem.system,
            problem.p,
            plan,
            control_limits=LIMIT,
            horizon=COARSE,
            safe=lambda _: braking,
        )
    )
    x = plan.states[0]
    assert np.abs(stepped(law, x, 0.0) - plan.controls[0]).max() < 1.0
    assert np.abs(stepped(law, x, STALE) - braking).max() > 0.1
    assert_allclose(stepped(law, x, STALE + 0.3), braking)


def test_beside_a_loop_a_prediction_that_raises_is_reported_and_not_the_last(hard, monkeypatch):
    """The prediction before goes on meanwhile."""
    problem, plan = hard
    law = PredictingBeside(
        PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    )
    x, first = plan.state_at(0.1), law.law.policy
    begin = law.predicted()[0]

    failed = []

    def broken(t, x):
        failed.append(law.law.record.failed)
        raise ArithmeticError('no solution')

    def commanded_until(condition):
        end = time.monotonic() + 60.0
        while not condition():
            u = stepped(law, x, 0.1)
            assert time.monotonic() < end
            time.sleep(1e-3)  # the loop's own period
        return u

    with monkeypatch.context() as patch:
        patch.setattr(law.law, 'predict', broken)
        u = commanded_until(lambda: law.health()['predictions failed'] > 2)
    assert failed == list(range(len(failed)))
    assert law.health()['prediction problem'] == 'ArithmeticError: no solution'
    assert_allclose(u, first.command(0.1, x, FastFunction(law.law.difference)))
    assert_allclose(law.predicted()[0], begin)
    commanded_until(lambda: law.law.policy is not first and law.age == 0.0)
    assert_allclose(law.predicted()[0], x)
    assert 'prediction problem' not in law.health()


def test_what_ran_beside_a_loop_comes_out_by_its_inputs_alone(hard):
    """The loop moves on by its own pace, and misses predictions or sees one for many steps."""
    problem, plan = hard

    def made():
        horizon = replace(COARSE, slew=20.0)
        law = PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=horizon)
        return PredictingBeside(law)

    law, rng, rows, out = made(), np.random.default_rng(4), [], []
    times = 1e-3 * np.arange(400)
    for t in times:
        x = plan.state_at(t)
        x[problem.system.state.slice('contact_h')] += 1e-3 * rng.normal(size=2)
        rows.append(np.r_[x, law.sources['prediction']()])
        out.append(law.step(None, rows[-1], t)[1])
        time.sleep(rng.choice([0.0, 1e-3, 1e-2], p=[0.5, 0.4, 0.1]))
    rows = np.array(rows)
    assert len(np.unique(rows[:, -2])) > 10
    assert_array_equal(replay(made(), rows, times)[0], out)
    with pytest.raises(ParameterError, match='names no step'):
        replay(made(), rows[100:], times[100:])
    rows[200:, -1] = 1.0
    with pytest.raises(ParameterError, match='plans were made on the way'):
        replay(made(), rows, times)


def test_kinematic_system_without_envelope_is_held():
    """No contact force, no envelope, and a plan that moves nothing."""
    scenario = load_scenario('spin_rolling_ball.yaml')
    system, p, x = scenario.system, scenario.p, np.array(scenario.x0)
    plan = Plan(
        system=system.name,
        model_hash=system.model_hash,
        state_names=tuple(system.state.names),
        control_names=tuple(system.control.names),
        times=np.linspace(0.0, 0.5, 11),
        states=np.tile(x, (11, 1)),
        controls=np.zeros((11, system.control.size)),
    )
    law = PredictiveLaw(system, p, plan, control_limits=20.0, horizon=COARSE)
    off = x.copy()
    off[system.state.slice('q_SO')] = [np.cos(0.05), 0.0, 0.0, np.sin(0.05)]  # spin alone
    run = run_lockstep(system, p, off, law, 1.5, rate=200.0)
    miss = np.array(system.difference(run.states[-1], x)).ravel()
    assert np.abs(miss).max() < 0.01
    assert np.abs(run.controls).max() > 0.05
    assert law.record.failed == 0


def test_law_that_is_reset_begins_anew(hard):
    problem, plan = hard
    law = PredictiveLaw(
        problem.system, problem.p, plan, control_limits=LIMIT, horizon=Horizon(slew=1.0)
    )
    aside = plan.states[0].copy()
    aside[problem.system.state.slice('contact_h')] += 0.02
    first = [law.step(None, aside, t)[1] for t in (0.0, 2e-3, 4e-3)]
    law.start()
    assert law.record.solved == 0
    assert_allclose([law.step(None, aside, t)[1] for t in (0.0, 2e-3, 4e-3)], first, atol=1e-12)


def test_in_the_loop_predictions_are_those_of_the_law_alone_and_told(hard):
    """As in simulated time, where the plant waits."""
    problem, plan = hard

    def predictive():
        given = problem.system, problem.p, plan
        return PredictiveLaw(*given, control_limits=LIMIT, horizon=COARSE)

    alone, before = predictive(), set(threading.enumerate())
    law = PredictingBeside(predictive(), in_loop=True)
    assert set(threading.enumerate()) == before
    assert not len(law.predicted())
    x = plan.states[0]
    times = COARSE.period * np.array([0.0, 0.5, 1.0])
    for t in times:
        assert_allclose(law.step(None, x, t)[1], alone.step(None, x, t)[1], rtol=0, atol=0)
        assert law.age == t % COARSE.period
    assert law.health()['predictions'] == alone.record.solved == 2
    assert_allclose(law.predicted()[0], x)


def test_in_the_loop_there_is_the_safe_command_before_the_first_prediction(hard, monkeypatch):
    problem, plan = hard
    given = problem.system, problem.p, plan
    law = PredictingBeside(
        PredictiveLaw(*given, control_limits=LIMIT, horizon=COARSE), in_loop=True
    )

    def unsolved(*_):
        raise UnsolvedError('no solution')

    monkeypatch.setattr(law.law, '_solve', unsolved)
    u = law.step(None, plan.states[0], 0.0)[1]
    assert_array_equal(u, np.zeros(problem.system.control.size))
    assert law.age == np.inf
    assert law.health()['prediction problem'] == 'no solution'


def test_diagnostics_of_predictions_are_complete(hard):
    """With the plans that are made for them, and what they left; without troubles that are not."""
    problem, plan = hard
    law = PredictingBeside(
        PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE),
        in_loop=True,
    )
    law.law.record = Record(solved=5, failed=4, seconds=0.25, slack=0.125, iterations=7)
    law.age = 0.5
    found = {
        'predictions': 5,
        'predictions failed': 4,
        'prediction time [s]': 0.25,
        'prediction iterations': 7,
        'prediction slack': 0.125,
        'prediction age [s]': 0.5,
    }
    assert law.health() == found
    pursuit = SimpleNamespace(replans=2, failures=1, trouble='', shortfall='')
    law.pursuit = pursuit
    found |= {'plans adopted': 2, 'plans failed': 1}
    assert law.health() == found
    law.law.record.trouble, pursuit.trouble, pursuit.shortfall = 'singular', 'no time', 'missed'
    found |= {'prediction problem': 'singular', 'replanning problem': 'no time', 'goal': 'missed'}
    assert law.health() == found


def test_what_feedback_leaves_of_a_deviation_is_its_way_to_the_end(hard):
    problem, plan = hard
    system = problem.system
    law = PredictiveLaw(system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    where, off = system.tangent.slice('contact_h').start, 1e-4
    k = law.used.moving.tolist().index(where)
    misses = []
    for t in (0.5, 1.9):
        planned, d = law.reference.at(t)[0], np.zeros(system.tangent.size)
        assert law.expected_miss(t, planned) == pytest.approx(0.0, abs=1e-12)
        d[where] = off
        x = np.array(system.retract(planned, d)).ravel()
        left = off * np.linalg.norm(law.reference.transition(t)[:, k])
        misses.append(law.expected_miss(t, x))
        assert misses[-1] == pytest.approx(left, rel=1e-6)
    assert 0.0 < misses[0] < 0.2 * misses[1]  # there is time to correct it


def test_a_start_of_plans_is_as_planned_where_no_control_moves_it(hard):
    problem, plan = hard
    system = problem.system
    law = PredictiveLaw(system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    still = np.setdiff1d(np.arange(system.tangent.size), law.used.moving)
    assert len(still)
    end, d = plan.states[-1], np.random.default_rng(3).normal(0.0, 0.01, system.tangent.size)
    start = law.moved_to(np.array(system.retract(end, d)).ravel())
    d[still] = 0.0
    assert_allclose(np.array(system.difference(start, end)).ravel(), d, atol=1e-9)


def test_weights_that_ask_for_nothing_are_warned_of(hard):
    problem, plan = hard
    idle = LqrWeights(
        tracking=dict.fromkeys((e.name for e in problem.system.tangent.entries), 0.0),
        terminal=dict.fromkeys((e.name for e in problem.system.tangent.entries), 0.0),
    )
    with pytest.warns(UserWarning, match='no weight is positive') as seen:
        law = PredictiveLaw(
            problem.system, problem.p, plan, idle, control_limits=LIMIT, horizon=COARSE
        )
    assert law.warning == str(seen[0].message)


def test_nodes_beyond_the_last_prediction_go_on_by_the_planned_controls(hard, monkeypatch):
    problem, plan = hard
    law = PredictiveLaw(problem.system, problem.p, plan, control_limits=LIMIT, horizon=COARSE)
    law.predict(0.2, plan.states[0])
    given = []
    monkeypatch.setattr(law, '_solve', lambda *node: given.append(node) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        law.predict(0.4, plan.states[0])
    ((times, states, controls, _),) = given
    step = step_functions(problem.system)[0]
    for k in (-3, -2):
        h = times[k + 1] - times[k]
        after = step(states[k], controls[k], controls[k + 1], times[k], h, problem.p)
        assert_allclose(states[k + 1], np.array(after).ravel(), atol=1e-12)
    assert np.abs(states[-1] - states[-2]).max() > 1e-6


def test_only_the_controls_that_are_named_are_used(hard):
    problem, plan = hard
    given = problem.system, problem.p, plan
    used = np.flatnonzero(np.any(plan.controls != 0, axis=0)).tolist()[::-1]
    names = [problem.system.control.names[k] for k in used]
    law = PredictiveLaw(*given, active_controls=names, control_limits=LIMIT, horizon=COARSE)
    assert law.used.active.tolist() == used != sorted(used)
    with pytest.raises(ParameterError, match=r'active_controls: no control .*thrust'):
        PredictiveLaw(*given, active_controls=['thrust'], control_limits=LIMIT, horizon=COARSE)


def test_factors_of_parameters_scale_those_that_are_believed(hard):
    problem, plan = hard
    system, name = problem.system, problem.system.parameters.entries[0].name
    law = PredictiveLaw(
        system, problem.p, plan, control_limits=LIMIT, horizon=COARSE, scaled=[name]
    )
    assert law.inputs.names[-1] == f'{name}_factor'
    assert law.inputs.entries[-1].unit == ''
    x, expected = plan.states[0], np.array(problem.p, dtype=float)
    expected[system.parameters.slice(name)] *= 1.5
    for _ in range(2):  # each factor is of what was known at first
        assert_array_equal(law.taken([*x, 1.5]), x)
        assert_array_equal(law.p, expected)

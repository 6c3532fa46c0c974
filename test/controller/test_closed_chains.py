"""Machines whose contacts close loops: guesses, plans, feedback, holds and exports."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from rolling_controller import TimeVaryingLqr
from rolling_controller.balance.hold import Hold
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.export.machine_laws import hold_law, machine_sources
from rolling_controller.lockstep import run_lockstep
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.compiled import compiler
from rolling_dynamics.equilibrium import floor_motion, linear_model
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_planner import plan_rolling
from rolling_planner.problem.goal import goal_error
from rolling_planner.problem.scenario import read_problem
from rolling_planner.progress import Watch
from rolling_planner.seeds.guess import shooting_guesses
from scipy.optimize import least_squares
from scipy.signal import cont2discrete

WEAVE = -0.77534188219585 + 4.46486771378823j  # of the benchmark's Table 2 at 5 m/s
CAPSIZE, CASTERING = -0.32286642900409, -14.07838969279820


@pytest.fixture(scope='module')
def plates():
    return load_scenario('ball_between_plates')


@pytest.fixture(scope='module')
def turned(plates):
    """Return the plan that turns the ball by a loop, with its problem."""
    problem = read_problem(plates)
    return problem, plan_rolling(problem)


@pytest.mark.slow  # 20 s of motions
def test_shooting_finds_the_loop_that_turns_a_ball(plates):
    """By the holonomy of rolling: no path to the goal begins as a small motion from rest."""
    problem = replace(read_problem(plates), segments=16)
    guess = next(iter(shooting_guesses(problem, Watch(None, 1e4))))
    end = guess.states(np.array([problem.horizon]))[0]
    assert goal_error(problem, problem.x_start) > 1.5
    assert goal_error(problem, end) < 0.05


@pytest.mark.slow  # plans, and regulates along the plan
def test_a_ball_is_turned_between_two_plates_by_a_loop(plates, turned):
    problem, plan = turned
    assert plan.report['goal_error'] < problem.goal_tolerance
    assert min(plan.report['least_margins'].values()) > 0  # both contacts in their cones
    system, p = plates.system, plates.p
    start = plan.states[0].copy()
    start[system.state.slice('v_upper')] += [2e-3, 0, 0]  # the ball rolls with it
    start = system.placed(p, start, ['v_upper', 'v_lower'])
    laws = [
        TimeVaryingLqr(system, p, plan),
        PredictiveLaw(system, p, plan, active_controls=problem.active_controls),
    ]
    open_loop = simulate(system, p, start, (plan.times, plan.controls), plan.duration)
    away = abs(open_loop.states[-1] - plan.states[-1])[system.state.slice('p_upper')].max()
    for law in laws:
        run = run_lockstep(system, p, start, law, plan.duration)
        apart = abs(run.states[-1] - plan.states[-1])[system.state.slice('p_upper')].max()
        assert apart < away / 3, type(law).__name__


@pytest.fixture(scope='module')
def cart():
    return load_scenario('omni_cart')


def at_rest(scenario):
    system = scenario.system
    x = scenario.x0.copy()
    for name in system.speed_names:
        x[system.state.slice(name)] = 0.0
    return x


def test_a_cart_is_held_where_it_was_after_it_was_driven_away(cart):
    system, p, x = cart.system, cart.p, at_rest(cart)
    weights = LqrWeights(control=1e3)
    hold = Hold(system, p, x, weights=weights, control_limits=0.2)
    driven = simulate(system, p, x, np.array([0.02, -0.01, -0.008]), 1.0).states[-1]
    where = system.state.slice('p_cart')
    assert np.linalg.norm(driven[where] - x[where]) > 0.01
    run = run_lockstep(system, p, driven, hold, 8.0, rate=100.0)
    assert np.abs(run.states[-1][where] - x[where]).max() < 1e-3
    gaps, slips = system.gap_function(run.states[-1], p), system.row_function(run.states[-1], p)[0]
    assert np.abs(np.array(gaps)).max() < 1e-10
    assert np.abs(np.array(slips)).max() < 1e-12


@pytest.mark.skipif(compiler() is None, reason='no C compiler')
@pytest.mark.slow  # compiles
def test_the_hold_of_a_closed_chain_is_exported(cart):
    law, compiled = hold_law(cart), CompiledLaw(source=machine_sources(cart)['hold']())
    rng, still = np.random.default_rng(2), np.zeros(cart.system.tangent.size)
    memory, m = law.start(), compiled.start()
    for _ in range(5):
        x = np.array(cart.system.retract(cart.x0, 1e-3 * rng.normal(size=still.size))).ravel()
        memory, u = law.step(memory, [*x, *still], 0.0)
        m, c = compiled.step(m, [*x, *still], 0.0)
        assert np.abs(u - c).max() < 1e-12


def test_a_closed_chain_is_linearised_along_a_steady_motion():
    """The bicycle at 5 m/s: the eigenvalues of the benchmark are among those of the whole."""
    scenario = load_scenario('bicycle')
    system, p = scenario.system, scenario.p
    rates = {'rear_rate': 5 / 0.3, 'front_rate': 5 / 0.35}
    x = system.state.pack(p_frame=[0, 0, 0.3], v_frame=[5, 0, 0], **rates)
    x = np.array(system.projection(x, p)).ravel()
    A, _ = linear_model(system, p, x, [0.0], ignorable=('rear', 'front'))
    found = np.linalg.eigvals(A)
    for value in (WEAVE, WEAVE.conjugate(), CAPSIZE, CASTERING):
        assert np.abs(found - value).min() < 1e-6


def test_a_closed_chain_is_linearised_along_a_circle():
    """The bicycle turns at 0.2 rad/s; its fork, which a push has moved, goes on as A has it."""
    scenario = load_scenario('bicycle')
    system, p = scenario.system, scenario.p
    rates = {'rear_rate': 5 / 0.3, 'front_rate': 5 / 0.35}
    start = system.state.pack(p_frame=[0, 0, 0.3], v_frame=[5, 0, 0], **rates)
    wheels = [system.state.names.index(name) for name in ('rear', 'front')]
    x, v = ca.SX.sym('x', system.state.size), ca.SX.sym('v', 2)
    carried = floor_motion(system.state, x, ca.vertcat(v, 0.2))
    carried = ca.Function('carried', [x, v], [carried])

    def on_wheels(d):
        return np.array(system.projection(system.retract(start, d), p)).ravel()

    def lacks(z):
        x, u, v = on_wheels(z[:-3]), z[-3], z[-2:]
        rate = system.modes['rolling'].dynamics(x, u, 0.0, p) - carried(x, v)
        return np.delete(np.array(rate).ravel(), wheels)

    given = {'jac': '3-point', 'xtol': 1e-15, 'ftol': 1e-15, 'gtol': 1e-15}
    z = least_squares(lacks, [*np.zeros(system.tangent.size + 1), 5.0, 0.0], **given).x
    x, u, ignorable = on_wheels(z[:-3]), z[-3:-2], ('rear', 'front')
    assert abs(x[system.state.slice('fork')][0]) > 0.02
    A, B = linear_model(system, p, x, u, ignorable)
    kept = [n for n in system.tangent.names if n not in ignorable]
    times = np.linspace(0, 1.0, 11)
    pushed, calm = (simulate(system, p, x, u + e, 1.0, t_eval=times) for e in (1e-4, 0.0))
    fork = system.state.slice('fork').start
    found = pushed.states[:, fork] - calm.states[:, fork]
    d = cont2discrete((A, B, np.eye(len(A)), 0 * B), 0.1)
    expected, at = [np.zeros(len(A))], kept.index('fork')
    for _ in times[1:]:
        expected.append(d[0] @ expected[-1] + d[1][:, 0] * 1e-4)
    expected = np.array(expected)[:, at]
    assert np.abs(expected).max() > 1e-6
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())

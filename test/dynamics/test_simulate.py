# ruff: noqa: ARG005
"""Simulation: order, events, borders, dense output, drift."""

import subprocess
import sys

import casadi as ca
from contact_samples import ball_state, level_ball, parameters_of, random_state, system_of
import numpy as np
from oracles.spinning_plate import SpinningPlate
import pytest
from rolling_dynamics.compiled import compiler
from rolling_dynamics.contract.rolling_system import Layout, Mode, vector_entry
from rolling_dynamics.errors import CancelledError, SimulationError
from rolling_dynamics.simulation import dormand_prince_step, run, simulate, Stepper
from rolling_dynamics.simulation.compiled_solver import CompiledSolver
from rolling_dynamics.simulation.scipy_solver import METHODS
from rolling_dynamics.surfaces import Plane


class Clock:
    """A made-up system x' = f(x, u, t), to try the simulator on closed solutions."""

    name = 'clock'
    independent_variable = 'time'
    parameters = Layout(())
    control = Layout((vector_entry('u', '', suffixes='x'),))

    def __init__(self, n, dynamics, guards=None, resets=None):
        self.state = self.tangent = Layout((vector_entry('x', '', suffixes='abcdef'[:n]),))
        x, u = ca.SX.sym('x', n), ca.SX.sym('u', 1)
        t, p = ca.SX.sym('t'), ca.SX.sym('p', 0)

        def function(name, expression):
            return ca.Function(name, [x, u, t, p], [ca.densify(ca.vertcat(*expression))])

        self.modes = {
            'only': Mode(
                dynamics=function('dynamics', dynamics(x, u, t)),
                guards={k: function(k, [g(x, u, t)]) for k, g in (guards or {}).items()},
                resets={k: function(k, g(x, u, t)) for k, g in (resets or {}).items()},
            )
        }


def pendulum(**options):
    return Clock(2, lambda x, u, t: [x[1], -x[0]], **options)


def falling(guards, resets=None):
    return Clock(2, lambda x, u, t: [x[1], -9.81 + u[0]], guards=guards, resets=resets)


def test_integrator_loads_no_scipy_before_it_is_needed():
    code = 'import sys, rolling_dynamics.simulation.integrate; sys.exit("scipy" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


@pytest.mark.skipif(compiler() is None, reason='without a compiler there is nothing to keep')
def test_cached_step_is_not_written_out_again(monkeypatch, tmp_path):
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(tmp_path))
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    first = simulate(pendulum(), [], [1, 0], None, 1.0)

    def refuse(*_):
        raise AssertionError('written out again')

    monkeypatch.setattr(dormand_prince_step, 'step_function', refuse)
    again = simulate(pendulum(), [], [1, 0], None, 1.0)
    np.testing.assert_array_equal(again.states, first.states)
    with pytest.raises(AssertionError, match='again'):  # of other equations
        simulate(Clock(2, lambda x, u, t: [x[1], -2 * x[0]]), [], [1, 0], None, 1.0)


def test_many_steps_in_one_go_are_those_one_by_one(monkeypatch):
    """More than a piece of memory holds, with an event that is only seen among them."""
    guards = {'turn': lambda x, u, t: x[1] + 1e-3}
    options = {'events': {'turn': 'record'}, 'rtol': 1e-13, 'atol': 1e-14}
    together = simulate(pendulum(guards=guards), [], [1, 0], None, 200.0, **options)
    advance = CompiledSolver.advance
    monkeypatch.setattr(CompiledSolver, 'advance', lambda self, _=0: advance(self))
    settled = simulate(pendulum(guards=guards), [], [1, 0], None, 200.0, **options)
    assert together.steps == settled.steps > 600
    np.testing.assert_array_equal(together.times, settled.times)
    np.testing.assert_array_equal(together.states, settled.states)
    assert [e.time for e in together.events] == [e.time for e in settled.events]
    assert len(together.events) == 32  # one a turn


def test_closed_solution_and_dense_output():
    trajectory = simulate(pendulum(), [], [1, 0], None, 20.0)
    times = np.linspace(0, 20, 333)
    states = trajectory.state_at(times)
    assert np.abs(states[:, 0] - np.cos(times)).max() < 1e-10
    assert np.abs(trajectory.state_at(3.0) - [np.cos(3), -np.sin(3)]).max() < 1e-11


@pytest.mark.parametrize('method', METHODS)
def test_every_method(method):
    tight = method in ('DOP853', 'RK45', 'LSODA')
    tolerance = {'rtol': 1e-10, 'atol': 1e-12} if tight else {'rtol': 1e-6, 'atol': 1e-8}
    system = falling({'height': lambda x, u, t: x[0]})
    trajectory = simulate(system, [], [1, 0], None, 1.0, method=method, **tolerance)
    assert trajectory.terminal_event.time == pytest.approx(np.sqrt(2 / 9.81), abs=1e-7)


def steps_of(tolerance, duration=10.0):
    trajectory = simulate(pendulum(), [], [1, 0], None, duration, rtol=tolerance, atol=tolerance)
    error = np.abs(trajectory.states[-1] - [np.cos(duration), -np.sin(duration)]).max()
    return trajectory.steps, error


def test_order_of_the_adaptive_method():
    """The error falls with the 8th power of the number of steps."""
    (n1, e1), (n2, e2) = steps_of(1e-5), steps_of(1e-10)
    order = np.log(e1 / e2) / np.log(n2 / n1)
    assert 7.0 < order < 9.5


def test_order_of_the_stepper():
    system, p = level_ball()
    exact = SpinningPlate(
        rate=7.0,
        radius=0.2,
        mass=0.1,
        gravity_W=np.array([0, 0, -9.81]),
        p_WC_start=np.zeros(3),
        v_WC_start=np.array([0, -0.2, 0.0]),
        n_W=np.array([0, 0, 1.0]),
    ).contact_point(0.5)
    errors = []
    for h in (0.02, 0.01, 0.005):
        stepper = Stepper(system, p, max_step=h)
        x = ball_state(system, w_WH_H=[0, 0, 7], w_HO_H=[1, 0, -7])
        x = stepper.step(x, np.zeros(6), 0.5)
        errors.append(np.linalg.norm(np.array(system.pose(x, p)[2])[:3, 3] - exact))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 4) < 0.15)


def test_stepper_agrees_with_simulate_and_projects():
    system = system_of('ellipsoid in dish', 'pure_rolling')
    p = parameters_of(system)
    x0, u = random_state(system, p, np.random.default_rng(1)), np.full(6, 0.5)
    exact = simulate(system, p, x0, u, 0.2, events=()).states[-1]
    x, stepper = x0, Stepper(system, p, max_step=1e-3)
    for _ in range(100):
        x = stepper.step(x, u, 2e-3)
    assert np.abs(x - exact).max() < 1e-7
    assert abs(float(system.invariants['spin'](x, u, 0, p))) < 1e-14
    for q in ('q_WH', 'q_HO'):
        assert abs(np.linalg.norm(x[system.state.slice(q)]) - 1) < 1e-15


# --- events


def test_event_located_to_a_nanosecond():
    system = falling({'height': lambda x, u, t: x[0]})
    trajectory = simulate(system, [], [1, 0], None, 5.0)
    event = trajectory.terminal_event
    assert event.name == 'height'
    assert abs(event.time - np.sqrt(2 / 9.81)) < 1e-12
    assert trajectory.times[-1] == event.time
    assert np.abs(trajectory.states[-1] - event.state).max() == 0
    assert np.abs(trajectory.state_at(event.time) - event.state).max() < 1e-14


@pytest.mark.parametrize('method', ['DOP853', 'RK45'])
def test_events_that_are_only_recorded_come_in_order(method):
    system = pendulum(guards={'cosine': lambda x, u, t: x[0], 'sine': lambda x, u, t: -x[1] - 0.5})
    trajectory = simulate(
        system,
        [],
        [1, 0],
        None,
        20.0,
        events={'cosine': 'record', 'sine': 'record'},
        method=method,
        rtol=1e-11,
        atol=1e-13,
    )
    expected = [(2 * np.pi * k + np.pi / 2, 'cosine') for k in range(3)]
    expected += [(2 * np.pi * k + np.pi * 5 / 6, 'sine') for k in range(3)]
    found = [(e.time, e.name) for e in trajectory.events if e.text == '']
    assert [name for _, name in found] == [name for _, name in sorted(expected)]
    times = np.array([[t for t, _ in found], [t for t, _ in sorted(expected)]])
    assert np.abs(times[0] - times[1]).max() < 1e-9
    assert trajectory.times[-1] == 20.0
    assert trajectory.events[0].text == 'already so at the start'


@pytest.mark.parametrize('depth', [1e-3, 1e-6, 1e-9])
def test_a_dip_between_two_steps_is_not_missed(depth):
    """x follows a parabola that a single step takes whole; it dips below zero for a moment."""
    system = Clock(
        2, lambda x, u, t: [x[1], 2.0], guards={'dip': lambda x, u, t: x[0] - 1 - depth}
    )
    trajectory = simulate(system, [], [1 + 1.3**2, -2.6], None, 10.0)
    assert trajectory.terminal_event.time == pytest.approx(1.3 - np.sqrt(depth), abs=1e-9)


def test_near_misses_are_no_events():
    system = Clock(2, lambda x, u, t: [x[1], 2.0], guards={'dip': lambda x, u, t: x[0] - 1 - 1e-9})
    trajectory = simulate(system, [], [1 + 1.3**2 + 2e-9, -2.6], None, 10.0)
    assert trajectory.events == ()


def test_event_at_the_start_and_guards_that_are_ignored():
    system = falling({'height': lambda x, u, t: x[0]})
    stopped = simulate(system, [], [-1, 0], None, 1.0, t_eval=[0, 0.5])
    assert (stopped.terminal_event.time, stopped.steps) == (0.0, 0)
    assert stopped.times.tolist() == [0.0]
    assert np.all(stopped.state_at(0.0) == [-1, 0])
    assert simulate(system, [], [-1, 0], None, 1.0, events={'height': 'ignore'}).events == ()


def test_guards_that_start_at_zero_count_only_when_they_fall():
    system = falling({'height': lambda x, u, t: x[0]})
    up = simulate(system, [], [0, 9.81], None, 5.0)
    assert up.terminal_event.time == pytest.approx(2.0, abs=1e-10)
    down = simulate(system, [], [0, -1], None, 5.0)
    assert down.terminal_event.time == pytest.approx(0.0, abs=1e-9)


def test_resets():
    """A ball that bounces with restitution 1/2 lands at known times."""
    system = falling(
        {'height': lambda x, u, t: x[0]}, {'height': lambda x, u, t: [0 * x[0], -x[1] / 2]}
    )
    trajectory = simulate(system, [], [1, 0], None, 1.2)
    first = np.sqrt(2 / 9.81)
    landings = first + 2 * first * np.cumsum([0, 0.5, 0.25])
    assert [e.time for e in trajectory.events] == pytest.approx(
        landings[landings < 1.2].tolist(), abs=1e-10
    )


def test_guard_of_the_user():
    system = pendulum()
    x, u, t, p = (ca.SX.sym(n, k) for n, k in (('x', 2), ('u', 1), ('t', 1), ('p', 0)))
    guard = ca.Function('left', [x, u, t, p], [x[0] + 0.5])
    trajectory = simulate(system, [], [1, 0], None, 3.0, guards={'left': guard})
    assert [e.time for e in trajectory.events] == pytest.approx([2 * np.pi / 3], abs=1e-10)
    assert trajectory.terminal_event is None
    stopped = simulate(
        system, [], [1, 0], None, 3.0, guards={'left': guard}, events={'left': 'stop'}
    )
    assert stopped.terminal_event.name == 'left'


def test_plate_edge_against_the_closed_solution():
    """A ball that rolls freely at constant velocity leaves a plate of known length and width."""
    bounds = {'u_bounds': (-0.3, 0.5), 'v_bounds': (-0.4, 0.6)}
    system, p = level_ball(hand=Plane(**bounds))
    for w, distance in (([0, 2.0], 0.5), ([0, -2.0], 0.3), ([-2.0, 0], 0.6), ([2.0, 0], 0.4)):
        x = ball_state(system, w_HO_H=[*w, 0])  # 0.4 m/s along x or y
        event = simulate(system, p, x, None, 10.0).terminal_event
        assert event.name == 'edge'
        assert abs(event.time - distance / 0.4) < 1e-9
    limits = system.state_bounds(p)
    assert (limits['u_h'], limits['v_h']) == tuple(bounds.values())


def test_normal_force_and_friction_against_the_closed_solution():
    """The plate is dropped, or pulled aside, with an acceleration that grows with time."""
    system, p = level_ball()
    x = ball_state(system)
    down = simulate(system, p, x, lambda t: [0, 0, 0, 0, 0, -4 * t], 5.0)
    first = min(down.events, key=lambda e: e.time)
    assert first.name in ('normal_force', 'friction')
    assert abs(first.time - 9.81 / 4) < 1e-9
    aside = simulate(
        system, p * 1.0, x, ([0.0, 20.0], [[0] * 6, [0, 0, 0, 100.0, 0, 0]]), 20.0
    ).terminal_event
    # friction = 2/7 m a for a homogeneous ball, mu = 1, a = 5 t
    assert aside.name == 'friction'
    assert abs(aside.time - 9.81 * 3.5 / 5) < 1e-9


# --- control


def test_breakpoints_are_borders_of_steps():
    system = falling({})
    times = [0.0, 0.3, 0.3, 0.7, 2.0]
    values = [[0.0], [0.0], [5.0], [-5.0], [0.0]]
    trajectory = simulate(system, [], [0, 0], (times, values), 2.0)
    for t in (0.3, 0.7):
        assert np.any(trajectory.times == t)
    assert trajectory.control_at(0.3)[0] == 5.0
    grid = np.linspace(0, 2, 200001)
    u = np.interp(grid, [0, 0.3, 0.3 + 1e-12, 0.7, 2.0], [0, 0, 5, -5, 0])
    speed = -9.81 * 2 + np.trapezoid(u, grid)
    assert trajectory.states[-1, 1] == pytest.approx(speed, abs=1e-4)
    # closed: 0.3 s nothing, 0.4 s from 5 to -5, 1.3 s from -5 to 0
    assert trajectory.states[-1, 1] == pytest.approx(-9.81 * 2 - 5 * 1.3 / 2, abs=1e-12)


def test_held_linear_and_function_controls_agree():
    system = system_of('ellipsoid in dish')
    p = parameters_of(system)
    x = random_state(system, p, np.random.default_rng(2))
    a, b = np.random.default_rng(3).normal(size=(2, 6))
    ends = [
        simulate(system, p, x, u, 0.3, events=()).states[-1]
        for u in (
            ([0.0, 0.3], [a, b]),
            lambda t: a + (b - a) * t / 0.3,
            lambda t, x: a + (b - a) * t / 0.3,
        )
    ]
    assert np.abs(ends[0] - ends[1]).max() < 1e-10
    assert np.abs(ends[0] - ends[2]).max() < 1e-10


def test_feedback_sees_the_state():
    trajectory = simulate(falling({}), [], [1, 0], lambda t, x: [9.81 - x[0]], 2.0)
    assert trajectory.states[-1, 0] == pytest.approx(np.cos(2.0), abs=1e-9)


# --- drift and reports


@pytest.mark.parametrize('method', ['DOP853', 'RK45'])
def test_constraints_are_kept_and_the_drift_is_told(method):
    system = system_of('ellipsoid in dish', 'pure_rolling')
    p = parameters_of(system)
    x = random_state(system, p, np.random.default_rng(4))
    trajectory = simulate(
        system, p, x, np.full(6, 0.3), 1.0, events=(), method=method, rtol=1e-7, atol=1e-9
    )
    assert set(trajectory.drift) <= {'q_WH', 'q_HO', 'w_HO_H'}
    assert trajectory.drift['q_HO'].largest < 1e-6
    assert trajectory.drift['q_HO'].total >= trajectory.drift['q_HO'].largest > 0
    spin = trajectory.evaluate(lambda s: s.invariants['spin'])
    assert np.abs(spin).max() < 1e-13
    for state in trajectory.states:
        assert abs(np.linalg.norm(state[system.state.slice('q_HO')]) - 1) < 1e-14


def test_output_times_without_dense_output():
    times = np.linspace(0, 50, 501)
    a = simulate(pendulum(), [], [1, 0], None, 50.0, t_eval=times)
    b = simulate(pendulum(), [], [1, 0], None, 50.0, t_eval=times, dense=False)
    assert np.all(a.states == b.states)
    assert np.all(a.times == times)
    assert np.all(b.state_at(times[10]) == a.states[10])
    with pytest.raises(ValueError, match='without dense output'):
        b.state_at(1.05)


def test_progress_and_cancellation():
    seen = []
    simulate(pendulum(), [], [1, 0], None, 500.0, on_progress=seen.append)
    assert seen
    assert seen == sorted(seen)
    with pytest.raises(CancelledError):
        simulate(pendulum(), [], [1, 0], None, 500.0, on_progress=lambda t: False)


@pytest.mark.parametrize('control', [None, lambda t: [0.0]])
def test_a_singular_motion_names_its_time(control):
    system = Clock(1, lambda x, u, t: [x[0] ** 2])  # x = 1 / (1 - t)
    with pytest.raises(SimulationError, match=r't = (1|0\.99999)'):
        simulate(system, [], [1], control, 2.0)


@pytest.mark.parametrize('control', [None, lambda t: [0.0]])
def test_a_rate_that_is_not_finite_names_its_time(control):
    system = Clock(1, lambda x, u, t: [ca.sqrt(1 - t)])
    with pytest.raises(SimulationError, match=r't = (1|0\.99999)'):
        simulate(system, [], [1], control, 2.0)


def test_steps_that_explode_are_reported_while_the_simulation_runs(monkeypatch, caplog):
    monkeypatch.setattr(run, 'CHECK_AFTER', 1000)
    monkeypatch.setattr(run, 'MANY', 1e5)
    told = []

    def watch(_t):
        told.append(len(caplog.records))
        return len(told) < 12

    fast = Clock(2, lambda x, u, t: [x[1], -1e12 * x[0]])  # a million radians in a second
    with pytest.raises(CancelledError):
        simulate(fast, [], [1, 0], None, 1.0, dense=False, t_eval=[1.0], on_progress=watch)
    assert told == [0] * 3 + [1] * 9
    assert 'there are 10' in caplog.text
    caplog.clear()
    simulate(fast, [], [1, 0], None, 1e-3, dense=False, t_eval=[1e-3])  # thousands, not 1e5
    assert not caplog.records

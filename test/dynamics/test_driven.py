"""Servos with a state drive any system: the same motion as with the control that they give."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics import simulate
from rolling_dynamics.contract.rolling_system import Entry, Jump
from rolling_dynamics.driven import driven, Servo
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.testing import check_system

LAG = 0.05


def lag_of(entry):
    """Return a motor whose torque follows its command through a lag of the first order."""
    names = tuple(f'motor_{c}' for c in entry.components)
    return Servo(
        control=entry.name,
        command=Entry('asked', tuple(f'asked_{c}' for c in entry.components), entry.unit),
        state=(Entry('motor', names, entry.unit),),
        parameters=(Entry('motor_lag', ('motor_lag',), 's'),),
        law=lambda v: (
            v.state['motor'],
            (v.command - v.state['motor']) / v.params['motor_lag'],
        ),
    )


def motored(name):
    """Return a scenario's system with a lagging motor, state and parameters, and the scenario."""
    s = load_scenario(name)
    system = driven(s.system, lag_of(s.system.control.entries[0]))
    x = np.concatenate([s.x0, np.zeros(system.state.size - s.x0.size)])
    return system, x, np.append(s.p, LAG), s


@pytest.mark.parametrize('name', ['pendulum_start', 'point_mass_disk', 'ball_balancer'])
def test_it_keeps_the_contract(name):
    system, x, p, _ = motored(name)
    assert check_system(system, p, x, duration=0.2)


@pytest.mark.parametrize('name', ['pendulum_start', 'point_mass_disk'])
def test_a_lagged_command_moves_as_the_control_that_comes_of_it(name):
    system, x, p, s = motored(name)
    size = system.servo.command.size
    command = np.zeros(system.control.size)
    command[:size] = 1e-3 * (1 + np.arange(size))
    run = simulate(system, p, x, command, 0.3, rtol=1e-10, atol=1e-12)

    alone = simulate(
        s.system,
        s.p,
        s.x0,
        lambda t, _: command * (1 - np.exp(-t / LAG)),
        0.3,
        rtol=1e-10,
        atol=1e-12,
    )
    assert run.states[-1][: s.x0.size] == pytest.approx(alone.states[-1], abs=1e-9)
    motor = run.states[-1][s.x0.size :]
    assert motor == pytest.approx(command[:size] * (1 - np.exp(-0.3 / LAG)), rel=1e-8)


def test_a_reset_of_the_system_leaves_the_servo_as_it_is():
    system, _, p, s = motored('ball_balancer')
    stepper, command = Stepper(system, p), np.array([1e-3, 2e-3])
    x = np.concatenate([s.x0, command])
    state, events = stepper.begin(x, command), []
    while state.t < 5.0 and not events:
        state = stepper.step(state, command, 1e-2)
        events += state.events
    assert [event.name for event in events] == ['stop']
    assert events[0].state.size == state.x.size == system.state.size
    assert state.x[-2:] == pytest.approx(command, abs=1e-12)


def test_a_python_transition_of_the_system_leaves_the_servo_as_it_is():
    """Friction slips, the ball lifts off, and a stop ends it: all decided by Python functions."""
    system, x, p, s = motored('point_mass_hop')
    assert not isinstance(system.modes['rolling'].resets['friction'], (ca.Function, Jump))
    command, precise = np.array([-40.0]), {'rtol': 1e-10, 'atol': 1e-12}
    run = simulate(system, p, x, command, 0.2, **precise)

    alone = simulate(
        s.system, s.p, s.x0, lambda t, _: command * (1 - np.exp(-t / LAG)), 0.2, **precise
    )
    assert [event.name for event in run.events] == ['slip', 'lift_off', 'stop_1']
    for mine, theirs in zip(run.events, alone.events, strict=True):
        assert mine.name == theirs.name
        assert mine.time == pytest.approx(theirs.time, abs=1e-9)
        assert mine.state[:-1] == pytest.approx(theirs.state, abs=1e-8)
        motor = command * (1 - np.exp(-mine.time / LAG))
        assert mine.state[-1:] == pytest.approx(motor, rel=1e-8)


@pytest.mark.parametrize(
    ('changed', 'text'),
    [
        ({'control': 'torqe'}, "no control 'torqe' of 'pendulum_sphere'"),
        (
            {'command': Entry('asked', ('asked',), 'N m')},
            "has 3 numbers, the command 'asked' has 1",
        ),
    ],
)
def test_a_servo_that_does_not_fit_is_refused(changed, text):
    system = load_scenario('pendulum_start').system
    servo = lag_of(system.control.entries[0])
    with pytest.raises(ParameterError, match=text):
        driven(system, Servo(**{**vars(servo), **changed}))


def test_a_law_of_another_size_is_refused():
    system = load_scenario('pendulum_start').system
    servo = lag_of(system.control.entries[0])
    odd = Servo(**{**vars(servo), 'law': lambda v: (v.command[0], ca.SX(3, 1))})
    with pytest.raises(ParameterError, match='its law gives 1 controls'):
        _ = driven(system, odd).modes

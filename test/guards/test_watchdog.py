"""What stops the arm: the age of its inputs, the ramp to rest, and the joint limits on the way."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.motor_bridge import BridgeSettings, MotorBridge
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.nodes.motor_bridge_node import security_gap
from rolling_hw_interface.watchdog import StopRamp, Watchdog

DT = 1e-3


def test_an_input_is_too_old_after_the_timeout_and_not_before():
    dog = Watchdog(0.5)
    assert dog.timeout == 0.5
    assert dog.age(3.0) == math.inf
    assert dog.expired(-1e9)  # it never came
    dog.feed(1.0)
    assert dog.age(1.25) == 0.25
    assert not dog.expired(1.5)
    assert dog.expired(1.5 + 1e-9)
    dog.feed(0.75)  # late, and older
    assert dog.age(1.25) == 0.25
    dog.feed(2.0)
    assert not dog.expired(2.5)
    dog.forget()
    assert dog.age(2.0) == math.inf
    assert dog.expired(2.0)


@pytest.mark.parametrize('bad', [0.0, -1.0, math.inf, math.nan])
def test_times_that_would_never_stop_anything_are_refused(bad):
    with pytest.raises(ParameterError) as refused:
        Watchdog(bad)
    assert str(refused.value) == f'a timeout must be positive and finite [s], got {bad!r}'
    with pytest.raises(ParameterError) as refused:
        StopRamp(bad)
    assert str(refused.value) == f'the time to stop must be positive and finite [s], got {bad!r}'


def test_a_ramp_brings_all_joints_to_rest_in_its_time():
    ramp = StopRamp(0.5)
    assert ramp.duration == 0.5
    assert ramp.over(0.0)  # not begun: there is nothing to stop
    assert ramp.rate(0.0).size == 0
    given = np.array([2.0, -1.0])
    ramp.start(given, 10.0)
    given[:] = 7.0
    assert ramp.rate(9.0).tolist() == [2.0, -1.0]
    assert ramp.rate(10.0).tolist() == [2.0, -1.0]
    assert ramp.rate(10.125).tolist() == [1.5, -0.75]
    assert not ramp.over(10.0)
    assert not ramp.over(10.4999)
    assert ramp.over(10.5)
    unit = StopRamp(1.0)
    unit.start([1.0], 0.0)
    assert unit.over(1.0 - 1e-12)  # to rounding
    assert not unit.over(1.0 - 2e-12)
    assert ramp.rate(10.5).tolist() == [0.0, 0.0]
    assert ramp.rate(99.0).tolist() == [0.0, 0.0]


# -- the bridge that stops ----------------------------------------------------------------------


def driving(position, velocity=(0.0, 0.0, 0.0), **settings):
    """Return a bridge in position mode at some angles and rates of its reference."""
    bridge = MotorBridge(
        Arm(ArmModel().chain), MotorModel(), BridgeSettings(mode='position', **settings)
    )
    bridge.take_state(position, velocity, 0.0)
    bridge.take_command(np.zeros(6), 0.0)
    bridge.step(0.0, DT)
    assert bridge.phase == 'driving'
    bridge.q, bridge.qd = np.array(position, dtype=float), np.array(velocity, dtype=float)
    return bridge


@pytest.mark.parametrize('joint', [0, 1, 2])
@pytest.mark.parametrize('side', ['low', 'high'])
def test_an_arm_that_stops_stays_within_its_joint_limits(joint, side):
    """Asked to stop close to a limit, too fast for the ramp to end before it."""
    limit = np.array(getattr(ArmModel(), side))
    sign = 1.0 if side == 'high' else -1.0
    position = np.array([0.3, 1.0, 0.2])
    position[joint] = limit[joint] - 0.07 * sign
    rates = np.zeros(3)
    rates[joint] = 3 * sign  # 0.225 rad would be its way
    bridge = driving(position, rates)
    t, asked = DT, []
    bridge.stop(t)
    while bridge.phase == 'stopping':
        assert t < 1.0
        asked.append(bridge.step(t, DT))
        t += DT
    assert bridge.phase == 'stopped'
    asked = np.array(asked)
    assert (sign * (asked[:, joint] - limit[joint]) <= 0).all()
    assert asked[-1, joint] == limit[joint]
    others = np.delete(asked, joint, axis=1)
    assert others == pytest.approx(np.tile(np.delete(position, joint), (len(asked), 1)))
    assert bridge.qd.tolist() == [0.0, 0.0, 0.0]


def test_the_way_of_an_arm_that_stops_is_that_of_the_ramp():
    bridge = driving([0.3, 1.0, 0.2], [0.4, -0.2, 0.1], stop_time=0.1)
    bridge.stop(0.001)
    for k in range(1, 102):
        bridge.step(k * DT, DT)
    assert bridge.phase == 'stopped'
    assert bridge.q == pytest.approx([0.32, 0.99, 0.205], abs=5e-4)


@pytest.mark.parametrize(
    ('age', 'phase', 'reason'),
    [(0.0199, 'driving', ''), (0.0201, 'stopping', 'the command is 0.020 s old')],
)
def test_a_command_that_is_too_old_stops_the_arm(age, phase, reason):
    bridge = driving([0.3, 1.0, 0.2], command_timeout=0.02)
    bridge.take_state([0.3, 1.0, 0.2], [0.0] * 3, age)
    bridge.step(age, DT)
    assert (bridge.phase, bridge.reason) == (phase, reason)


@pytest.mark.parametrize(
    ('age', 'phase', 'reason'),
    [(0.0199, 'driving', ''), (0.0201, 'stopping', 'the joint states are 0.020 s old')],
)
def test_a_state_that_is_too_old_stops_the_arm(age, phase, reason):
    bridge = driving([0.3, 1.0, 0.2], state_timeout=0.02)
    bridge.take_command(np.zeros(6), age)
    bridge.step(age, DT)
    assert (bridge.phase, bridge.reason) == (phase, reason)


# -- who may command ----------------------------------------------


@pytest.mark.parametrize(
    ('enable', 'strategy', 'begins'),
    [
        ('true', 'Enforce', ''),
        (None, 'Enforce', 'security is off (ROS_SECURITY_ENABLE is not "true"): whoever'),
        ('', 'Enforce', 'security is off (ROS_SECURITY_ENABLE is not "true"): whoever'),
        ('1', 'Enforce', 'security is off (ROS_SECURITY_ENABLE is not "true"): whoever'),
        ('True', 'Enforce', 'security is off (ROS_SECURITY_ENABLE is not "true"): whoever'),
        ('true', None, 'security is not enforced (ROS_SECURITY_STRATEGY is not "Enforce"): a'),
        ('true', 'enforce', 'security is not enforced (ROS_SECURITY_STRATEGY is not "Enforce")'),
    ],
)
def test_what_is_open_is_said_in_one_line(enable, strategy, begins):
    given = {'ROS_SECURITY_ENABLE': enable, 'ROS_SECURITY_STRATEGY': strategy}
    text = security_gap({name: value for name, value in given.items() if value is not None})
    assert text.startswith(begins)
    assert text == '' if not begins else text.endswith('; see docs/security.md')
    assert '\n' not in text

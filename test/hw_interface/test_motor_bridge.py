"""The bridge with emulated motors: it follows, stays in the limits, and stops in time."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.emulated_motors import EmulatedMotors
from rolling_hw_interface.motor_bridge import BridgeSettings, MotorBridge
from rolling_hw_interface.motor_model import MotorModel

DT = 1e-3
AT_ORIGIN = (1, 0, 0, 0, 0, 0, 0)
START = Arm(ArmModel().chain).joints_at(AT_ORIGIN)
# what the bridge does not know: friction and rotors 10 % off
TRUE_MOTORS = MotorModel(
    coulomb=(1.65, 1.1, 0.33), viscous=(0.72, 0.55, 0.09), rotor_inertia=(3.3e-5, 1.8e-5, 6.6e-6)
)


class Rig:
    """Emulated motors on one side, the bridge on the other, in lockstep."""

    def __init__(self, mode='effort', **settings):
        self.arm = Arm(ArmModel().chain)
        self.motors = EmulatedMotors(self.arm, TRUE_MOTORS, START, seed=1)
        self.bridge = MotorBridge(
            Arm(ArmModel().chain), MotorModel(), BridgeSettings(mode=mode, **settings)
        )
        self.t, self.rows = 0.0, []

    def step(self, control=None):
        if self.motors.fault != 'silent':
            self.bridge.take_state(*self.motors.values.reshape(3, -1)[:2], self.t)
        if control is not None:
            self.bridge.take_command(control, self.t)
        out = self.bridge.step(self.t, DT)
        if out is not None:
            self.motors.command(self.bridge.settings.mode, out, self.t)
        self.motors.step(np.zeros(6), self.t, DT)
        self.t += DT
        self.rows.append([self.t, *self.arm.hand_state(self.motors.q)[[4, 6, 2]], *self.motors.qd])

    def go(self, seconds, law=None):
        for _ in range(round(seconds / DT)):
            self.step(None if law is None else law(self.t))
        return np.array(self.rows)


def swing(t):
    """Acceleration in the frame of the hand, which stays nearly level."""
    return np.array([0, 0, 0, 1.5 * math.cos(2 * math.pi * 1.5 * t), 0, 0.0])


@pytest.mark.parametrize(('mode', 'within'), [('effort', 1e-3), ('velocity', 2e-3)])
def test_hand_moves_as_commanded(mode, within):
    rig = Rig(mode)
    rows = rig.go(1.0, swing)
    w = 2 * math.pi * 1.5
    expected = 1.5 / w**2 * (1 - np.cos(w * rows[:, 0]))
    assert rig.bridge.phase == 'driving'
    assert np.abs(rows[:, 1] - expected).max() < within + 0.5 / w * DT * 1.5
    assert np.abs(rows[:, 2]).max() < within
    assert rig.bridge.clipped == 0


def test_position_mode_follows_too():
    rig = Rig('position')
    rows = rig.go(0.7, swing)
    assert rig.bridge.phase == 'driving'
    assert np.ptp(rows[:, 1]) == pytest.approx(2 * 1.5 / (3 * math.pi) ** 2, rel=0.2)


@pytest.mark.parametrize('mode', ['effort', 'velocity', 'position'])
def test_stale_command_stops_the_arm_in_the_stated_time(mode):
    rig = Rig(mode)
    rig.go(0.15, lambda _: [0, 0, 0, 2.0, 0, 0])
    speed = np.abs(rig.motors.qd).max()
    assert speed > 0.3
    s = rig.bridge.settings
    rows = rig.go(s.command_timeout + s.stop_time + 0.06)
    assert np.abs(rows[-1, 4:]).max() < 0.02 * speed + 0.01
    assert rig.bridge.phase == 'holding'
    assert 'command is' in rig.bridge.reason
    rested = rig.motors.q.copy()
    rig.go(0.3)
    assert rig.motors.q == pytest.approx(rested, abs=2e-3)


def test_new_commands_after_a_pause_are_taken():
    rig = Rig()
    rig.go(0.1, lambda _: [0, 0, 0, 1.0, 0, 0])
    rig.go(0.4)
    rig.go(0.05, lambda _: [0, 0, 0, -1.0, 0, 0])
    assert rig.bridge.phase == 'driving'


def test_asked_to_stop_while_it_stops_for_a_late_command_it_says_so():
    rig = Rig()
    rig.go(0.15, lambda _: [0, 0, 0, 2.0, 0, 0])
    rig.go(rig.bridge.settings.command_timeout + 0.02)
    assert (rig.bridge.phase, rig.bridge.reason[:11]) == ('stopping', 'the command')
    rig.bridge.stop(rig.t)
    rig.go(0.3)
    assert (rig.bridge.phase, rig.bridge.reason) == ('stopped', 'asked to stop')


def test_stop_takes_no_more_commands_until_enabled():
    rig = Rig()
    rig.go(0.1, lambda _: [0, 0, 0, 2.0, 0, 0])
    rig.bridge.stop(rig.t)
    rows = rig.go(0.3, lambda _: [0, 0, 0, 2.0, 0, 0])
    assert rig.bridge.phase == 'stopped'
    assert 'asked to stop' in rig.bridge.refused
    assert np.abs(rows[-1, 4:]).max() < 0.01
    rig.bridge.enable(rig.t)
    rig.go(0.05, lambda _: [0, 0, 0, 1.0, 0, 0])
    assert rig.bridge.phase == 'driving'


@pytest.mark.parametrize(
    ('fault', 'joint', 'text'),
    [
        ('encoder_lost', 1, 'joint 2 gives no angle'),
        ('encoder_frozen', 0, 'joint 1 does not turn'),
        ('motor_stuck', 1, 'joint 2 does not turn'),
        ('motor_off', 0, 'joint'),
        ('silent', 0, 'joint states are'),
    ],
)
def test_fault_of_the_hardware_stops_the_arm(fault, joint, text):
    rig = Rig()
    rig.go(0.2, swing)
    rig.motors.inject(fault, joint)
    begin = len(rig.rows)
    rows = rig.go(1.0, swing)
    assert text in rig.bridge.reason
    assert rig.bridge.phase == 'stopped'
    speeds = np.abs(rows[begin:, 4:]).max(axis=1)
    assert speeds.max() < 1.5  # before, the fastest joint turns at 0.5
    assert np.ptp(rows[begin:, 1:3], axis=0).max() < 0.2
    assert speeds[500:].max() < 1e-3  # the brakes hold it


@pytest.mark.parametrize('control', [[0, 8, 0, 0, 0, 0], [0, 0, 0, 3, 0, 0], [0, -5, 0, -1, 0, 2]])
def test_joint_limits_hold_whatever_is_commanded(control):
    rig = Rig()
    rig.go(2.0, lambda _: control)
    model = rig.arm.chain
    assert np.all(rig.motors.q > np.array(model.low) - 0.01)
    assert np.all(rig.motors.q < np.array(model.high) + 0.01)
    assert rig.bridge.clipped > 0 or 'singular' in rig.bridge.reason


def test_reference_brakes_before_a_limit_within_its_deceleration():
    rig = Rig()
    rig.go(0.01)
    model = rig.arm.chain
    for _ in range(3000):
        rig.bridge.take_command([0, 200, 0, 0, 0, 0], rig.t)
        rig.bridge.take_state(rig.bridge.q, rig.bridge.qd, rig.t)
        rig.bridge.step(rig.t, DT)
        rig.t += DT
        if rig.bridge.phase != 'driving':
            break
        assert np.all(np.abs(rig.bridge.qdd) <= np.array(model.acceleration) * 1.02)
        assert np.all(np.abs(rig.bridge.qd) <= np.array(model.speed) * (1 + 1e-9))
    assert rig.bridge.q[2] <= model.high[2]


def test_what_is_not_finite_or_out_of_plane_is_said():
    rig = Rig()
    rig.go(0.01)
    assert not rig.bridge.take_command([0, math.nan, 0, 0, 0, 0], rig.t)
    assert 'not finite' in rig.bridge.refused
    assert rig.bridge.take_command([0, 0, 0, 0, 2.0, 0], rig.t)
    assert 'out of the plane' in rig.bridge.refused


def test_nothing_is_commanded_before_the_first_state():
    bridge = MotorBridge(Arm(ArmModel().chain), MotorModel())
    bridge.take_command([0, 0, 0, 1, 0, 0], 0.0)
    assert bridge.step(0.0, DT) is None


def test_settings_that_would_not_drive_are_refused():
    with pytest.raises(ParameterError, match='mode must be one of'):
        BridgeSettings(mode='current')
    with pytest.raises(ParameterError, match='stop_time must be positive'):
        BridgeSettings(stop_time=0.0)

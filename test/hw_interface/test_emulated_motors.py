"""Motors, gears and encoders: each imperfection does what it says."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.emulated_motors import EmulatedMotors
from rolling_hw_interface.motor_model import MotorModel

START = np.array([-1.15, 1.72, -2.14])
NO_FRICTION = {'coulomb': (0.0,) * 3, 'viscous': (0.0,) * 3, 'ripple': (0.0,) * 3}
NONE, UNLOADED = np.zeros(3), np.zeros(6)


def make(arm=None, **changes):
    return EmulatedMotors(Arm((arm or ArmModel()).chain), MotorModel(**changes), START, seed=3)


def run(motors, seconds, mode=None, values=None, t=0.0, force=UNLOADED):
    for k in range(round(seconds * 1000)):
        now = t + k * 1e-3
        if mode is not None:
            motors.command(mode, values, now)
        motors.step(force, now, 1e-3)
    return t + seconds


def effort(motors):
    return motors.values[-motors.arm.joints :]


def energy(motors):
    model, q, qd = ArmModel(), motors.q, motors.qd
    M = motors.arm.dynamics(q, qd)[0] + np.diag(motors.motors.reflected_inertia)
    angle, (x, z), height = 0.0, model.base, 0.0
    for k in range(3):
        angle += q[k]
        height += model.masses[k] * (z - model.centres[k] * math.sin(angle))
        x, z = x + model.lengths[k] * math.cos(angle), z - model.lengths[k] * math.sin(angle)
    return qd @ M @ qd / 2 - model.gravity[1] * height


def test_free_arm_keeps_its_energy_and_better_so_in_smaller_steps():
    drift = []
    for rate in (2000.0, 8000.0):
        motors = make(rate=rate, **NO_FRICTION)
        before = energy(motors)
        run(motors, 0.5, 'effort', NONE)
        assert np.abs(motors.qd).max() > 0.2
        drift.append(abs(energy(motors) - before))
    assert drift[1] < drift[0] / 3
    assert drift[1] < 2e-3


def test_friction_takes_energy_and_holds_a_joint_at_rest():
    weightless = ArmModel(gravity=(0.0, 0.0))
    motors = make(weightless, ripple=(0.0,) * 3)
    run(motors, 0.1, 'effort', 0.9 * np.array(motors.motors.coulomb))
    assert motors.q == pytest.approx(START, abs=1e-9)
    run(motors, 0.1, 'effort', 1.5 * np.array(motors.motors.coulomb), t=0.1)
    assert np.abs(motors.q - START).max() > 1e-4


def test_torque_accelerates_as_the_equations_say():
    motors = make(ArmModel(gravity=(0.0, 0.0)), current_bandwidth=1e5, **NO_FRICTION)
    torque = np.array([2.0, -1.0, 0.3])
    M = motors.arm.dynamics(START, NONE)[0] + np.diag(motors.motors.reflected_inertia)
    motors.command('effort', torque, 0.0)
    qdd = motors.step(UNLOADED, 0.0, 1e-3)
    assert qdd == pytest.approx(np.linalg.solve(M, torque), rel=1e-3)


def test_force_on_the_hand_acts_through_the_jacobian():
    motors = make(ArmModel(gravity=(0.0, 0.0)), **NO_FRICTION)
    M = motors.arm.dynamics(START, NONE)[0] + np.diag(motors.motors.reflected_inertia)
    force = np.array([1.0, 0.0, -2.0, 0.0, 0.1, 0.0])
    motors.command('effort', NONE, 0.0)
    qdd = motors.step(force, 0.0, 1e-3)
    expected = np.linalg.solve(M, motors.arm.jacobian(START).T @ force)
    assert qdd == pytest.approx(expected, rel=1e-3)


def test_current_is_limited_and_lags():
    motors = make(current_bandwidth=50.0)
    motors.command('effort', [1e3, 0, 0], 0.0)
    motors.step(UNLOADED, 0.0, 1e-3)
    decays = [math.exp(-2 * math.pi * 50 * 0.25e-3 * n) for n in (1, 2, 3, 4)]  # of its turns
    lagging = motors.motors.torque_limit[0] * (1 - sum(decays) / 4)
    assert effort(motors)[0] == pytest.approx(lagging, rel=1e-6)
    run(motors, 0.1, 'effort', [1e3, 0, 0], t=1e-3)
    assert effort(motors)[0] == pytest.approx(motors.motors.torque_limit[0], rel=1e-6)


def test_encoder_reads_whole_counts_below_the_angle():
    motors = make()
    run(motors, 0.2, 'velocity', [0.5, -0.3, 0.7])
    seen, resolution = motors.values[:3], motors.motors.resolution
    assert np.all((motors.q - seen >= 0) & (motors.q - seen < resolution))
    counts = seen / resolution
    assert counts == pytest.approx(np.round(counts), abs=1e-6)


def test_velocity_and_position_are_followed():
    motors = make()
    t = run(motors, 0.5, 'velocity', [0.3, -0.2, 0.4])
    assert motors.qd == pytest.approx([0.3, -0.2, 0.4], abs=0.05)
    run(motors, 1.5, 'position', START, t=t)
    assert motors.q == pytest.approx(START, abs=5e-3)


def test_ripple_comes_twice_a_turn_of_the_motor():
    """A slow joint in the velocity loop sees a torque of that frequency."""
    motors = make(ArmModel(gravity=(0.0, 0.0)), ripple=(2.0, 0.0, 0.0), coulomb=(0.0,) * 3)
    t = run(motors, 0.3, 'velocity', [0.5, 0, 0])
    efforts, angles = [], []
    for _ in range(800):
        t = run(motors, 1e-3, 'velocity', [0.5, 0, 0], t=t)
        efforts.append(effort(motors)[0])
        angles.append(motors.q[0])
    angles, efforts = np.array(angles), np.array(efforts) - np.mean(efforts)
    amplitudes = [abs(np.mean(efforts * np.exp(1j * n * 100 * angles))) for n in (1, 2, 3)]
    assert amplitudes[1] > 5 * max(amplitudes[0], amplitudes[2])


def test_amplifier_brakes_when_commands_stop():
    motors = make()
    t = run(motors, 0.3, 'velocity', [1.0, 0, 0])
    assert motors.qd[0] > 0.9
    assert not motors.braking
    run(motors, 0.15, t=t)
    assert motors.braking
    assert np.abs(motors.qd).max() < 0.05


def test_brakes_hold_the_arm_after_a_time_and_let_go_at_a_command():
    motors = make()
    t = run(motors, 0.2, 'velocity', [0.4, -0.3, 0.5])
    t = run(motors, 0.1, t=t)
    assert np.abs(motors.qd).max() > 1e-3  # it sinks, braked, until they fall in
    t = run(motors, 0.1, t=t)
    held = motors.q.copy()
    t = run(motors, 0.5, t=t)
    assert np.abs(motors.q - held).max() < 1e-9
    run(motors, 0.1, 'velocity', [0.4, -0.3, 0.5], t=t)
    assert motors.qd == pytest.approx([0.4, -0.3, 0.5], abs=0.1)


def test_stuck_motor_does_not_turn():
    motors = make()
    motors.inject('motor_stuck', 0)
    run(motors, 0.1, 'velocity', [1.0, 0.5, 0])
    assert motors.q[0] == pytest.approx(START[0], abs=1e-9)
    assert motors.qd[1] == pytest.approx(0.5, abs=0.1)


def test_encoder_faults():
    motors = make()
    motors.inject('encoder_frozen', 1)
    before = motors.values[1]
    run(motors, 0.1, 'effort', [0, 30.0, 0])
    assert motors.values[1] == before
    assert abs(motors.q[1] - before) > 0.01
    motors.inject('encoder_lost', 1)
    assert math.isnan(motors.values[1])
    assert math.isfinite(motors.values[0])


def test_motor_off_gives_no_torque():
    motors = make()
    motors.inject('motor_off', 2)
    run(motors, 0.05, 'effort', [1, 1, 1])
    assert abs(effort(motors)[2]) < 1e-6


def test_same_seed_same_motion():
    pair = [make(), make()]
    for motors in pair:
        motors.inject('messages_dropped')
        run(motors, 0.1, 'effort', [5, -3, 1])
    assert np.array_equal(pair[0].q, pair[1].q)


@pytest.mark.parametrize(
    ('mode', 'values', 'text'),
    [
        ('torque', [0, 0, 0], 'mode must be one of'),
        ('effort', [0, 0], '3 finite numbers'),
        ('effort', [0, math.nan, 0], '3 finite numbers'),
    ],
)
def test_bad_command_is_refused(mode, values, text):
    with pytest.raises(ParameterError, match=text):
        make().command(mode, values, 0.0)


def test_numbers_that_no_motor_has_are_refused():
    with pytest.raises(ParameterError, match='gear must be positive'):
        MotorModel(gear=(0.0, 1.0, 1.0))
    with pytest.raises(ParameterError, match='fault must be one of'):
        make().inject('broken')

"""Calibration finds what was put in, from motion of the emulated hardware."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.calibration.camera import (
    calibrate_camera,
    calibrate_joints,
    MeasuredPoses,
)
from rolling_hw_interface.calibration.rocking import calibrate_rocking, rocking_frequency
from rolling_hw_interface.emulated_camera import CameraModel, MARKERS
from rolling_hw_interface.emulated_motors import EmulatedMotors, motors_of
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.vision import MarkerFit, MarkerPattern
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_truth import body_matrix, Camera, X_WC
from test_object_on_arm import make_plant, MODEL, start, stepped
from transforms3d.quaternions import mat2quat

DT = 1e-3
GEAR = MotorModel().gear
AT_ORIGIN = (1, 0, 0, 0, 0, 0, 0)
ARM = Arm(ArmModel().chain)
MOUNT = np.array([[1.0, 0, 0, 0.02], [0, 1, 0, 0], [0, 0, 1, 0.03], [0, 0, 0, 1]])


def swing(k, size=1.0):
    """Rates of the joints, to and fro at several speeds."""
    t = k * DT
    return size * np.array([
        0.5 * math.sin(2.1 * t) + 0.3 * math.sin(7.3 * t),
        0.6 * math.cos(2.7 * t) - 0.3 * math.sin(6.1 * t),
        0.9 * math.sin(3.3 * t) + 0.5 * math.cos(8.7 * t),
    ])  # fmt: skip


def recorded_motion(seconds, motors_model, camera=None):
    """Move the arm; return times, angles, torques and what the camera saw of the hand."""
    motors = EmulatedMotors(ARM, motors_model, ARM.joints_at(AT_ORIGIN), seed=4)
    pattern, times, joints, torques, seen = MarkerPattern(MARKERS), [], [], [], []
    for k in range(round(seconds / DT)):
        motors.command('velocity', swing(k), k * DT)
        motors.step(np.zeros(6), k * DT, DT)
        now, (position, _, effort) = (k + 1) * DT, motors.values.reshape(3, -1)
        times.append(now)
        joints.append(position)
        torques.append(effort)
        if camera is not None:
            X_WH = body_matrix(ARM.hand_state(motors.q, motors.qd))
            for image in camera.step(X_WH @ MOUNT, now):
                fit = pattern.fit(image.markers_C)
                if isinstance(fit, MarkerFit):
                    seen.append([image.stamp, image.arrival, *fit.p, *mat2quat(fit.R)])
    return np.array(times), np.array(joints), np.array(torques), np.array(seen)


@pytest.mark.slow
def test_camera_and_clock_are_found():
    model = CameraModel(clock_offset=0.3, clock_spread=0.0)
    times, joints, _, rows = recorded_motion(3.0, MotorModel(), Camera(model, X_WC, seed=1))
    seen = MeasuredPoses(stamps=rows[:, 0], arrivals=rows[:, 1], p=rows[:, 2:5], q=rows[:, 5:])
    found = calibrate_camera(ARM, times, joints, seen, MOUNT)
    assert found.clock_offset == pytest.approx(0.3, abs=3e-4)
    assert found.latency[0] == pytest.approx(6e-3, abs=5e-4)
    assert found.latency[1] == pytest.approx(8e-3, abs=5e-4)
    assert found.X_WC[:3, 3] == pytest.approx(X_WC[:3, 3], abs=1.5e-3)
    assert pytest.approx(X_WC[:3, :3], abs=2e-3) == found.X_WC[:3, :3]
    assert np.all(found.sigma[:6] < 1e-3)


def test_friction_and_inertia_of_the_drives_are_found():
    true = MotorModel(coulomb=(1.8, 0.8, 0.4), viscous=(1.1, 0.4, 0.15))
    times, joints, torques, _ = recorded_motion(4.0, true)
    found = calibrate_joints(ARM, times, joints, torques, true.gear)
    assert found.coulomb == pytest.approx(true.coulomb, rel=0.03)
    assert found.viscous == pytest.approx(true.viscous, rel=0.06)
    assert found.reflected_inertia == pytest.approx(true.reflected_inertia, rel=0.06)
    assert found.ripple == pytest.approx(true.ripple, rel=0.1)
    assert np.abs(found.offset).max() < 0.05


def test_inertia_of_the_object_is_found_from_its_rocking():
    laboratory, plant = Laboratory.of_paper(), make_plant(turn=0.12)
    motors = motors_of(plant)
    times, angles, held = [], [], motors.q.copy()
    for k in range(3000):
        motors.command('position', held, k * DT)
        o = stepped(plant).object_
        times.append(k * DT)
        angles.append(2 * math.atan2(o[2], o[0]))
    system, p = MODEL
    wrong = p.copy()
    yy = system.parameters.slice('inertia').start + 1
    wrong[yy] *= 1.4
    found = calibrate_rocking(system, wrong, start(), times[500:], angles[500:])
    assert found.inertia == pytest.approx(laboratory.inertia, rel=0.05)
    assert found.damping == pytest.approx(laboratory.damping, rel=0.25)


def test_rocking_frequency_is_that_of_the_laboratory():
    rate = Laboratory.of_paper().equilibrium_rate(upright=False)
    assert rocking_frequency(MODEL[0], MODEL[1], start()) == pytest.approx(rate, rel=1e-5)


def test_upright_object_is_no_place_to_rock():
    with pytest.raises(ParameterError, match='not in a stable equilibrium'):
        rocking_frequency(MODEL[0], MODEL[1], start(turn=math.pi / 2))


def test_recordings_that_tell_nothing_are_refused():
    still = np.tile(ARM.joints_at(AT_ORIGIN), (1000, 1))
    t = np.arange(1000) * DT
    seen = MeasuredPoses(
        stamps=t, arrivals=t, p=np.zeros((1000, 3)), q=np.tile([1.0, 0, 0, 0], (1000, 1))
    )
    with pytest.raises(ParameterError, match='the hand moved by'):
        calibrate_camera(ARM, t, still, seen, MOUNT)
    with pytest.raises(ParameterError, match='joint 1 turned at most'):
        calibrate_joints(ARM, t, still, still, GEAR)
    with pytest.raises(ParameterError, match='500 and more'):
        calibrate_joints(ARM, t[:10], still[:10], still[:10], GEAR)

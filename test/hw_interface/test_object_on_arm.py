"""The whole laboratory in lockstep: arm, motors, object, camera, bridge and estimator."""

import math

import numpy as np
import pytest
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.emulated_camera import camera_sensor, CameraModel, MARKERS
from rolling_hw_interface.emulated_motors import EmulatedMotors, motors_of, object_on_arm
from rolling_hw_interface.encoder_filter import EncoderFilter
from rolling_hw_interface.motor_bridge import MotorBridge
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.object_estimator import ObjectEstimator
from rolling_hw_interface.pose_filter import FilterModel
from rolling_hw_interface.vision import MarkerFit, MarkerPattern
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_truth import X_WC
from transforms3d.quaternions import mat2quat

DT = 1e-3
LABORATORY = Laboratory.of_paper()
MODEL = LABORATORY.system, LABORATORY.params


def start(turn=0.0):
    model = MODEL[0]
    angle = -math.pi / 2 + turn
    return model.state.pack(
        q_WH=[1, 0, 0, 0], p_WH=[0, 0, 0], q_HO=[math.cos(angle / 2), 0, math.sin(angle / 2), 0],
        contact_h=[0, 0], w_WH_H=[0, 0, 0], v_WH_H=[0, 0, 0], w_HO_H=[0, 0, 0],
    )  # fmt: skip


def make_plant(turn=0.0, cameras=()):
    arm = Arm(ArmModel().chain)
    motors = EmulatedMotors(arm, MotorModel(), arm.joints_at((1, 0, 0, 0, 0, 0, 0)), seed=2)
    plant = object_on_arm(
        *MODEL, start(turn), motors, cameras, resistance=LABORATORY.rolling_resistance
    )
    plant.release()
    return plant


def stepped(plant):
    plant.step(None, DT)
    return plant.observe()


class Whole:
    """All parts, with the acceleration of the hand as the input."""

    def __init__(self, turn=0.0, camera=None):
        self.plant = make_plant(turn, [camera_sensor(camera or CameraModel(), X_WC)])
        self.motors, self.measured = motors_of(self.plant), self.plant.read_measurements()
        self.bridge = MotorBridge(Arm(ArmModel().chain), MotorModel())
        self.encoders = EncoderFilter(MotorModel().resolution, DT)
        self.arm = Arm(ArmModel().chain)
        self.pattern = MarkerPattern(MARKERS)
        self.estimator = ObjectEstimator(*MODEL, model=FilterModel(planar=True))
        self.t, self.rows, self.modes = 0.0, [], []

    def step(self, control):
        self.bridge.take_state(*self.joints()[:2], self.t)
        self.bridge.take_command(control, self.t)
        out = self.bridge.step(self.t, DT)
        if out is not None:
            self.motors.command('effort', out, self.t)
        view, self.measured = stepped(self.plant), self.plant.read_measurements()
        self.t += DT
        joints = self.encoders.step(self.joints()[0], self.bridge.qdd)
        hand = self.arm.hand_state(joints.q, joints.qd)
        estimate = self.estimator.step(hand, self.arm.hand_acceleration(*joints), self.t)
        for image in self.measured:
            if image.sensor.name != 'camera':
                continue
            fit = self.pattern.fit(image.value.reshape(-1, 3))
            if isinstance(fit, MarkerFit):
                turn = np.kron(np.eye(2), X_WC[:3, :3])
                self.estimator.take_image(
                    image.stamp, image.arrival, X_WC[:3, :3] @ fit.p + X_WC[:3, 3],
                    mat2quat(X_WC[:3, :3] @ fit.R), 4e-8 * turn @ fit.covariance @ turn.T,
                )  # fmt: skip
        if estimate is not None:
            angle = 2 * math.atan2(estimate.object_[2], estimate.object_[0])
            truth = 2 * math.atan2(view.object_[2], view.object_[0])
            self.rows.append((
                self.t, math.remainder(angle - truth, 2 * math.pi),
                *(estimate.object_[[4, 6]] - view.object_[[4, 6]]),
            ))  # fmt: skip
            self.modes.append((self.plant.contact_mode, estimate.mode, self.t))
        return view

    def joints(self):
        """Angles, rates and torques that the encoders measured last."""
        (value,) = (m.value for m in self.measured if m.sensor.name == 'encoders')
        return value.reshape(3, -1)

    def go(self, seconds, law):
        for _ in range(round(seconds / DT)):
            view = self.step(law(self.t))
        return view


def test_object_at_rest_stays_and_its_weight_is_carried():
    plant = make_plant()
    for k in range(200):
        motors_of(plant).command('velocity', np.zeros(3), k * DT)
        view = stepped(plant)
    assert plant.contact_mode == 'rolling'
    weight = LABORATORY.mass * LABORATORY.gravity
    assert -plant.emulation.load()[2] == pytest.approx(weight, rel=0.02)
    assert view.gap == pytest.approx(0.0, abs=1e-9)
    assert view.X_WCh[2, 3] == pytest.approx(view.hand[6], abs=1e-6)


def test_object_rocks_at_the_rate_of_the_laboratory():
    plant = make_plant(turn=0.05)
    motors = motors_of(plant)
    angles, held = [], motors.q.copy()
    for k in range(2500):
        motors.command('position', held, k * DT)
        o = stepped(plant).object_
        angles.append(2 * math.atan2(o[2], o[0]) + math.pi / 2)
    crossings = np.flatnonzero(np.diff(np.sign(angles)))
    period = 2 * np.mean(np.diff(crossings)) * DT
    expected = 2 * math.pi / LABORATORY.equilibrium_rate(upright=False)
    assert period == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_estimate_holds_beside_real_motors_and_a_rolling_object():
    whole = Whole(turn=0.2)
    whole.go(1.6, lambda t: [0, 0, 0, 0.8 * math.cos(2 * math.pi * 2.7 * t), 0, 0])
    rows = np.array([r for r in whole.rows if r[0] > 0.5])
    assert whole.bridge.phase == 'driving'
    assert math.degrees(np.sqrt(np.mean(rows[:, 1] ** 2))) < 0.3
    assert np.sqrt(np.mean(rows[:, 2:] ** 2)) < 0.5e-3


def test_throw_and_catch_are_followed():
    """The hand rises, falls away faster than the object, and catches it again."""
    whole = Whole()
    whole.go(0.3, lambda _: np.zeros(6))
    whole.go(0.12, lambda _: [0, 0, 0, 0, 0, 6.0])
    whole.go(0.1, lambda _: [0, 0, 0, 0, 0, -12.0])
    whole.go(0.5, lambda _: [0, 0, 0, 0, 0, 0.0])
    true, seen, times = zip(*whole.modes, strict=True)
    flown = [t for m, t in zip(true, times, strict=True) if m == 'separated']
    thought = [t for m, t in zip(seen, times, strict=True) if m == 'separated']
    assert flown
    assert thought
    assert thought[0] - flown[0] < 0.06
    assert thought[-1] - flown[-1] < 0.06
    aloft = np.array([r for r in whole.rows if flown[0] < r[0] < flown[-1]])
    assert np.sqrt(np.mean(aloft[:, 2:] ** 2)) < 2e-3


def test_reset_puts_the_object_back_turned():
    plant = make_plant()
    for k in range(50):
        motors_of(plant).command('velocity', [0.5, 0, 0], k * DT)
        plant.step(None, DT)
    plant.reset(position=(0.01, 0.0), rotation=(0.0, 0.1, 0.0))
    view = plant.observe()
    assert view.hand[[4, 6]] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert view.X_WCh[0, 3] == pytest.approx(0.01, abs=1e-9)
    assert 2 * math.atan2(view.object_[2], view.object_[0]) == pytest.approx(0.1 - math.pi / 2)

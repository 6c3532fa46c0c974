"""An ellipse that rocks on a plate carried by the arm, seen by encoders and a camera."""

from collections import deque
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.simulation.sensing import SensorStream
from rolling_dynamics.surfaces import Ellipsoid, Plane
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.emulated_camera import camera_sensor, CameraModel, MARKERS
from rolling_hw_interface.encoder_filter import EncoderFilter
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.object_estimator import ObjectEstimator
from rolling_hw_interface.pose_filter import FilterModel
from rolling_hw_interface.vision import MarkerFit, MarkerPattern
from transforms3d.quaternions import mat2quat, quat2mat

SEMI = (0.0377, 0.03, 0.0252)
MASS = 0.0553
X_WC = np.array([[1.0, 0, 0, 0], [0, 0, 1, -1.0], [0, -1, 0, 0.1], [0, 0, 0, 1]])
DT = 1e-3


def body_matrix(body):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = quat2mat(body[:4]), body[4:7]
    return X


def ellipse_on_plate(mass=MASS, scale=1.0):
    a, b, c = SEMI
    system = ContactSystem(Ellipsoid(a, b, c), Plane())
    inertia = scale * mass / 5 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    p = system.pack_parameters(
        mass=mass, inertia=inertia, gravity_W=[0, 0, -9.81 * math.sin(math.radians(24))], mu=0.9
    )
    return system, p


def at_rest(system, tilt=0.0, spin=0.0):
    """The object on its flat side, tilted about y, turning at some speed."""
    return system.state.pack(
        q_WH=[1, 0, 0, 0], p_WH=[0, 0, 0], q_HO=[math.cos(tilt / 2), 0, math.sin(tilt / 2), 0],
        contact_h=[0, 0], w_WH_H=[0, 0, 0], v_WH_H=[0, 0, 0], w_HO_H=[0, spin, 0],
    )  # fmt: skip


def hand_motion(t):
    """Accelerations that swing the hand to and fro; the object rocks by up to 45 degrees."""
    x = 0.8 * math.cos(2 * math.pi * 2.7 * t)
    z = 1.5 * math.cos(2 * math.pi * 3.1 * t)
    return np.array([0.0, 2.0 * math.cos(2 * math.pi * 2.3 * t), 0.0, x, 0.0, z])


class Image(NamedTuple):
    stamp: float
    arrival: float
    markers_C: np.ndarray


class Camera:
    """The emulated camera, of an object whose motion is given."""

    def __init__(self, model, X_WC, seed=0):
        self.X_WC, self.X_CW = X_WC, np.linalg.inv(X_WC)
        self.stream = SensorStream(camera_sensor(model, X_WC), seed)
        self.change(model)
        self.past, self.coming = deque(maxlen=64), []

    def change(self, model):
        self.model, self.stream.sensor = model, camera_sensor(model, self.X_WC)

    @property
    def offset(self):
        """By which the middle of an exposure is stamped ahead, at time zero."""
        return self.stream.offset + self.model.exposure / 2

    def step(self, X_WO, t):
        X = self.X_CW @ X_WO
        self.past.append((t, (MARKERS @ X[:3, :3].T + X[:3, 3]).ravel()))
        while self.stream.next <= t:
            self.coming.append(self.stream.take(*zip(*self.past, strict=True)))
        known = [m for m in self.coming if m is not None and m.arrival <= t]
        self.coming = [m for m in self.coming if m is not None and m.arrival > t]
        return [Image(m.stamp, m.arrival, m.value.reshape(-1, 3)) for m in known]


class Run:
    """Steps truth, sensors and estimator together; keeps what was true and what was estimated."""

    def __init__(self, *, camera=None, seed=0, filter_model=None, motion=hand_motion, spin=1.0,
                 least_latency=6e-3, model_scale=1.0):  # fmt: skip
        self.system, self.p = ellipse_on_plate()
        start = at_rest(self.system, 0.1, spin)
        self.plant = EmulatedObject(self.system, self.p, start)
        self.arm, self.motors = Arm(ArmModel().chain), MotorModel()
        self.motion, self.q = motion, None
        self.camera = Camera(camera or CameraModel(), X_WC, seed)
        self.pattern = MarkerPattern(MARKERS)
        self.encoders = EncoderFilter(self.motors.resolution, DT)
        believed = ellipse_on_plate(scale=model_scale)[1]
        self.estimator = ObjectEstimator(
            self.system, believed, least_latency=least_latency,
            model=filter_model or FilterModel(planar=True),
        )  # fmt: skip
        self.t, self.rows, self.last = 0.0, [], None
        self.offsets = []

    def see_hand(self, hand):
        self.q = q = self.arm.joints_at(hand[:7], self.q)
        counts = np.floor(q / self.motors.resolution) * self.motors.resolution
        return self.encoders.step(counts, np.zeros(3))

    def step(self):
        self.plant.step(self.motion(self.t), DT)
        assert not self.plant.fault, self.plant.fault
        self.t += DT
        seen = self.plant.observe()
        joints = self.see_hand(seen.hand)
        hand = self.arm.hand_state(joints.q, joints.qd)
        u = self.arm.hand_acceleration(*joints)
        self.last = self.estimator.step(hand, u, self.t)
        for image in self.camera.step(body_matrix(seen.object_), self.t):
            self.take(image)
        if self.last is not None:
            self.note(seen)
        self.offsets.append((self.t, self.estimator.clock_offset - self.camera.offset))

    def take(self, image):
        fit = self.pattern.fit(image.markers_C)
        if not isinstance(fit, MarkerFit):
            return
        R = X_WC[:3, :3] @ fit.R
        p = X_WC[:3, :3] @ fit.p + X_WC[:3, 3]
        turn = np.kron(np.eye(2), X_WC[:3, :3])
        covariance = self.camera.model.noise**2 * turn @ fit.covariance @ turn.T
        self.estimator.take_image(image.stamp, image.arrival, p, mat2quat(R), covariance)

    def note(self, seen):
        estimate, q = self.last, seen.object_[:4]
        true_contact = self.plant.emulation.state.x[self.system.state.slice('contact_h')]
        mine = estimate.object_
        angle = 2 * (math.atan2(mine[2], mine[0]) - math.atan2(q[2], q[0]))
        self.rows.append((
            self.t, estimate.contact[0] - true_contact[0],
            math.remainder(angle, 2 * math.pi), mine[8] - seen.object_[8],
            *np.sqrt([c[k, k] for c, k in (
                (estimate.covariance, 0), (estimate.pose_covariance, 4),
                (estimate.twist_covariance, 4),
            )]),
        ))  # fmt: skip

    def go(self, seconds):
        for _ in range(round(seconds / DT)):
            self.step()
        return self

    def errors(self, after=0.5):
        """Rms of contact position [m], angle [rad] and rate [rad/s] after a time."""
        rows = np.array([r for r in self.rows if r[0] > after])
        return np.sqrt(np.mean(rows[:, 1:4] ** 2, axis=0))

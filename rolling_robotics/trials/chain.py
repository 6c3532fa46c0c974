"""
The whole laboratory in one process: controller's side, bridge, motors, arm, object, camera.

What passes between the parts is what passes between the nodes, at 1 kHz and in their order;
nothing that the controller gets comes from the truth.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.model_state import ObservedState
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_chain import ArmModel
from rolling_hw_interface.emulated_camera import EmulatedCamera, MARKERS
from rolling_hw_interface.emulated_plant import EmulatedPlant, PlantView
from rolling_hw_interface.encoder_filter import EncoderFilter, JointEstimate
from rolling_hw_interface.motor_bridge import MotorBridge
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.object_estimator import ObjectEstimator, VISION_TIMEOUT
from rolling_hw_interface.pose_filter import FilterModel
from rolling_hw_interface.vision import camera_pose, MarkerPattern, Vision
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_robotics.trials.imperfections import Draw, Imperfections
from transforms3d.quaternions import quat2mat

PERIOD = 1e-3  # s
CAMERA = camera_pose((0.0, -1.0, 0.1), (-(0.5**0.5), 0.0, 0.0, 0.5**0.5))  # looks along +y
LIKELY = 2.5  # rms of a fit of markers over their noise that is still believed
APART = 4.0  # gap that an image shows over that noise, that is not taken for noise
# what the equations do not know once the inertia is estimated: how the drives stick and ripple
INFORMED = FilterModel(acceleration=0.02, angular_acceleration=0.1, slip=2e-3, planar=True)
FRESH = 0.02  # s: the estimator does not count on older commands


class Observation(NamedTuple):
    """
    What the estimator tells.

    State of planar rolling, whether the object is thought to touch, and its moments of inertia
    over those believed.
    """

    x: Array
    touching: bool
    inertia: float = 1.0


class LaboratoryChain:
    """
    All parts; :meth:`sense` and :meth:`act` make one period.

    Attributes
    ----------
    plant, camera, bridge, estimator, vision
        The parts; faults can be injected into ``plant.motors`` and ``camera``.
    killed
        Which of ``controller``, ``estimator`` and ``bridge`` are gone, for good.
    time
        Since the start [s].
    view
        What is true now.

    """

    def __init__(
        self,
        laboratory: Laboratory,
        start: Array,
        imperfections: Imperfections,
        seed: int,
        arm: ArmModel | None = None,
    ) -> None:
        """
        Put everything at its start, the object held on the plate.

        Parameters
        ----------
        laboratory
            Object and plate as they are believed to be.
        start
            State of planar rolling at rest from which the trial is believed to start.
        imperfections, seed
            What is off, and the seed of the trial.
        arm
            The arm; the usual one if None.

        """
        self.imperfections, self.draw = imperfections, imperfections.draw(seed)
        believed, arm = (laboratory.system, laboratory.params), arm or ArmModel()
        self.plant = emulated_plant(
            laboratory, believed, start, arm, imperfections.motors, self.draw
        )
        self.camera = EmulatedCamera(imperfections.camera, CAMERA, seed=self.draw.seed)
        self.bridge = MotorBridge(Arm(arm.chain), imperfections.motors)
        camera, pattern = imperfections.camera, MarkerPattern(MARKERS)
        self.vision = Vision(CAMERA, pattern=pattern, marker_noise=camera.noise)
        self._arm = Arm(arm.chain)
        self._encoders = EncoderFilter(imperfections.motors.resolution, PERIOD)
        informed = imperfections.informed
        self.estimator = ObjectEstimator(
            *believed,
            least_latency=camera.latency - camera.jitter,
            model=replace(INFORMED, inertia=imperfections.inertia)
            if informed
            else FilterModel(planar=True),
        )
        if informed:
            pattern.tolerance = max(pattern.tolerance, LIKELY * camera.noise)
            self.estimator.breaking = max(self.estimator.breaking, APART * camera.noise)
        self._model = laboratory.model()[0]
        self._observed = ObservedState(*laboratory.plant(), self._model)
        self._joints: JointEstimate | None = None
        self._control, self._arrived = np.zeros(6), -np.inf
        self._sent: deque[Array | None] = deque([None] * imperfections.transport)
        self.killed: set[str] = set()
        self.time, self.view = 0.0, self.plant.view()

    @property
    def truth(self) -> Array:
        """True state of rolling in the plane, shape (11,)."""
        return self._observed.state(self.view.hand, self.view.object_)[0]

    def sense(self) -> Observation | None:
        """Return what the estimator publishes, or None where it publishes nothing."""
        seen = self.plant.motors.read()
        if seen is None:
            return None
        if 'bridge' not in self.killed:
            self.bridge.take_state(seen.position, seen.velocity, self.time)
        if 'estimator' in self.killed:
            return None
        self._joints = self._encoders.step(seen.position, self._commanded())
        if self._joints is None:
            return None
        q, qd, qdd = self._joints
        hand = self._arm.hand_state(q, qd)
        self.estimator.held = self.plant.held and self.imperfections.informed
        found = self.estimator.step(hand, self._arm.hand_acceleration(q, qd, qdd), self.time)
        if found is None or found.age > VISION_TIMEOUT:
            return None
        return Observation(
            self._observed.state(hand, found.object_)[0],
            touching=found.mode != 'separated',
            inertia=self.estimator.inertia,
        )

    def _commanded(self) -> Array:
        """Return the joint accelerations that the newest command asks for, if it is fresh."""
        if self._joints is None or self.time - self._arrived > FRESH:
            return np.zeros(self._arm.joints)
        try:
            return self._arm.joint_acceleration(self._joints.q, self._joints.qd, self._control)
        except ParameterError:  # the arm is singular there, and the bridge stops it
            return np.zeros(self._arm.joints)

    def act(self, control: ArrayLike | None) -> PlantView:
        """
        Pass a command on and let a period go by.

        Parameters
        ----------
        control
            alpha_WH_H_y [rad/s^2], a_WH_H_x, a_WH_H_z [m/s^2]; None for no command.

        """
        silent = control is None or 'controller' in self.killed
        self._sent.append(None if silent else np.array(control, dtype=float))
        self._drive(self._sent.popleft())
        self._take_images()
        return self.view

    def drive(self, control: ArrayLike | None) -> PlantView:
        """Let a period go by for arm and object alone, with a control as it arrives."""
        seen = self.plant.motors.read()
        if seen is not None:
            self.bridge.take_state(seen.position, seen.velocity, self.time)
        self._drive(None if control is None else np.asarray(control, dtype=float))
        return self.view

    def _drive(self, arrived: Array | None) -> None:
        """Pass what has arrived on to the motors, and move everything."""
        if arrived is not None:
            self._control, self._arrived = self._model.expand_controls(arrived), self.time
            self.bridge.take_command(self._control, self.time)
        drive = None if 'bridge' in self.killed else self.bridge.step(self.time, PERIOD)
        if drive is not None:
            self.plant.motors.command(self.bridge.settings.mode, drive, self.time)
        self.view = self.plant.step(PERIOD)
        self.time += PERIOD

    def _take_images(self) -> None:
        X_WO = np.eye(4)
        body = self.view.object_
        X_WO[:3, :3], X_WO[:3, 3] = quat2mat(body[:4]), body[4:7]
        for image in self.camera.step(X_WO, self.time):
            pose = self.vision.from_markers(image.markers_C)
            if pose is not None:
                self.estimator.take_image(
                    image.stamp, image.arrival, pose.p, pose.q, pose.covariance
                )


def emulated_plant(
    laboratory: Laboratory,
    believed: tuple[ContactSystem, Array],
    start: Array,
    arm: ArmModel,
    motors: MotorModel,
    draw: Draw,
) -> EmulatedPlant:
    """
    Return arm, motors and object as they are in truth, the object held off its place.

    Parameters
    ----------
    laboratory, arm, motors
        As they are believed to be.
    believed
        Contact system and its parameters p, shape (parameters.size,) in their units.
    start
        State in the plane from which the trial is believed to start, shape (11,) in SI units.
    draw
        What is off.

    """
    system, p = believed[0], believed[1].copy()
    p[system.parameters.slice('inertia')] *= draw.inertia
    coulomb, viscous = (
        tuple(draw.friction_torque * k for k in torques)
        for torques in (motors.coulomb, motors.viscous)
    )
    plant = EmulatedPlant(
        system,
        p,
        laboratory.model()[0].expand_states(start),
        Arm(arm.chain),
        replace(motors, coulomb=coulomb, viscous=viscous),
        slip_share=laboratory.slip_share,
        resistance=draw.friction_torque * laboratory.rolling_resistance,
        seed=draw.seed,
    )
    plant.reset(shift=draw.shift, turn=draw.turn)
    plant.held = True
    return plant

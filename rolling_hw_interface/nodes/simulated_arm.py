"""
An object on an arm as a simulator runs it: amplifiers, encoders and camera behind topics.

It takes ``robot_joint_command`` and sends ``robot_joint_states``, as ros2_control's topic-based
hardware does, and ``camera/markers``; the truth goes to topics of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import math
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject, Observation
from rolling_dynamics.nodes.simulated import (
    perturbation_parameters,
    Simulated,
    SimulatorNode,
    Slow,
)
from rolling_dynamics.nodes.simulated_object import (
    factor,
    HybridObject,
    MOTION,
    MOTIONS,
    ROLLING_RESISTANCE,
    RollingObject,
    SLIP_SHARE,
)
from rolling_dynamics.scenario_model import load_model, Model
from rolling_dynamics.simulation.sensing import FAULTS
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_urdf import chain_from, model_from
from rolling_hw_interface.emulated_camera import camera_sensor, CameraModel
from rolling_hw_interface.emulated_motors import (
    EmulatedMotors,
    inject,
    MOTOR_FAULTS,
    object_on_arm,
)
from rolling_hw_interface.motor_model import MODES, MotorModel
from rolling_hw_interface.nodes.model_parameters import (
    ARM_TABLE,
    CAMERA_POSE,
    CAMERA_TABLE,
    FRAME_PREFIX,
    JOINT_NAMES,
    joint_names_of,
    markers_from,
    MOTOR_TABLE,
    WORLD_FRAME,
)
from rolling_hw_interface.vision import camera_from
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import ACCEL, decode_stamped, JointReader, OdometryEncoder
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.loop_node import LOOP_TABLE
from rolling_node_kit.parameters import fixed, LOCKSTEP_TIMEOUT, Parameter, RATE_FACTOR, SCENARIO
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_WRITER
from rolling_node_kit.suite_node import Health, OK, WARN
from sensor_msgs.msg import JointState

PLACE = ('q_WH', 'p_WH')


class ObjectOnArm(HybridObject):
    """An object on the plate of an arm; it takes commands of the motors."""

    body, command, raw = 'arm', (JointState, 'robot_joint_command'), True
    table = (
        SCENARIO,
        *LOOP_TABLE,
        JOINT_NAMES,
        SLIP_SHARE,
        ROLLING_RESISTANCE,
        fixed('seed', -1, 'random seed; -1 = from the clock', limits=(-1, None)),
        Parameter('fault', 'none', 'injected fault of motors and encoders', choices=MOTOR_FAULTS),
        Parameter('camera_fault', 'none', 'injected camera fault', choices=FAULTS),
        Parameter('fault_joint', 0, 'index of the faulty joint, from 0', limits=(0, 5)),
        *perturbation_parameters(
            'offset of the object along the plate at ~/reset',
            'rotation of the object about its own axes at ~/reset',
        ),
        MOTION,
        Parameter(
            'held',
            False,
            'hold the object on the plate, as a clamp would, so that it only moves with it',
        ),
        Parameter(
            'release_at_command',
            False,
            'release a held object at the first hand/accel_command after ~/reset',
        ),
        fixed(
            'truth_rate',
            100.0,
            'publication rate of hand/ground_truth and contact/ground_truth',
            limits=(1.0, 2000.0),
            unit='Hz',
        ),
        RATE_FACTOR,
        LOCKSTEP_TIMEOUT,
        factor('inertia_factor', 'factor on the inertia of the object, applied at ~/reset'),
        factor(
            'resistance_factor',
            'factor on rolling friction and joint friction, applied at ~/reset',
        ),
        WORLD_FRAME,
        FRAME_PREFIX,
        *ARM_TABLE,
        *MOTOR_TABLE,
        *CAMERA_POSE,
        *CAMERA_TABLE,
    )

    def __init__(self, node: SimulatorNode) -> None:
        """Load the scenario; make arm, object and camera, and their topics."""
        self.node, v = node, node.values
        model, self._arm = load_model(v['scenario_file']), Arm(chain_from(v))
        names = list(joint_names_of(v, self._arm))
        hand = np.concatenate([model.start[model.system.state.slice(n)] for n in PLACE])
        self._motors = EmulatedMotors(
            self._arm,
            model_from(MotorModel, v, 'motors'),
            self._arm.joints_at(hand),
            seed=node.now() % 2**32 if v['seed'] < 0 else v['seed'],
            period=1 / v['rate'],
            names=names,
        )
        self.title, self.plant = model.title, self.emulated(model)
        self.sensors = [s.sensor for s in self.plant.emulation.streams.values()]
        self._read, self._released, self._refused = JointReader(names).read, False, ''
        self._releases = node.polled(AccelStamped, 'hand/accel_command', COMMAND, raw=True)
        self.topics = TruthTopics(
            node, self.plant, world=v['world_frame'], prefix=v['frame_prefix']
        )

    def emulated(self, model: Model) -> EmulatedObject:
        """Return the object on the arm, in front of the camera."""
        v = self.node.values
        camera = camera_sensor(
            model_from(CameraModel, v, 'camera'),
            camera_from(v),
            markers_from(v),
            frame=v['camera_frame'],
        )
        return object_on_arm(
            model.system,
            model.params,
            model.start,
            self._motors,
            [camera],
            slip_share=v['slip_share'],
            resistance=v['rolling_resistance'],
        )

    def read(self, message: bytes) -> tuple[int, tuple[str, Array]]:
        """Return mode and numbers of a command of the motors."""
        command = self._read(message)
        given = [mode for mode in MODES if getattr(command, mode) is not None]
        if len(given) != 1:
            raise ParameterError(f'it has one of {", ".join(MODES)}, got {given or "none"}')
        return command.stamp, (given[0], command.needed(given[0]))

    def obey(self, stamp: int, command: tuple[str, Array]) -> None:  # noqa: ARG002
        """Let the amplifiers take a command."""
        self._motors.command(*command, self.plant.time)

    def prepare(self) -> None:
        """Start the faults that parameters ask for, and hold the object or let it go."""
        v, motors = self.node.values, self._motors
        if (v['fault'], v['fault_joint']) != (motors.fault, motors.joint):
            try:
                inject(self.plant, v['fault'], v['fault_joint'])
            except ParameterError as error:
                self._refused = f'fault_joint: {error}'
        camera = self.plant.emulation.streams['camera']
        if v['camera_fault'] != camera.fault:
            camera.inject(v['camera_fault'])
        if v['held'] and v['release_at_command'] and not self._released:
            for data in self._releases.take():
                with contextlib.suppress(ParameterError):
                    self._released |= decode_stamped(data, ACCEL).stamp >= self.placed
        self.plant.emulation.held = v['held'] and not self._released

    def place(self, stamp: int) -> None:
        """Apply the factors, and hold the object from a time [ns] on if it is to be held."""
        super().place(stamp)
        self._motors.friction, self._released = self.node.values['resistance_factor'], False

    def health(self) -> Health:
        """Return the state of the motors and the present fault."""
        motors, camera = self._motors, self.node.values['camera_fault']
        values: dict[str, Any] = {
            'contact': self.plant.contact_mode,
            'braking': motors.braking,
            'fastest joint [rad/s]': float(max(map(abs, motors.qd.tolist()), default=math.nan)),
        }
        if motors.fault != 'none' or camera != 'none':
            of_motors = f'{motors.fault} of joint {motors.joint + 1}'
            fault = f'camera {camera}' if motors.fault == 'none' else of_motors
            return WARN, f'injected fault: {fault}', values
        if self._refused:
            refused, self._refused = self._refused, ''
            return WARN, refused, values
        return OK, 'braking: no commands' if motors.braking else 'driven', values


class TruthTopics:
    """Publishers of true object, hand and contact."""

    def __init__(
        self, node: SimulatorNode, plant: EmulatedObject, *, world: str, prefix: str
    ) -> None:
        """Create the publishers; a prefix stands before every frame but the world's."""
        self._plant = plant
        self.slow: Slow = (('truth_rate', self.truth),)
        self._encode_hand = OdometryEncoder(world, f'{prefix}hand').encode
        self._encode_object = OdometryEncoder(world, f'{prefix}object').encode
        self._object = node.writer(Odometry, 'object/ground_truth', STREAM_WRITER)
        self._hand = node.writer(Odometry, 'hand/ground_truth', STREAM_WRITER)
        self._mode = node.writer(RollingContact, 'contact/ground_truth', EVENT)

    def state(self, observation: Observation, stamp: int) -> None:
        """Publish the object at a time [ns]."""
        self._object.publish(self._encode_object(stamp, observation.object_.tolist()))

    def truth(self, observation: Observation, stamp: Time) -> None:
        """Publish the hand, and the mode again: a recorder may have started later."""
        self._hand.publish(
            self._encode_hand(time_to_nanoseconds(stamp), observation.hand.tolist())
        )
        self.contact_state(observation, stamp)

    def contact_state(self, observation: Observation, stamp: Time) -> None:
        """Publish mode and gap of the contact."""
        message = RollingContact(mode=self._plant.contact_mode, gap=max(observation.gap, 0.0))
        message.header.stamp = stamp
        self._mode.publish(message)

    def forget(self) -> None:
        """Continue: nothing is drawn."""


def simulated(given: Mapping[str, Any]) -> type[Simulated]:
    """Return an object on a hand as the parameter ``motion`` asks for it."""
    kinds = (RollingObject, HybridObject, ObjectOnArm)
    return dict(zip(MOTIONS, kinds, strict=True)).get(given.get('motion', ''), RollingObject)

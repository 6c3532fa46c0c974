"""
Emulated arm: its amplifiers, an object on its plate and a camera, as hardware seen from ROS.

It takes ``robot_joint_command`` and sends ``robot_joint_states``, as ros2_control's topic-based
hardware does, and ``camera/markers``; the truth goes to topics of its own. In simulated time it is
the clock: it waits for the command that answers its state, where somebody answers.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import math
import sys
import threading
from typing import Any

from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject, Observation
from rolling_dynamics.nodes.plant_node import CompilingNode, ROLLING_RESISTANCE, SLIP_SHARE
from rolling_dynamics.scenario_model import load_model
from rolling_dynamics.simulation.sensing import FAULTS, Measurement
from rolling_hw_interface.emulated_camera import camera_sensor, CameraModel
from rolling_hw_interface.emulated_motors import (
    EmulatedMotors,
    inject,
    MOTOR_FAULTS,
    object_on_arm,
)
from rolling_hw_interface.motor_model import MODES, MotorModel
from rolling_hw_interface.nodes.conversions import markers_to_cloud
from rolling_hw_interface.nodes.model_parameters import (
    arm_of,
    ARM_TABLE,
    CAMERA_POSE,
    CAMERA_TABLE,
    FRAME_PREFIX,
    JOINT_NAMES,
    joint_names_of,
    markers_from,
    model_of,
    MOTOR_TABLE,
    pose_from,
    SCENARIO,
    WORLD_FRAME,
)
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import ACCEL, decode_stamped
from rolling_node_kit.common_parameters import LOCKSTEP_TIMEOUT, RATE_FACTOR
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.joint_state_codec import JointReader, JointReading, JointStateEncoder
from rolling_node_kit.loop_node import CLOCK_PERIOD, LOOP_TABLE, LoopNode
from rolling_node_kit.odometry_codec import OdometryEncoder
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import COMMAND, EVENT, SENSOR_DATA, STREAM_WRITER
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, PointCloud2
from std_srvs.srv import Trigger

PLACE = ('q_WH', 'p_WH')
SIM_START = 100 * 10**9  # of simulated time [ns]: the camera's clock may lie behind
TABLE = (
    SCENARIO,
    *LOOP_TABLE,
    JOINT_NAMES,
    SLIP_SHARE,
    ROLLING_RESISTANCE,
    Parameter('seed', -1, 'random seed; -1 = from the clock', limits=(-1, None), read_only=True),
    Parameter('fault', 'none', 'injected fault of motors and encoders', choices=MOTOR_FAULTS),
    Parameter('camera_fault', 'none', 'injected camera fault', choices=FAULTS),
    Parameter('fault_joint', 0, 'index of the faulty joint, from 0', limits=(0, 5)),
    Parameter(
        'perturbation_position',
        0.0,
        'offset of the object along the plate at ~/reset',
        limits=(-1.0, 1.0),
        unit='m',
    ),
    Parameter(
        'perturbation_rotation',
        0.0,
        'rotation of the object about y at ~/reset',
        limits=(-3.2, 3.2),
        unit='rad',
    ),
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
    Parameter(
        'truth_rate',
        100.0,
        'publication rate of hand/ground_truth and contact/ground_truth',
        limits=(1.0, 2000.0),
        unit='Hz',
        read_only=True,
    ),
    RATE_FACTOR,
    LOCKSTEP_TIMEOUT,
    Parameter(
        'inertia_factor',
        1.0,
        'factor on the inertia of the object, applied at ~/reset',
        limits=(0.1, 10.0),
    ),
    Parameter(
        'resistance_factor',
        1.0,
        'factor on rolling friction and joint friction, applied at ~/reset',
        limits=(0.1, 10.0),
    ),
    WORLD_FRAME,
    FRAME_PREFIX,
    *ARM_TABLE,
    *MOTOR_TABLE,
    *CAMERA_POSE,
    *CAMERA_TABLE,
)


class EmulatedMotorsNode(CompilingNode, LoopNode):
    """Lifecycle node in place of the arm."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('emulated_motors', TABLE)
        self._plant: EmulatedObject | None = None
        self._lock = threading.Lock()
        self._refused = ''

    def set_up(self) -> None:
        """Make the plant and its topics."""
        v = self.values
        model, arm = load_model(v['scenario_file']), arm_of(v)
        names = list(joint_names_of(v, arm))
        hand = np.concatenate([model.start[model.system.state.slice(n)] for n in PLACE])
        motors = EmulatedMotors(
            arm,
            model_of(MotorModel, v, 'motors'),
            arm.joints_at(hand),
            seed=self.now() % 2**32 if v['seed'] < 0 else v['seed'],
            period=1 / v['rate'],
            names=names,
        )
        camera = camera_sensor(
            model_of(CameraModel, v, 'camera'),
            pose_from(v),
            markers_from(v),
            frame=v['camera_frame'],
        )
        self._motors = motors
        self._plant = object_on_arm(
            model.system,
            model.params,
            model.start,
            motors,
            [camera],
            slip_share=v['slip_share'],
            resistance=v['rolling_resistance'],
        )
        self._encode_joints, self._read = JointStateEncoder(names).encode, JointReader(names).read
        world, prefix = v['world_frame'], v['frame_prefix']
        self._encode_hand = OdometryEncoder(world, f'{prefix}hand').encode
        self._encode_object = OdometryEncoder(world, f'{prefix}object').encode
        self._images = self.writer(PointCloud2, 'camera/markers', SENSOR_DATA)
        self._states = self.writer(JointState, 'robot_joint_states', STREAM_WRITER)
        self._object = self.writer(Odometry, 'object/ground_truth', STREAM_WRITER)
        self._hand = self.writer(Odometry, 'hand/ground_truth', STREAM_WRITER)
        self._mode = self.writer(RollingContact, 'contact/ground_truth', EVENT)
        self._time_told = self.writer(Clock, '/clock', STREAM_WRITER) if self.sim_time else None
        self._commands = self.polled(JointState, 'robot_joint_command', COMMAND, raw=True)
        self._releases = self.polled(AccelStamped, 'hand/accel_command', COMMAND, raw=True)
        self.service(Trigger, '~/reset', self._reset)
        self.get_logger().info(f'{model.title}: an arm and its motors, {v["rate"]:g} Hz')

    def begin(self, now: int) -> None:
        """Start the clock of the plant."""
        self._dt = 1.0 / self.values['rate']
        self.stamped = SIM_START
        now = SIM_START if self.sim_time else now
        self._epoch, self._ticks, self._told = now - round(self._plant.time * 1e9), 0, ''
        self._placed, self._released = now, False
        self._clock_every = round(CLOCK_PERIOD / self._dt)

    def period(self) -> float:
        """Return the time between two steps [s]; the factor may change while they go on."""
        return 1.0 / (self.values['rate'] * (self.values['rate_factor'] if self.sim_time else 1.0))

    def tick(self) -> None:
        """Take commands, step, and send what encoders, camera and truth say."""
        with self._lock:
            plant = self._plant
            self._inject()
            self._poll()
            plant.emulation.held = self._holds()
            plant.step(None, self._dt)
            seen, measured, time = plant.observe(), plant.read_measurements(), plant.time
            stamp = self._epoch + round(time * 1e9)
        if self.sim_time:
            self.stamped = stamp
        self._ticks += 1
        joints = [m.value for m in measured if m.sensor.message == 'joint_states']
        self._publish(stamp, joints, seen)
        self._send_images(measured)
        if self.sim_time:
            self.turns.wait(
                stamp,
                self._poll,
                self._commands.wait,
                lambda: self._publish(stamp, joints, seen),
                timeout=self.values['lockstep_timeout'],
            )
            self._loop.period = self.period()

    def _inject(self) -> None:
        """Start the faults that parameters ask for."""
        fault, joint = self.values['fault'], self.values['fault_joint']
        if (fault, joint) != (self._motors.fault, self._motors.joint):
            try:
                inject(self._plant, fault, joint)
            except ParameterError as error:
                self._refused = f'fault_joint: {error}'
        camera = self._plant.emulation.streams['camera']
        if self.values['camera_fault'] != camera.fault:
            camera.inject(self.values['camera_fault'])

    def _send_images(self, measured: Sequence[Measurement]) -> None:
        for m in measured:
            if m.sensor.message == 'points':
                stamp = nanoseconds_to_time(max(self._epoch + round(m.stamp * 1e9), 0))
                points = m.value.reshape(-1, 3)
                self._images.publish(markers_to_cloud(points, stamp, m.sensor.frame))

    def skip(self, seconds: float) -> None:
        """Let the stamps go on with the clock."""
        self._epoch += 0 if self.sim_time else round(seconds * 1e9)

    def _publish(self, stamp: int, joints: Sequence[Array], seen: Observation) -> None:
        """Publish what is measured; what others work with last, so that they have all of it."""
        if self._time_told is not None and self._ticks % self._clock_every == 0:
            self._time_told.publish(Clock(clock=nanoseconds_to_time(stamp)))
        tell_truth, mode = self.due(self._ticks, 'truth_rate'), self._plant.contact_mode
        if mode != self._told or tell_truth:  # a recorder may listen later than it began
            self._told = mode
            message = RollingContact(mode=mode, gap=max(seen.gap, 0.0))
            message.header.stamp = nanoseconds_to_time(stamp)
            self._mode.publish(message)
        if tell_truth:
            self._hand.publish(self._encode_hand(stamp, seen.hand.tolist()))
        self._object.publish(self._encode_object(stamp, seen.object_.tolist()))
        for values in joints:
            columns = values.reshape(3, -1).tolist()
            self._states.publish(self._encode_joints(stamp, *columns))

    def _poll(self) -> None:
        for data in self._commands.take():
            try:
                self._take(self._read(data))
            except ParameterError as error:
                self._refused = f'command refused: {error}'

    def _take(self, command: JointReading) -> None:
        given = [mode for mode in MODES if getattr(command, mode) is not None]
        if len(given) != 1:
            raise ParameterError(f'it has one of {", ".join(MODES)}, got {given or "none"}')
        self.turns.note(command.stamp)
        if self.enabled:
            self._motors.command(given[0], command.needed(given[0]), self._plant.time)

    def _holds(self) -> bool:
        """Tell whether the object is held; a first command may have let it go."""
        if not self.values['held']:
            return False
        if self.values['release_at_command'] and not self._released:
            for data in self._releases.take():
                with contextlib.suppress(ParameterError):
                    self._released |= decode_stamped(data, ACCEL).stamp >= self._placed
        return not self._released

    def _reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        v, plant = self.values, self._plant
        shift, turn = v['perturbation_position'], v['perturbation_rotation']
        with self._lock:
            at, friction = plant.time, v['resistance_factor']
            self._motors.friction = friction
            plant.factors = {'inertia': v['inertia_factor'], 'rolling_resistance': friction}
            plant.reset(position=(shift, 0.0), rotation=(0.0, turn, 0.0))
            self._epoch += round(at * 1e9)
            self._placed, self._released = self.now(), False
        response.success = True
        response.message = f'at the start, shifted by {shift:g} m and turned by {turn:g} rad'
        return response

    def switch(self, *, on: bool) -> str:
        """Take commands again, or let the amplifiers brake."""
        return (
            'commands are accepted'
            if on
            else 'the amplifiers brake; ~/enable accepts commands again'
        )

    def clean_up(self) -> None:
        """Forget the plant."""
        self._plant = None

    def health(self) -> Health:
        """Return what the motors do and the fault at work."""
        if self._plant is None or self._loop is None:
            return OK, 'not running', {}
        motors = self._motors
        values: dict[str, Any] = {
            'time [s]': self._plant.time,
            'contact': self._told,
            'braking': motors.braking,
            'fastest joint [rad/s]': float(max(map(abs, motors.qd.tolist()), default=math.nan)),
        }
        if self._fault:
            return ERROR, self._fault, values
        if self._plant.fault:
            return ERROR, f'the object stopped: {self._plant.fault}; ~/reset starts again', values
        camera, of_joint = self.values['camera_fault'], f'of joint {motors.joint + 1}'
        if motors.fault != 'none' or camera != 'none':
            fault = f'camera {camera}' if motors.fault == 'none' else f'{motors.fault} {of_joint}'
            return WARN, f'injected fault: {fault}', values
        if self._refused:
            refused, self._refused = self._refused, ''
            return WARN, refused, values
        return OK, 'braking: no commands' if motors.braking else 'driven', values


def main() -> int:
    """Run the node."""
    return run_node(EmulatedMotorsNode)


if __name__ == '__main__':
    sys.exit(main())

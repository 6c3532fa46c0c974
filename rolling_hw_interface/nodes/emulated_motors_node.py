"""
Emulated motors: the arm with its amplifiers and an object on its plate, as hardware seen from ROS.

It takes ``robot_joint_command`` and sends ``robot_joint_states``, as ros2_control's topic-based
hardware does; the truth goes to topics of its own. In simulated time it is the clock: it waits for
the command that answers its state, where somebody answers.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
import math
import sys
import threading
from typing import Any

from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.plant_node import CompilingNode, ROLLING_RESISTANCE, SLIP_SHARE
from rolling_dynamics.scenario_model import load_model, Model
from rolling_hw_interface.emulated_plant import EmulatedPlant, JointStates, PlantView
from rolling_hw_interface.faults import MOTOR_FAULTS
from rolling_hw_interface.motor_model import MODES, MotorModel
from rolling_hw_interface.nodes.model_parameters import (
    arm_of,
    ARM_TABLE,
    FRAME_PREFIX,
    JOINT_NAMES,
    joint_names_of,
    model_of,
    MOTOR_TABLE,
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
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_WRITER
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

SIM_START = 100 * 10**9  # of simulated time [ns]: the camera's clock may lie behind
RUBBING = ('coulomb', 'viscous')  # torques of friction in the drives
TABLE = (
    SCENARIO,
    *LOOP_TABLE,
    JOINT_NAMES,
    SLIP_SHARE,
    ROLLING_RESISTANCE,
    Parameter(
        name='seed', default=-1, low=-1, read_only=True, text='random seed; -1 = from the clock'
    ),
    Parameter(
        name='fault',
        default='none',
        choices=MOTOR_FAULTS,
        text='injected fault',
    ),
    Parameter(
        name='fault_joint', default=0, low=0, high=5, text='index of the faulty joint, from 0'
    ),
    Parameter(
        name='perturbation_position',
        default=0.0,
        low=-1.0,
        high=1.0,
        unit='m',
        text='offset of the object along the plate at ~/reset',
    ),
    Parameter(
        name='perturbation_rotation',
        default=0.0,
        low=-3.2,
        high=3.2,
        unit='rad',
        text='rotation of the object about y at ~/reset',
    ),
    Parameter(
        name='held',
        default=False,
        text='hold the object on the plate, as a clamp would, so that it only moves with it',
    ),
    Parameter(
        name='release_at_command',
        default=False,
        text='release a held object at the first hand/accel_command after ~/reset',
    ),
    Parameter(
        name='truth_rate',
        default=100.0,
        low=1.0,
        high=2000.0,
        unit='Hz',
        read_only=True,
        text='publication rate of hand/ground_truth and contact/ground_truth',
    ),
    RATE_FACTOR,
    LOCKSTEP_TIMEOUT,
    Parameter(
        name='inertia_factor',
        default=1.0,
        low=0.1,
        high=10.0,
        text='factor on the inertia of the object, applied at ~/reset',
    ),
    Parameter(
        name='resistance_factor',
        default=1.0,
        low=0.1,
        high=10.0,
        text='factor on rolling friction and joint friction, applied at ~/reset',
    ),
    WORLD_FRAME,
    FRAME_PREFIX,
    *ARM_TABLE,
    *MOTOR_TABLE,
)


class EmulatedMotorsNode(CompilingNode, LoopNode):
    """Lifecycle node in place of the arm."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('emulated_motors', TABLE)
        self._plant: EmulatedPlant | None = None
        self._lock = threading.Lock()
        self._refused = ''

    def set_up(self) -> None:
        """Make the plant and its topics."""
        v = self.values
        model = load_model(v['scenario_file'])
        self._plant, self._factors = self._made_of(model), self._asked_factors()
        self._plant.get_ready()
        self._model = model
        names = list(joint_names_of(v, self._plant.motors.arm))
        self._encode_joints, self._read = JointStateEncoder(names).encode, JointReader(names).read
        world, prefix = v['world_frame'], v['frame_prefix']
        self._encode_hand = OdometryEncoder(world, f'{prefix}hand').encode
        self._encode_object = OdometryEncoder(world, f'{prefix}object').encode
        self._states = self.writer(JointState, 'robot_joint_states', STREAM_WRITER)
        self._object = self.writer(Odometry, 'object/ground_truth', STREAM_WRITER)
        self._hand = self.writer(Odometry, 'hand/ground_truth', STREAM_WRITER)
        self._mode = self.writer(RollingContact, 'contact/ground_truth', EVENT)
        self._time_told = self.writer(Clock, '/clock', STREAM_WRITER) if self.sim_time else None
        self._commands = self.polled(JointState, 'robot_joint_command', COMMAND, raw=True)
        self._releases = self.polled(AccelStamped, 'hand/accel_command', COMMAND, raw=True)
        self.service(Trigger, '~/reset', self._reset)
        self.get_logger().info(f'{model.title}: an arm and its motors, {v["rate"]:g} Hz')

    def _asked_factors(self) -> tuple[float, float]:
        return self.values['inertia_factor'], self.values['resistance_factor']

    def _made_of(self, model: Model) -> EmulatedPlant:
        """Return the plant at its start, with what is off by its factors."""
        v, (inertia, friction) = self.values, self._asked_factors()
        params = model.params.copy()
        params[model.system.parameters.slice('inertia')] *= inertia
        motors = model_of(MotorModel, v, 'motors')
        rubbing: dict[str, Any] = {
            n: tuple(friction * k for k in getattr(motors, n)) for n in RUBBING
        }
        return EmulatedPlant(
            model.system,
            params,
            model.start,
            arm_of(v),
            replace(motors, **rubbing),
            slip_share=v['slip_share'],
            resistance=friction * v['rolling_resistance'],
            seed=self.now() % 2**32 if v['seed'] < 0 else v['seed'],
        )

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
        """Take commands, step, and send what encoders and truth say."""
        with self._lock:
            motors = self._plant.motors
            fault, joint = self.values['fault'], self.values['fault_joint']
            if (fault, joint) != (motors.fault, motors.joint):
                try:
                    motors.inject(fault, joint)
                except ParameterError as error:
                    self._refused = f'fault_joint: {error}'
            self._poll()
            self._plant.held = self._holds()
            view = self._plant.step(self._dt)
            seen, time = motors.read(), self._plant.time
            stamp = self._epoch + round(time * 1e9)
        if self.sim_time:
            self.stamped = stamp
        self._ticks += 1
        self._publish(stamp, seen, view)
        if self.sim_time:
            self.turns.wait(
                stamp,
                self._poll,
                self._commands.wait,
                lambda: self._publish(stamp, seen, view),
                timeout=self.values['lockstep_timeout'],
            )
            self._loop.period = self.period()

    def skip(self, seconds: float) -> None:
        """Let the stamps go on with the clock."""
        self._epoch += 0 if self.sim_time else round(seconds * 1e9)

    def _publish(self, stamp: int, seen: JointStates | None, view: PlantView) -> None:
        """Publish what is seen; what others work with last, so that they have all of it."""
        if self._time_told is not None and self._ticks % self._clock_every == 0:
            self._time_told.publish(Clock(clock=nanoseconds_to_time(stamp)))
        tell_truth = self.due(self._ticks, 'truth_rate')
        if view.mode != self._told or tell_truth:  # a recorder may listen later than it began
            self._told = view.mode
            message = RollingContact(mode=view.mode, gap=max(view.gap, 0.0))
            message.header.stamp = nanoseconds_to_time(stamp)
            self._mode.publish(message)
        if tell_truth:
            self._hand.publish(self._encode_hand(stamp, view.hand.tolist()))
        self._object.publish(self._encode_object(stamp, view.object_.tolist()))
        if seen is not None:
            self._states.publish(self._encode_joints(stamp, *(v.tolist() for v in seen)))

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
            motors = self._plant.motors
            motors.command(given[0], command.needed(given[0]), self._plant.time)

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
        shift = self.values['perturbation_position']
        turn = self.values['perturbation_rotation']
        plant, factors = self._plant, self._asked_factors()
        if factors != self._factors:  # made while the other one goes on
            plant = self._made_of(self._model)
        with self._lock:
            at = self._plant.time
            self._plant, self._factors = plant, factors
            self._plant.reset(shift=shift, turn=turn)
            self._epoch += round((at - self._plant.time) * 1e9)
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
        motors = self._plant.motors
        values: dict[str, Any] = {
            'time [s]': self._plant.time,
            'contact': self._told,
            'braking': motors.braking,
            'fastest joint [rad/s]': float(max(map(abs, motors.qd.tolist()), default=math.nan)),
        }
        if self._fault:
            return ERROR, self._fault, values
        if self._plant.ended:
            return ERROR, f'the object stopped: {self._plant.ended}; ~/reset starts anew', values
        if motors.fault != 'none':
            return WARN, f'injected fault: {motors.fault} of joint {motors.joint + 1}', values
        if self._refused:
            refused, self._refused = self._refused, ''
            return WARN, refused, values
        return OK, 'braking: no commands' if motors.braking else 'driven', values


def main() -> int:
    """Run the node."""
    return run_node(EmulatedMotorsNode)


if __name__ == '__main__':
    sys.exit(main())

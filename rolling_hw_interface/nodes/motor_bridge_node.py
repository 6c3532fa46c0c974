"""
Motor bridge: from accelerations of the hand to joint commands, with limits and watchdogs.

It drives motors through ros2_control's topic-based hardware pair or through the command topic of a
controller, whether they are real or emulated. In simulated time it answers each joint state once,
after the controller has, where one is at work.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
import os
import sys
import threading
import time

from geometry_msgs.msg import AccelStamped
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.nodes.chosen import CompilingNode
from rolling_dynamics.nodes.topics import COMMANDS
from rolling_hw_interface.arm import Arm, Chain
from rolling_hw_interface.arm_urdf import arm_urdf, chain_from, model_from
from rolling_hw_interface.motor_bridge import BridgeSettings, MotorBridge
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.nodes.conversions import joints_to_trajectory
from rolling_hw_interface.nodes.model_parameters import (
    arm_frames,
    ARM_TABLE,
    BRIDGE_TABLE,
    FRAME_PREFIX,
    JOINT_NAMES,
    joint_names_of,
    MOTOR_TABLE,
    STATE_TOPIC,
    WORLD_FRAME,
)
from rolling_node_kit.cdr import (
    ACCEL,
    decode_stamped,
    hand_control,
    JointReader,
    JointStateEncoder,
    Stamped,
)
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.loop_node import LOOP_TABLE, LoopNode
from rolling_node_kit.parameters import fixed, LOCKSTEP_TIMEOUT, TF_RATE
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import COMMAND, LATCHED, STREAM_POLLED, STREAM_WRITER
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from tf2_msgs.msg import TFMessage


def security_gap(environment: Mapping[str, str]) -> str:
    """
    Return a line about open network access, or the empty string.

    ROS compares both variables letter by letter: ``True`` and ``enforce`` count as not set.

    Parameters
    ----------
    environment
        Environment of the process.

    """
    if environment.get('ROS_SECURITY_ENABLE') != 'true':
        return (
            'security is off (ROS_SECURITY_ENABLE is not "true"): whoever reaches this ROS domain '
            'can move the motors; see docs/security.md'
        )
    if environment.get('ROS_SECURITY_STRATEGY') != 'Enforce':
        return (
            'security is not enforced (ROS_SECURITY_STRATEGY is not "Enforce"): a node without '
            'keys starts all the same, unprotected; see docs/security.md'
        )
    return ''


TABLE = (
    *LOOP_TABLE,
    JOINT_NAMES,
    STATE_TOPIC,
    fixed(
        'output',
        'joint_state',
        'kind of command: for topic-based hardware, or for a controller',
        choices=tuple(COMMANDS),
    ),
    fixed('command_topic', '', 'command topic; empty = default topic of the command interface'),
    fixed('publish_joint_states', True, 'publish joint_states; off with joint_state_broadcaster'),
    fixed(
        'joint_states_rate',
        100.0,
        'publication rate of joint_states',
        limits=(1.0, 2000.0),
        unit='Hz',
    ),
    fixed('publish_frames', True, 'publish frames of the links; off with robot_state_publisher'),
    TF_RATE,
    LOCKSTEP_TIMEOUT,
    WORLD_FRAME,
    FRAME_PREFIX,
    *BRIDGE_TABLE,
    *ARM_TABLE,
    *MOTOR_TABLE,
)


class MotorBridgeNode(CompilingNode, LoopNode):
    """Lifecycle node that steps the bridge."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('motor_bridge', TABLE)
        self._bridge: MotorBridge | None = None
        self._lock = threading.Lock()
        self._refused = ''
        self._position: Array | None = None
        gap = security_gap(os.environ)
        if gap:
            self.get_logger().warning(gap)

    def set_up(self) -> None:
        """Make the bridge and its topics."""
        arm = Arm(chain_from(self.values))
        motors = model_from(MotorModel, self.values, 'motors')
        settings = model_from(BridgeSettings, self.values, 'drive')
        self._output = self.values['output']
        if self._output == 'trajectory' and settings.mode == 'effort':
            raise ParameterError(
                "output 'trajectory' goes with drive.mode 'position' or 'velocity', got 'effort'"
            )
        self._bridge = MotorBridge(arm, motors, settings)
        self._names = list(joint_names_of(self.values, arm))
        self._read = JointReader(self._names).read
        self._encode = JointStateEncoder(self._names, (settings.mode,)).encode
        kind, usual = COMMANDS[self._output]
        self._commands = self.writer(kind, self.values['command_topic'] or usual, COMMAND)
        self._joint_states = (
            self.writer(JointState, 'joint_states', STREAM_WRITER)
            if self.values['publish_joint_states']
            else None
        )
        self._tf = None
        if self.values['publish_frames']:
            self._tf = self.writer(TFMessage, '/tf', STREAM_WRITER)
            self._describe(arm.chain)
        self._accelerations = self.polled(AccelStamped, 'hand/accel_command', COMMAND, raw=True)
        self._states = self.polled(JointState, self.values['state_topic'], STREAM_POLLED, raw=True)
        self._frame = f'{self.values["frame_prefix"]}hand'
        self.get_logger().info(
            f'driving {", ".join(self._names)} by {settings.mode}, stops within '
            f'{settings.command_timeout + settings.stop_time:g} s of the last command'
        )

    def _describe(self, chain: Chain) -> None:
        """Publish the arm as URDF."""
        world, prefix = self.values['world_frame'], self.values['frame_prefix']
        text = arm_urdf(chain, self._names, world=world, prefix=prefix)
        self.writer(String, 'robot_description', LATCHED).publish(String(data=text))

    def begin(self, now: int) -> None:
        """Start from where the arm is."""
        self._epoch, self._ticks, self._dt = now, 0, 1.0 / self.values['rate']
        self._newest = b''
        self._answer: tuple[int, Array | None] = (-1, None)
        self.enabled = True
        if self._bridge.phase != 'waiting':
            self._bridge.enable(0.0)

    def wait(self, seconds: float) -> None:
        """In simulated time wait for the next state, at most this long [s]."""
        self._states.wait(seconds)

    def tick(self) -> None:
        """Take states and commands, and send what follows from them."""
        now = self.now()
        with self._lock:
            came = self._take_states(now)
            if self.sim_time:
                now = self.stamped
                if not came:
                    return
                if now == self._answer[0]:  # it came again: so does the answer
                    self._send(*self._answer)
                    return
                timeout = self.values['lockstep_timeout']
                self.turns.wait(
                    now, self._take_commands, self._accelerations.wait, timeout=timeout
                )
            self._take_commands()
            out = self._bridge.step(self._seconds(now), self._dt)
        self._answer = (now, out)
        self._send(now, out)
        self._ticks += 1
        self._publish_slowly(now)

    def _seconds(self, now: int) -> float:
        return (now - self._epoch) * 1e-9

    def _publish_slowly(self, now: int) -> None:
        """Publish the topics for observers that are due."""
        joints, self._newest = self._newest, b''
        reports = self._joint_states is not None and self.due(self._ticks, 'joint_states_rate')
        if joints and reports:
            self._joint_states.publish(joints)
        due = self.due(self._ticks, 'tf_rate', 1)
        if due and self._tf is not None and self._position is not None:
            self._tf.publish(
                arm_frames(
                    self._bridge.arm.chain,
                    self._position,
                    nanoseconds_to_time(now),
                    self.values['world_frame'],
                    self.values['frame_prefix'],
                )
            )

    def _take_states(self, now: int) -> bool:
        """Take joint states; return whether any came, in simulated time a new one."""
        came = False
        for data in self._states.take():
            try:
                read = self._read(data)
                position, velocity = read.needed('position'), read.needed('velocity')
            except ParameterError as error:
                self._refused = str(error)
                continue
            came = True
            if self.sim_time:  # one without an answer comes again
                self.stamped = now = read.stamp
            self._newest = data
            self._bridge.take_state(position, velocity, self._seconds(now))
            if math.isfinite(position.sum()):
                self._position = position
        return came

    def _take_commands(self) -> None:
        t = self._seconds(self.now())
        for data in self._accelerations.take():
            try:
                stamp, _, values = self._in_our_frame(decode_stamped(data, ACCEL))
            except ParameterError as error:
                self._refused = str(error)
                continue
            self.turns.note(stamp)
            self._bridge.take_command(hand_control(values), t)

    def _in_our_frame(self, command: Stamped) -> Stamped:
        if command.frame not in ('', self._frame):
            raise ParameterError(
                f'command in frame {quoted(command.frame)} rejected, {self._frame!r} is needed'
            )
        return command

    def _send(self, now: int, out: Array | None) -> None:
        if out is None:
            return
        if self._output == 'array':
            self._commands.publish(Float64MultiArray(data=out.tolist()))
        elif self._output == 'trajectory':
            ahead = 2 * self._dt
            q = self._bridge.q + ahead * self._bridge.qd
            self._commands.publish(
                joints_to_trajectory(self._names, now, q, self._bridge.qd, ahead)
            )
        else:
            self._commands.publish(self._encode(now, out.tolist()))

    def switch(self, *, on: bool) -> str:
        """Enable, or stop in the stated time."""
        if self._bridge is None or self._loop is None:
            return 'the node is not active'
        with self._lock:
            t = self._seconds(self.now())
            if on:
                self._bridge.enable(t)
                return 'commands are accepted'
            self._bridge.stop(t)
        return f'at rest within {self._bridge.settings.stop_time:g} s; ~/enable takes commands'

    def wind_down(self) -> None:
        """Bring the arm to rest before the loop ends."""
        self.switch(on=False)
        end = time.monotonic() + self._bridge.settings.stop_time + 0.1
        while self._bridge.phase == 'stopping' and time.monotonic() < end:
            time.sleep(0.005)

    def clean_up(self) -> None:
        """Forget the arm."""
        self._bridge, self._position = None, None

    def health(self) -> Health:
        """Return phase, faults and punctuality."""
        bridge = self._bridge
        if bridge is None:
            return OK, 'not running', {}
        values = {
            'phase': bridge.phase,
            'steps changed by a limit': bridge.clipped,
        }
        if self._fault or bridge.phase == 'stopped':
            return ERROR, self._fault or f'stopped: {bridge.reason}', values
        refused = self._refused or bridge.refused
        if refused:
            self._refused = bridge.refused = ''
            return WARN, refused, values
        if bridge.phase == 'waiting':
            return WARN, f'no joint states on {self.values["state_topic"]} yet', values
        if bridge.reason:
            return WARN, f'{bridge.phase}: {bridge.reason}', values
        return OK, bridge.phase, values


def main() -> int:
    """Run the node."""
    return run_node(MotorBridgeNode)


if __name__ == '__main__':
    sys.exit(main())

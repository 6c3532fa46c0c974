"""The topics of a ball that servos move: frames of a camera in, commands of the servos out."""

from __future__ import annotations

from geometry_msgs.msg import PoseWithCovarianceStamped
import numpy as np
from rclpy.duration import Duration
from rolling_controller.nodes.machine import stamp_check
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import RigFile
from rolling_dynamics.errors import quoted
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.newest_state import NewestState, StampCheck
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.qos import COMMAND, SENSOR_DATA
from rolling_node_kit.suite_node import SuiteNode
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


class Frames(NewestState[Array]):
    """Positions of the ball (2) [m] on the plate; not a number where a frame shows no ball."""

    def __init__(self, plate: str, check: StampCheck) -> None:
        """Take frames of a camera whose positions are in this frame."""
        super().__init__(check)
        self._plate = plate

    def take(self, message: PoseWithCovarianceStamped) -> int:
        """Take a message; return its stamp [ns], zero where it is of no use."""
        frame, p = message.header.frame_id, message.pose.pose.position
        if frame not in ('', self._plate):
            self.refuse(
                f'vision/object_pose in frame {quoted(frame)} refused, {self._plate!r} is needed'
            )
            return 0
        stamp = time_to_nanoseconds(message.header.stamp)
        self.offer(stamp, np.array([p.x, p.y]))
        self.state()
        return stamp

    def _read(self, raw: Array) -> Array:
        return raw


class RigMachine:
    """See :class:`rolling_controller.nodes.machine.Machine`; a command is what a law gives."""

    missing = 'no vision/object_pose came yet'

    def __init__(self, node: SuiteNode, file: RigFile, plate: str, values: ParameterTable) -> None:
        """Create the topics; ``plate`` is the frame of the positions."""
        self._file = file
        self._system, self._p = file.system_and_parameters()
        self._servos = file.actuator(self._system)
        self.measured = Frames(plate, stamp_check(node, values))
        self._frames = node.polled(PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA)
        self.polled = [self._frames]
        self._message = JointTrajectory(joint_names=list(self._servos.joints))
        self._commands = node.writer(JointTrajectory, self._servos.topic, COMMAND)
        self._sent = 0

    def poll(self) -> None:
        """Take what came; a frame that comes again is answered again."""
        for message in self._frames.take():
            stamp = self.measured.take(message)
            if stamp and stamp == self._sent:
                self._commands.publish(self._message)

    def wait(self, seconds: float) -> None:
        """Wait for a frame, at most this long [s]."""
        self._frames.wait(seconds)

    def send(self, u: Array, stamp: int) -> None:
        """Send what a law gives for the frame of a stamp [ns]."""
        numbers = self._file.command(self._system, self._p, u).tolist()
        self._message.header.stamp, self._sent = nanoseconds_to_time(stamp), stamp
        self._message.points = [JointTrajectoryPoint(**{self._servos.message: numbers})]
        self._commands.publish(self._message)

    def await_acknowledgement(self, timeout: float) -> None:
        """Wait until the last command has arrived, at most this time [s]."""
        self._commands.wait_for_all_acked(Duration(seconds=timeout))

    def bound(self, states: Array) -> None:
        """Return None: there is no hand."""

    def safe(self, x: Array) -> Array:  # noqa: ARG002
        """Return what levels the plate."""
        return np.zeros(2)

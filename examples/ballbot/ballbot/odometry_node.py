"""Node that publishes the state of the robot as its instruments measure it."""

from collections.abc import Sequence
import sys

import numpy as np
from rolling_dynamics.scenario import load_scenario
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import SENSOR_DATA, STREAM_WRITER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import Imu, JointState

from ballbot.instruments import ENCODERS, IMU, Odometry

TABLE = (
    Parameter(name='scenario_file', default='', read_only=True, text='scenario of the robot'),
)


class OdometryNode(SuiteNode):
    """Takes ``imu`` and ``drive_states``; ``estimated_state`` answers each two of the same time."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('odometry', TABLE)

    def configure(self) -> None:
        """Load the robot and create the topics."""
        scenario = load_scenario(self.values['scenario_file'])
        self._odometry, self._message = Odometry(scenario), JointState()
        self._x, self._time = self._odometry.start, None
        self._message.name = list(scenario.system.state.names)
        self._seen = {}  # newest numbers of each instrument, with their stamp [ns]
        self._states = self.writer(JointState, 'estimated_state', STREAM_WRITER)
        self.reader(Imu, IMU.topic, self._take_imu, SENSOR_DATA)
        self.reader(JointState, ENCODERS.topic, self._take_drives, SENSOR_DATA)
        self.get_logger().info('the state is measured')

    def _take_imu(self, message: Imu) -> None:
        q, w = message.orientation, message.angular_velocity
        self._take('imu', message, [q.w, q.x, q.y, q.z, w.x, w.y, w.z])

    def _take_drives(self, message: JointState) -> None:
        self._take('drives', message, message.velocity)

    def _take(self, name: str, message: Imu | JointState, numbers: Sequence[float]) -> None:
        """Step once both instruments have the same time; what comes again is answered again."""
        stamp = time_to_nanoseconds(message.header.stamp)
        self._seen[name] = stamp, numbers
        (imu_stamp, imu), (drive_stamp, drives) = (
            self._seen.get(key, (None, ())) for key in ('imu', 'drives')
        )
        if imu_stamp != drive_stamp:
            return
        if self._time is None or stamp > self._time:
            dt = 0.0 if self._time is None else (stamp - self._time) * 1e-9
            self._x, self._time = (
                self._odometry.step(self._x, np.array([*imu, *drives]), dt),
                stamp,
            )
        self._message.header.stamp, self._message.position = message.header.stamp, self._x.tolist()
        self._states.publish(self._message)


def main() -> int:
    """Run the node."""
    return run_node(OdometryNode)


if __name__ == '__main__':
    sys.exit(main())

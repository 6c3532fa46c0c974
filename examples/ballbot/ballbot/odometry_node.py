"""Node that publishes the state of the robot as its instruments measure it."""

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
    """Takes ``imu`` and ``drive_states``, and answers each pair by ``estimated_state``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('odometry', TABLE)

    def configure(self) -> None:
        """Load the robot and create the topics."""
        scenario = load_scenario(self.values['scenario_file'])
        self._odometry, self._message = Odometry(scenario), JointState()
        self._x, self._time = self._odometry.start, None
        self._message.name = list(scenario.system.state.names)
        self._seen = np.full(7, np.nan)  # of the newest message of the IMU
        self._states = self.writer(JointState, 'estimated_state', STREAM_WRITER)
        self.reader(Imu, IMU.topic, self._take_imu, SENSOR_DATA)
        self.reader(JointState, ENCODERS.topic, self._take_drives, SENSOR_DATA)
        self.get_logger().info('the state is measured')

    def _take_imu(self, message: Imu) -> None:
        q, w = message.orientation, message.angular_velocity
        self._seen = np.array([q.w, q.x, q.y, q.z, w.x, w.y, w.z])

    def _take_drives(self, message: JointState) -> None:
        stamp = time_to_nanoseconds(message.header.stamp)
        if self._time is not None and stamp <= self._time:  # it came again: so does the answer
            self._states.publish(self._message)
            return
        dt = 0.0 if self._time is None else (stamp - self._time) * 1e-9
        measured = np.append(self._seen, message.velocity)
        self._x, self._time = self._odometry.step(self._x, measured, dt), stamp
        self._message.header.stamp, self._message.position = message.header.stamp, self._x.tolist()
        self._states.publish(self._message)


def main() -> int:
    """Run the node."""
    return run_node(OdometryNode)


if __name__ == '__main__':
    sys.exit(main())

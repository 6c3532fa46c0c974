"""The topics of a rolling robot: its state and heading in, its control out."""

from __future__ import annotations

import math
import time

from nav_msgs.msg import Odometry
import numpy as np
from rclpy.duration import Duration
from rolling_controller.measured_state import SensorFilter
from rolling_controller.nodes.machine import stamp_check
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.sensor_topics import read_measurement, TYPES
from rolling_dynamics.robots import Observer
from rolling_dynamics.scenario_model import RobotModel
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.joint_state_codec import JointStateDecoder
from rolling_node_kit.newest_state import NewestState, StampCheck
from rolling_node_kit.odometry_codec import decode_odometry
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.qos import COMMAND, SENSOR_DATA, STREAM_POLLED, STREAM_READER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import JointState

SAME_TURN = 0.99  # of a period of a sensor, within which it has measured


class RobotStates(NewestState[Array]):
    """Takes states by the names of their layout; none of them depends on those before."""

    def __init__(self, layout: Layout, topic: str, check: StampCheck | None = None) -> None:
        """Take states of this layout; the topic is named where one is refused."""
        super().__init__(check)
        self._decoder = JointStateDecoder(layout.names)
        self._topic = topic
        self._quaternions = [
            layout.slice(e.name) for e in layout.entries if e.kind == 'quaternion'
        ]

    def take(self, data: bytes) -> None:
        """Take one serialized message."""
        try:
            stamp, x = self._decoder.read(data)
        except ParameterError as error:
            self.refuse(f'{self._topic}: {error}')
            return
        if not math.isfinite(x.sum()):
            self.refuse(f'{self._topic} is not finite')
            return
        for where in self._quaternions:
            norm = math.sqrt(float(x[where] @ x[where]))
            if not 0.5 < norm < 2.0:
                self.refuse(f'{self._topic}: a quaternion has the norm {norm:.3g}')
                return
            x[where] /= norm
        self.offer(stamp, x)
        self.state()

    def _read(self, raw: Array) -> Array:
        return raw


class SensedStates(NewestState[Array]):
    """
    States that a filter makes of what the sensors of a robot measure.

    Attributes
    ----------
    polled
        The topics of the sensors, by name.
    u
        Control that was sent last.

    """

    def __init__(self, node: SuiteNode, model: RobotModel, check: StampCheck) -> None:
        """Listen to the sensors of a scenario; the robot is at its start."""
        super().__init__(check)
        scenario = model.scenario
        if not scenario.sensors:
            raise ParameterError(f'{model.title}: estimate_state needs sensors, there are none')
        given = scenario.system, scenario.p, scenario.sensors, scenario.x0
        self._filter = SensorFilter(*given)
        self.polled = {
            s.name: node.polled(TYPES[s.message], s.topic, SENSOR_DATA) for s in scenario.sensors
        }
        self._belief, self.u = self._filter.start(), np.zeros(scenario.system.control.size)
        self._first, self._last = 0, dict.fromkeys(self.polled, 0)  # stamps [ns]

    def poll(self) -> None:
        """Take what came; a state is new once all sensors have measured that were to."""
        came = [
            (time_to_nanoseconds(message.header.stamp), name, message)
            for name, topic in self.polled.items()
            for message in topic.take()
        ]
        for stamp, name, message in sorted(came, key=lambda one: one[0]):
            if stamp <= self._last[name]:
                continue
            self._first, self._last[name] = self._first or stamp, stamp
            y = self._filter.of(name, read_measurement(self._filter.sensors[name], message))
            t = (stamp - self._first) * 1e-9
            self._belief = self._filter.step(self._belief, y, self.u, t)
        newest = max(self._last.values())
        due = (
            newest - self._last[name] < SAME_TURN * 1e9 / sensor.rate
            for name, sensor in self._filter.sensors.items()
        )
        if came and all(self._last.values()) and all(due):
            self.offer(newest, self._belief.x)
            self.state()

    def _read(self, raw: Array) -> Array:
        return raw


class RobotMachine:
    """
    See :class:`Machine`; it also knows where the robot heads.

    Attributes
    ----------
    holds_at
        Faults at which the robot is held where it is, see :class:`RobotView`.

    """

    def __init__(self, node: SuiteNode, model: RobotModel, values: ParameterTable) -> None:
        """Create the topics."""
        self._node, self._values = node, values
        self._limits = model.scenario.control_limits
        self.holds_at = model.view.holds_at or frozenset()
        self._observer = Observer(model.view, model.params, next(iter(model.system.modes)))
        self._yaw = 0.0
        self._commands = node.writer(JointState, 'robot/control', COMMAND)
        check = stamp_check(node, values)
        self.measured: RobotStates | SensedStates
        if values['estimate_state']:
            self.measured = SensedStates(node, model, check)
            self.polled = list(self.measured.polled.values())
        else:
            self.measured = RobotStates(model.system.state, 'robot/state', check)
            self.polled = [node.polled(JointState, 'robot/state', STREAM_POLLED, raw=True)]
        self._odometry = node.polled(Odometry, 'odom', STREAM_READER, raw=True)
        self._message = JointState(name=list(model.system.control.names))

    @property
    def missing(self) -> str:
        """What to tell a user as long as no state came."""
        return f'nothing came yet on {" or ".join(topic.topic for topic in self.polled)}'

    @property
    def yaw(self) -> float:
        """Angle of base_link about the normal of the floor [rad], as told last; 0 if never."""
        for data in self._odometry.take():
            try:
                _, pose = decode_odometry(data)
            except ParameterError as error:
                self.measured.refuse(str(error))
            else:
                w, _, _, z = pose[:4].tolist()
                if math.isfinite(w + z):
                    self._yaw = 2 * math.atan2(z, w)
        return self._yaw

    def poll(self) -> None:
        """Take what came, where the executor does not."""
        if isinstance(self.measured, SensedStates):
            self.measured.poll()
            return
        for data in self.polled[0].take():
            self.measured.take(data)

    def wait(self, seconds: float) -> None:
        """Wait for a state, at most this long [s]."""
        end = time.monotonic() + seconds
        for topic in self.polled:
            topic.wait(max(end - time.monotonic(), 0.0))

    def send(self, u: Array, stamp: int) -> None:
        """Send the control that is to act at a time [ns]."""
        if isinstance(self.measured, SensedStates):
            self.measured.u = u
        self._message.header.stamp = nanoseconds_to_time(stamp)
        self._message.effort = u.tolist()
        self._commands.publish(self._message)

    def await_acknowledgement(self, timeout: float) -> None:
        """Wait until the last command has arrived, at most this time [s]."""
        self._commands.wait_for_all_acked(Duration(seconds=timeout))

    def bound(self, states: Array) -> None:
        """Return None: a robot has no hand."""

    def safe(self, x: Array) -> Array:
        """Return the control that brings the robot to rest, as the simulator's own."""
        now = self._node.get_clock().now().nanoseconds * 1e-9
        u = self._observer.safe_control(x, now, self._values['brake_time'])
        return np.array(np.clip(u, -self._limits, self._limits))

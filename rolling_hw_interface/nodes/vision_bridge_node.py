"""
Vision bridge: messages of motion capture or a camera, as poses of the object in the world.

Poses with or without covariance, or positions of markers to which a rigid body is fitted.
"""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
import numpy as np
from rclpy.experimental.events_executor import EventsExecutor
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.nodes.topics import body_matrix
from rolling_hw_interface.nodes.conversions import pose_to_arrays
from rolling_hw_interface.nodes.model_parameters import (
    CAMERA_POSE,
    FRAME_PREFIX,
    markers_from,
    WORLD_FRAME,
)
from rolling_hw_interface.vision import camera_from, MarkerPattern, PoseMeasurement, Vision
from rolling_hw_interface.watchdog import Watchdog
from rolling_node_kit.cdr import POSE, StampedEncoder
from rolling_node_kit.conversions import (
    cloud_to_points,
    matrix_to_transform,
    time_to_nanoseconds,
)
from rolling_node_kit.parameters import fixed, Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import SENSOR_DATA, STREAM_WRITER
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode, WARN
from sensor_msgs.msg import PointCloud2
from tf2_msgs.msg import TFMessage

INPUTS = {
    'markers': PointCloud2,
    'pose': PoseStamped,
    'pose_with_covariance': PoseWithCovarianceStamped,
}
TABLE = (
    fixed(
        'input',
        'markers',
        'input type: marker positions, poses, or poses with covariance',
        choices=tuple(INPUTS),
    ),
    fixed('input_topic', 'camera/markers', 'input topic'),
    *CAMERA_POSE,
    fixed(
        'fit_tolerance',
        1e-3,
        'maximum rms residual of a marker fit; beyond it an image is rejected',
        limits=(1e-6, 0.1),
        unit='m',
    ),
    fixed(
        'marker_noise',
        2e-4,
        'standard deviation of each coordinate of a marker',
        limits=(1e-7, 0.1),
        unit='m',
    ),
    fixed(
        'position_noise',
        2e-4,
        'position standard deviation of a pose without covariance',
        limits=(1e-7, 0.1),
        unit='m',
    ),
    fixed(
        'angle_noise',
        4e-3,
        'attitude standard deviation of a pose without covariance',
        limits=(1e-6, 1.0),
        unit='rad',
    ),
    Parameter(
        'image_timeout',
        0.1,
        'time without a pose after which diagnostics report an error',
        limits=(0.005, 10.0),
        unit='s',
    ),
    fixed(
        'tf_rate',
        50.0,
        'publication rate of the frame object_measured; 0 = off',
        limits=(0.0, 100.0),
        unit='Hz',
    ),
    WORLD_FRAME,
    FRAME_PREFIX,
)


class VisionBridgeNode(SuiteNode):
    """Lifecycle node that publishes ``vision/object_pose``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('vision_bridge', TABLE)
        self._vision: Vision | None = None
        self._refused = ''

    def configure(self) -> None:
        """Make the conversion and its topics."""
        v = self.values
        pattern = None
        if v['input'] == 'markers':
            pattern = MarkerPattern(markers_from(v), tolerance=v['fit_tolerance'])
        self._vision = Vision(
            camera_from(v),
            pattern=pattern,
            marker_noise=v['marker_noise'],
            position_noise=v['position_noise'],
            angle_noise=v['angle_noise'],
        )
        self._fresh = Watchdog(v['image_timeout'])
        self._poses = self.writer(PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA)
        self._tf = self.writer(TFMessage, '/tf', STREAM_WRITER)
        self._encode = StampedEncoder(v['world_frame'], POSE).encode
        self._last: tuple[PoseMeasurement, Any] | None = None
        self.reader(INPUTS[v['input']], v['input_topic'], self._take, SENSOR_DATA)
        self.serve_switch()
        if v['tf_rate'] > 0:
            self.timer(1.0 / v['tf_rate'], self._send_frame)
        self.get_logger().info(f'{v["input"]} from {v["input_topic"]}')

    def cleanup(self) -> None:
        """Forget the conversion."""
        self._vision = self._last = None

    def _take(self, message: Any) -> None:
        if not self.active or not self.enabled or self._vision is None:
            return
        frame, wanted = message.header.frame_id, self.values['camera_frame']
        if frame != wanted:
            self._refused = f'image in frame {quoted(frame)}, {wanted!r} is needed'
            return
        try:
            found = self._measure(message)
        except ParameterError as error:
            self._refused = str(error)
            return
        if found is None:
            self._refused = self._vision.refused
            return
        self._fresh.feed(self._seconds())
        self._last = (found, message.header.stamp)
        (x, y, z), (qw, qx, qy, qz) = found.p.tolist(), found.q.tolist()
        numbers = (x, y, z, qx, qy, qz, qw, *found.covariance.ravel().tolist())
        self._poses.publish(self._encode(time_to_nanoseconds(message.header.stamp), numbers))

    def _measure(self, message: Any) -> PoseMeasurement | None:
        kind = self.values['input']
        if kind == 'markers':
            return self._vision.from_markers(cloud_to_points(message))
        if kind == 'pose':
            return self._vision.from_pose(*pose_to_arrays(message.pose))
        covariance = np.array(message.pose.covariance).reshape(6, 6)
        return self._vision.from_pose(*pose_to_arrays(message.pose.pose), covariance)

    def _seconds(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)

    def _send_frame(self) -> None:
        last, self._last = self._last, None
        if last is None or not self.active:
            return
        found, stamp = last
        X = body_matrix(np.concatenate([found.q, found.p]))
        name = f'{self.values["frame_prefix"]}object_measured'
        world = self.values['world_frame']
        self._tf.publish(TFMessage(transforms=[matrix_to_transform(X, stamp, world, name)]))

    def switch(self, *, on: bool) -> str:
        """Take images, or none."""
        return f'vision input is {"enabled" if on else "disabled; ~/enable enables it"}'

    def health(self) -> Health:
        """Return how many images gave a pose."""
        if self._vision is None:
            return OK, 'not running', {}
        values: dict[str, Any] = dict(self._vision.counts)
        self._fresh.timeout = self.values['image_timeout']
        refused, self._refused = self._refused, ''
        if not self.enabled:
            return WARN, 'stopped: vision input is disabled', values
        if self._fresh.expired(self._seconds()):
            why = f' ({refused})' if refused else ''
            return ERROR, f'no pose for {self.values["image_timeout"]:g} s{why}', values
        return (WARN, refused, values) if refused else (OK, 'seeing the object', values)


def main() -> int:
    """Run the node."""
    return run_node(VisionBridgeNode, make_executor=EventsExecutor)


if __name__ == '__main__':
    sys.exit(main())

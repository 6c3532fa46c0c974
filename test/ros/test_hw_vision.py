"""The vision bridge node with a fake camera and a fake motion-capture driver."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
import numpy as np
import pytest
from rolling_hw_interface.emulated_camera import MARKERS
from rolling_node_kit.conversions import cloud_to_points, points_to_cloud
from rolling_node_kit.qos import EVENT, SENSOR_DATA, STREAM_READER
from sensor_msgs.msg import PointCloud2, PointField
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

VISION = 'rolling_hw_interface.nodes.vision_bridge_node'
PLACES = np.array(MARKERS)


@pytest.fixture(scope='module')
def node(run_process):
    return run_process(VISION, params={'diagnostics_period': 0.1}).wait_for('markers from')


class FakeCamera:
    """Sends markers of an object at a place in the camera, never twice the same."""

    def __init__(self, peer, *, frame='camera', noise=1e-6, place=(0.1, -0.05, 1.0)):
        self._rng = np.random.default_rng(0)
        self._peer, self._frame, self._noise, self._place = peer, frame, noise, place
        self._writer = peer.node.create_publisher(PointCloud2, 'camera/markers', SENSOR_DATA)

    def _send(self):
        seen = PLACES + self._place + self._rng.normal(size=PLACES.shape) * self._noise
        now = self._peer.node.get_clock().now().to_msg()
        self._writer.publish(points_to_cloud(seen, now, self._frame))

    def __enter__(self):
        self._sending = self._peer.every(0.02, self._send)
        self._sending.__enter__()
        return self

    def __exit__(self, *_):
        self._sending.__exit__(None, None, None)


def health(peer, text):
    accept = lambda m: m.status[0].name == 'vision_bridge' and text in m.status[0].message  # noqa: E731
    return peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=accept)


def test_markers_become_a_pose_in_the_world(peer, node):
    with FakeCamera(peer):
        found = peer.collect(PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA)[0]
        frame = peer.collect(
            TFMessage,
            '/tf',
            STREAM_READER,
            accept=lambda m: m.transforms[0].child_frame_id == 'object_measured',
        )
    p, q = found.pose.pose.position, found.pose.pose.orientation
    # the camera stands at (0, -1, 0.1) and looks along +y, its y axis downwards
    assert [p.x, p.y, p.z] == pytest.approx([0.1, 0.0, 0.15], abs=1e-5)
    assert [q.x, q.y, q.z, q.w] == pytest.approx([-(0.5**0.5), 0, 0, 0.5**0.5], abs=1e-3)
    assert found.header.frame_id == 'world'
    assert np.linalg.eigvalsh(np.array(found.pose.covariance).reshape(6, 6))[0] > 0
    assert frame[0].transforms[0].header.frame_id == 'world'


def test_other_frame_frozen_image_and_blindness_are_told(peer, node):
    with FakeCamera(peer, frame='elsewhere'):
        health(peer, "image in frame 'elsewhere', 'camera' is needed")
    with FakeCamera(peer, noise=0.0):
        health(peer, 'the image is frozen')
    health(peer, 'no pose for 0.1 s')


def test_stop_takes_no_more_images(peer, node):
    assert peer.call(Trigger, 'vision_bridge/stop', Trigger.Request()).success
    health(peer, 'stopped')


def test_driver_that_sends_poses(peer, run_process):
    settings = {'input': 'pose', 'input_topic': 'mocap/object', 'camera_frame': 'mocap'}
    other = run_process(VISION, params={**settings, 'diagnostics_period': 0.1})
    other.wait_for('pose from mocap/object')
    writer = peer.node.create_publisher(PoseStamped, 'mocap/object', SENSOR_DATA)
    message = PoseStamped()
    message.header.frame_id, message.pose.position.z = 'mocap', 0.5

    def send():
        message.pose.position.x += 1e-6
        writer.publish(message)

    with peer.every(0.02, send):
        found = peer.collect(PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA)[0]
        message.pose.orientation.w = 0.0
        health(peer, 'unit quaternion')
    assert found.pose.pose.position.y == pytest.approx(-0.5)
    assert other.stop() == 0


def test_cloud_and_markers_are_inverse():
    stamp = PointCloud2().header.stamp
    seen = PLACES.copy()
    seen[1] = np.nan
    assert np.array_equal(cloud_to_points(points_to_cloud(seen, stamp, 'c')), seen, True)


def test_cloud_of_32_bits_with_other_fields():
    message = PointCloud2(height=1, width=2, point_step=16)
    message.fields = [
        PointField(name=n, offset=4 * k, datatype=PointField.FLOAT32, count=1)
        for k, n in enumerate(['label', 'x', 'y', 'z'])
    ]
    message.data = np.arange(8, dtype='<f4').tobytes()
    assert cloud_to_points(message).tolist() == [[1, 2, 3], [5, 6, 7]]

"""The scene of a recording: what was published stands where it was, and moves as it did."""

from geometry_msgs.msg import Point, TransformStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.markers import OBJECT_COLOURS, surface_marker
from rolling_dynamics.surfaces import Sphere
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.recorded_scene import marker_shapes, recorded_scene
from rolling_robotics.recordings.writer import Recording, Topic
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

pytestmark = pytest.mark.ros
TOPICS = {
    '/tf': 'tf2_msgs/msg/TFMessage',
    '/simulator/surfaces': 'visualization_msgs/msg/MarkerArray',
    '/contact/wrench': 'geometry_msgs/msg/WrenchStamped',
    '/contact/state': 'rolling_interfaces/msg/RollingContact',
}
STEP, STEPS = 20_000_000, 50


def transform(parent, child, stamp, place, angle=0.0):
    """Return a transform that turns about z."""
    t = TransformStamped(child_frame_id=child)
    t.header.frame_id, t.header.stamp = parent, nanoseconds_to_time(stamp)
    p, q = t.transform.translation, t.transform.rotation
    p.x, p.y, p.z = (float(v) for v in place)
    q.w, q.z = float(np.cos(angle / 2)), float(np.sin(angle / 2))
    return t


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """Return a recording: a hand that turns, a contact in it, a ball that moves along x."""
    folder = tmp_path_factory.mktemp('scene') / 'bag'
    out = Recording(folder, ('rolling_interfaces',), longest_queue=1000)
    for name, kind in TOPICS.items():
        out.add(Topic(name, kind, latched=False))
    surfaces = MarkerArray(markers=[surface_marker(Sphere(0.1), 'object', 0, OBJECT_COLOURS)])
    out.put('/simulator/surfaces', 1, serialize_message(surfaces))
    for k in range(STEPS):
        stamp = 1_000_000_000 + k * STEP
        moved = [
            transform('world', 'hand', stamp, (0, 0, 1), angle=k * 0.02),
            transform('world', 'object', stamp, (0.01 * k, 0, 1.1)),
            transform('hand', 'contact_hand', stamp, (0.5, 0, 0)),
        ]
        out.put('/tf', stamp, serialize_message(TFMessage(transforms=moved)))
        wrench = WrenchStamped()
        wrench.header.stamp = nanoseconds_to_time(stamp)
        wrench.wrench.force.x, wrench.wrench.force.z = 0.2, 1.0
        out.put('/contact/wrench', stamp, serialize_message(wrench))
        state = RollingContact(friction_utilisation=0.5, required_friction=0.2)
        state.header.stamp = nanoseconds_to_time(stamp)
        out.put('/contact/state', stamp, serialize_message(state))
    out.close()
    assert not out.fault
    return folder


def test_bodies_frames_and_forces_are_where_they_were(recording):
    with Recorded(recording) as recorded:
        scene = recorded_scene(recorded)
    t = scene.times
    assert (t[0], t[-1]) == (0, pytest.approx((STEPS - 1) * STEP * 1e-9))
    ball = scene.body('object')
    expected = np.column_stack([0.01 * t / (STEP * 1e-9), np.zeros_like(t), np.full_like(t, 1.1)])
    assert np.abs(ball.position - expected).max() < 1e-6
    assert np.linalg.norm(ball.meshes[0].vertices, axis=1) == pytest.approx(0.1)
    (frame,) = scene.frames
    angle = 0.02 * t / (STEP * 1e-9)
    circle = np.column_stack([0.5 * np.cos(angle), 0.5 * np.sin(angle), np.ones_like(t)])
    assert np.abs(frame.position - circle).max() < 1e-3  # between two samples it is linear
    assert frame.wrench.mu == pytest.approx(0.4)  # required friction over its share
    assert frame.wrench.force[3] == pytest.approx([0.2, 0, 1])
    assert [s.limit for s in scene.strips] == [1.0, 0.0]
    (trace,) = scene.traces  # over the ball, which does not turn
    assert trace.body == 'object'
    assert trace.points == pytest.approx(frame.position - ball.position)


def test_recording_without_motion_is_refused(tmp_path):
    out = Recording(tmp_path / 'bag', (), longest_queue=10)
    out.add(Topic('/contact/wrench', 'geometry_msgs/msg/WrenchStamped', latched=False))
    out.put('/contact/wrench', 1, serialize_message(WrenchStamped()))
    out.close()
    with (
        Recorded(tmp_path / 'bag') as recorded,
        pytest.raises(ParameterError, match='holds no /tf'),
    ):
        recorded_scene(recorded)


def test_markers_become_shapes_of_their_size_and_place():
    ball = Marker(type=Marker.SPHERE)
    ball.scale.x = ball.scale.y = ball.scale.z = 0.4
    ball.pose.position.x, ball.pose.orientation.w = 2.0, 1.0
    (mesh,), lines = marker_shapes(ball)
    assert np.linalg.norm(mesh.vertices - [2, 0, 0], axis=1) == pytest.approx(0.2)
    assert lines == ()
    rod = Marker(type=Marker.CYLINDER)
    rod.scale.x, rod.scale.y, rod.scale.z = 0.1, 0.1, 3.0
    rod.pose.orientation.x = rod.pose.orientation.w = float(np.sqrt(0.5))  # z to -y
    (mesh,), _ = marker_shapes(rod)
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.1, 3.0, 0.1], abs=1e-9)
    strip = Marker(type=Marker.LINE_STRIP, points=[Point(x=float(k)) for k in range(3)])
    _, (line,) = marker_shapes(strip)
    assert line.points[:, 0].tolist() == [0, 1, 2]
    assert marker_shapes(Marker(type=Marker.TEXT_VIEW_FACING)) == ((), ())


def test_frames_of_one_robot_are_chosen_by_their_prefix(tmp_path):
    out = Recording(tmp_path / 'bag', (), longest_queue=100)
    for name in ('/tf', '/simulator/surfaces'):
        out.add(Topic(name, TOPICS[name], latched=False))
    marker = surface_marker(Sphere(0.1), 'left/object', 0, OBJECT_COLOURS)
    out.put('/simulator/surfaces', 1, serialize_message(MarkerArray(markers=[marker])))
    for k in range(3):
        moved = [
            transform('world', 'left/object', k * STEP, (k, 0, 0)),
            transform('world', 'object', k * STEP, (-k, 0, 0)),
        ]
        out.put('/tf', k * STEP, serialize_message(TFMessage(transforms=moved)))
    out.close()
    with Recorded(tmp_path / 'bag') as recorded:
        body = recorded_scene(recorded, 'left/').body('object')
        assert body.position[-1] == pytest.approx([2, 0, 0])
        with pytest.raises(ParameterError, match="no /tf with frames that begin with 'right/'"):
            recorded_scene(recorded, 'right/')

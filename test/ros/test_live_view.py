"""The live viewer shows what is published: frames, surfaces, the contact force."""

import threading

from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
from nav_msgs.msg import Path
import numpy as np
import pytest
import rclpy
from rolling_dynamics.nodes.markers import OBJECT_COLOURS, surface_marker
from rolling_dynamics.surfaces import Sphere
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import EVENT, LATCHED, STREAM_WRITER
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

pytest.importorskip('viser')

from rolling_robotics.cli import main
from rolling_robotics.nodes import live_view
from rolling_robotics.nodes.live_view import LiveOptions, LiveScene
from rolling_robotics.scene.scene import NewestFrames, Transforms
from rolling_robotics.viewer.scene_server import served

pytestmark = pytest.mark.ros


def transform(parent, child, x):
    t = TransformStamped(child_frame_id=child)
    t.header.frame_id = parent
    t.transform.translation.x, t.transform.rotation.w = float(x), 1.0
    return t


@pytest.fixture
def viewer(peer):
    """A node that nobody spins: the viewer takes its messages itself."""
    node = rclpy.create_node('viewer', context=peer.context)
    yield node
    node.destroy_node()


@pytest.fixture
def talker(peer):
    """A node of one test's publishers, so that what it keeps for late readers ends with it."""
    node = rclpy.create_node('talker', context=peer.context)
    yield node
    node.destroy_node()


def test_what_is_published_is_shown(talker, viewer):
    arrived = threading.Event()
    publishers = {
        topic: talker.create_publisher(kind, topic, qos)
        for kind, topic, qos in (
            (TFMessage, '/tf', STREAM_WRITER),
            (MarkerArray, 'simulator/surfaces', LATCHED),
            (WrenchStamped, 'contact/wrench', STREAM_WRITER),
            (RollingContact, 'contact/state', STREAM_WRITER),
            (MultiDOFJointTrajectory, 'plan/object', LATCHED),
            (Path, 'predicted_path', EVENT),
        )
    }
    surfaces = MarkerArray(markers=[surface_marker(Sphere(0.1), 'object', 0, OBJECT_COLOURS)])
    publishers['simulator/surfaces'].publish(surfaces)
    wrench = WrenchStamped()
    wrench.wrench.force.x, wrench.wrench.force.z = 0.5, 2.0
    points = [
        MultiDOFJointTrajectoryPoint(transforms=[transform('', '', x).transform]) for x in (0, 7)
    ]
    plan = MultiDOFJointTrajectory(joint_names=['object'], points=points)
    publishers['plan/object'].publish(plan)
    contact = RollingContact(mode='rolling', friction_utilisation=0.5, required_friction=0.25)
    ahead = Path(poses=[PoseStamped() for _ in range(3)])
    ahead.poses[2].pose.position.y = 0.4
    with served('127.0.0.1', 0) as viewed:
        live = LiveScene(viewer, viewed)
        for k in range(2000):  # until all came, however late a reader is found
            moved = [transform('world', 'object', k + 1), transform('object', 'contact_hand', 0.1)]
            publishers['/tf'].publish(TFMessage(transforms=moved))
            publishers['contact/wrench'].publish(wrench)
            publishers['contact/state'].publish(contact)
            publishers['predicted_path'].publish(ahead)
            live.update(k / 30)
            stage = live._stage
            drawn = stage is not None and stage._forces and len(stage._moving) == 3
            if drawn and live._predicted is not None and live._mu != 1.0:
                break
            arrived.wait(0.01)
        ball, ghost, frame = live._stage._moving
        assert ghost.position.tolist() == [7.0, 0.0, 0.0]  # where the plan ends
        assert ball.position[0] > 0
        assert live._follow.box.value  # no hand that keeps it in the picture
        assert viewed.initial_camera.look_at == pytest.approx(ball.position)
        assert frame.position[0] == pytest.approx(ball.position[0] + 0.1)
        ((arrow, cone),) = live._stage._forces.values()
        tip = np.asarray(arrow.points)[0, 1]
        assert tip[0] / tip[2] == pytest.approx(0.25)
        rim = np.asarray(cone.vertices)[1] * cone.scale
        assert np.hypot(rim[0], rim[1]) / rim[2] == pytest.approx(0.5)  # mu
        assert live._stage.has('force')
        for name in (
            'contact force',
            'friction cone',
            'where the plan ends',
            'contact frame, z',
            'predicted path',
        ):
            assert name in live._legend.content
        assert live._predicted.visible
        assert np.asarray(live._predicted.points)[:, :, 1] == pytest.approx(
            np.array([[0.0, 0.0], [0.0, 0.4]])
        )
        live.report()
        assert '50 % of the friction used' in live._text.content
        live._stage.switch('ghost', False)
        live._stage.switch('frames', False)
        assert not live._stage._ghosts.visible
        assert not frame.show_axes
        assert ball.position[0] > 0  # a layer moves nothing
        live.update(k / 30 + 10.0)
        assert not live._predicted.visible  # nothing came for so long


@pytest.mark.parametrize(
    ('options', 'prefix'),
    [
        ([], ''),
        (['--namespace', 'left'], 'left/'),
        (['--namespace', 'a', '--frame-prefix', ''], ''),
    ],
)
def test_frames_begin_with_the_namespace_by_default(monkeypatch, options, prefix):
    shown = []
    monkeypatch.setattr(live_view, 'view_live', lambda _h, _p, given, _r: shown.append(given) or 0)
    assert main(['view', *options]) == 0
    assert [given.frame_prefix for given in shown] == [prefix]


def test_a_robot_with_a_frame_prefix_is_shown_by_its_own_frames_alone(talker, viewer):
    frames = talker.create_publisher(TFMessage, '/tf', STREAM_WRITER)
    shapes = talker.create_publisher(MarkerArray, 'simulator/surfaces', LATCHED)
    marker = surface_marker(Sphere(0.1), 'left/object', 0, OBJECT_COLOURS)
    moved = [
        transform('world', 'left/object', 3.0),
        transform('left/object', 'left/contact_hand', 0.1),
        transform('world', 'object', 8.0),  # of another robot
        transform('world', 'right/object', 9.0),
    ]
    options = LiveOptions(frame_prefix='left/')
    with served('127.0.0.1', 0) as server:
        live = LiveScene(viewer, server, options)
        for k in range(2000):
            frames.publish(TFMessage(transforms=moved[2:]))
            live.update(k / 30)
            if live._topics.frames.others:
                break
            threading.Event().wait(0.01)
        live.report()
        assert 'others: object, right/object' in live._text.content
        shapes.publish(MarkerArray(markers=[marker]))
        for k in range(2000, 4000):
            frames.publish(TFMessage(transforms=moved))
            live.update(k / 30)
            if live.sent and len(live._stage._moving) == 2:
                break
            threading.Event().wait(0.01)
        ball, frame = live._stage._moving
        assert ball.name == '/bodies/object'
        assert ball.position.tolist() == [3.0, 0.0, 0.0]
        assert frame.position[0] == pytest.approx(3.1)


def test_poses_of_the_newest_frames_are_those_of_the_whole_tree():
    random = np.random.default_rng(4)
    newest, every = NewestFrames('a/'), Transforms('a/')
    for _ in range(3):
        tree = [('world', 'a/base'), ('a/base', 'a/link'), ('a/link', 'a/tip'), ('world', 'b/tip')]
        message = [transform(parent, child, 0.0) for parent, child in tree]
        for t in message:
            q = random.normal(size=4)
            p, r = t.transform.translation, t.transform.rotation
            p.x, p.y, p.z = random.normal(size=3)
            r.w, r.x, r.y, r.z = q / np.linalg.norm(q)
            t.header.stamp.sec = len(every.stamps)
        newest.take(message)
        every.take(message)
        newest.pose('tip')  # what was known before the next message must not stay
    position, attitude = every.poses('tip', every.stamps[-1:])
    assert newest.pose('tip') == pytest.approx((*position[0], *attitude[0]))
    assert newest.pose('world') == (0, 0, 0, 1, 0, 0, 0)
    assert newest.others == {'b/tip'}

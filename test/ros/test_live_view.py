"""The live viewer shows what is published: frames, surfaces, the contact force."""

import threading
import time

from geometry_msgs.msg import TransformStamped, WrenchStamped
import numpy as np
import pytest
from rolling_dynamics.nodes.markers import OBJECT_COLOURS, surface_marker
from rolling_dynamics.nodes.qos import LATCHED, STREAM_WRITER
from rolling_dynamics.surfaces import Sphere
from rolling_interfaces.msg import RollingContact
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

pytest.importorskip('viser')

from rolling_robotics.nodes.live_view import LiveScene
from rolling_robotics.viewer.serve import served

pytestmark = pytest.mark.ros


def transform(parent, child, x):
    t = TransformStamped(child_frame_id=child)
    t.header.frame_id = parent
    t.transform.translation.x, t.transform.rotation.w = float(x), 1.0
    return t


def test_what_is_published_is_shown(peer):
    node, arrived = peer.node, threading.Event()
    publishers = {
        topic: node.create_publisher(kind, topic, qos)
        for kind, topic, qos in (
            (TFMessage, '/tf', STREAM_WRITER),
            (MarkerArray, 'simulator/surfaces', LATCHED),
            (WrenchStamped, 'contact/wrench', STREAM_WRITER),
            (RollingContact, 'contact/state', STREAM_WRITER),
            (MultiDOFJointTrajectory, 'plan/object', LATCHED),
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
    with served('127.0.0.1', 0) as server:
        live = LiveScene(node, server)
        for k in range(2000):  # until all four came, however late a reader is found
            moved = [transform('world', 'object', k), transform('object', 'contact_hand', 0.1)]
            publishers['/tf'].publish(TFMessage(transforms=moved))
            publishers['contact/wrench'].publish(wrench)
            publishers['contact/state'].publish(contact)
            live.update()
            traced = live._traces and live._traces['object'].length
            if traced and live._stage._force is not None and len(live._stage._moving) == 3:
                break
            arrived.wait(0.01)
        ball, ghost, frame = live._stage._moving
        assert ghost.position.tolist() == [7.0, 0.0, 0.0]  # where the plan ends
        piece = np.asarray(live._traces['object']._pieces[0].points)
        assert piece[:, 0] == pytest.approx(np.tile([0.1, 0.0, 0.0], (len(piece), 1)))
        assert live._curves['friction used'].data(time.monotonic())[1][-1] == 0.5
        assert live._curves['normal force [N]'].data(time.monotonic())[1][-1] == 2.0
        assert ball.position[0] > 0
        assert frame.position[0] == pytest.approx(ball.position[0] + 0.1)
        tip = np.asarray(live._stage._force.points)[0, 1]
        assert tip[0] / tip[2] == pytest.approx(0.25)
        rim = np.asarray(live._stage._cone.vertices)[1]
        assert np.hypot(rim[0], rim[1]) / rim[2] == pytest.approx(0.5)  # mu
        way = live._curves['distance from the goal [m]'].data(time.monotonic())[1][-1]
        assert way == pytest.approx(abs(ball.position[0] - 7.0))
        live.tell(100.0, 30.0)
        assert '50 % of the friction used' in live._text.content
    for publisher in publishers.values():
        node.destroy_publisher(publisher)

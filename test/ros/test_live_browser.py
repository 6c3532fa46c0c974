"""The live viewer in a headless Chromium: it moves."""

import os
import re
import signal
import subprocess
import sys
import threading

from geometry_msgs.msg import TransformStamped
import pytest
from rolling_dynamics.nodes.markers import HAND_COLOURS, OBJECT_COLOURS, surface_marker
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import LATCHED, STREAM_WRITER
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

pytest.importorskip('viser')

from pathlib import Path

from evidence.benchmarks.viewer import Browser, find_chromium

PICTURES = Path(__file__).resolve().parents[2] / 'build' / 'screenshots'
RADIUS, WIDTH, PERIOD = 0.1, 0.4, 20.0  # of the ball, of its way [m], [s]

pytestmark = [
    pytest.mark.slow,  # WebGL in software: minutes on a busy machine
    pytest.mark.skipif(find_chromium() is None, reason='Chromium is not installed'),
]


def box(label):
    """Return what finds a checkbox of the page by its label."""
    return (
        '[...document.querySelectorAll("label")]'
        f'.find(l => l.innerText.trim() === "{label}").control'
    )


def transform(parent, child, place):
    t = TransformStamped(child_frame_id=child)
    t.header.frame_id, t.transform.rotation.w = parent, 1.0
    p = t.transform.translation
    p.x, p.y, p.z = (float(v) for v in place)
    return t


@pytest.fixture
def ball(peer):
    """Publish a ball that crosses a plate again and again, a hundred times per second."""
    frames = peer.node.create_publisher(TFMessage, '/tf', STREAM_WRITER)
    shapes = peer.node.create_publisher(MarkerArray, 'simulator/surfaces', LATCHED)
    state = peer.node.create_publisher(RollingContact, 'contact/state', STREAM_WRITER)
    shapes.publish(
        MarkerArray(
            markers=[
                surface_marker(Sphere(RADIUS), 'object', 0, OBJECT_COLOURS),
                surface_marker(Plane(), 'hand', 1, HAND_COLOURS, 0.4),
            ]
        )
    )
    published = [0]

    def publish():
        published[0] += 1
        turn = 0.01 * published[0] / PERIOD % 1.0
        x = WIDTH * (turn - 0.5)
        moved = [
            transform('world', 'hand', (0, 0, 0)),
            transform('world', 'object', (x, 0, RADIUS)),
            transform('hand', 'contact_hand', (x, 0, 0)),
        ]
        frames.publish(TFMessage(transforms=moved))
        used = RollingContact(mode='rolling', friction_utilisation=turn, required_friction=turn)
        state.publish(used)

    with peer.every(0.01, publish):
        yield
    for publisher in (frames, shapes, state):
        peer.node.destroy_publisher(publisher)


@pytest.fixture
def address(ros_environment):
    command = [sys.executable, '-m', 'rolling_robotics.cli', 'view', '--port', '0']
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**ros_environment, 'PYTHONUNBUFFERED': '1', 'PATH': os.environ['PATH']},
    ) as process:
        yield re.search(r'http://\S+', process.stdout.readline()).group()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def changed(a, b):
    """Return the fraction of the scene, left of the panel, that two pictures do not share."""
    scene = slice(0, a.shape[1] // 2)
    return (abs(a[:, scene].astype(int) - b[:, scene]).sum(axis=2) > 60).mean()


@pytest.mark.usefixtures('ball')
def test_live_scene_moves(address, tmp_path):
    pause = threading.Event()
    with Browser(tmp_path / 'profile') as browser:
        browser.open(address)
        browser.wait_for('the scene', 'document.querySelector("canvas") !== null')
        browser.wait_for('the box', f'{box("follow")} !== null')
        first = browser.picture()
        for _ in range(100):
            if changed(first, browser.picture()) > 0.005:
                break
            pause.wait(0.2)
        else:
            pytest.fail('the ball did not move')
        browser.picture(PICTURES / 'live.png')
        assert browser.errors == []

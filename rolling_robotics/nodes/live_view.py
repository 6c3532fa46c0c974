"""What the nodes publish, live in a browser."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
import numpy as np
import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rolling_dynamics.nodes.process import events_executor
from rolling_dynamics.nodes.qos import EVENT, LATCHED, STREAM_READER
from rolling_interfaces.msg import RollingContact
from rolling_robotics.nodes.marker_meshes import marker_shapes
from rolling_robotics.nodes.transforms import Transforms
from rolling_robotics.scene.scene import Body, Frame, Scene, Wrench
from rolling_robotics.viewer.panel import RATE
from rolling_robotics.viewer.serve import look_at, served, stop_request
from rolling_robotics.viewer.stage import Stage
from tf2_msgs.msg import TFMessage
import viser
from visualization_msgs.msg import MarkerArray

CONTACT_FRAMES = ('contact_hand', 'base_footprint')


class LiveScene:
    """Takes messages, and puts what they say on a server thirty times a second."""

    def __init__(self, node: Node, server: viser.ViserServer) -> None:
        """Listen."""
        self._server, self._lock = server, threading.Lock()
        self._frames, self._scale = Transforms(keep=False), 0.0
        self._markers: dict[tuple[str, str, int], Any] = {}
        self._wrench: WrenchStamped | None = None
        self._contact: RollingContact | None = None
        self._stage: Stage | None = None
        self._shown: tuple[Any, ...] = ()
        self.taken, self.sent = 0, 0
        self._text = server.gui.add_markdown('waiting for /tf and simulator/surfaces')
        for kind, topic, take, qos in (
            (TFMessage, '/tf', self._take_frames, STREAM_READER),
            (MarkerArray, 'simulator/surfaces', self._take_markers, LATCHED),
            (MarkerArray, 'simulator/markers', self._take_markers, STREAM_READER),
            (WrenchStamped, 'contact/wrench', self._take_wrench, STREAM_READER),
            (RollingContact, 'contact/state', self._take_contact, EVENT),
        ):
            node.create_subscription(kind, topic, take, qos)

    def _take_frames(self, message: TFMessage) -> None:
        with self._lock:
            self._frames.take(message.transforms)
            self.taken += 1

    def _take_markers(self, message: MarkerArray) -> None:
        with self._lock:
            for marker in message.markers:
                if marker.frame_locked:
                    self._markers[marker.header.frame_id, marker.ns, marker.id] = marker

    def _take_wrench(self, message: WrenchStamped) -> None:
        self._wrench = message

    def _take_contact(self, message: RollingContact) -> None:
        self._contact = message

    def update(self) -> None:
        """Show the newest."""
        with self._lock:
            scene = self._scene()
        if scene is None:
            return
        shown = tuple(sorted(self._markers))
        if self._stage is None or shown != self._shown:
            self._server.scene.reset()
            self._stage, self._shown = Stage(self._server, scene), shown
        self._stage.move_to(scene)
        self.sent += 1

    def _scene(self) -> Scene | None:
        """Return the present as a scene with one time."""
        now = np.zeros(1)
        if not self._markers or not self._frames.frames:
            return None
        bodies = []
        for frame in sorted({key[0] for key in self._markers}):
            position, attitude = self._frames.poses(frame, now)
            parts = [marker_shapes(m) for key, m in self._markers.items() if key[0] == frame]
            bodies.append(
                Body(
                    name=frame,
                    position=position,
                    attitude=attitude,
                    meshes=tuple(m for meshes, _ in parts for m in meshes),
                    lines=tuple(line for _, lines in parts for line in lines),
                )
            )
        frames = [
            Frame(name=f, position=p, attitude=q)
            for f in CONTACT_FRAMES
            if f in self._frames.frames
            for p, q in [self._frames.poses(f, now)]
        ]
        return Scene(
            title='live',
            system='live',
            times=now,
            bodies=tuple(bodies),
            frames=tuple(frames),
            wrench=self._force(),
        )

    def _force(self) -> Wrench | None:
        if self._wrench is None or self._stage is None:
            return None
        f, state = self._wrench.wrench.force, self._contact
        mu = 1.0
        if state is not None and state.friction_utilisation > 0:
            mu = state.required_friction / state.friction_utilisation
        if not self._scale and self._stage is not None and f.z > 0:
            self._scale = 0.5 * self._stage.size / f.z  # of the first force that is seen
        force = np.array([[f.x, f.y, f.z]])
        return Wrench(force=force, mu=np.array([mu]), scale=self._scale)

    def tell(self, taken: float, sent: float) -> None:
        """Write rates and margins beside the scene."""
        lines = [f'{taken:.0f} transforms a second taken, {sent:.0f} updates a second sent']
        if self._contact is not None:
            used = 100 * self._contact.friction_utilisation
            lines.append(f'contact: {self._contact.mode}, {used:.0f} % of the friction used')
        self._text.content = '\n\n'.join(lines)


def view_live(host: str, port: int, namespace: str, on_ready: Callable[[str], None]) -> int:
    """Serve what is published until SIGINT or SIGTERM; return the exit status."""
    stop = stop_request()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = events_executor()
    try:
        with served(host, port) as server:
            node = rclpy.create_node('viewer', namespace=namespace)
            executor.add_node(node)
            live = LiveScene(node, server)
            look_at(server, np.full(3, -0.3), np.full(3, 0.3))
            thread = threading.Thread(target=_spin, args=(executor, stop), daemon=True)
            thread.start()
            on_ready(f'http://{server.get_host()}:{server.get_port()}')
            _serve(live, stop)
            thread.join(1.0)
            executor.shutdown(timeout_sec=0.0)
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
    print('viewer closed')
    return 0


def _spin(executor: Executor, stop: threading.Event) -> None:
    while not stop.is_set():
        executor.spin_once(timeout_sec=0.1)


def _serve(live: LiveScene, stop: threading.Event) -> None:
    since, taken, sent = time.monotonic(), 0, 0
    while not stop.wait(1 / RATE):
        live.update()
        passed = time.monotonic() - since
        if passed > 1:
            live.tell((live.taken - taken) / passed, (live.sent - sent) / passed)
            since, taken, sent = time.monotonic(), live.taken, live.sent

"""What the nodes publish, live in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
import math
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
from rolling_robotics.nodes.recorded_scene import SURFACES
from rolling_robotics.nodes.transforms import in_body, Transforms
from rolling_robotics.scene.parts import error_strips
from rolling_robotics.scene.scene import Body, Frame, Scene, Wrench
from rolling_robotics.viewer.live_trace import LiveCurve, LiveTrace
from rolling_robotics.viewer.panel import RATE
from rolling_robotics.viewer.serve import look_at, served, stop_request
from rolling_robotics.viewer.stage import Stage
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory
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
        self._plan: MultiDOFJointTrajectory | None = None
        self._traces: dict[str, LiveTrace] = {}
        self._curves: dict[str, LiveCurve] = {}
        self.taken, self.sent = 0, 0
        self._text = server.gui.add_markdown('waiting for /tf and simulator/surfaces')
        for kind, topic, take, qos in (
            (TFMessage, '/tf', self._take_frames, STREAM_READER),
            (MarkerArray, 'simulator/surfaces', self._take_markers, LATCHED),
            (MarkerArray, 'simulator/markers', self._take_markers, STREAM_READER),
            (WrenchStamped, 'contact/wrench', self._take_wrench, STREAM_READER),
            (RollingContact, 'contact/state', self._take_contact, EVENT),
            (MultiDOFJointTrajectory, 'plan/object', self._take_plan, LATCHED),
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

    def _take_plan(self, message: MultiDOFJointTrajectory) -> None:
        self._plan = message if len(message.points) else None

    def update(self) -> None:
        """Show the newest."""
        with self._lock:
            scene = self._scene()
        if scene is None:
            return
        shown = (*sorted(self._markers), id(self._plan))
        if self._stage is None or shown != self._shown:
            self._server.scene.reset()
            self._stage, self._shown, self._traces = Stage(self._server, scene), shown, {}
        self._stage.move_to(scene)
        self._trace(scene, self._stage.size)
        self._curve(scene, time.monotonic())
        self.sent += 1

    def _trace(self, scene: Scene, size: float) -> None:
        """Let the contact's path grow on each surface."""
        if not scene.frames:
            return
        point = scene.frames[0].position
        for body in scene.bodies:
            if body.name in SURFACES:
                trace = self._traces.setdefault(
                    body.name,
                    LiveTrace(self._server, body.name, SURFACES[body.name], 0.008 * size),
                )
                trace.add(in_body(body.position, body.attitude, point)[0])

    def _curve(self, scene: Scene, now: float) -> None:
        """Take margins and errors for the curves."""
        values: dict[str, tuple[float, float]] = {}
        if self._contact is not None:
            values['friction used'] = 1.0, self._contact.friction_utilisation
        if self._wrench is not None:
            values['normal force [N]'] = 0.0, self._wrench.wrench.force.z
        for strip in error_strips(scene.bodies, scene.ghosts):
            error = max(float(curve[0]) for curve in strip.curves.values())
            values[f'{strip.title.replace("plan", "goal")} [{strip.unit}]'] = 0.0, error
        for title, (limit, value) in values.items():
            if math.isfinite(value):
                if title not in self._curves:
                    self._curves[title] = LiveCurve(self._server, title, limit)
                self._curves[title].add(now, value)

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
            ghosts=tuple(self._ghosts(bodies)),
            frames=tuple(frames),
            wrench=self._force(),
        )

    def _ghosts(self, bodies: list[Body]) -> Iterator[Body]:
        """Yield the object where the newest plan ends."""
        if self._plan is None:
            return
        end = self._plan.points[-1].transforms[0]
        p, q = end.translation, end.rotation
        for body in bodies:
            if body.name in (*self._plan.joint_names, 'object', 'shell_link'):
                yield replace(
                    body,
                    lines=(),
                    position=np.array([[p.x, p.y, p.z]]),
                    attitude=np.array([[q.w, q.x, q.y, q.z]]),
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
        for curve in self._curves.values():
            curve.show(time.monotonic())


@contextmanager
def live_scene(host: str, port: int, namespace: str) -> Iterator[tuple[LiveScene, str]]:
    """
    Serve what is published, and yield the scene with its address.

    Parameters
    ----------
    host, port
        Where; see :func:`served`.
    namespace
        Of the nodes that are looked at.

    """
    stop = threading.Event()
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
            yield live, f'http://{server.get_host()}:{server.get_port()}'
            stop.set()
            thread.join(1.0)
            executor.shutdown(timeout_sec=0.0)
            node.destroy_node()
    finally:
        stop.set()
        rclpy.try_shutdown()


def view_live(host: str, port: int, namespace: str, on_ready: Callable[[str], None]) -> int:
    """Serve what is published until SIGINT or SIGTERM; return the exit status."""
    stop = stop_request()
    with live_scene(host, port, namespace) as (live, address):
        on_ready(address)
        show_live(live, stop)
    print('viewer closed')
    return 0


def _spin(executor: Executor, stop: threading.Event) -> None:
    while not stop.is_set():
        executor.spin_once(timeout_sec=0.1)


def show_live(live: LiveScene, stop: threading.Event) -> None:
    """Bring a live scene up to date until asked to stop."""
    since, taken, sent = time.monotonic(), 0, 0
    due = since
    while not stop.wait(max(0.0, due - time.monotonic())):
        due = max(due + 1 / RATE, time.monotonic() - 1 / RATE)  # a late one is not made up for
        live.update()
        passed = time.monotonic() - since
        if passed > 1:
            live.tell((live.taken - taken) / passed, (live.sent - sent) / passed)
            since, taken, sent = time.monotonic(), live.taken, live.sent

"""What the nodes publish, live in a browser, with the last seconds to be looked at again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import math
import re
import threading
import time

import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rolling_dynamics.text import LONGEST_NAME, printable
from rolling_node_kit.process import events_executor
from rolling_robotics.nodes.goal_sender import GoalSender
from rolling_robotics.nodes.live_scene import (
    CONTACT_FRAMES,
    PLANNED,
    present,
    seen,
    standing_scene,
)
from rolling_robotics.nodes.live_topics import LiveTopics
from rolling_robotics.nodes.recorded_scene import SURFACES
from rolling_robotics.scene.poses import Pose, seen_from
from rolling_robotics.scene.scene import Scene
from rolling_robotics.viewer.goal_panel import GoalPanel
from rolling_robotics.viewer.history import History, JOINED, Snapshot
from rolling_robotics.viewer.layers import Follow
from rolling_robotics.viewer.live_panel import LivePanel
from rolling_robotics.viewer.live_trace import LiveCurve, LivePath, LiveTrace
from rolling_robotics.viewer.pace import ticks
from rolling_robotics.viewer.panel import CURVE_PERIOD, RATE
from rolling_robotics.viewer.push_panel import PushPanel
from rolling_robotics.viewer.scene_server import Stage
from rolling_robotics.viewer.serve import look_at_motion, served, stop_request
import viser

PREDICTED = 0.5  # age of a predicted path from which on it is not drawn any more [s]
WIDE = 2.0  # times a robot, at first in the picture
LIVE_PERIOD = 1.0  # between two pictures of the curves while they grow [s]


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """
    What is looked at, and how.

    Attributes
    ----------
    namespace, frame_prefix
        Of the nodes that are looked at, and put before the names of their frames.
    history
        Time that is kept to be looked at again [s].
    speed
        Times as fast as it was, where it is played again.
    commands
        Whether a visitor may have motions planned and executed.

    """

    namespace: str = ''
    frame_prefix: str = ''
    history: float = 30.0
    speed: float = 1.0
    commands: bool = False


class LiveScene:
    """
    Takes messages, and puts what they say on a server.

    Attributes
    ----------
    history, panel
        The last seconds, and the controls that choose the instant of them.
    sent
        Number of updates.

    """

    def __init__(
        self, node: Node, server: viser.ViserServer, options: LiveOptions | None = None
    ) -> None:
        """Listen; the node must not be spun by another thread at this moment."""
        self._options = options or LiveOptions()
        self._server, self._topics = server, LiveTopics(node, self._options.frame_prefix)
        self._stage: Stage | None = None
        self._scene: Scene | None = None
        self._staged: tuple[object, ...] = ()
        self._ghosts: list[Pose] = []
        self._scale = 0.0  # of the arrow of the force [m/N]; that of the first that is seen
        self._framed: set[str] = set()  # names of the bodies that visitors were made to see
        self._traces: dict[str, LiveTrace] = {}
        self._curves: dict[str, LiveCurve] = {}
        self._shown: Snapshot | None = None
        self._updated = self._curved = -math.inf  # times of the last of them [s]
        self.sent = 0
        self._predicted: LivePath | None = None
        self._text = server.gui.add_markdown(self._waiting())
        self.history = History(self._options.history)
        self.panel = LivePanel(server, self.history, self._options.speed)
        self._follow = Follow(server, on=False)
        self.goal: GoalPanel | None = None
        if self._options.commands:
            self._sender = GoalSender(node)
            self.goal = GoalPanel(server, self._sender.plan, self._sender.execute)
            self._pushed = PushPanel(server, self._sender.push)

    @property
    def taken(self) -> int:
        """Number of messages of /tf that were taken."""
        return self._topics.taken

    def update(self, now: float) -> None:
        """Show the newest, or what the panel chooses, at a time of a steady clock [s]."""
        topics = self._topics
        topics.poll(now)
        if not topics.shapes or not topics.frames:
            return
        with self._server.atomic():
            stage, scene = self._set_stage()
            if self.panel.is_live:
                self._add(seen(topics, now, scene, self._shown.mu if self._shown else 1.0), stage)
            if not len(self.history):
                return
            shown = self.panel.advance(max(now - self._updated, 0.0))
            self._updated = now
            if self._shown is None or shown.time != self._shown.time:
                self._show(shown, stage, scene)
            self._show_predicted(now, stage)
            period = LIVE_PERIOD if self.panel.is_live else CURVE_PERIOD
            if now - self._curved >= period:
                self._curved = now
                for curve in self._curves.values():
                    curve.show(shown.time)

    def _set_stage(self) -> tuple[Stage, Scene]:
        """Return stage and scene, anew where there are other shapes or frames, or a new plan."""
        frames = self._topics.frames
        staged = (self._topics.version, tuple(f for f in CONTACT_FRAMES if f in frames))
        if self._stage is None or self._scene is None or staged != self._staged:
            if self._stage is not None:
                self._stage.remove()
            self._scene, self._traces = standing_scene(self._topics), {}
            self._ghosts = [
                (*g.position[0].tolist(), *g.attitude[0].tolist()) for g in self._scene.ghosts
            ]
            self._stage, self._staged = Stage(self._server, self._scene), staged
            self._shown = None
            self._frame_what_moves(self._scene)
        return self._stage, self._scene

    def _frame_what_moves(self, scene: Scene) -> None:
        """Have visitors see what moves, where it is now, once other bodies are there."""
        now = present(self._topics, scene)
        names = {b.name for b in now.bodies}
        if names and names != self._framed:
            self._framed = names
            drives = 'hand' not in names  # and out of the picture
            look_at_motion(self._server, now, WIDE if drives else 1.0)
            self._follow.box.value = drives  # type: ignore[misc]

    def _add(self, snapshot: Snapshot, stage: Stage) -> None:
        """Remember an instant: poses, the contact's path on each surface, and curves."""
        if len(self.history) and snapshot.time - self.history.end > JOINED:
            for trace in self._traces.values():
                trace.lift()
        self.history.add(snapshot)
        contact = next((f for f in CONTACT_FRAMES if f in snapshot.poses), None)
        for body in SURFACES if contact is not None else ():
            if body not in snapshot.poses:
                continue
            if body not in self._traces:
                self._traces[body] = LiveTrace(
                    self._server, body, SURFACES[body], 0.008 * stage.size, self.history.span
                )
            point = seen_from(snapshot.poses[body], snapshot.poses[contact][:3])
            self._traces[body].add(snapshot.time, point)
        for title, (limit, _) in snapshot.values.items():
            if title not in self._curves:
                self._curves[title] = LiveCurve(self._server, self.history, title, limit)

    def _show(self, shown: Snapshot, stage: Stage, scene: Scene) -> None:
        """Send an instant."""
        poses = shown.poses
        for rolling in [b.name for b in scene.bodies if b.layer][-1:]:
            self._follow.go_to(poses[rolling][:3])
        stage.place(
            [
                *(poses.get(body.name) for body in scene.bodies),
                *self._ghosts,
                *(poses.get(frame.name) for frame in scene.frames),
            ]
        )
        if shown.force is not None:
            if not self._scale and shown.force[2] > 0:
                self._scale = 0.5 * stage.size / shown.force[2]
            stage.push([self._scale * f for f in shown.force], shown.mu)
        for trace in self._traces.values():
            trace.show(shown.time)
        self._shown = shown
        self.sent += 1

    def _show_predicted(self, now: float, stage: Stage) -> None:
        """Draw the path that a law predicts, while that is the present."""
        if self._topics.predicted is None:
            return
        if self._predicted is None:
            self._predicted = LivePath(self._server, '/predicted', 0.01 * stage.size)
        points, came = self._topics.predicted
        fresh = self.panel.is_live and now - came < PREDICTED
        self._predicted.show(points if fresh else None)

    def tell(self) -> None:
        """Write beside the scene how the contact is."""
        if self._stage is None:
            self._text.content = self._waiting()
            return
        if self.goal is not None:
            rolling = (self._topics.frames.pose(n) for n in PLANNED if n in self._topics.frames)
            self.goal.update(self._sender.is_served, next(rolling, None), self._stage.size)
            self._pushed.update(self._sender.is_pushed)
        contact = self._topics.contact
        if contact is None:
            self._text.content = ''
            return
        used = 100 * contact.friction_utilisation
        mode = _plain(contact.mode)
        self._text.content = f'contact: {mode}, {used:.0f} % of the friction used'

    def _waiting(self) -> str:
        """Return what is waited for."""
        prefix, frames = self._options.frame_prefix, self._topics.frames
        text = 'waiting for /tf and simulator/surfaces'
        if not prefix or frames:
            return text
        others = ', '.join(_plain(name) for name in sorted(frames.others)) or 'none'
        return f'{text}; frames that begin with `{prefix}`: none, others: {others}'


def _plain(name: str) -> str:
    """Return a name from outside as it may stand in a page: nothing in it is markup."""
    return re.sub(r'[^\w/. -]', '?', printable(name, LONGEST_NAME))


@contextmanager
def live_scene(
    host: str, port: int, options: LiveOptions | None = None
) -> Iterator[tuple[LiveScene, str]]:
    """
    Serve what is published, and yield the scene with its address.

    Parameters
    ----------
    host, port
        Where; see :func:`served`.
    options
        What is looked at.

    """
    options = options or LiveOptions()
    stop = threading.Event()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = events_executor()
    try:
        with served(host, port) as server:
            node = rclpy.create_node('viewer', namespace=options.namespace)
            live = LiveScene(node, server, options)
            executor.add_node(node)
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


def view_live(host: str, port: int, options: LiveOptions, on_ready: Callable[[str], None]) -> int:
    """Serve what is published until SIGINT or SIGTERM; return the exit status."""
    stop = stop_request()
    with live_scene(host, port, options) as (live, address):
        on_ready(address)
        show_live(live, stop)
    print('viewer closed')
    return 0


def _spin(executor: Executor, stop: threading.Event) -> None:
    while not stop.is_set():
        executor.spin_once(timeout_sec=0.1)


def show_live(live: LiveScene, stop: threading.Event) -> None:
    """Bring a live scene up to date until asked to stop."""
    told = time.monotonic()
    for now in ticks(stop, RATE):
        live.update(now)
        if now - told > 1:
            live.tell()
            told = now

"""Live view of running nodes in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
import math
import re
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
from nav_msgs.msg import Path
import numpy as np
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import Executor
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import LONGEST_NAME, printable
from rolling_dynamics.robots.view import PREDICTED as PREDICTED_COLOUR
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import EVENT, FRAMES_POLLED, LATCHED, STREAM_READER
from rolling_node_kit.single_goal_server import send_goal
from rolling_robotics.nodes.recorded_scene import (
    bodies_of,
    contact_frames,
    marker_shapes,
    rolling_frame,
    Shapes,
)
from rolling_robotics.scene.parts import ghost_of
from rolling_robotics.scene.scene import Frame, NewestFrames, Pose, Scene, still, Wrench
from rolling_robotics.viewer.panel import (
    Follow,
    GoalPanel,
    layer_switches,
    legend_of,
    PushPanel,
    RATE,
    Report,
)
from rolling_robotics.viewer.scene_server import (
    look_at_motion,
    rgb,
    served,
    Stage,
    stop_request,
    ticks,
)
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory
import viser
from visualization_msgs.msg import MarkerArray


class GoalSender:
    """Has motions planned and executed, by callbacks: the executor is not for coroutines."""

    def __init__(self, node: Node) -> None:
        """Look for both actions; the node must not be spun by another thread at this moment."""
        self._node = node
        self._planner = ActionClient(node, PlanRolling, 'plan_rolling')
        self._controller = ActionClient(node, ExecutePlan, 'execute_plan')
        self._pushes = node.create_publisher(Vector3, 'simulator/push', EVENT)

    @property
    def is_served(self) -> bool:
        """True if there is a planner and a controller."""
        return self._planner.server_is_ready() and self._controller.server_is_ready()

    @property
    def is_pushed(self) -> bool:
        """True if something takes pushes."""
        return self._pushes.get_subscription_count() > 0

    def push(self, x: float, y: float) -> None:
        """Push what rolls: impulse over mass along x and y of the world [m/s]."""
        self._pushes.publish(Vector3(x=x, y=y))

    def plan(self, place: tuple[float, float, float], report: Report) -> None:
        """Request a plan to a position in the world [m]."""
        goal = PlanRolling.Goal(waypoints=[PoseStamped()])
        point = goal.waypoints[0].pose.position
        point.x, point.y, point.z = place
        report('planning ...')
        send_goal(self._node, self._planner, goal, lambda result: report(_planned(result)))

    def execute(self, report: Report) -> None:
        """Have the newest plan executed."""
        report('executing ...')
        goal = ExecutePlan.Goal()
        send_goal(self._node, self._controller, goal, lambda r: report(_executed(r)))


REFUSED = 'rejected; the log of the node has the reason'


def _planned(result: PlanRolling.Result | None) -> str:
    if result is None:
        return REFUSED
    if result.error_code != PlanRolling.Result.NONE:
        return f'no plan: {printable(result.error_string)}'
    return f'planned: {result.plan.times[-1]:.3g} s; the ghost shows where it ends'


def _executed(result: ExecutePlan.Result | None) -> str:
    if result is None:
        return REFUSED
    if result.error_code != ExecutePlan.Result.NONE:
        return f'missed: {printable(result.error_string)}'
    return f'reached, final error {result.final_error:.2g}'


PREDICTED = 0.5  # age of a predicted path from which on it is not drawn any more [s]
WIDE = 2.0  # times a robot, at first in the picture


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """
    Options of a live view.

    Attributes
    ----------
    namespace, frame_prefix
        Of the nodes that are looked at, and put before the names of their frames.
    commands
        Whether a visitor may have motions planned and executed.

    """

    namespace: str = ''
    frame_prefix: str = ''
    commands: bool = False


class LiveTopics:
    """
    The newest messages.

    They are taken by the one thread that shows them: a callback for each message of a fast stream
    would cost more than all that is drawn.

    Attributes
    ----------
    frames
        The newest frames of the robot, named without their prefix.
    shapes
        Meshes and lines by frame, namespace and number of their marker.
    version
        Counts the changes of shapes and plan.
    plan, wrench, contact
        The newest of each; None before.
    predicted
        Points of the newest predicted path [m], shape (k, 3), and when it came [s].
    taken
        Number of messages of /tf that were taken.

    """

    def __init__(self, node: Node, prefix: str = '') -> None:
        """
        Subscribe.

        Parameters
        ----------
        node
            Node that subscribes; must not be spun by another thread at this moment.
        prefix
            Put before the frames of the robot that is looked at.

        """
        self._prefix = prefix
        self.frames = NewestFrames(prefix)
        self.shapes: dict[tuple[str, str, int], Shapes] = {}
        self.plan: MultiDOFJointTrajectory | None = None
        self.wrench: WrenchStamped | None = None
        self.contact: RollingContact | None = None
        self.predicted: tuple[Array, float] | None = None
        self.version, self.taken = 0, 0

        def reader(kind: type, topic: str, qos: QoSProfile) -> PolledSubscription:
            return PolledSubscription(node, kind, topic, qos)

        self._frames = reader(TFMessage, '/tf', FRAMES_POLLED)
        self._surfaces = reader(MarkerArray, 'simulator/surfaces', LATCHED)
        self._wrenches = reader(WrenchStamped, 'contact/wrench', STREAM_READER)
        self._contacts = reader(RollingContact, 'contact/state', EVENT)
        self._plans = reader(MultiDOFJointTrajectory, 'plan/object', LATCHED)
        self._predictions = reader(Path, 'predicted_path', EVENT)

    def poll(self, now: float) -> None:
        """Take what came, at a time of a steady clock [s]."""
        for message in self._frames.take():
            self.frames.take(message.transforms)
            self.taken += 1
        for message in self._surfaces.take():
            self._draw(message)
        self.wrench = _newest(self._wrenches, self.wrench)
        self.contact = _newest(self._contacts, self.contact)
        path = _newest(self._predictions, None)
        if path is not None:
            places = [stamped.pose.position for stamped in path.poses]
            self.predicted = np.array([(p.x, p.y, p.z) for p in places]).reshape(-1, 3), now
        plan = _newest(self._plans, None)
        if plan is not None:
            self.plan = plan if len(plan.points) else None
            self.version += 1

    @property
    def contact_frames(self) -> list[str]:
        """Frames at the contact, the one in which the force acts first."""
        acts_in = '' if self.wrench is None else self.wrench.header.frame_id
        return contact_frames(self.frames, acts_in.removeprefix(self._prefix))

    @property
    def rolling(self) -> str:
        """Frame of what rolls; empty if it is not known."""
        return rolling_frame(self.frames, [name for name, _, _ in self.shapes])

    def _draw(self, message: MarkerArray) -> None:
        """Take the shapes of markers, which move with their frames."""
        for marker in message.markers:
            key = (marker.header.frame_id.removeprefix(self._prefix), marker.ns, marker.id)
            self.shapes[key] = marker_shapes(marker)
            self.version += 1


def _newest(subscription: PolledSubscription, before: Any) -> Any:
    taken = subscription.take()
    return taken[-1] if taken else before


def standing_scene(topics: LiveTopics) -> Scene:
    """Return bodies, their ghosts at the end of the plan, and contact frames, before any force."""
    position, attitude = still(1)
    bodies = bodies_of(topics.shapes, lambda _: (position, attitude))
    bodies.sort(key=lambda body: body.name)
    ends = _plan_ends(topics)
    rows = {name: np.array([pose]) for name, pose in ends.items()}
    ghosts = (
        replace(ghost_of(b), position=rows[b.name][:, :3], attitude=rows[b.name][:, 3:])
        for b in bodies
        if b.name in ends
    )
    acting = None if topics.wrench is None else Wrench(force=position, mu=np.ones(1), scale=1)
    return Scene(
        title='live',
        system='live',
        times=np.zeros(1),
        bodies=tuple(bodies),
        ghosts=tuple(ghosts),
        frames=tuple(
            Frame(name, position, attitude, None if k else acting)
            for k, name in enumerate(topics.contact_frames)
        ),
    )


def present(topics: LiveTopics, scene: Scene) -> Scene:
    """Return hand and rolling bodies, each with its own frame, at their present poses."""
    rows = {b.name: np.array([topics.frames.pose(b.name)]) for b in scene.bodies}
    bodies = (
        replace(b, position=rows[b.name][:, :3], attitude=rows[b.name][:, 3:])
        for b in scene.bodies
        if b.name in topics.frames
    )
    return replace(scene, bodies=tuple(bodies))


def _plan_ends(topics: LiveTopics) -> dict[str, Pose]:
    """Return where the newest plan ends, by the name of the body that it moves."""
    if topics.plan is None:
        return {}
    end = topics.plan.points[-1].transforms[0]
    p, q = end.translation, end.rotation
    return {topics.rolling: (p.x, p.y, p.z, q.w, q.x, q.y, q.z)}


class LiveScene:
    """
    Receiver of messages that updates the scene of a server.

    Attributes
    ----------
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
        self._scale = 0.0  # of the arrow of the force [m/N]; from the first force
        self._mu = 1.0
        self._framed: set[str] = set()  # names of the bodies that visitors were made to see
        self._layers: viser.GuiFolderHandle | None = None
        self._predicted: viser.LineSegmentsHandle | None = None
        self.sent = 0
        self._text = server.gui.add_markdown(self._waiting())
        self._legend = server.gui.add_html('')
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
        """Show the newest messages at a time of a steady clock [s]."""
        topics = self._topics
        topics.poll(now)
        if not topics.shapes or not topics.frames:
            return
        with self._server.atomic():
            stage, scene = self._set_stage()
            frames = topics.frames
            for rolling in [b.name for b in scene.bodies if b.layer][-1:]:
                self._follow.go_to(frames.pose(rolling)[:3])
            stage.place(
                [
                    *(frames.pose(body.name) for body in scene.bodies),
                    *self._ghosts,
                    *(frames.pose(frame.name) for frame in scene.frames),
                ]
            )
            self._show_force(stage)
            self._show_predicted(now, stage)
            self.sent += 1

    def _set_stage(self) -> tuple[Stage, Scene]:
        """Return stage and scene, rebuilt for other shapes or frames, or a new plan."""
        topics = self._topics
        staged = (topics.version, topics.contact_frames, not topics.wrench, not topics.predicted)
        if self._stage is None or self._scene is None or staged != self._staged:
            if self._stage is not None:
                self._stage.remove()
            if self._layers is not None:
                self._layers.remove()
            self._scene = standing_scene(topics)
            path = {'predicted path': PREDICTED_COLOUR} if topics.predicted is not None else {}
            self._legend.content = legend_of({**self._scene.legend, **path})
            self._ghosts = [
                (*g.position[0].tolist(), *g.attitude[0].tolist()) for g in self._scene.ghosts
            ]
            self._stage, self._staged = Stage(self._server, self._scene), staged
            self._layers = layer_switches(self._server, self._stage)
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

    def _show_force(self, stage: Stage) -> None:
        """Draw the contact force in its friction cone."""
        state, wrench = self._topics.contact, self._topics.wrench
        if state is not None and state.friction_utilisation > 0:
            mu = state.required_friction / state.friction_utilisation
            self._mu = mu if math.isfinite(mu) else self._mu
        if wrench is not None and self._scene is not None and self._scene.frames:
            f = wrench.wrench.force
            if not self._scale and f.z > 0:
                self._scale = 0.5 * stage.size / f.z
            stage.push(self._scene.frames[0], self._scale * np.array([f.x, f.y, f.z]), self._mu)

    def _show_predicted(self, now: float, stage: Stage) -> None:
        """Draw the path that a law predicts, while it is the present."""
        if self._topics.predicted is None:
            return
        if self._predicted is None:
            self._predicted = self._server.scene.add_line_segments(
                '/predicted',
                np.zeros((0, 2, 3)),
                rgb(PREDICTED_COLOUR),
                thickness=0.01 * stage.size,
                visible=False,
            )
        points, came = self._topics.predicted
        self._predicted.visible = now - came < PREDICTED and len(points) > 1
        if came == now and len(points) > 1:
            self._predicted.points = np.stack([points[:-1], points[1:]], axis=1, dtype=np.float32)

    def report(self) -> None:
        """Write next to the scene how the contact is."""
        if self._stage is None:
            self._text.content = self._waiting()
            return
        if self.goal is not None:
            frames, name = self._topics.frames, self._topics.rolling
            pose = frames.pose(name) if name in frames else None
            self.goal.update(self._sender.is_served, pose, self._stage.size)
            self._pushed.update(self._sender.is_pushed)
        contact = self._topics.contact
        if contact is None:
            self._text.content = ''
            return
        used = 100 * contact.friction_utilisation
        mode = _plain(contact.mode)
        self._text.content = f'contact: {mode}, {used:.0f} % of the friction used'

    def _waiting(self) -> str:
        """Return the missing inputs."""
        prefix, frames = self._options.frame_prefix, self._topics.frames
        text = 'waiting for /tf and simulator/surfaces'
        if not prefix or frames:
            return text
        others = ', '.join(_plain(name) for name in sorted(frames.others)) or 'none'
        return f'{text}; frames that begin with `{prefix}`: none, others: {others}'


def _plain(name: str) -> str:
    """Return a name from outside, escaped for a page."""
    return re.sub(r'[^\w/. -]', '?', printable(name, LONGEST_NAME))


@contextmanager
def live_scene(
    host: str, port: int, options: LiveOptions | None = None
) -> Iterator[tuple[LiveScene, str]]:
    """
    Serve the published scene, and yield it with its address.

    Parameters
    ----------
    host, port
        Address of the server; see :func:`served`.
    options
        Options of the view.

    """
    options = options or LiveOptions()
    stop = threading.Event()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = EventsExecutor()
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
    """Serve the published scene until SIGINT or SIGTERM; return the exit status."""
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
    reported = time.monotonic()
    for now in ticks(stop, RATE):
        live.update(now)
        if now - reported > 1:
            live.report()
            reported = now

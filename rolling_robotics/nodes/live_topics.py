"""What the live viewer takes from the topics: the newest of each, when it wants it."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Path
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import EVENT, FRAMES_POLLED, LATCHED, STREAM_READER
from rolling_robotics.nodes.marker_meshes import marker_shapes
from rolling_robotics.scene.frames import NewestFrames
from rolling_robotics.scene.scene import Line, Mesh
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

Shapes = tuple[tuple[Mesh, ...], tuple[Line, ...]]


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
        self.predicted: tuple[NDArray[np.float64], float] | None = None
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

    def _draw(self, message: MarkerArray) -> None:
        """Take the shapes of markers, which move with their frames."""
        for marker in message.markers:
            key = (marker.header.frame_id.removeprefix(self._prefix), marker.ns, marker.id)
            self.shapes[key] = marker_shapes(marker)
            self.version += 1


def _newest(subscription: PolledSubscription, before: Any) -> Any:
    taken = subscription.take()
    return taken[-1] if taken else before

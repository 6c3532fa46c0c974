"""What the simulator node publishes about the plant."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_view import ContactView, NAMES
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject, Observation
from rolling_dynamics.nodes.markers import (
    ContactMarkers,
    HAND_COLOURS,
    OBJECT_COLOURS,
    surface_marker,
)
from rolling_dynamics.nodes.simulated import Slow
from rolling_dynamics.scenario_model import Model
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import OdometryEncoder
from rolling_node_kit.conversions import (
    array_to_wrench,
    matrix_to_transform,
    time_to_nanoseconds,
)
from rolling_node_kit.qos import EVENT, LATCHED, STREAM_WRITER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray


def body_matrix(body: Array) -> Array:
    """Return the homogeneous matrix of q (w, x, y, z) and p, the first 7 of the numbers."""
    w, x, y, z = body[:4].tolist()
    X = np.eye(4)
    X[:3, :3] = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    X[:3, 3] = body[4:7]
    return X


class PlantTopics:
    """Publishers of state, contact, frames and markers."""

    def __init__(
        self,
        node: SuiteNode,
        model: Model,
        plant: EmulatedObject,
        *,
        world: str,
        prefix: str,
        estimate: bool,
    ) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        model, plant
            Object and hand, and what is stepped.
        world
            Name of the world frame.
        prefix
            Put before the name of every other frame.
        estimate
            Whether ``object/odometry`` is published too, in place of an estimator.

        """
        self._plant, self._world = plant, world
        self.slow: Slow = (
            ('contact_rate', self.contact),
            ('tf_rate', self.frames),
            ('marker_rate', self.markers),
        )
        self._mu, self._mu_spin = model.mu, model.mu_spin
        system = model.system
        edges = model.params[system.parameters.slice('hand_edges')]
        self._hand, self._object = f'{prefix}hand', f'{prefix}object'
        self._contact_h, self._contact_o = f'{prefix}contact_hand', f'{prefix}contact_object'
        self._view = ContactView(system.object_surface, system.hand_surface)
        self._markers = ContactMarkers(self._hand, self._contact_h)

        def stream(kind: type, name: str) -> Any:
            return node.writer(kind, name, STREAM_WRITER)

        self._hand_odometry = stream(Odometry, 'hand/odometry')
        self._object_odometry = stream(Odometry, 'object/odometry') if estimate else None
        self._truth = stream(Odometry, 'object/ground_truth')
        self._coordinates = stream(JointState, 'contact/coordinates')
        self._wrench = stream(WrenchStamped, 'contact/wrench')
        self._tf = stream(TFMessage, '/tf')
        self._marker_publisher = stream(MarkerArray, '~/markers')
        self._state = node.writer(RollingContact, 'contact/state', EVENT)
        surfaces = node.writer(MarkerArray, '~/surfaces', LATCHED)
        self._encode_hand = OdometryEncoder(world, self._hand).encode
        self._encode_object = OdometryEncoder(world, self._object).encode
        surfaces.publish(
            MarkerArray(
                markers=[
                    surface_marker(system.object_surface, self._object, 0, OBJECT_COLOURS),
                    surface_marker(system.hand_surface, self._hand, 1, HAND_COLOURS, edges=edges),
                ]
            )
        )

    def forget(self) -> None:
        """Start a new path of the contact point."""
        self._markers.forget()

    def state(self, seen: Observation, stamp: int) -> None:
        """Publish hand and object state at a time [ns]; the fast part."""
        self._hand_odometry.publish(self._encode_hand(stamp, seen.hand.tolist()))
        if self._object_odometry is not None:
            self._object_odometry.publish(self._encode_object(stamp, seen.object_.tolist()))

    def contact(self, seen: Observation, stamp: Time) -> None:
        """Publish ground truth, contact coordinates and contact wrench."""
        self._truth.publish(self._encode_object(time_to_nanoseconds(stamp), seen.object_.tolist()))
        X_WH, X_WO = body_matrix(seen.hand), body_matrix(seen.object_)
        q, _ = self._view.coordinates(X_WO, X_WH, seen.X_WCh[:3, 3])
        joints = JointState(name=list(NAMES), position=q.tolist())
        joints.header.stamp = stamp
        self._coordinates.publish(joints)
        wrench = WrenchStamped(wrench=array_to_wrench(seen.wrench))
        wrench.header.stamp, wrench.header.frame_id = stamp, self._contact_h
        self._wrench.publish(wrench)

    def contact_state(self, seen: Observation, stamp: Time) -> None:
        """Publish mode, gap and margins of the contact."""
        tangential = float(np.hypot(seen.wrench[3], seen.wrench[4]))
        normal, spin = float(seen.wrench[5]), abs(float(seen.wrench[2]))
        message = RollingContact(mode=self._plant.contact_mode, gap=max(seen.gap, 0.0))
        message.wrench = array_to_wrench(seen.wrench)
        message.header.stamp, message.header.frame_id = stamp, self._contact_h
        message.required_friction = ratio(tangential, normal)
        message.friction_utilisation = ratio(tangential, self._mu * normal)
        message.spin_utilisation = ratio(spin, self._mu_spin * normal) if self._mu_spin else 0.0
        message.object_chart, message.hand_chart = self._view.charts
        self._state.publish(message)

    def frames(self, seen: Observation, stamp: Time) -> None:
        """Publish the frames."""
        X_WH, X_WO = body_matrix(seen.hand), body_matrix(seen.object_)
        _, X_OCo = self._view.coordinates(X_WO, X_WH, seen.X_WCh[:3, 3])
        self._tf.publish(
            TFMessage(
                transforms=[
                    matrix_to_transform(X_WH, stamp, self._world, self._hand),
                    matrix_to_transform(X_WO, stamp, self._world, self._object),
                    matrix_to_transform(
                        np.linalg.inv(X_WH) @ seen.X_WCh, stamp, self._hand, self._contact_h
                    ),
                    matrix_to_transform(X_OCo, stamp, self._object, self._contact_o),
                ]
            )
        )

    def markers(self, seen: Observation, stamp: Time) -> None:
        """Publish the markers that move, and the state of the contact."""
        self.contact_state(seen, stamp)
        X_WH = body_matrix(seen.hand)
        p_HC = X_WH[:3, :3].T @ (seen.X_WCh[:3, 3] - X_WH[:3, 3])
        self._marker_publisher.publish(self._markers.update(stamp, p_HC, seen.wrench[3:6]))


def ratio(a: float, b: float) -> float:
    """Return a / b of what is carried over what holds; infinite where nothing holds."""
    return a / b if b > 0.0 else (0.0 if a == 0.0 else float('inf'))

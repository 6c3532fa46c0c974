"""What the robot simulator publishes."""

from __future__ import annotations

import math
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rolling_dynamics.nodes.conversions import (
    matrix_to_transform,
    nanoseconds_to_time,
)
from rolling_dynamics.nodes.odometry_codec import OdometryEncoder
from rolling_dynamics.nodes.qos import overridable, STREAM_WRITER
from rolling_dynamics.robots import Observation
from rolling_dynamics.robots.plant import RobotPlant
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage


def yaw_matrix(yaw: float, position: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the homogeneous matrix of a turn about z [rad] and a position [m]."""
    c, s, X = math.cos(yaw), math.sin(yaw), np.eye(4)
    X[0, :2], X[1, :2], X[:3, 3] = (c, -s), (s, c), position
    return X


class RobotTopics:
    """Publishers of state, odometry, joints, contact, frames and markers."""

    def __init__(self, node: Node, plant: RobotPlant, *, world: str, prefix: str) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        plant
            The robot.
        world
            Name of the frame of the floor.
        prefix
            Put before the name of every other frame.

        """
        self._node, self._plant, self._world, self._prefix = node, plant, world, prefix
        self._publishers: list = []
        view = plant.view
        self._state = self._stream(JointState, 'robot/state')
        self._state_message = JointState(name=list(view.system.state.names))
        self._state_message.header.frame_id = world
        self._odometry = self._stream(Odometry, 'odom')
        self._encode = OdometryEncoder(world, f'{prefix}base_link').encode
        self._tf = self._stream(TFMessage, '/tf')

    def _stream(self, kind: type, name: str) -> Any:
        return self._publisher(kind, name, STREAM_WRITER)

    def _publisher(self, kind: type, name: str, qos: QoSProfile) -> Any:
        made = self._node.create_publisher(kind, name, qos, qos_overriding_options=overridable())
        self._publishers.append(made)
        return made

    def destroy(self) -> None:
        """Remove the publishers from the node."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        self._publishers = []

    def forget(self) -> None:
        """Start a new path of the contact point."""

    def state(self, seen: Observation, stamp: int) -> None:
        """Publish the full state at a time [ns]; the fast part."""
        message = self._state_message
        message.header.stamp = nanoseconds_to_time(stamp)
        message.position = seen.x.tolist()
        self._state.publish(message)
        half = 0.5 * seen.yaw
        c, s = math.cos(seen.yaw), math.sin(seen.yaw)
        vx, vy, vz = seen.velocity.tolist()
        body = (math.cos(half), 0.0, 0.0, math.sin(half), *seen.centre.tolist())
        twist = (0.0, 0.0, seen.yaw_rate, c * vx + s * vy, c * vy - s * vx, vz)
        self._odometry.publish(self._encode(stamp, (*body, *twist)))

    def contact(self, seen: Observation, stamp: Time) -> None:
        """Publish joints and contact wrench."""

    def contact_state(self, seen: Observation, stamp: Time, fault: str) -> None:
        """Publish mode and margins of the contact."""

    def frames(self, seen: Observation, stamp: Time) -> None:
        """Publish the frames."""
        x, y, z = seen.centre.tolist()
        poses = {self._world: np.eye(4)}
        poses['base_footprint'] = yaw_matrix(seen.yaw, np.array([x, y, 0.0]))
        poses['base_link'] = yaw_matrix(seen.yaw, np.array([x, y, z]))
        links = [('base_footprint', self._world), ('base_link', 'base_footprint')]
        for link, X_W in zip(self._plant.view.links, seen.links, strict=True):
            poses[link.name] = X_W
            links.append((link.name, self._world if link.parent == 'odom' else link.parent))
        self._tf.publish(
            TFMessage(
                transforms=[
                    matrix_to_transform(
                        np.linalg.inv(poses[parent]) @ poses[name],
                        stamp,
                        self._frame(parent),
                        self._frame(name),
                    )
                    for name, parent in links
                ]
            )
        )

    def _frame(self, name: str) -> str:
        return name if name == self._world else f'{self._prefix}{name}'

    def markers(self, seen: Observation, stamp: Time) -> None:
        """Publish the markers that move."""

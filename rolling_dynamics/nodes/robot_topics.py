"""The topics that show a rolling robot, whoever knows its state."""

from __future__ import annotations

import math
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.nodes.markers import Forces, RobotMarkers
from rolling_dynamics.nodes.simulated import Slow
from rolling_dynamics.nodes.topics import ratio
from rolling_dynamics.robots.observed_robot import ObservedRobot
from rolling_dynamics.robots.urdf import robot_urdf
from rolling_dynamics.robots.view import Observation
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import OdometryEncoder
from rolling_node_kit.conversions import array_to_wrench, matrix_to_transform, nanoseconds_to_time
from rolling_node_kit.parameters import CONTACT_RATE, fixed, MARKER_RATE, TF_RATE
from rolling_node_kit.qos import EVENT, LATCHED, STREAM_WRITER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray


def yaw_matrix(yaw: float, position: Array) -> Array:
    """Return the homogeneous matrix of a turn about z [rad] and a position [m]."""
    c, s, X = math.cos(yaw), math.sin(yaw), np.eye(4)
    X[0, :2], X[1, :2], X[:3, 3] = (c, -s), (s, c), position
    return X


WORLD_FRAME = fixed('world_frame', 'odom', 'name of the frame of the floor')
SHOWN = CONTACT_RATE, TF_RATE, MARKER_RATE, WORLD_FRAME  # parameters of whoever publishes
BASES = ('base_footprint', 'odom'), ('base_link', 'base_footprint')  # frames and their parents


def relative_pose(X_AB: Array, X_AC: Array) -> Array:
    """Return X_BC of two poses in A."""
    X, R_BA = np.eye(4), X_AB[:3, :3].T
    X[:3, :3], X[:3, 3] = R_BA @ X_AC[:3, :3], R_BA @ (X_AC[:3, 3] - X_AB[:3, 3])
    return X


class RobotTopics:
    """Publishers of state, odometry, joints, contact, frames and markers."""

    def __init__(self, node: SuiteNode, robot: ObservedRobot, *, world: str, prefix: str) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        robot
            View of the robot, which was computed once.
        world
            Name of the frame of the floor.
        prefix
            Prefix of the name of every frame.

        """
        self._robot, self._prefix = robot, prefix
        self._world = f'{prefix}{world}'

        def stream(kind: type, name: str) -> Any:
            return node.writer(kind, name, STREAM_WRITER)

        view = robot.view
        self._state = stream(JointState, 'robot/state')
        self._state_message = JointState(name=list(view.system.state.names))
        self._state_message.header.frame_id = self._world
        self._odometry = None if view.fixed else stream(Odometry, 'odom')
        self._encode = OdometryEncoder(self._world, f'{prefix}base_link').encode
        self._tf = stream(TFMessage, '/tf')
        self._joints = stream(JointState, 'joint_states') if view.joints else None
        self._contact = self._frame(view.contact)
        self._wrench = self._contact_state = None
        if robot.has_wrench:
            self._wrench = stream(WrenchStamped, 'contact/wrench')
            self._contact_state = node.writer(RollingContact, 'contact/state', EVENT)
        force = float(robot.newest.wrench[5]) if robot.has_wrench else None
        self._drawn = RobotMarkers(view, self._frame, force)
        self._markers = stream(MarkerArray, '~/markers')
        node.writer(MarkerArray, '~/surfaces', LATCHED).publish(self._drawn.surfaces())
        described = String(data=robot_urdf(view, self._frame))
        node.writer(String, 'robot_description', LATCHED).publish(described)
        self.slow: Slow = (
            ('contact_rate', self.contact),
            ('tf_rate', self.frames),
            ('marker_rate', self.markers),
        )

    def forget(self) -> None:
        """Start a new path of the contact point."""
        self._drawn.forget()

    def state(self, observed: Observation, stamp: int) -> None:
        """Publish the full state at a time [ns]; the fast part."""
        message = self._state_message
        message.header.stamp = nanoseconds_to_time(stamp)
        message.position = observed.x.tolist()
        self._state.publish(message)
        if self._odometry is None:
            return
        half = 0.5 * observed.yaw
        c, s = math.cos(observed.yaw), math.sin(observed.yaw)
        vx, vy, vz = observed.velocity.tolist()
        body = (math.cos(half), 0.0, 0.0, math.sin(half), *observed.centre.tolist())
        twist = (0.0, 0.0, observed.yaw_rate, c * vx + s * vy, c * vy - s * vx, vz)
        self._odometry.publish(self._encode(stamp, (*body, *twist)))

    def contact(self, observed: Observation, stamp: Time) -> None:
        """Publish joints and contact wrench."""
        if self._joints is not None:
            position, rate = self._robot.joints(observed)
            joints = JointState(name=[f'{self._prefix}{n}' for n in self._robot.view.joints])
            joints.header.stamp = stamp
            joints.position, joints.velocity = position.tolist(), rate.tolist()
            self._joints.publish(joints)
        if self._wrench is not None:
            message = WrenchStamped(wrench=array_to_wrench(self._acting(observed)))
            message.header.stamp, message.header.frame_id = stamp, self._contact
            self._wrench.publish(message)

    def contact_state(self, observed: Observation, stamp: Time) -> None:
        """Publish mode and margins of the contact."""
        if self._contact_state is None:
            return
        force, mu, _ = self._robot.contact_forces()
        tangential, normal = np.hypot(force[:, 0], force[:, 1]), force[:, 2]
        wrench = array_to_wrench(self._acting(observed))
        message = RollingContact(wrench=wrench, mode=observed.mode)
        message.header.stamp, message.header.frame_id = stamp, self._contact
        message.gap = max(self._robot.gap(observed), 0.0)
        message.required_friction = max(map(ratio, tangential, normal))
        limits = np.where(mu > 0.0, mu * normal, math.inf)  # where the model has no friction
        message.friction_utilisation = max(map(ratio, tangential, limits))
        self._contact_state.publish(message)

    def frames(self, observed: Observation, stamp: Time) -> None:
        """Publish the frames."""
        poses, links = self._poses(observed), [(v.name, v.parent) for v in self._robot.view.links]
        message = TFMessage()
        for name, parent in (*BASES, *links):
            X, frames = relative_pose(poses[parent], poses[name]), map(self._frame, (parent, name))
            message.transforms.append(matrix_to_transform(X, stamp, *frames))
        self._tf.publish(message)

    def _poses(self, observed: Observation) -> dict[str, Array]:
        """Return the pose of each frame in W."""
        x, y, z = observed.centre.tolist()
        links = self._robot.view.links
        return {
            'odom': np.eye(4),
            'base_footprint': yaw_matrix(observed.yaw, np.array([x, y, 0.0])),
            'base_link': yaw_matrix(observed.yaw, np.array([x, y, z])),
            **{link.name: X for link, X in zip(links, observed.links, strict=True)},
        }

    def _acting(self, observed: Observation) -> Array:
        """Return torque and force in the axes of the contact's frame."""
        turn = observed.yaw if self._robot.view.contact == 'base_footprint' else 0.0
        return (observed.wrench.reshape(2, 3) @ yaw_matrix(turn, np.zeros(3))[:3, :3]).ravel()

    def _frame(self, name: str) -> str:
        return self._world if name == 'odom' else f'{self._prefix}{name}'

    def markers(self, observed: Observation, stamp: Time) -> None:
        """Publish the markers, and mode and margins of the contact."""
        self.contact_state(observed, stamp)
        view, poses = self._robot.view, self._poses(observed)
        contact = relative_pose(poses[view.path], poses[view.contact])[:3, 3]
        self._markers.publish(self._drawn.update(stamp, contact, *self._forces(observed)))

    def _forces(self, observed: Observation) -> tuple[Forces, str]:
        """Return forces with where they act, and their frame: the floor's of several contacts."""
        if self._wrench is None:
            return (), ''
        force, _, X = self._robot.contact_forces()
        if len(force) == 1:
            return [(np.zeros(3), self._acting(observed)[3:])], ''
        at = zip(X, force, strict=True)
        return [(X_WC[:3, 3], X_WC[:3, :3] @ f) for X_WC, f in at], self._world

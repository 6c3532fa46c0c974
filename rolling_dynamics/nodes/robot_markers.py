"""Markers of a rolling robot: its parts in their true shapes, its path and the contact force."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.nodes.markers import (
    colour,
    ContactMarkers,
    HAND_COLOURS,
    OBJECT_COLOURS,
    surface_marker,
)
from rolling_dynamics.robots import Ball, Block, Curve, Disk, Floor, RobotView, Rod, Shape
from rolling_dynamics.robots.palette import GLASS, SHELL, with_opacity
from rolling_dynamics.robots.shapes import OTHER_COLOUR, PART_COLOURS, pose_along
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_node_kit.conversions import list_to_point, matrix_to_pose
from visualization_msgs.msg import Marker, MarkerArray

CHEQUERED = {  # share of the radius, colours; the chequer of a shell lies below its glass
    'shell': (0.98, with_opacity(SHELL, GLASS)),
    'ball': (1.0, OBJECT_COLOURS),
}
PATH_WIDTH = 0.02  # of the path, of the robot's radius
MARKER_WIDTH = 0.002  # of the path of ContactMarkers at size 1 [m]


class RobotMarkers:
    """Draws one robot."""

    def __init__(
        self, view: RobotView, frame: Callable[[str], str], normal_force: float | None
    ) -> None:
        """
        Prepare the markers.

        Parameters
        ----------
        view
            The robot.
        frame
            Full name of a frame of the view.
        normal_force
            Of the robot at its start [N], drawn as long as its radius; None of a kinematic model.

        """
        self._view, self._frame = view, frame
        self._force = normal_force is not None
        self._contact = ContactMarkers(
            frame('odom'),
            frame('base_footprint'),
            size=PATH_WIDTH * view.radius / MARKER_WIDTH,
            newtons_per_metre=(normal_force or 1.0) / view.radius,
        )
        self.forget = self._contact.forget

    def _part(self, shape: Shape, number: int) -> Marker | None:
        """Return the marker of a shape, or None of one that is drawn as a surface alone."""
        if type(shape) not in FILLED or shape.name == 'ball':
            return None
        marker = Marker(ns=shape.name, id=number, frame_locked=True)
        marker.header.frame_id = self._frame(shape.link)
        marker.color = colour(PART_COLOURS.get(shape.name, OTHER_COLOUR))
        marker.pose.orientation.w = 1.0
        FILLED[type(shape)](marker, shape)
        return marker

    def surfaces(self) -> MarkerArray:
        """Return what stands still in its frame: parts, meshes of what rolls and of the floor."""
        markers = []
        for number, shape in enumerate(self._view.shapes):
            frame, part = self._frame(shape.link), self._part(shape, number)
            if part is not None:
                markers.append(part)
            if isinstance(shape, Floor):
                size = shape.side / 2
                markers.append(surface_marker(Plane(), frame, number, HAND_COLOURS, size))
            elif isinstance(shape, Ball) and shape.name in CHEQUERED:
                share, colours = CHEQUERED[shape.name]
                ball = Sphere(share * shape.radius)
                markers.append(surface_marker(ball, frame, number, colours))
        return MarkerArray(markers=markers)

    def update(
        self, stamp: Time, contact: NDArray[np.float64], force: NDArray[np.float64]
    ) -> MarkerArray:
        """
        Return contact point, path and force at an instant.

        Parameters
        ----------
        stamp
            Time of the instant.
        contact
            Contact point on the floor [m].
        force
            Of the floor on the robot, in ``base_footprint`` [N].

        """
        return self._contact.update(stamp, contact, force if self._force else None)


def _fill_ball(marker: Marker, shape: Ball) -> None:
    marker.type = Marker.SPHERE
    marker.scale.x = marker.scale.y = marker.scale.z = 2 * shape.radius


def _fill_block(marker: Marker, shape: Block) -> None:
    marker.type = Marker.CUBE
    marker.pose.position = list_to_point(shape.centre)
    marker.scale.x, marker.scale.y, marker.scale.z = shape.sides


def _fill_disk(marker: Marker, shape: Disk) -> None:
    marker.type = Marker.CYLINDER
    marker.pose = matrix_to_pose(pose_along(shape.axis, shape.centre))
    marker.scale.x = marker.scale.y = 2 * shape.radius
    marker.scale.z = shape.thickness


def _fill_rod(marker: Marker, shape: Rod) -> None:
    start, end = np.asarray(shape.start), np.asarray(shape.end)
    marker.type = Marker.CYLINDER
    marker.pose = matrix_to_pose(pose_along(end - start, (start + end) / 2))
    marker.scale.x = marker.scale.y = 2 * shape.radius
    marker.scale.z = float(np.linalg.norm(end - start))


def _fill_curve(marker: Marker, shape: Curve) -> None:
    marker.type = Marker.LINE_STRIP
    marker.scale.x = shape.width
    marker.points = [list_to_point(p) for p in shape.points.tolist()]


FILLED: dict[type[Shape], Callable] = {
    Ball: _fill_ball,
    Block: _fill_block,
    Disk: _fill_disk,
    Rod: _fill_rod,
    Curve: _fill_curve,
}

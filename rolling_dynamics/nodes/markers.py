"""Markers of RViz for surfaces, contacts and robots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import math
from typing import TypeAlias

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.robots.view import (
    Ball,
    Curve,
    Floor,
    GLASS,
    HAND,
    OBJECT,
    OTHER_COLOUR,
    PART_COLOURS,
    RobotView,
    Shape,
    SHELL,
    with_opacity,
)
from rolling_dynamics.surfaces import Plane, Sphere, Surface
from rolling_dynamics.surfaces.surface import drawn_cells
from rolling_node_kit.conversions import list_to_point, matrix_to_pose, vector_to_list
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

EXTENT = 0.25  # half the size of the drawn part of an unbounded chart [m or chart unit]
PATH_LENGTH = 400  # points of the contact path that are kept
NEWTONS_PER_METRE = 10.0  # length of the force arrow
Forces: TypeAlias = Sequence[tuple[Array, Array]]  # places [m] and forces [N], in one frame

OBJECT_COLOURS = with_opacity(OBJECT, 1.0)
HAND_COLOURS = with_opacity(HAND, 1.0)


def colour(rgba: Sequence[float]) -> ColorRGBA:
    """Return the message of a colour."""
    return ColorRGBA(r=rgba[0], g=rgba[1], b=rgba[2], a=rgba[3])


def surface_marker(
    surface: Surface,
    frame: str,
    number: int,
    colours: Sequence[Sequence[float]],
    extent: float = EXTENT,
    edges: ArrayLike | None = None,
) -> Marker:
    """
    Return a mesh of the drawn part of a surface.

    Parameters
    ----------
    surface
        The surface.
    frame
        Frame of its body.
    number
        Id of the marker.
    colours
        Two colours of the chequer, r, g, b, a.
    extent
        Half the size of the drawn part of an unbounded chart [m or chart unit].
    edges
        Edges u_min, u_max, v_min, v_max beyond which nothing is drawn.

    """
    marker = Marker(ns='surface', id=number, type=Marker.TRIANGLE_LIST, frame_locked=True)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    box = _drawn_box(surface, extent)
    if edges is not None:
        box = np.clip(box, *np.reshape(edges, (2, 2)).T)
    vertices, cells, kinds = drawn_cells(surface, box)
    points = [list_to_point(p) for p in vertices.tolist()]
    shades = [colour(rgba) for rgba in colours]
    for (a, b, c, d), which in zip(cells, kinds, strict=True):
        marker.points += [points[k] for k in (a, b, c, a, c, d)]
        marker.colors += [shades[which]] * 6
    return marker


def _drawn_box(surface: Surface, extent: float) -> Array:
    """Return the bounds in u and v of the drawn part, shape (2, 2)."""
    box = []
    for (low, high), period in zip(surface.chart.bounds, surface.chart.periods, strict=True):
        width = period or 2 * extent
        unbounded = -width / 2 if not math.isfinite(high) else high - width
        start = low if math.isfinite(low) else unbounded
        box.append((start, high if math.isfinite(high) else start + width))
    return np.array(box).T


class ContactMarkers:
    """The markers that move: contact point, its path over the hand, contact forces."""

    def __init__(
        self,
        hand_frame: str,
        contact_frame: str,
        *,
        size: float = 1.0,
        newtons_per_metre: float = NEWTONS_PER_METRE,
    ) -> None:
        """
        Draw in these frames.

        Parameters
        ----------
        hand_frame, contact_frame
            Frames of the path, and of point and forces.
        size
            Factor of the widths; 1 suits a body of some centimetres.
        newtons_per_metre
            Force of which the arrow is one metre long [N].

        """
        self._newtons_per_metre = newtons_per_metre
        self._path: deque[Point] = deque(maxlen=PATH_LENGTH)
        self._trail = self._marker(0, Marker.LINE_STRIP, hand_frame, (0.1, 0.1, 0.1, 1.0))
        self._trail.scale.x = 0.002 * size
        self._dot = self._marker(1, Marker.SPHERE, contact_frame, (0.8, 0.1, 0.1, 1.0))
        self._dot.scale.x = self._dot.scale.y = self._dot.scale.z = 0.008 * size
        self._contact_frame, self._size = contact_frame, size

    @staticmethod
    def _marker(number: int, kind: int, frame: str, rgba: Sequence[float]) -> Marker:
        marker = Marker(ns='contact', id=number, type=kind, color=colour(rgba))
        marker.header.frame_id = frame
        marker.pose.orientation.w = 1.0
        return marker

    def forget(self) -> None:
        """Start a new path."""
        self._path.clear()

    def _moved(self, p_HC: Array) -> bool:
        """Return whether a point is visibly away from the last one of the path."""
        if not self._path:
            return True
        return math.dist(p_HC, vector_to_list(self._path[-1])) > 0.5 * self._trail.scale.x

    def update(self, stamp: Time, p_HC: Array, forces: Forces, frame: str = '') -> MarkerArray:
        """
        Return the markers of an instant.

        Parameters
        ----------
        stamp
            Time of the instant.
        p_HC
            Contact point in the hand [m].
        forces
            On what rolls, each with where it acts; empty where they are not known.
        frame
            Of the forces; that of the contact where it is empty.

        """
        if self._moved(p_HC):
            self._path.append(list_to_point(p_HC.tolist()))
            self._trail.points = list(self._path)
        markers = [self._dot] + ([self._trail] if len(self._path) > 1 else [])
        for number, (place, force) in enumerate(forces, 2):
            arrow = self._marker(
                number, Marker.ARROW, frame or self._contact_frame, (0.1, 0.6, 0.2, 1.0)
            )
            arrow.scale.x, arrow.scale.y = 0.004 * self._size, 0.008 * self._size
            ends = place, place + force / self._newtons_per_metre
            arrow.points = [list_to_point(end.tolist()) for end in ends]
            markers.append(arrow)
        for marker in markers:
            marker.header.stamp = stamp
        return MarkerArray(markers=markers)


CHEQUERED = {  # fraction of the radius, colours; the chequer of a shell lies below its glass
    'shell': (0.98, with_opacity(SHELL, GLASS)),
    'ball': (1.0, OBJECT_COLOURS),
}
SOLIDS = {'sphere': Marker.SPHERE, 'box': Marker.CUBE, 'cylinder': Marker.CYLINDER}
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
        self._contact = ContactMarkers(
            frame(view.path),
            frame(view.contact),
            size=PATH_WIDTH * view.radius / MARKER_WIDTH,
            newtons_per_metre=(normal_force or 1.0) / view.radius,
        )
        self.forget, self.update = self._contact.forget, self._contact.update

    def _part(self, shape: Shape, number: int) -> Marker | None:
        """Return the marker of a shape, or None of one that is drawn as a surface alone."""
        solid = shape.solid
        if shape.name == 'ball' or (solid is None and not isinstance(shape, Curve)):
            return None
        marker = Marker(ns=shape.name, id=number, frame_locked=True)
        marker.header.frame_id = self._frame(shape.link)
        marker.color = colour(PART_COLOURS.get(shape.name, OTHER_COLOUR))
        marker.pose.orientation.w = 1.0
        if solid is not None:
            marker.type, marker.pose = SOLIDS[solid.kind], matrix_to_pose(solid.X)
            marker.scale.x, marker.scale.y, marker.scale.z = solid.sides
        elif isinstance(shape, Curve):
            marker.type, marker.scale.x = Marker.LINE_STRIP, shape.width
            marker.points = [list_to_point(p) for p in shape.points.tolist()]
        return marker

    def surfaces(self) -> MarkerArray:
        """Return markers fixed in their frames: parts, rolling bodies and the floor."""
        markers = []
        for number, shape in enumerate(self._view.shapes):
            frame, part = self._frame(shape.link), self._part(shape, number)
            if part is not None:
                markers.append(part)
            if isinstance(shape, Floor):
                size = shape.side / 2
                markers.append(surface_marker(Plane(), frame, number, HAND_COLOURS, size))
            elif isinstance(shape, Ball) and shape.name in CHEQUERED:
                fraction, colours = CHEQUERED[shape.name]
                ball = Sphere(fraction * shape.radius)
                markers.append(surface_marker(ball, frame, number, colours))
        return MarkerArray(markers=markers)

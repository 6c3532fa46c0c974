"""Descriptions of robots in URDF: links with their shapes, and the joints between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
import math
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.robots.view import (
    Ball,
    Block,
    Curve,
    Disk,
    Floor,
    OTHER_COLOUR,
    PART_COLOURS,
    pose_along,
    RobotView,
    Rod,
    Shape,
)
from transforms3d.euler import mat2euler

ORIGIN = (0.0, 0.0, 0.0)
CURVE_RODS = 24  # URDF has no curve: a rail is drawn as so many rods


class Description:
    """
    A URDF document in the making.

    A joint is named like its child unless it is given a name. One that moves in more than one
    way is `floating`: whoever publishes the frames moves it, robot_state_publisher cannot.
    """

    def __init__(self, name: str) -> None:
        """Begin the description of a robot."""
        self._root = ET.Element('robot', name=name)

    def link(self, name: str, shapes: Iterable[Shape] = ()) -> ET.Element:
        """Add a link with its shapes, and return its element."""
        link = ET.SubElement(self._root, 'link', name=name)
        for shape in shapes:
            for X, kind, sizes in _solids(shape):
                visual = ET.SubElement(link, 'visual')
                add_origin(visual, X[:3, 3], mat2euler(X[:3, :3], 'sxyz'))
                ET.SubElement(ET.SubElement(visual, 'geometry'), kind, sizes)
                rgba = PART_COLOURS.get(shape.name, OTHER_COLOUR)
                material = ET.SubElement(visual, 'material', name=shape.name)
                ET.SubElement(material, 'color', rgba=text_of(rgba))
        return link

    def joint(
        self,
        kind: str,
        parent: str,
        child: str,
        *,
        name: str = '',
        position: Sequence[float] = ORIGIN,
        rpy: Sequence[float] = ORIGIN,
    ) -> ET.Element:
        """Add a joint of a kind, where it stands in its parent [m, rad]; return its element."""
        joint = ET.SubElement(self._root, 'joint', name=name or f'{child}_joint', type=kind)
        ET.SubElement(joint, 'parent', link=parent)
        ET.SubElement(joint, 'child', link=child)
        add_origin(joint, position, rpy)
        return joint

    def text(self) -> str:
        """Return the document."""
        ET.indent(self._root)
        return ET.tostring(self._root, encoding='unicode') + '\n'


def text_of(values: ArrayLike) -> str:
    """Return a vector of numbers, in any unit, as URDF writes them."""
    return ' '.join(f'{v:.16g}' for v in np.atleast_1d(np.asarray(values, dtype=float)))


def add_origin(element: ET.Element, position: ArrayLike, rpy: ArrayLike) -> None:
    """Add the place of an element: vectors of position [m] and roll, pitch, yaw [rad]."""
    ET.SubElement(element, 'origin', xyz=text_of(position), rpy=text_of(rpy))


Solid = tuple[Array, str, dict[str, str]]


def _solids(shape: Shape) -> list[Solid]:
    """Return pose, kind and sizes of the solids that a shape is drawn with; none of a floor."""
    return SOLIDS[type(shape)](shape)


def _ball(shape: Ball) -> list[Solid]:
    return [(np.eye(4), 'sphere', {'radius': text_of(shape.radius)})]


def _block(shape: Block) -> list[Solid]:
    X = np.eye(4)
    X[:3, 3] = shape.centre
    return [(X, 'box', {'size': text_of(shape.sides)})]


def _disk(shape: Disk) -> list[Solid]:
    return [_cylinder(pose_along(shape.axis, shape.centre), shape.radius, shape.thickness)]


def _rod(shape: Rod) -> list[Solid]:
    start, end = np.asarray(shape.start), np.asarray(shape.end)
    X = pose_along((end - start).tolist(), ((start + end) / 2).tolist())
    return [_cylinder(X, shape.radius, math.dist(start, end))]


def _curve(shape: Curve) -> list[Solid]:
    which = np.linspace(0, len(shape.points) - 1, CURVE_RODS + 1).round().astype(int)
    ends = [tuple(p) for p in shape.points[which].tolist()]
    return [
        solid
        for start, end in pairwise(ends)
        if start != end
        for solid in _rod(
            Rod(name=shape.name, link=shape.link, start=start, end=end, radius=shape.width / 2)
        )
    ]


def _floor(_shape: Floor) -> list[Solid]:
    return []


def _cylinder(X: Array, radius: float, length: float) -> Solid:
    return X, 'cylinder', {'radius': text_of(radius), 'length': text_of(length)}


SOLIDS: dict[type[Shape], Callable[..., list[Solid]]] = {
    Ball: _ball,
    Block: _block,
    Disk: _disk,
    Rod: _rod,
    Curve: _curve,
    Floor: _floor,
}


def robot_urdf(view: RobotView, frame: Callable[[str], str]) -> str:
    """
    Return the description of a rolling robot; its links are the frames of the simulator.

    Parameters
    ----------
    view
        The robot.
    frame
        Full name of a frame of the view, of ``odom``, ``base_footprint`` and ``base_link``.

    """
    made = Description(view.system.name)
    parents = {'base_footprint': 'odom', 'base_link': 'base_footprint'}
    parents |= {link.name: link.parent for link in view.links}
    for name in ('odom', *parents):
        made.link(frame(name), [s for s in view.shapes if s.link == name])
    for name, parent in parents.items():
        made.joint('floating', frame(parent), frame(name))
    return made.text()

"""Descriptions of robots in URDF: links with their shapes, and the joints between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.robots.view import (
    Curve,
    OTHER_COLOUR,
    PART_COLOURS,
    RobotView,
    Rod,
    Shape,
    Solid,
)
from transforms3d.euler import mat2euler

ORIGIN = (0.0, 0.0, 0.0)
CURVE_RODS = 24  # URDF has no curves: a rail is drawn as this many rods


class Description:
    """
    A URDF document under construction.

    A joint is named after its child unless it is given a name. A joint with several degrees of
    freedom is `floating`: the publisher of the frames moves it, robot_state_publisher cannot.
    """

    def __init__(self, name: str) -> None:
        """Start the description of a robot."""
        self._root = ET.Element('robot', name=name)

    def link(self, name: str, shapes: Iterable[Shape] = ()) -> ET.Element:
        """Add a link with its shapes, and return its element."""
        link = ET.SubElement(self._root, 'link', name=name)
        for shape in shapes:
            for kind, X, sides in _solids(shape):
                visual = ET.SubElement(link, 'visual')
                add_origin(visual, X[:3, 3], mat2euler(X[:3, :3], 'sxyz'))
                sizes = {name: text_of(size) for name, size in SIZES[kind](sides).items()}
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
        """Add a joint of a type, at a pose in its parent [m, rad]; return its element."""
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
    """Return a vector, in any unit, in the format of URDF."""
    return ' '.join(f'{v:.16g}' for v in np.atleast_1d(np.asarray(values, dtype=float)))


def add_origin(element: ET.Element, position: ArrayLike, rpy: ArrayLike) -> None:
    """Add the pose of an element: vectors of position [m] and roll, pitch, yaw [rad]."""
    ET.SubElement(element, 'origin', xyz=text_of(position), rpy=text_of(rpy))


SIZES: dict[str, Callable[[Sequence[float]], dict[str, ArrayLike]]] = {
    'sphere': lambda sides: {'radius': sides[0] / 2},
    'box': lambda sides: {'size': sides},
    'cylinder': lambda sides: {'radius': sides[0] / 2, 'length': sides[2]},
}  # solids of URDF


def _solids(shape: Shape) -> list[Solid]:
    """Return the solids to draw a shape; none for a floor."""
    if not isinstance(shape, Curve):
        return [] if shape.solid is None else [shape.solid]
    which = np.linspace(0, len(shape.points) - 1, CURVE_RODS + 1).round().astype(int)
    ends = [tuple(p) for p in shape.points[which].tolist()]
    rods = (
        Rod(name=shape.name, link=shape.link, start=a, end=b, radius=shape.width / 2)
        for a, b in pairwise(ends)
        if a != b
    )
    return [rod.solid for rod in rods]


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

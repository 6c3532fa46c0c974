"""Shapes of a robot's parts, each in the frame of the link that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.robots.palette import OBJECT, SHELL

PART_COLOURS = {  # r, g, b, a of parts by name; what is inside a shell is seen
    'shell': (*SHELL[1], 0.15),
    'ball': (*OBJECT[0], 1.0),
    'rail': (0.35, 0.45, 0.60, 1.0),
    'mass': (0.75, 0.20, 0.15, 1.0),
    'pendulum': (0.20, 0.35, 0.60, 1.0),
    'link': (0.55, 0.58, 0.62, 1.0),
    'plate': (0.55, 0.58, 0.62, 1.0),
    'board': (0.82, 0.72, 0.55, 1.0),
    'wall': (0.48, 0.29, 0.12, 1.0),
    'hole': (0.15, 0.13, 0.12, 1.0),
}
OTHER_COLOUR = (0.5, 0.5, 0.5, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """
    A part that can be drawn.

    Attributes
    ----------
    name
        What it is: ``shell`` (seen through), ``ball``, ``rail``, ``mass``, ``pendulum``,
        ``floor``, ``obstacle``, ``board`` (drawn under everything that lies on it), ``wall``,
        ``hole``.
    link
        Name of the link that it is fixed to.

    """

    name: str
    link: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Ball(Shape):
    """A sphere about the origin of its link, of a radius [m]."""

    radius: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Disk(Shape):
    """
    A flat disk.

    Attributes
    ----------
    radius, thickness
        Its size [m].
    centre, axis
        Its middle [m] and the direction of its axis, in the link.

    """

    radius: float
    thickness: float
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block(Shape):
    """A box with edges along the axes of its link: middle and lengths of its sides [m]."""

    centre: tuple[float, float, float]
    sides: tuple[float, float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rod(Shape):
    """A straight rod of a radius [m] from one point of the link to another [m]."""

    radius: float
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    end: tuple[float, float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Shape):
    """A line through points, shape (N, 3) [m], of a width [m]."""

    points: NDArray[np.float64]
    width: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Floor(Shape):
    """The plane z = 0 of a link, drawn as a square with sides of a length [m]."""

    side: float


def pose_along(axis: Sequence[float], middle: Sequence[float]) -> NDArray[np.float64]:
    """Return a pose at a point [m] whose z axis points along a direction, shape (4, 4)."""
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = np.column_stack([x, np.cross(z, x), z]), middle
    return X

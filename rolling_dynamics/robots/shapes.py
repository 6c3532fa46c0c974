"""Shapes of a robot's parts, each in the frame of the link that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """
    A part that can be drawn.

    Attributes
    ----------
    name
        What it is: ``shell``, ``rail``, ``mass``, ``pendulum``, ``floor``,
        ``obstacle``.
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

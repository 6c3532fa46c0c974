"""Views of a ball balancer and of a labyrinth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.robots.view import Ball, Block, Curve, Disk, general_view, RobotView, Rod

THICKNESS = 0.04  # of the plate over its half width


def view(system: RollingSystem, p: Array) -> RobotView:
    """Return ball and plate, and its edge."""
    v = system.parameters.unpack(p)
    half, radius = float(v['half_width'][0]), float(v['radius'][0])
    thick = THICKNESS * half
    corners = half * np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0], [1, 1, 0.0]])
    shapes = (
        Ball(name='ball', link='ball_link', radius=radius),
        Block(
            name='plate',
            link='plate_link',
            centre=(0.0, 0.0, -thick / 2),
            sides=(2 * half, 2 * half, thick),
        ),
        Curve(name='rail', link='plate_link', points=corners, width=thick / 2),
    )
    shift = np.eye(system.tangent.size)[:, :2]  # of the ball on the plate
    return replace(general_view(system, p), fixed=True, shapes=shapes, shift=shift)


THICK = 1.0  # of the board, in radii of the ball
WALL = 0.2  # radius of a wall, the same
FILM = 0.02  # thickness of a hole as it is drawn on the board, the same


def labyrinth_view(system: RollingSystem, p: Array) -> RobotView:
    """Return ball and board, walls as rods that lie on it, and holes."""
    v = system.parameters.unpack(p)
    radius, hole = float(v['radius'][0]), float(v['hole_radius'][0])
    walls, holes = v['walls'].reshape(-1, 4).tolist(), v['holes'].reshape(-1, 2).tolist()
    corners = v['walls'].reshape(-1, 2)
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle, sides = (low + high) / 2, high - low
    shapes = (
        Ball(name='ball', link='ball_link', radius=radius),
        Block(
            name='board',
            link='plate_link',
            centre=(float(middle[0]), float(middle[1]), -THICK / 2 * radius),
            sides=(float(sides[0]), float(sides[1]), THICK * radius),
        ),
        *(
            Rod(
                name='wall',
                link='plate_link',
                radius=WALL * radius,
                start=(x1, y1, WALL * radius),
                end=(x2, y2, WALL * radius),
            )
            for x1, y1, x2, y2 in walls
        ),
        *(
            Disk(
                name='hole',
                link='plate_link',
                radius=hole,
                thickness=FILM * radius,
                centre=(x, y, FILM / 2 * radius),
            )
            for x, y in holes
        ),
    )
    shift = np.eye(system.tangent.size)[:, :2]  # of the ball on the board
    return replace(general_view(system, p), fixed=True, shapes=shapes, shift=shift)

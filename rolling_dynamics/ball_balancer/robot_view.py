"""How a ball on a tilted plate is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.robots import Ball, Block, Curve, general_view, RobotView

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

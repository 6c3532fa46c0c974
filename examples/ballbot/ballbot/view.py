"""View of the robot: the general view with shapes, and where it can be put."""

from dataclasses import replace

import numpy as np
from rolling_dynamics.robots.view import Ball, Floor, general_view, RobotView, Rod

from ballbot.system import Ballbot


def view(system: Ballbot, p: np.ndarray) -> RobotView:
    """Return ball and body; it may be shifted on the floor, and its body turned."""
    v = system.parameters.unpack(p)
    radius, height = float(v['radius'][0]), float(v['height'][0])
    top = (0.0, 0.0, 2 * height)
    shapes = (
        Ball(name='ball', link='ball_link', radius=radius),
        Rod(name='link', link='body_link', start=(0, 0, radius), end=top, radius=0.6 * radius),
        Floor(name='floor', link='odom', side=20 * radius),
    )
    general = general_view(system, p)
    shift, turn = np.zeros((system.tangent.size, 2)), np.zeros((system.tangent.size, 3))
    shift[system.tangent.slice('p_WS')], turn[5:8] = np.eye(2), np.eye(3)
    return replace(general, shapes=shapes, shift=shift, turn=turn)

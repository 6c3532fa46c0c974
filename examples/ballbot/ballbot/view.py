"""View of the robot: the general view with shapes, and how its body can be turned."""

from dataclasses import replace

import numpy as np
from rolling_dynamics.robots.view import Ball, Floor, general_view, RobotView, Rod

from ballbot.system import Ballbot


def view(system: Ballbot, p: np.ndarray) -> RobotView:
    """Return ball and body, which may be turned."""
    v = system.parameters.unpack(p)
    radius, height = float(v['radius'][0]), float(v['height'][0])
    top = (0.0, 0.0, 2 * height)
    shapes = (
        Ball(name='ball', link='ball_link', radius=radius),
        Rod(name='link', link='body_link', start=(0, 0, radius), end=top, radius=0.6 * radius),
        Floor(name='floor', link='odom', side=20 * radius),
    )
    general = general_view(system, p)
    turn = np.zeros((system.tangent.size, 3))
    turn[system.tangent.slice('d_WB')] = np.eye(3)
    return replace(general, shapes=shapes, turn=turn)

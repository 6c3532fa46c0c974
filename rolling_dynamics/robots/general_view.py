"""The view of any system from its contract alone: its bodies, and where they are."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.robots.view import Link, RobotView, view_symbols

SIZE = 0.1  # m, of what is drawn, where no parameter is called radius


def general_view(system: RollingSystem, p: ArrayLike) -> RobotView:
    """
    Return the view of a system that has none of its own.

    Its first body in ``pose`` is the one that rolls; without control it is left alone. Nothing
    is known of where it could be moved by hand, nor of its shapes.
    """
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, params = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    poses = [ca.densify(X) for X in system.pose.call([x, params])]
    centre = poses[0][:3, 3]
    size = SIZE
    if 'radius' in system.parameters:
        size = float(np.asarray(p, dtype=float)[system.parameters.slice('radius')][0])
    rate = next(iter(system.modes.values())).dynamics(x, u, t, params)
    return RobotView(
        system=system,
        symbols=view_symbols(x, u, t, params),
        radius=size,
        on_floor=False,
        centre=centre,
        velocity=ca.jtimes(centre, x, rate),
        links=[
            Link(f'{name}_link', X, 'odom')
            for name, X in zip(system.pose.name_out(), poses, strict=True)
        ],
        safe_control=ca.SX.zeros(system.control.size),
        holds_at=None,
        shift=np.zeros((system.tangent.size, 2)),
        turn=np.zeros((system.tangent.size, 3)),
    )

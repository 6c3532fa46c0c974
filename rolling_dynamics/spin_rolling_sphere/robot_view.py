"""Robot view of the sphere that rolls and spins: the sphere and the frames of its contact."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.robots.view import (
    Ball,
    Floor,
    general_view,
    Link,
    RobotView,
    tangent_columns,
)
from rolling_dynamics.rotations import homogeneous
from rolling_dynamics.spin_rolling_sphere.system import contact_normal, SpinRollingSphere

POLE = 1e-9  # cosine of the latitude below which a contact lies on a pole


def view(system: SpinRollingSphere, p: ArrayLike) -> RobotView:
    """Return the view of a sphere with parameters p."""
    general = general_view(system, p, system.symbols)
    (X_SO, X_SC), radius = (link.X_W for link in general.links), general.radius
    turn = np.zeros((system.tangent.size, 3))  # no entry of the coordinates rotates the sphere
    if 'd_SO' in system.tangent:
        turn = tangent_columns(system, 'd_SO', range(3), 3)
    frame = _contact_frame(X_SO[:3, :3], system.symbols.p)
    return replace(
        general,
        on_floor=True,
        spin=system.angular_velocity[2],
        links=(
            Link('shell_link', X_SO),
            Link('contact_plane', X_SC, 'odom'),
            Link('contact_shell', X_SO @ frame, 'shell_link'),
        ),
        holds_at=frozenset(),
        shift=tangent_columns(system, 'contact_s', range(2), 2),
        turn=turn,
        shapes=(
            Ball(name='ball', link='shell_link', radius=radius),
            Floor(name='floor', link='odom', side=20 * radius),
        ),
    )


def _contact_frame(R_SO: ca.SX, radius: ca.SX) -> ca.SX:
    """Return the Gauss frame of the sphere at the contact, in O; any e_u on a pole."""
    n = contact_normal(R_SO)
    across = ca.sqrt(n[0] ** 2 + n[2] ** 2)
    e_u = ca.vertcat(n[2], 0, -n[0]) / ca.fmax(across, POLE)
    e_u = ca.if_else(across < POLE, ca.vertcat(-1, 0, 0), e_u)
    return homogeneous(ca.horzcat(e_u, ca.cross(n, e_u), n), radius * n)

"""Robot view of the sphere with a pendulum: shell, rod and disk."""

from __future__ import annotations

from dataclasses import replace
import math

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.mechanism.link import E3 as E
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.robots.view import (
    Ball,
    Disk,
    Floor,
    general_view,
    RobotView,
    Rod,
    Shape,
    tangent_columns,
)

BRAKE_SHARE = 0.3  # maximum torque of the brake, over the torque that holds the pendulum level
ROD_SHARE = 0.02  # radius of the rod, of the shell's
DISK_SHARE = 0.04  # thickness of the disk, of the shell's radius


def view(system: PendulumSphere, p: ArrayLike) -> RobotView:
    """Return the view of a sphere with parameters p."""
    general = general_view(system, p, system.symbols, 'base_link')
    shell, pendulum, _ = general.links
    c, s = ca.cos(general.symbols.yaw), ca.sin(general.symbols.yaw)
    n = -pendulum.X_W[:3, 2]
    along, across = c * n[0] + s * n[1], c * n[1] - s * n[0]
    return replace(
        general,
        radius=float(system.parameters.unpack(p)['shell_radius'][0]),
        on_floor=True,
        links=(shell, pendulum),
        joints={  # R_base_pendulum = Rot(y, pitch) Rot(x, roll), up to rotation about its axis
            'pendulum_pitch_joint': ca.atan2(-along, -n[2]),
            'pendulum_roll_joint': ca.atan2(across, ca.sqrt(along**2 + n[2] ** 2)),
        },
        safe_control=_brake(system, general.symbols.brake_time),
        holds_at=frozenset(),
        turn=tangent_columns(system, 'd_WS', range(3), 3)
        + tangent_columns(system, 'd_WP', range(3), 3),
        shapes=_shapes(system, p),
    )


def _brake(system: PendulumSphere, brake_time: ca.SX) -> ca.SX:
    """
    Return the torque that holds the sphere on its slope and resists the motion of the drive.

    The resistance only dissipates energy. The rest cancels the slope in the equation of the shell,
    A dOmega/dt = f - Q, so that the pendulum settles at the angle that holds the sphere.
    """
    e = system.expressions
    apart = e.values['w_WP_W'] - e.values['w_WS_W']
    arm = e.params['pendulum_mass'] * e.params['pendulum_length']
    inertia = e.params['pendulum_inertia'] + arm * e.params['pendulum_length']
    torque = -inertia / brake_time * apart
    most = BRAKE_SHARE * arm * ca.norm_2(e.params['gravity_W'])
    hold = e.params['shell_radius'] * ca.cross(
        E, (e.params['shell_mass'] + e.params['pendulum_mass']) * e.params['gravity_W']
    )
    return hold + torque / ca.sqrt(1 + ca.sumsqr(torque) / most**2)


def _shapes(system: PendulumSphere, p: ArrayLike) -> list[Shape]:
    v = {name: float(a[0]) for name, a in system.parameters.unpack(p).items()}
    radius, down = v['shell_radius'], (0.0, 0.0, -v['pendulum_length'])
    disk = 2 * math.sqrt(v['pendulum_inertia'] / v['pendulum_mass'])  # i of a thin disk
    room = math.sqrt(max(radius**2 - v['pendulum_length'] ** 2, 0.0))
    return [
        Ball(name='shell', link='shell_link', radius=radius),
        Rod(name='pendulum', link='pendulum_link', end=down, radius=ROD_SHARE * radius),
        Disk(
            name='pendulum',
            link='pendulum_link',
            radius=min(disk, 0.98 * room),
            thickness=DISK_SHARE * radius,
            centre=down,
        ),
        Floor(name='floor', link='odom', side=20 * radius),
    ]

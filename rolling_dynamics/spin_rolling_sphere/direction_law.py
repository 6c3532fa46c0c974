"""
The direction law: which angle of the Darboux frame keeps the path on the plane in a direction.

Corrected, the contact point moves by (cos(theta + phi), sin(theta + phi)) (1 - R gamma)
+ (sin(theta + phi), -cos(theta + phi)) R beta per arc length, so that its direction is
G_f = theta + phi - atan2(R beta, 1 - R gamma): one arctangent, no shift of quadrant, singular only
for beta = 0, gamma = 1/R, where the sphere spins in place. The published law follows from the
published model; see :func:`published_angles`.
"""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.errors import ParameterError


def frame_angle(G_f: ca.SX, beta: ca.SX, gamma: ca.SX, radius: ca.SX) -> ca.SX:
    """Return theta + phi [rad] of the corrected model for the direction G_f [rad]."""
    return G_f + ca.atan2(radius * beta, 1 - radius * gamma)


def path_direction(
    theta_phi: float, beta: float, gamma: float, radius: float
) -> tuple[float, float]:
    """
    Return direction [rad] and speed per arc length of the contact point on the plane.

    Parameters
    ----------
    theta_phi
        Angle theta + phi [rad].
    beta, gamma
        Torsion and normal curvature of the virtual surface [1/m].
    radius
        Radius [m].

    Raises
    ------
    ParameterError
        The sphere spins in place: beta = 0, gamma = 1/R, and no direction is defined.

    """
    along, across = 1 - radius * gamma, radius * beta
    speed = math.hypot(along, across)
    if speed < 1e-12:
        raise ParameterError(
            f'direction: none for beta_s = {beta:g}, gamma_s = {gamma:g} = 1/R, where the sphere '
            'spins in place; change gamma_s or beta_s, or give theta and phi themselves'
        )
    return math.remainder(theta_phi - math.atan2(across, along), 2 * math.pi), speed


def published_angles(G_f: ca.SX, beta: ca.SX, gamma: ca.SX, radius: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return theta and phi [rad] as Eq. (15) prints them.

    The inverse cotangent is that with values in (-pi/2, pi/2). With it the path keeps its line,
    and for beta < 0, gamma < 1/R its direction but for G_f between pi/4 and atan(k/(k + beta)),
    k = 1/R - gamma, where the inverse cotangent jumps; for beta > 0 the sphere runs backwards. The
    second branch is read as pi/4 <= G_f <= pi.

    Parameters
    ----------
    G_f
        Wanted direction [rad], in (-pi, pi].
    beta, gamma
        Torsion and normal curvature of the virtual surface [1/m].
    radius
        Radius [m].

    """
    tangent = ca.tan(G_f)
    cotangent = ((1 - tangent) / radius + gamma * (tangent - 1) - beta * tangent) / beta
    theta = ca.atan(1 / cotangent)
    quarter = math.pi / 4
    shifted = ca.logic_and(G_f > -3 * quarter, G_f < quarter)
    return theta, ca.if_else(shifted, math.pi, 0.0)

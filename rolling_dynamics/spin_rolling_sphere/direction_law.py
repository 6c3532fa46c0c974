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
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError

KINK = math.radians(1.0)  # a turn of a path between neighbouring points that needs a stop


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


def check_smooth_path(points: ArrayLike) -> NDArray[np.float64]:
    """
    Return the direction G_f [rad] along a path on the plane, without jumps.

    Parameters
    ----------
    points
        Points (u_s, v_s) [m], shape (N, 2), dense enough to be a curve.

    Raises
    ------
    ParameterError
        Fewer than three points, a point that stands twice, or a kink: there G_f would jump.

    """
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
        raise ParameterError(f'path: at least 3 points (u_s, v_s) are needed, got {points.shape}')
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    if not np.all(lengths > 0):
        raise ParameterError(
            f'path: points {int(np.argmin(lengths))} and the next are equal or not finite'
        )
    direction = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    turns = np.abs(np.diff(direction))
    # a smooth curve turns by about as much as at the neighbouring points, a kink much more
    around = np.maximum(np.r_[0.0, turns[:-1]], np.r_[turns[1:], 0.0])
    kinks = np.flatnonzero((turns > KINK) & (turns > 4 * around + 1e-9))
    if kinks.size:
        k = int(kinks[0]) + 1
        raise ParameterError(
            f'path: kink of {math.degrees(turns[k - 1]):.3g} degrees at point {k}, '
            f'{points[k].tolist()}; the direction G_f would jump there: round it, or plan two '
            'paths with a stop between them'
        )
    return direction

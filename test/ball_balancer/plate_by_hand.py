"""
Newton and Euler for a homogeneous ball that rolls on a moving plate without slip or spin.

The plate's frame H stands on its surface, z along the normal. Rolling ties the angular velocity to
the contact: w = W_plate + e3 x v / r, with v the rate of the contact point in H. With the contact
force eliminated, I (dw/dt) = -r e3 x m (a - g) + M leaves two equations for dv/dt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

E3 = ca.DM([0, 0, 1])


@dataclass(frozen=True, eq=False)
class PlateMotion:
    """
    Motion of the plate, in H.

    Attributes
    ----------
    R_WH, origin
        Attitude, and origin in W [m].
    angular_velocity, angular_acceleration
        In H [rad/s], [rad/s^2].
    coasting
        Acceleration of the ball's centre in W with a constant rate in H, expressed in H [m/s^2].

    """

    R_WH: ca.SX
    origin: ca.SX
    angular_velocity: ca.SX
    angular_acceleration: ca.SX
    coasting: ca.SX


@dataclass(frozen=True, eq=False)
class BallEquations:
    """
    What moves the ball, and what holds it.

    Attributes
    ----------
    drive
        Acceleration of the contact in H without resistance (2) [m/s^2].
    normal_force
        Of the plate on the ball [N].
    per_angle
        What an angle of resistance takes from the acceleration [m/s^2 for 1 rad].
    left, turning
        Of acceleration less gravity [m/s^2], and of angular acceleration [rad/s^2], what does not
        depend on the contact's acceleration; in H.
    p
        Parameters.

    """

    drive: ca.SX
    normal_force: ca.SX
    per_angle: ca.SX
    left: ca.SX
    turning: ca.SX
    p: Mapping[str, ca.SX]

    def wrench(self, acceleration: ca.SX) -> ca.SX:
        """Return torque and force (6) on the ball at the contact in H for an acceleration (2)."""
        a = ca.vertcat(acceleration, 0)
        force = self.p['mass'] * (self.left + a)
        spun = self.p['inertia'] * (self.turning + ca.cross(E3, a) / self.p['radius'])
        return ca.vertcat(spun + self.p['radius'] * ca.cross(E3, force), force)


def plate_motion(
    pose: tuple[ca.SX, ca.SX],
    angles: tuple[ca.SX, ca.SX, ca.SX],
    ball: ca.SX,
    ball_rate: ca.SX,
    radius: ca.SX,
) -> PlateMotion:
    """
    Return the motion of the plate from its pose, by differentiation.

    Parameters
    ----------
    pose
        R_WH and origin, expressions in the servos' angles.
    angles
        Angles, rates and accelerations of the servos.
    ball, ball_rate, radius
        Contact in H (2) [m], its rate (2) [m/s] and the radius of the ball [m].

    """
    R, origin = pose
    angle, rate, acceleration = angles
    turning = ca.reshape(ca.jtimes(ca.vec(R), angle, rate), 3, 3)
    w = ca.inv_skew(R.T @ turning)
    w_rate = ca.jtimes(w, angle, rate) + ca.jtimes(w, rate, acceleration)
    centre = origin + R @ ca.vertcat(ball, radius)
    velocity = ca.jtimes(centre, angle, rate) + ca.jtimes(centre, ball, ball_rate)
    coasting = (
        ca.jtimes(velocity, angle, rate)
        + ca.jtimes(velocity, rate, acceleration)
        + ca.jtimes(velocity, ball, ball_rate)
    )
    return PlateMotion(R, origin, w, w_rate, R.T @ coasting)


def ball_equations(
    plate: PlateMotion, ball_rate: ca.SX, slope: ca.SX, p: Mapping[str, ca.SX]
) -> BallEquations:
    """
    Return the equations of the ball.

    Parameters
    ----------
    plate
        Motion of the plate.
    ball_rate
        Rate of the contact in H (2) [m/s].
    slope
        Gradient of the height of the uneven plate at the contact (2); small.
    p
        Parameters.

    """
    m, r, inertia = p['mass'], p['radius'], p['inertia']
    down = -p['gravity'] * plate.R_WH[2, :].T
    pull = down + ca.vertcat(down[2] * slope, 0)
    w = plate.angular_velocity + ca.cross(E3, ca.vertcat(ball_rate, 0)) / r
    turning = plate.angular_acceleration + ca.cross(plate.angular_velocity, w)
    left = plate.coasting - pull
    moved = inertia / r + m * r
    rest = r * m * ca.cross(E3, left) + inertia * turning  # M = rest + moved e3 x dv/dt
    drive = ca.cross(E3, rest)[:2] / moved
    normal = m * left[2]
    return BallEquations(drive, normal, r * normal / moved, left, turning, p)

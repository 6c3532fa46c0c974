"""A servo that follows commands: lag, speed and acceleration limits, dead band."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

QUICKER = 4.0  # rate of the inner loop over the stiffness: critical damping


def servo_acceleration(target: ca.SX, angle: ca.SX, rate: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """
    Return the angular accelerations of servos [rad/s^2].

    Far from its target a servo takes the greatest acceleration, cruises at the greatest speed and
    brakes along the parabola of the greatest acceleration; close to it, it is linear with the
    servo's stiffness, critically damped.

    Parameters
    ----------
    target, angle, rate
        Commands after their lag [rad], angles [rad] and rates [rad/s], one for each servo.
    p
        Parameters.

    """
    most, k, band = p['servo_acceleration'], p['servo_stiffness'], p['dead_band']
    off = target - angle
    off -= limited(off, band)
    before = off - rate * ca.fabs(rate) / (2 * most) - rate / k  # where braking begins
    inner = QUICKER * k
    wanted = inner * before / (ca.fabs(rate) / most + 1 / k)  # its slope by the rate is inner
    speed = p['servo_speed']
    wanted = ca.fmax(ca.fmin(wanted, inner * (speed - rate)), inner * (-speed - rate))
    return limited(wanted, most)


def limited(value: ca.SX, limit: ca.SX) -> ca.SX:
    """Return a value between -limit and limit."""
    return ca.fmax(ca.fmin(value, limit), -limit)

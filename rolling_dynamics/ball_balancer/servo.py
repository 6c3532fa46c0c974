"""A servo that follows commands: lag, speed and acceleration limits, dead band."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

QUICKER = 4.0  # rate of the inner loop over the stiffness: critical damping


def servo_acceleration(target: ca.SX, angle: ca.SX, rate: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """
    Return the angular accelerations of servos [rad/s^2].

    Far from its target a servo takes the greatest acceleration, cruises at the greatest speed and
    brakes at the greatest acceleration; close to it, it is linear with the servo's stiffness.

    Parameters
    ----------
    target, angle, rate
        Commands after their lag [rad], angles [rad] and rates [rad/s], one for each servo.
    p
        Parameters.

    """
    most, k, band = p['servo_acceleration'], p['servo_stiffness'], p['dead_band']
    off = target - angle
    off -= _limited(off, band)
    linear = most / k
    wanted = 2 * most * off / (ca.sqrt(2 * most * ca.fabs(off) + linear**2) + linear)
    wanted = _limited(wanted, p['servo_speed'])
    return _limited(QUICKER * k * (wanted - rate), most)


def _limited(value: ca.SX, limit: ca.SX) -> ca.SX:
    return ca.fmax(ca.fmin(value, limit), -limit)

"""The torque of swings as one expression of time, for scenarios and compiled simulation."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.posture import attitude_of, resting_direction
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.rotations import product


def swing_torque(
    t: ca.SX, params: SphereParameters, swings: Sequence[tuple[float, SpatialSwing]]
) -> ca.SX:
    """
    Return the torque on the pendulum at a time [N m].

    Parameters
    ----------
    t
        Symbol of the time [s].
    params
        The sphere.
    swings
        Start [s] and swing, in order; between them the pendulum is held in its equilibrium.

    """
    system = PendulumSphere()
    p, hang = system.pack_parameters(params), attitude_of(resting_direction(params))
    upright, still = np.array([1.0, 0, 0, 0]), np.zeros(3)

    def torque(turn: ca.SX, rate: ca.SX, acceleration: ca.SX) -> ca.SX:
        x = ca.vertcat(np.zeros(2), upright, product(turn, ca.SX(hang)), still, rate)
        return system.inverse_dynamics(x, acceleration, p)[1]

    out = torque(ca.SX(upright), still, still)
    for start, swing in swings:
        local, w = t - start, 2 * np.pi / swing.period
        alpha, b = swing.amplitude, ca.DM(swing.axis if swing.amplitude else still)
        theta = alpha * (1 - ca.cos(w * local)) / 2  # Eq. (8)
        rate = alpha * w / 2 * ca.sin(w * local)
        acceleration = alpha * w**2 / 2 * ca.cos(w * local)
        turn = ca.vertcat(ca.cos(theta / 2), ca.sin(theta / 2) * b)
        inside = ca.logic_and(local >= 0, local <= swing.period)
        out = ca.if_else(inside, torque(turn, rate * b, acceleration * b), out)
    return out

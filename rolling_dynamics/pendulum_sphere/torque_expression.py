"""The torque of swings as one expression of time, for scenarios and compiled simulation."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from rolling_dynamics.pendulum_sphere.equations import sphere_equations
from rolling_dynamics.pendulum_sphere.layouts import PARAMETERS
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.posture import resting_direction
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import PendulumSphere


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
    p = PendulumSphere().pack_parameters(params)
    values = {e.name: ca.SX(p[PARAMETERS.slice(e.name)]) for e in PARAMETERS.entries}
    rest, zero = resting_direction(params), np.zeros(3)
    _, hold = sphere_equations(
        ca.SX(ca.DM(rest)), ca.SX.zeros(3), ca.SX.zeros(3), values
    ).given_pendulum(ca.SX.zeros(3))
    out = hold
    for start, swing in swings:
        local, w = t - start, 2 * np.pi / swing.period
        alpha, b = swing.amplitude, ca.DM(swing.axis if swing.amplitude else zero)
        theta = alpha * (1 - ca.cos(w * local)) / 2  # Eq. (8)
        rate = alpha * w / 2 * ca.sin(w * local)
        acceleration = alpha * w**2 / 2 * ca.cos(w * local)
        n = ca.cos(theta) * ca.DM(rest) + ca.sin(theta) * ca.cross(b, ca.DM(rest))
        equations = sphere_equations(n, ca.SX.zeros(3), rate * b, values)
        _, torque = equations.given_pendulum(acceleration * b)
        inside = ca.logic_and(local >= 0, local <= swing.period)
        out = ca.if_else(inside, torque, out)
    return out

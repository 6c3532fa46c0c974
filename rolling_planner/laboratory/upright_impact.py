"""
The impact after which an ellipse has just the energy to come upright.

Woodruff & Lynch, Section VIII-E, after Brescianini, Hehn and D'Andrea: an inelastic impact with
high friction on a level plate at rest leaves the object rolling; it comes upright with no speed
left if (J + m |r|^2) w+^2 / 2 = m g (a - h), with h the height of its centre at the impact.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_planner.laboratory.laboratory import Laboratory


@dataclass(frozen=True, kw_only=True)
class FlightState:
    """
    A free flight in the plane x-z of the world.

    Attributes
    ----------
    p, v
        Centre of mass [m] and its velocity [m/s], shape (2,).
    angle, rate
        Turn from upright about y [rad] and its rate [rad/s].

    """

    p: Array
    v: Array
    angle: float
    rate: float

    def after(self, t: float, gravity: float) -> FlightState:
        """Return the state t seconds later [s] under gravity along -z [m/s^2]."""
        g = np.array([0.0, -gravity])
        return FlightState(
            p=self.p + self.v * t + g * t * t / 2,
            v=self.v + g * t,
            angle=self.angle + self.rate * t,
            rate=self.rate,
        )


@dataclass(frozen=True, kw_only=True)
class UprightImpact:
    """
    What an impact on a level plate at rest leaves.

    Attributes
    ----------
    rate
        w+ after it, rad/s towards upright; negative if the object turns away from it.
    wanted
        w+ with which it just comes upright, in rad/s.
    friction
        Ratio of the impulse along the plate to that across it: the least coefficient of friction.
    normal_impulse
        Impulse across the plate [N s]; an impact has a positive one.
    tilt
        Turn from the nearest upright [rad]; upright is every half turn.

    """

    rate: float
    wanted: float
    friction: float
    normal_impulse: float
    tilt: float

    @property
    def excess(self) -> float:
        """w+ beyond the wanted one, in rad/s."""
        return self.rate - self.wanted


def contact_arm(laboratory: Laboratory, angle: float) -> Array:
    """Return the lowest point of the ellipse from its centre (x, z) [m], turned from upright."""
    a, b = laboratory.semi_axes
    s, c = math.sin(angle), math.cos(angle)
    height = math.sqrt((a * c) ** 2 + (b * s) ** 2)  # support function of the ellipse
    return np.array([(b * b - a * a) * s * c / height, -height])


def upright_impact(laboratory: Laboratory, before: FlightState) -> UprightImpact:
    """Return what the impact of a flying ellipse on a level plate at rest leaves."""
    J, m = laboratory.inertia, laboratory.mass
    r = -contact_arm(laboratory, before.angle)  # from contact to centre
    J_c = J + m * float(r @ r)
    # about y: (r x v)_y = r_z v_x - r_x v_z
    rate = (J * before.rate + m * (r[1] * before.v[0] - r[0] * before.v[1])) / J_c
    impulse = m * (rate * np.array([r[1], -r[0]]) - before.v)  # v+ = w+ x r
    tilt = math.remainder(before.angle, math.pi)
    towards = -math.copysign(1.0, tilt)
    rise = laboratory.semi_axes[0] - r[1]
    return UprightImpact(
        rate=towards * rate,
        wanted=math.sqrt(2 * m * laboratory.gravity * max(rise, 0.0) / J_c),
        friction=abs(impulse[0]) / max(abs(impulse[1]), 1e-300),
        normal_impulse=float(impulse[1]),
        tilt=tilt,
    )

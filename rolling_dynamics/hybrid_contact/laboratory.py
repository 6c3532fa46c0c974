"""
The planar laboratory: an ellipse on a plate, on an inclined air table.

Woodruff & Lynch, Section VIII. The lengths 0.0754 m and 0.0504 m of the axes are taken as full
axes. Not printed, and chosen here: the inertia (that of a homogeneous lamina), the coefficients of
friction, and a resistance that damps the rocking of the ellipse by a share of critical damping.

The long axis is z of the object. It lies flat with its x axis up (``beta`` = -pi/2 in the hand)
and stands upright at ``beta`` = 0; from the one to the other it rolls towards +x.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.planar_rolling import PlanarRolling, STATE
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.surfaces import Ellipsoid

FLAT, UPRIGHT = -math.pi / 2, 0.0  # turn of the object in the hand [rad]


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """
    Dimensions of the laboratory.

    Attributes
    ----------
    mass
        Of the ellipse [kg].
    long_axis, short_axis
        Full axes [m].
    plate
        Width of the plate [m]; the hand's origin is its middle.
    gravity
        Along the table [m/s^2].
    mu, mu_kinetic
        Coefficients of friction.
    damping
        Damping of the rocking about rest, as a share of critical damping.

    """

    mass: float = 0.0553
    long_axis: float = 0.0754
    short_axis: float = 0.0504
    plate: float = 0.375
    gravity: float = 0.4 * 9.81
    mu: float = 1.0
    mu_kinetic: float = 0.8
    damping: float = 0.01

    def __post_init__(self) -> None:
        """Refuse an ellipse that cannot stand up."""
        if not 0 < self.short_axis < self.long_axis:
            raise ParameterError(
                f'long_axis must exceed short_axis, both positive [m]; got {self.long_axis!r} and '
                f'{self.short_axis!r}'
            )

    @property
    def semi_axes(self) -> tuple[float, float]:
        """Long and short semi-axis [m]."""
        return self.long_axis / 2, self.short_axis / 2

    @property
    def inertia(self) -> Array:
        """Principal moments of a homogeneous elliptic lamina in x-z [kg m^2], shape (3,)."""
        a, b = self.semi_axes
        return self.mass / 4 * np.array([a * a, a * a + b * b, b * b])

    @property
    def circumference(self) -> float:
        """Circumference of the ellipse [m]."""
        a, b = self.semi_axes
        # the trapezoidal rule converges geometrically for a periodic integrand
        u = np.arange(64) * (2 * math.pi / 64)
        return 2 * math.pi * float(np.mean(np.hypot(a * np.cos(u), b * np.sin(u))))

    def equilibrium_rate(self, *, upright: bool) -> float:
        """Return the rate of falling from upright, or of rocking about flat, in rad/s."""
        a, b = self.semi_axes
        height, radius = (a, b * b / a) if upright else (b, a * a / b)
        J_c = float(self.inertia[1]) + self.mass * height**2
        return math.sqrt(self.mass * self.gravity * abs(radius - height) / J_c)

    @property
    def rolling_resistance(self) -> float:
        """Resistance [m s/rad] that damps the rocking about rest as given."""
        J_c = float(self.inertia[1]) + self.mass * self.semi_axes[1] ** 2
        rate = self.equilibrium_rate(upright=False)
        return 2 * self.damping * rate * J_c / (self.mass * self.gravity)

    @property
    def surface_axes(self) -> tuple[float, float, float]:
        """Semi-axes of the body along x, y, z [m]; the one along y has no effect in the plane."""
        a, b = self.semi_axes
        return b, b, a

    def plant(self) -> tuple[HybridContactSystem, Array]:
        """Return the planar plant and its parameters."""
        system = HybridContactSystem(Ellipsoid(*self.surface_axes), planar=True)
        half = self.plate / 2
        return system, system.pack_parameters(
            mass=self.mass,
            inertia=self.inertia,
            gravity_W=(0.0, 0.0, -self.gravity),
            mu=self.mu,
            mu_kinetic=self.mu_kinetic,
            rolling_resistance=self.rolling_resistance,
            edges=(-half, half, -half, half),
        )

    def model(self) -> tuple[PlanarRolling, Array]:
        """Return the model of rolling that planner and controllers use, and its parameters."""
        half = self.plate / 2
        system = PlanarRolling(Ellipsoid(*self.surface_axes))
        return system, system.pack_parameters(
            mass=self.mass,
            inertia=float(self.inertia[1]),
            gravity_W=(0.0, -self.gravity),
            mu=self.mu,
            edges=(-half, half),
        )

    def rest(
        self, beta: float, contact: float = 0.0, hand: tuple[float, float] = (0.0, 0.0)
    ) -> Array:
        """
        Return the state of the model at rest on the level plate.

        Parameters
        ----------
        beta
            Turn of the object [rad].
        contact
            Place of the contact on the plate [m].
        hand
            Place of the hand in x and z of the world [m].

        """
        values = {e.name: np.zeros(e.size) for e in STATE.entries}
        return STATE.pack(
            **(values | {'beta_HO': [beta], 'contact_h': [contact], 'p_WH': list(hand)})
        )

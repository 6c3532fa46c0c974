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
from functools import lru_cache
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.from_contact_system import in_plane, planar_hybrid_of
from rolling_dynamics.hybrid_contact.model_state import PlanarModel, PlanarPlant
from rolling_dynamics.surfaces import Ellipsoid, Plane

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

    def spatial(self) -> tuple[ContactSystem, Array]:
        """Return the object on the plate in space, and its parameters in SI units."""
        half = self.plate / 2
        system = _on_plate(self.surface_axes, half)
        return system, system.pack_parameters(
            mass=self.mass,
            inertia=self.inertia,
            gravity_W=(0.0, 0.0, -self.gravity),
            mu=self.mu,
        )

    def plant(self) -> tuple[PlanarPlant, Array]:
        """Return the planar plant and its parameters in SI units."""
        return planar_hybrid_of(
            *self.spatial(),
            slip_share=self.mu_kinetic / self.mu,
            resistance=self.rolling_resistance,
        )

    def model(self) -> tuple[PlanarModel, Array]:
        """Return the model of rolling of planner and controllers, and its parameters in SI."""
        system, p = self.spatial()
        plane = in_plane(system, p)
        return plane, plane.take_parameters(p)

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
        state = self.model()[0].state
        turn = [math.cos(beta / 2), math.sin(beta / 2)]
        given = {'q_WH': [1.0, 0.0], 'q_HO': turn, 'contact_h': [contact], 'p_WH': list(hand)}
        return state.pack(**({e.name: np.zeros(e.size) for e in state.entries} | given))


@lru_cache(maxsize=8)
def _on_plate(semi_axes: tuple[float, float, float], half: float) -> ContactSystem:
    plate = Plane(u_bounds=(-half, half), v_bounds=(-half, half))
    return ContactSystem(Ellipsoid(*semi_axes), plate)


def turn_about_y(model: PlanarModel, states: Array) -> Array:
    """Return turns of the object in W, shape (...) [-pi, pi), of states, shape (..., n)."""
    hand, object_ = (states[..., model.state.slice(name)] for name in ('q_WH', 'q_HO'))
    cosine = hand[..., 0] * object_[..., 0] - hand[..., 1] * object_[..., 1]
    sine = hand[..., 0] * object_[..., 1] + hand[..., 1] * object_[..., 0]
    return np.asarray(np.remainder(2 * np.arctan2(sine, cosine) + np.pi, 2 * np.pi) - np.pi)

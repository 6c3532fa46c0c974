"""A body that is balanced in space on a plate: a ball, or an ellipsoid on its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem, solid_ellipsoid_inertia
from rolling_dynamics.contact.equations import GRAVITY
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere, Surface


@dataclass(frozen=True, kw_only=True)
class SpatialBody:
    """
    A homogeneous ball or ellipsoid on a square plate.

    Attributes
    ----------
    mass
        Of the body [kg].
    semi_axes
        Along x, y, z of the body [m], z upright; three equal ones make a ball.
    plate
        Width of the plate [m]; the hand's origin is its middle.
    gravity
        Along -z of the world [m/s^2].
    mu, mu_kinetic
        Coefficients of friction.
    mu_spin
        Coefficient of spin friction [m].

    """

    mass: float = 0.06
    semi_axes: tuple[float, float, float] = (0.03, 0.033, 0.04)
    plate: float = 0.375
    gravity: float = 0.4 * GRAVITY
    mu: float = 0.8
    mu_kinetic: float = 0.6
    mu_spin: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what has no size."""
        if len(self.semi_axes) != 3 or not min(self.semi_axes) > 0:
            raise ParameterError(
                f'semi_axes takes three positive lengths [m], got {self.semi_axes!r}'
            )

    @property
    def is_ball(self) -> bool:
        """Whether the three semi-axes are equal."""
        return len(set(self.semi_axes)) == 1

    @property
    def surface(self) -> Surface:
        """Surface of the body."""
        return Sphere(self.semi_axes[0]) if self.is_ball else Ellipsoid(*self.semi_axes)

    @property
    def inertia(self) -> Array:
        """Inertia about the centre [kg m^2], shape (3, 3)."""
        return solid_ellipsoid_inertia(self.mass, *self.semi_axes)

    def plant(self) -> tuple[HybridContactSystem, Array]:
        """Return the plant in space and its parameters."""
        system, half = HybridContactSystem(self.surface), self.plate / 2
        return system, system.pack_parameters(
            mass=self.mass,
            inertia=self.inertia,
            gravity_W=(0.0, 0.0, -self.gravity),
            mu=self.mu,
            mu_kinetic=self.mu_kinetic,
            mu_spin=self.mu_spin,
            edges=(-half, half, -half, half),
        )

    def model(self) -> tuple[ContactSystem, Array]:
        """Return the model of rolling that controllers use, and its parameters."""
        half = self.plate / 2
        plate = Plane(u_bounds=(-half, half), v_bounds=(-half, half))
        system = ContactSystem(self.surface, plate)
        return system, system.pack_parameters(
            mass=self.mass,
            inertia=self.inertia,
            gravity_W=(0.0, 0.0, -self.gravity),
            mu=self.mu,
            mu_spin=self.mu_spin,
        )

    def rest(self, model: ContactSystem, **given: ArrayLike) -> Array:
        """Return the state of the model at rest, upright in the middle of the level plate."""
        values: dict[str, ArrayLike] = {
            e.name: [1, 0, 0, 0] if e.kind == 'quaternion' else np.zeros(e.size)
            for e in model.state.entries
        }
        return model.state.pack(**(values | given))

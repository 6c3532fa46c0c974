"""Conversion between SI and the paper's dimensionless units, both ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters

# powers of mass, time and length
DIMENSIONS = {
    'number': (0, 0, 0),
    'angle': (0, 0, 0),
    'mass': (1, 0, 0),
    'time': (0, 1, 0),
    'length': (0, 0, 1),
    'velocity': (0, -1, 1),
    'acceleration': (0, -2, 1),
    'angular_velocity': (0, -1, 0),
    'angular_acceleration': (0, -2, 0),
    'force': (1, -2, 1),
    'torque': (1, -2, 2),
    'energy': (1, -2, 2),
    'inertia': (1, 0, 2),
    'momentum': (1, -1, 2),
    'damping': (1, -1, 2),
}
_OF_PARAMETERS = {
    'shell_mass': 'mass',
    'shell_inertia': 'inertia',
    'shell_radius': 'length',
    'pendulum_mass': 'mass',
    'pendulum_length': 'length',
    'pendulum_inertia': 'inertia',
    'pendulum_excess': 'inertia',
    'gravity': 'acceleration',
    'rolling_resistance': 'length',
    'rolling_damping': 'damping',
}


@dataclass(frozen=True, kw_only=True)
class Scales:
    """
    Units of the paper, in SI (Section 1).

    Attributes
    ----------
    mass
        The pendulum's mass m [kg].
    time
        t_0 = sqrt((i + j) / (m g R_t)) [s].
    length
        x_0 = g t_0^2 [m].

    """

    mass: float
    time: float
    length: float

    def unit(self, quantity: str) -> float:
        """Return the SI value of one dimensionless unit of a quantity."""
        try:
            a, b, c = DIMENSIONS[quantity]
        except KeyError:
            known = ', '.join(DIMENSIONS)
            raise ParameterError(f'no quantity {quantity!r}; there are: {known}') from None
        return float(self.mass**a * self.time**b * self.length**c)

    def to_si(self, quantity: str, value: ArrayLike) -> NDArray[np.float64]:
        """Return a dimensionless value, of any shape, in SI units."""
        return np.asarray(value, dtype=float) * self.unit(quantity)

    def parameters_to_dimensionless(self, params: SphereParameters) -> SphereParameters:
        """Return the parameters in the paper's units: m = 1, g = 1, i + j = R_t."""
        return replace(
            params,
            **{n: getattr(params, n) / self.unit(q) for n, q in _OF_PARAMETERS.items()},
        )


def scales_of(params: SphereParameters) -> Scales:
    """Return the paper's units for a sphere given in SI."""
    m, g = params.pendulum_mass, params.gravity
    axial = params.pendulum_inertia + params.pendulum_excess
    t0 = math.sqrt(axial / (m * g * params.pendulum_length))
    return Scales(mass=m, time=t0, length=g * t0 * t0)

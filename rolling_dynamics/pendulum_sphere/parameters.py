"""Parameters of a sphere with a pendulum, and their scales."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import number_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import MU

GRAVITY = 9.81  # m/s^2
ROD_SHARE = 0.25  # R_t / R_o of the paper, Section 1
DISK_SHARE = 0.92  # R_d / R_o of the paper, Section 1
SHELL_SHARE = 0.1  # M / m: not printed; with a thin shell it reproduces all printed values
BODIES = (
    number_entry('shell_mass', 'kg', 'mass of the shell', 'positive'),
    number_entry('shell_inertia', 'kg m^2', 'about every axis', 'positive'),
    number_entry('shell_radius', 'm', 'radius of the shell', 'positive'),
    number_entry('pendulum_mass', 'kg', 'mass of the pendulum', 'positive'),
    number_entry('pendulum_length', 'm', 'from the centre to its centre of mass', 'positive'),
    number_entry('pendulum_inertia', 'kg m^2', 'across its axis', 'positive'),
    number_entry('pendulum_excess', 'kg m^2', 'by how much the moment along its axis is greater'),
)
FLOOR = (
    number_entry('gravity', 'm/s^2', 'magnitude', 'positive'),
    MU,
    number_entry('rolling_resistance', 'm', 'lever arm of the normal force', 'zero or positive'),
    number_entry('rolling_damping', 'N m s', 'torque per angular velocity', 'zero or positive'),
)


@dataclass(frozen=True, kw_only=True)
class SphereParameters:
    """
    Masses, lengths and friction, in SI or in any other consistent units.

    Attributes
    ----------
    shell_mass, shell_inertia, shell_radius
        M [kg], I [kg m^2] about every axis, R_o [m].
    pendulum_mass, pendulum_length
        m [kg]; R_t [m] from the centre of the shell to the pendulum's centre of mass.
    pendulum_inertia, pendulum_excess
        i [kg m^2] across the axis of symmetry, i + j along it, about the centre of mass.
    gravity
        Magnitude g [m/s^2].
    slope, azimuth
        Angle of the floor against the horizontal [rad], and direction in the floor in which it
        falls, from the x axis [rad].
    mu
        Coefficient of static friction.
    rolling_resistance
        Lever arm delta [m]: a torque delta N against the rolling.
    rolling_damping
        Torque against the shell's angular velocity, per rad/s [N m s].

    """

    shell_mass: float
    shell_inertia: float
    shell_radius: float
    pendulum_mass: float
    pendulum_length: float
    pendulum_inertia: float
    pendulum_excess: float
    gravity: float = GRAVITY
    slope: float = 0.0
    azimuth: float = 0.0
    mu: float = 0.8
    rolling_resistance: float = 0.0
    rolling_damping: float = 0.0

    def __post_init__(self) -> None:
        """Reject parameters that are impossible for a body."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isinstance(value, (int, float, np.number)) and math.isfinite(value)):
                raise ParameterError(f'{field.name} must be a finite number, got {value!r}')
        for entry in (*BODIES, *FLOOR):
            entry.check(getattr(self, entry.name))
        self._check_bodies()
        if not abs(self.slope) < math.pi / 2:
            raise ParameterError(f'slope must lie within +-pi/2 [rad], got {self.slope!r}')

    def _check_bodies(self) -> None:
        R, Rt = self.shell_radius, self.pendulum_length
        if not Rt < R:
            raise ParameterError(
                f'pendulum_length {Rt:.6g} m does not fit into a shell of radius {R:.6g} m: its '
                f'centre of mass must lie inside; less than {R:.6g} m is needed, the '
                f'proportion of the paper is {ROD_SHARE * R:.6g} m'
            )
        most = 2 / 3 * self.shell_mass * R**2
        if self.shell_inertia > most * (1 + 1e-9):
            raise ParameterError(
                f'shell_inertia {self.shell_inertia:.6g} kg m^2 exceeds that of a thin shell, '
                f'which has the largest: at most 2/3 M R_o^2 = {most:.6g} kg m^2'
            )
        i, j = self.pendulum_inertia, self.pendulum_excess
        if not -i < j <= i * (1 + 1e-9):
            raise ParameterError(
                f'pendulum_excess j = {j:.6g} kg m^2: the moment about the axis, i + j, must be '
                f'positive and at most 2 i (a thin disk), so j lies above {-i:.6g} and up to '
                f'{i:.6g}'
            )

    @property
    def gravity_W(self) -> Array:
        """Gravity in the frame of the floor, z its outward normal, shape (3,) [m/s^2]."""
        s, c = math.sin(self.slope), math.cos(self.slope)
        return self.gravity * np.array(
            [s * math.cos(self.azimuth), s * math.sin(self.azimuth), -c]
        )

    @property
    def i0(self) -> float:
        """Moment of inertia of the pendulum about the centre of the shell, i + m R_t^2."""
        return self.pendulum_inertia + self.pendulum_mass * self.pendulum_length**2

    @property
    def I0(self) -> float:
        """Moment of inertia about the contact with all mass in the centre, I + (M + m) R_o^2."""
        total = self.shell_mass + self.pendulum_mass
        return self.shell_inertia + total * self.shell_radius**2

    @property
    def coupling(self) -> float:
        """Return m R_o R_t."""
        return self.pendulum_mass * self.shell_radius * self.pendulum_length

    @property
    def equilibrium(self) -> float:
        """
        Angle between the resting pendulum and the vertical on this slope [rad].

        Raises
        ------
        ParameterError
            The slope is too steep: no position of the pendulum holds the sphere.

        """
        total = self.shell_mass + self.pendulum_mass
        lever = total * self.shell_radius * math.sin(self.slope)
        fraction = lever / (self.pendulum_mass * self.pendulum_length)
        if not abs(fraction) < 1:
            arm = self.pendulum_mass * self.pendulum_length / (total * self.shell_radius)
            raise ParameterError(
                f'slope {math.degrees(self.slope):.4g} deg has no equilibrium: the pendulum would '
                f'have to reach {abs(fraction):.4g} times its length; at most '
                f'{math.degrees(math.asin(arm)):.4g} deg can be held'
            )
        return math.asin(fraction)

    def on_slope(self, slope: float, azimuth: float = 0.0) -> SphereParameters:
        """Return the same sphere on a floor that falls by ``slope`` towards ``azimuth`` [rad]."""
        return replace(self, slope=slope, azimuth=azimuth)


def paper_parameters() -> SphereParameters:
    """
    Return the sphere of the paper: a thin disk on a rod, in a thin shell, in SI units.

    The ratios are the paper's; M = 0.1 m and I = 2/3 M R_o^2 are inferred, see
    ``rolling reproduce ivanova-pivovarova``.
    """
    m, R = 1.0, 0.15  # kg, m
    M, i = (
        SHELL_SHARE * m,
        m * (DISK_SHARE * R) ** 2 / 4,
    )  # thin disk: i across, 2 i along its axis
    return SphereParameters(
        shell_mass=M,
        shell_inertia=2 / 3 * M * R**2,
        shell_radius=R,
        pendulum_mass=m,
        pendulum_length=ROD_SHARE * R,
        pendulum_inertia=i,
        pendulum_excess=i,
        gravity=GRAVITY,
        mu=0.8,
    )


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

    def to_si(self, quantity: str, value: ArrayLike) -> Array:
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

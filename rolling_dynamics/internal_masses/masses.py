"""Masses inside the body: on a rail, or on a free trajectory given as a function of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.internal_masses.rails.rail import Rail
from rolling_dynamics.mechanism.mass import MovingPoint


@dataclass(frozen=True, eq=False)
class RailMass:
    """
    A point mass on a rail.

    Attributes
    ----------
    mass
        Mass [kg].
    rail
        The rail.
    drive
        Acceleration theta'' as a formula of ``t``; None if it is a control.

    """

    mass: float
    rail: Rail
    drive: str | float | None = None

    def __post_init__(self) -> None:
        """Refuse a mass that is none, or a drive that is no formula."""
        check_mass('mass on a rail', self.mass)
        if self.drive is not None:
            parse_expression(self.drive, {'t': ca.SX.sym('t')})


@dataclass(frozen=True, eq=False)
class FreeMass:
    """
    A point mass on a prescribed trajectory chi(t) in the body, Eqs. (2.10), (2.11), (2.20).

    Attributes
    ----------
    mass
        Mass [kg].
    trajectory
        Three formulas of ``t`` [m], body frame, from the geometric centre.

    """

    mass: float
    trajectory: Sequence[str | float] = field(default=(0, 0, 0))

    def __post_init__(self) -> None:
        """Refuse a mass that is none, or a trajectory that is no curve."""
        check_mass('mass on a trajectory', self.mass)
        if isinstance(self.trajectory, str) or len(self.trajectory) != 3:
            raise ParameterError('trajectory: three formulas x, y, z of t are needed')
        self.position(ca.SX.sym('t'))

    def position(self, t: ca.SX) -> ca.SX:
        """Return chi(t)."""
        return ca.vertcat(*(parse_expression(f, {'t': t}) for f in self.trajectory))


Mass = RailMass | FreeMass


def check_mass(what: str, mass: float) -> None:
    """Refuse a mass that is negative or not finite."""
    if not (math.isfinite(mass) and mass >= 0):
        raise ParameterError(f'{what}: must be zero or positive and finite [kg], got {mass!r}')


@dataclass(frozen=True, eq=False)
class MassMotion:
    """Everything that the motion of the masses depends on."""

    t: ca.SX
    theta: ca.SX
    theta_rate: ca.SX
    theta_acceleration: ca.SX
    masses: ca.SX
    rail_values: Mapping[str, ca.SX]


def rail_masses(masses: Sequence[Mass]) -> list[RailMass]:
    """Return the masses that have a coordinate theta, in order."""
    return [m for m in masses if isinstance(m, RailMass)]


def rail_value_names(masses: Sequence[Mass]) -> dict[str, float]:
    """Return the names and values of the lengths of all rails: ``rail_1_radius`` and so on."""
    return {
        f'rail_{k}_{name}': value
        for k, m in enumerate(rail_masses(masses), 1)
        for name, value in m.rail.values.items()
    }


def mass_points(masses: Sequence[Mass], motion: MassMotion) -> list[MovingPoint]:
    """Return the masses with chi and its derivatives, Eq. (3.1) for those on rails."""
    out, k = [], 0
    for i, m in enumerate(masses):
        if isinstance(m, FreeMass):
            chi = m.position(motion.t)
            first = ca.jacobian(chi, motion.t)
            out.append(MovingPoint(motion.masses[i], chi, first, ca.jacobian(first, motion.t)))
            continue
        theta, rate = motion.theta[k], motion.theta_rate[k]
        values = {n: motion.rail_values[f'rail_{k + 1}_{n}'] for n in m.rail.values}
        zeta = m.rail.position(theta, values)
        first = ca.jacobian(zeta, theta)
        second = ca.jacobian(first, theta)
        acceleration = rate**2 * second + motion.theta_acceleration[k] * first  # (3.1)
        out.append(MovingPoint(motion.masses[i], zeta, rate * first, acceleration))
        k += 1
    return out


def accelerations(masses: Sequence[Mass], u: ca.SX, t: ca.SX) -> ca.SX:
    """Return theta'' of every mass on a rail: a control, or its drive."""
    out, k = [], 0
    for m in rail_masses(masses):
        if m.drive is None:
            out.append(u[k])
            k += 1
        else:
            out.append(parse_expression(m.drive, {'t': t}))
    return ca.vertcat(*out) if out else ca.SX(0, 1)

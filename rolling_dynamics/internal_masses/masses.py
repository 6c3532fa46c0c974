"""Masses inside a rolling body, materials and obstacles, and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.internal_masses.rails import Rail
from rolling_dynamics.mechanism import Guided


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
        """Reject a mass that is not positive, or a drive that is not a formula."""
        check_positive('mass on a rail', self.mass, 'kg', zero=True)
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
        """Reject a mass that is not positive, or a trajectory that is not a curve."""
        check_positive('mass on a trajectory', self.mass, 'kg', zero=True)
        if isinstance(self.trajectory, str) or len(self.trajectory) != 3:
            raise ParameterError('trajectory: three formulas x, y, z of t are needed')
        self.position(ca.SX.sym('t'))

    def position(self, t: ca.SX) -> ca.SX:
        """Return chi(t)."""
        return ca.vertcat(*(parse_expression(f, {'t': t}) for f in self.trajectory))


Mass = RailMass | FreeMass


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


def mass_joints(
    masses: Sequence[Mass], t: ca.SX, motion: Sequence[ca.SX], lengths: Mapping[str, ca.SX]
) -> list[Guided]:
    """
    Return the motion of the masses in the shell; by Eq. (3.1) for those on rails.

    Parameters
    ----------
    masses
        The masses.
    t
        Time [s].
    motion
        theta, theta' and theta'' of the masses on rails.
    lengths
        Lengths of all rails, by :func:`rail_value_names`.

    """
    out, on_rails = [], zip(*map(ca.vertsplit, motion), strict=True)
    for m in masses:
        if isinstance(m, FreeMass):
            chi = m.position(t)
            first = ca.jacobian(chi, t)
            out.append(Guided(place=chi, rate=first, acceleration=ca.jacobian(first, t)))
            continue
        theta, rate, driven = next(on_rails)
        number = rail_masses(masses).index(m) + 1
        zeta = m.rail.position(theta, {n: lengths[f'rail_{number}_{n}'] for n in m.rail.values})
        first = ca.jacobian(zeta, theta)
        acceleration = rate**2 * ca.jacobian(first, theta) + driven * first  # (3.1)
        out.append(Guided(place=zeta, rate=rate * first, acceleration=acceleration))
    return out


def accelerations(masses: Sequence[Mass], u: ca.SX, t: ca.SX) -> ca.SX:
    """Return theta'' of every mass on a rail: a control, or its drive."""
    controls = iter(ca.vertsplit(u))
    out = (
        next(controls) if m.drive is None else parse_expression(m.drive, {'t': t})
        for m in rail_masses(masses)
    )
    return ca.vertcat(ca.SX(0, 1), *out)


SOURCE = (
    'ASM Handbook, Volume 18: Friction, Lubrication, and Wear Technology, 2017, as quoted by '
    'Putkaradze & Rogers; dry, clean surfaces'
)
STATIC_FRICTION: dict[tuple[str, str], float] = {
    ('aluminium', 'aluminium'): 0.42,
    ('aluminium', 'steel'): 0.35,
    ('aluminium', 'titanium'): 0.34,
    ('aluminium', 'nickel'): 0.33,
    ('aluminium', 'copper'): 0.28,
    ('aluminium', 'chromium'): 0.27,
    ('aluminium', 'glass'): 0.17,
    ('aluminium', 'graphite'): 0.16,
}


def pairs_that_hold(mu: float) -> dict[tuple[str, str], bool]:
    """Return for each pair whether its coefficient of static friction is at least mu."""
    return {pair: value >= mu for pair, value in STATIC_FRICTION.items()}


SAMPLES = 721  # of a rail
MEET = 1e-9  # of the radius: masses closer than this have met


def checked_coefficients(
    mu: float, mu_kinetic: float | None, *, no_slip: bool
) -> tuple[float, float]:
    """Return static and kinetic coefficient of friction, checked."""
    kinetic = mu if mu_kinetic is None else mu_kinetic
    if no_slip and mu == 0:
        raise ParameterError(
            'mu is 0, but rolling without slipping is demanded; give a positive mu, or build the '
            'system with unilateral=True, which can slide'
        )
    if not 0 <= kinetic <= mu:
        raise ParameterError(f'mu_kinetic must lie between 0 and mu = {mu:g}, got {mu_kinetic!r}')
    return float(mu), float(kinetic)


def check_masses(
    masses: Sequence[Mass], shell: float, radius: float, centre_of_mass: Array
) -> None:
    """
    Reject a total mass of zero, a centre of mass outside the shell, and rails that leave it.

    ``shell`` is its mass [kg]; ``radius`` and ``centre_of_mass``, a vector in B, are in m.
    """
    check_positive('mass', shell, 'kg', zero=True)
    if not shell + sum(m.mass for m in masses) > 0:
        raise ParameterError('mass: the total of shell and masses is zero; it must be positive')
    if not np.linalg.norm(centre_of_mass) < radius:
        raise ParameterError(
            f'centre_of_mass: {centre_of_mass.tolist()} lies outside the shell of radius '
            f'{radius:g} m'
        )
    for k, m in enumerate(masses, 1):
        if isinstance(m, RailMass):
            check_inside(k, m.rail, radius)


@np.errstate(over='ignore')  # a distance too large to be squared is infinite
def _from_centre(points: Array) -> Array:
    return np.asarray(np.linalg.norm(points, axis=1))


@lru_cache(maxsize=256)
def check_inside(number: int, rail: Rail, radius: float) -> None:
    """Reject a rail that leaves the shell."""
    theta = np.linspace(*rail.span(), SAMPLES)
    distance = _from_centre(rail.points(theta))
    worst = int(np.argmax(distance))
    if distance[worst] > radius * (1 + 1e-12):
        raise ParameterError(
            f'rail {number} ({rail.kind}) leaves the shell: at theta = {theta[worst]:.6g} it is '
            f'{distance[worst]:.6g} m from the centre, the radius is {radius:g} m'
        )


def check_trajectories(masses: Sequence[Mass], radius: float, duration: float) -> None:
    """Reject a free trajectory that leaves the shell within a time."""
    if not any(isinstance(m, FreeMass) for m in masses):
        return
    times = np.linspace(0.0, duration, SAMPLES)
    t = ca.SX.sym('t')
    for k, m in enumerate(masses, 1):
        if not isinstance(m, FreeMass):
            continue
        f = ca.Function('chi', [t], [ca.densify(m.position(t))])
        distance = _from_centre(np.array(f(times[None, :])).T)
        out = np.flatnonzero(~(distance <= radius * (1 + 1e-12)))
        if out.size:
            raise ParameterError(
                f'the trajectory of mass {k} leaves the shell: at t = {times[out[0]]:.6g} s it is '
                f'{distance[out[0]]:.6g} m from the centre, the radius is {radius:g} m'
            )


@lru_cache(maxsize=256)
def _place(rail: Rail, theta: float) -> Array:
    point: Array = rail.points(theta)[0]
    return point


@lru_cache(maxsize=256)
def distance_from_plane(rail: Rail) -> float:
    """Return the maximum distance of a rail from the plane y = 0 [m]."""
    return float(np.abs(rail.sample()[:, 1]).max())


def check_apart(masses: Sequence[Mass], theta: ArrayLike, size: float = 0.0) -> None:
    """
    Reject positions on the rails at which masses meet or are beyond a stop.

    Parameters
    ----------
    masses
        The masses; those on free trajectories are ignored.
    theta
        Positions of the masses on rails.
    size
        Diameter of a mass [m]; masses closer than this have met.

    """
    rails = [(k, m.rail) for k, m in enumerate(masses, 1) if isinstance(m, RailMass)]
    places = np.asarray(theta, dtype=float).reshape(-1)
    for (k, rail), value in zip(rails, places, strict=True):
        low, high = rail.stops
        if not low <= value <= high:
            raise ParameterError(
                f'theta_{k} = {value:g} lies beyond the stops of its rail, {low:g} to {high:g}'
            )
    points = [(k, _place(rail, float(v))) for (k, rail), v in zip(rails, places, strict=True)]
    for (i, a), (j, b) in combinations(points, 2):
        gap = float(np.linalg.norm(a - b))
        if gap <= max(size, MEET * float(np.linalg.norm(a) + 1e-30)):
            raise ParameterError(
                f'masses {i} and {j} meet: their centres are {gap:.3g} m apart at '
                f'[{", ".join(f"{c:.4g}" for c in a)}]'
            )


FAR = 1e9  # m: extent of a box that is unbounded along y
SIDES = 5  # parameters of a box


@dataclass(frozen=True, kw_only=True)
class Box:
    """
    A box on the plane z = 0, its edges along the axes of W.

    Attributes
    ----------
    x, y
        Start and end along each axis [m].
    height
        Height of its top over the plane [m].

    """

    x: tuple[float, float]
    height: float
    y: tuple[float, float] = (-FAR, FAR)

    def __post_init__(self) -> None:
        """Reject an empty box."""
        for name, (low, high) in (('x', self.x), ('y', self.y)):
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ParameterError(
                    f'obstacle: {name} takes two increasing numbers [m], got [{low:g}, {high:g}]'
                )
        check_positive('obstacle: height', self.height, 'm')


def box_values(boxes: Sequence[Box]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return names and values of the parameters of boxes: x, y from and to, height of each."""
    sides = ('x_from', 'x_to', 'y_from', 'y_to', 'height')
    names = tuple(f'obstacle_{k}_{side}' for k in range(1, len(boxes) + 1) for side in sides)
    return names, tuple(float(v) for b in boxes for v in (*b.x, *b.y, b.height))


def distance(point: ca.SX, box: ca.SX) -> ca.SX:
    """Return the distance of a point over the plane to a box, from its SIDES parameters [m]."""
    x0, x1, y0, y1, top = ca.vertsplit(box)
    beyond = [ca.fmax(x0 - point[0], point[0] - x1), ca.fmax(y0 - point[1], point[1] - y1)]
    parts = [ca.fmax(b, 0) for b in (*beyond, point[2] - top)]
    return ca.norm_2(ca.vertcat(*parts))

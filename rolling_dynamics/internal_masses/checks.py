"""What no ball or disk can be: refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.masses import check_mass, FreeMass, Mass, RailMass
from rolling_dynamics.internal_masses.rails.rail import Rail

SAMPLES = 721  # of a rail
MEET = 1e-9  # of the radius: masses nearer than this have met


def check_radius(radius: float) -> None:
    """Refuse a radius that is not positive."""
    if not (math.isfinite(radius) and radius > 0):
        raise ParameterError(f'radius must be positive and finite [m], got {radius!r}')


def checked_coefficients(
    mu: float, mu_kinetic: float | None, *, no_slip: bool
) -> tuple[float, float]:
    """Return static and kinetic coefficient of friction, checked."""
    kinetic = mu if mu_kinetic is None else mu_kinetic
    if not (np.isfinite(mu) and mu >= 0):
        raise ParameterError(f'mu must be zero or positive and finite, got {mu!r}')
    if no_slip and mu == 0:
        raise ParameterError(
            'mu is 0, but rolling without slipping is demanded; give a positive mu, or build the '
            'system with unilateral=True, which can slide'
        )
    if not 0 <= kinetic <= mu:
        raise ParameterError(f'mu_kinetic must lie between 0 and mu = {mu:g}, got {mu_kinetic!r}')
    return float(mu), float(kinetic)


def check_masses(
    masses: Sequence[Mass], shell: float, radius: float, centre_of_mass: NDArray[np.float64]
) -> None:
    """
    Refuse a total of zero, a centre of mass outside the shell, rails that leave the shell.

    ``shell`` is its mass [kg]; ``radius`` and ``centre_of_mass``, a vector in B, are in m.
    """
    check_mass('mass', shell)
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


@np.errstate(over='ignore')  # what is too far to be squared is infinitely far
def _from_centre(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(points, axis=1))


@lru_cache(maxsize=256)
def check_inside(number: int, rail: Rail, radius: float) -> None:
    """Refuse a rail that leaves the shell."""
    theta = np.linspace(*rail.span(), SAMPLES)
    distance = _from_centre(rail.points(theta))
    worst = int(np.argmax(distance))
    if distance[worst] > radius * (1 + 1e-12):
        raise ParameterError(
            f'rail {number} ({rail.kind}) leaves the shell: at theta = {theta[worst]:.6g} it is '
            f'{distance[worst]:.6g} m from the centre, the radius is {radius:g} m'
        )


def check_trajectories(masses: Sequence[Mass], radius: float, duration: float) -> None:
    """Refuse a free trajectory that leaves the shell within a time."""
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
def _place(rail: Rail, theta: float) -> NDArray[np.float64]:
    point: NDArray[np.float64] = rail.points(theta)[0]
    return point


@lru_cache(maxsize=256)
def distance_from_plane(rail: Rail) -> float:
    """Return how far a rail leaves the plane y = 0 [m]."""
    return float(np.abs(rail.sample()[:, 1]).max())


def check_apart(masses: Sequence[Mass], theta: ArrayLike, size: float = 0.0) -> None:
    """
    Refuse places on the rails at which masses meet or stand beyond a stop.

    Parameters
    ----------
    masses
        The masses; those on free trajectories are not looked at.
    theta
        Places of those on rails.
    size
        Diameter of a mass [m]; masses nearer than it have met.

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

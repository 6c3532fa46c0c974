"""The object of a scenario as the laws of the laboratory know it: in the plane, or in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_dynamics.hybrid_contact.spatial_body import SpatialBody

SAME = 1e-3  # share by which numbers may differ that are to be the same


def laboratory_of(system: ContactSystem, params: ArrayLike) -> Laboratory:
    """
    Return the laboratory of the plane that a scenario describes.

    Parameters
    ----------
    system, params
        An ellipsoid on a plate, and its parameters.

    Raises
    ------
    ParameterError
        It is another body or plate than the laws of the plane know.

    """
    axes = _semi_axes(system)
    d = system.parameters.unpack(np.asarray(params, dtype=float))
    found = Laboratory(
        mass=float(d['mass'][0]),
        long_axis=2 * axes[2],
        short_axis=2 * axes[0],
        plate=_width(d['hand_edges'][:2]),
        gravity=_downward(d['gravity_W']),
        mu=float(d['mu'][0]),
        mu_kinetic=0.8 * float(d['mu'][0]),
    )
    _check('the moment of inertia about y', float(d['inertia'][1]), float(found.inertia[1]))
    return found


def spatial_body_of(system: ContactSystem, params: ArrayLike) -> SpatialBody:
    """
    Return the ball or ellipsoid that a system and its parameters put on a plate in space.

    Raises
    ------
    ParameterError
        It is another body or plate than the laws know.

    """
    axes = _semi_axes(system)
    d = system.parameters.unpack(np.asarray(params, dtype=float))
    mu = float(d['mu'][0])
    found = SpatialBody(
        mass=float(d['mass'][0]),
        semi_axes=axes,
        plate=_width(d['hand_edges'][:2]),
        gravity=_downward(d['gravity_W']),
        mu=mu,
        mu_kinetic=0.75 * mu,
        mu_spin=float(d['mu_spin'][0]),
    )
    for k, name in enumerate('xyz'):
        _check(
            f'the moment of inertia about {name}',
            float(d['inertia'][k]),
            float(found.inertia[k, k]),
        )
    return found


def _semi_axes(system: ContactSystem) -> tuple[float, float, float]:
    """Return the semi-axes of a ball or an ellipsoid on a plate [m]."""
    values, names = system.object_surface.values, set(system.object_surface.values)
    if system.hand_surface.name == 'plane' and names == {'a', 'b', 'c'}:
        return values['a'], values['b'], values['c']
    if system.hand_surface.name == 'plane' and len(names) == 1:
        (radius,) = values.values()
        return radius, radius, radius
    raise ParameterError(
        'the laws of the laboratory know a ball or an ellipsoid on a plane, the scenario has a '
        f'{system.object_surface.name} on a {system.hand_surface.name}'
    )


def _width(edges: Array) -> float:
    low, high = edges.tolist()
    if not abs(low + high) <= SAME * (high - low):
        raise ParameterError(
            f'the origin of the hand must be the middle of the plate, its edges are {low:g} and '
            f'{high:g} m'
        )
    return float(high - low)


def _downward(gravity_W: Array) -> float:
    if not np.abs(gravity_W[:2]).max() <= SAME * abs(gravity_W[2]):
        raise ParameterError(f'gravity must point along -z of the world, got {gravity_W.tolist()}')
    return -float(gravity_W[2])


def _check(what: str, given: float, needed: float) -> None:
    if not abs(given - needed) <= SAME * needed:
        raise ParameterError(
            f'{what} must be {needed:.6g} kg m^2, that of the homogeneous body that the laws '
            f'know, got {given:.6g}'
        )

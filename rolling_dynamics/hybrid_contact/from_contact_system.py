"""The hybrid plant of an object on a hand that is described as a contact system."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.hybrid_contact.model_state import PlanarPlant, Plant, plant_state, rest_state
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.inertia import inertia_of
from rolling_dynamics.restriction import restricted, Restriction
from rolling_dynamics.surfaces.surface import Surface

PLANE = ('alpha_WH_H_y', 'a_WH_H_x', 'a_WH_H_z')  # controls that keep a hand in the plane x-z
OUT_OF_PLANE = ('inertia_xy', 'inertia_yz', 'gravity_W_y')  # parameters that lead out of it


S = TypeVar('S', ContactSystem, HybridContactSystem)


def in_plane(system: S, params: ArrayLike) -> Restriction[S]:
    """
    Return an object on a hand restricted to the plane x-z of the world.

    Parameters
    ----------
    system, params
        Object and hand in space, and their parameters in the units of the layout.

    Raises
    ------
    ParameterError
        A parameter leads out of the plane; it is named.
    SurfaceError
        The surfaces do.

    """
    p = np.array(params, dtype=float)
    p[[system.parameters.names.index(name) for name in OUT_OF_PLANE]] = 0.0
    plane: Restriction[S] = _restricted(system, tuple((p != 0).tolist()))
    plane.take_parameters(params)
    if plane.state.entry('q_HO').kind != 'turn':
        raise SurfaceError(
            f'in the plane x-z the hand must be a plane and the object symmetric to it, got '
            f'{system.object_surface.name!r} on {system.hand_surface.name!r}; leave planar out'
        )
    return plane


@lru_cache(maxsize=16)
def _restricted(
    system: ContactSystem | HybridContactSystem, given: tuple[bool, ...]
) -> Restriction[Any]:
    return restricted(system, given, rest_state(system.state), PLANE)


def hybrid_of(
    model: ContactSystem,
    params: ArrayLike,
    *,
    slip_share: float = 0.8,
    resistance: float = 0.0,
    restitution: float = 0.0,
) -> tuple[HybridContactSystem, Array]:
    """
    Return the hybrid plant of the bodies of a contact system, and its parameters.

    Parameters
    ----------
    model, params
        Object on a hand, and its parameters.
    slip_share
        Kinetic over static friction.
    resistance
        Rolling resistance [m s/rad].
    restitution
        Share of the work of compression that a landing gives back.

    Raises
    ------
    ParameterError
        A share is none.
    SurfaceError
        The object has no support function.

    """
    if not 0.0 <= slip_share <= 1.0:
        raise ParameterError(f'slip_share must lie between 0 and 1, got {slip_share!r}')
    d = model.parameters.unpack(np.asarray(params, dtype=float))
    system = _system(model.object_surface, model.hand_surface)
    p = system.pack_parameters(
        mass=float(d['mass'][0]),
        inertia=inertia_of(d['inertia']),
        gravity_W=d['gravity_W'],
        mu=float(d['mu'][0]),
        mu_kinetic=slip_share * float(d['mu'][0]),
        mu_spin=float(d['mu_spin'][0]),
        rolling_resistance=resistance,
        restitution=restitution,
        edges=d['hand_edges'],
    )
    return system, p


def planar_hybrid_of(
    model: ContactSystem, params: ArrayLike, *, slip_share: float = 0.8, resistance: float = 0.0
) -> tuple[PlanarPlant, Array]:
    """
    Return :func:`hybrid_of` restricted to the plane x-z, where there is no spin.

    Raises
    ------
    ParameterError
        A share is none, or a parameter leads out of the plane.
    SurfaceError
        The surfaces do, or the object has no support function.

    """
    system, p = hybrid_of(model, params, slip_share=slip_share, resistance=resistance)
    p[system.parameters.slice('mu_spin')] = 0.0
    plane = in_plane(system, p)
    return plane, plane.take_parameters(p)


@lru_cache(maxsize=8)
def _system(object_surface: Surface, hand: Surface) -> HybridContactSystem:
    """Return the system of two bodies, the same each time: its equations are written once."""
    return HybridContactSystem(object_surface, hand)


def placed_state(plant: Plant, params: ArrayLike, model: ContactSystem, x: ArrayLike) -> Array:
    """
    Return the state of the plant, rolling, at a state of the contact system.

    Parameters
    ----------
    plant, params
        The plant and its parameters.
    model, x
        Contact system and its state; what leads out of the plane of a planar plant is left out.

    """
    if not isinstance(plant, Restriction):
        return plant_state(plant, params, model, x)
    y = plant_state(plant.whole, plant.expand_parameters(params), model, x)
    return np.array(plant.projection(y[plant.state_index], params)).ravel()

"""The hybrid plant of an object on a hand that is described as a contact system."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.model_state import plant_state
from rolling_dynamics.hybrid_contact.planar_rolling import PlanarRolling
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.inertia import inertia_of
from rolling_dynamics.surfaces.surface import Surface


def hybrid_of(
    model: ContactSystem,
    params: ArrayLike,
    *,
    planar: bool,
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
    planar
        Whether all motion is in the plane x-z.
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
        The object has no support function, or the hand of a planar plant is no plane.

    """
    if not 0.0 <= slip_share <= 1.0:
        raise ParameterError(f'slip_share must lie between 0 and 1, got {slip_share!r}')
    d = model.parameters.unpack(np.asarray(params, dtype=float))
    system = _system(model.object_surface, model.hand_surface, planar)
    return system, system.pack_parameters(
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


@lru_cache(maxsize=8)
def _system(object_surface: Surface, hand: Surface, planar: bool) -> HybridContactSystem:
    """Return the system of two bodies, the same each time: its equations are written once."""
    return HybridContactSystem(object_surface, hand, planar=planar)


def placed_state(
    plant: HybridContactSystem, params: ArrayLike, model: ContactSystem, x: ArrayLike
) -> Array:
    """
    Return the state of the plant, rolling, at a state of the contact system.

    Parameters
    ----------
    plant, params
        The plant and its parameters.
    model, x
        Contact system and its state; what leads out of the plane of a planar plant is left out.

    """
    if not plant.planar:
        return plant_state(plant, params, model, x)
    planar = PlanarRolling(model.object_surface)
    d = model.state.unpack(np.asarray(x, dtype=float))
    turns = {k: 2.0 * np.arctan2(d[f'q_{k}'][2], d[f'q_{k}'][0]) for k in ('WH', 'HO')}
    y = planar.state.pack(
        **{f'beta_{k}': [turn] for k, turn in turns.items()},
        **{name: d[name][[0, 2]] for name in ('p_WH', 'v_WH_H')},
        **{name: d[name][[1]] for name in ('w_WH_H', 'w_HO_H')},
        contact_h=d['contact_h'][:1],
    )
    return plant_state(plant, params, planar, y)

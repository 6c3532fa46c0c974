"""Hybrid plant of a contact system, and conversion of their states."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import posed_state
from rolling_dynamics.contract.rolling_system import Layout, MotionState
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.hybrid_contact.feet import DEFAULTS
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.restriction import restricted, Restriction
from rolling_dynamics.surfaces.surface import Surface

PLANE = ('alpha_WH_H_y', 'a_WH_H_x', 'a_WH_H_z')  # controls that keep a hand in the plane x-z
IN_PLANE = [0, 2, 4, 6, 8, 10, 12]  # w, y of the attitude; x, z; about y; x, z
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
    lever_arm: float = 0.0,
    contacts: int = 2,
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
        Fraction of the work of compression that a landing gives back.
    lever_arm
        Of dry rolling resistance [m].
    contacts
        In how many places the object may touch a hand that is not a plane.

    Raises
    ------
    ParameterError
        A share is none.
    SurfaceError
        The object has no support function.

    """
    for name, share in (('slip_share', slip_share), ('restitution', restitution)):
        if not 0.0 <= share <= 1.0:
            raise ParameterError(f'{name} must lie between 0 and 1, got {share!r}')
    given = model.parameters.unpack(np.asarray(params, dtype=float))
    surfaces = model.object_surface, model.hand_surface
    system = _system(*surfaces, lever_arm > 0, contacts)
    known: dict[str, ArrayLike] = {
        **DEFAULTS,
        **given,
        'mu_kinetic': slip_share * given['mu'],
        'rolling_resistance': resistance,
        'restitution': restitution,
        'lever_arm': lever_arm,
    }
    p = system.parameters.pack(**{e.name: known[e.name] for e in system.parameters.entries})
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
def _system(
    object_surface: Surface, hand: Surface, dry: bool, contacts: int
) -> HybridContactSystem:
    """Return the system of two bodies, the same each time: its equations are written once."""
    return HybridContactSystem(object_surface, hand, dry=dry, contacts=contacts)


PlanarModel = Restriction[ContactSystem]
PlanarPlant = Restriction[HybridContactSystem]
Model = ContactSystem | PlanarModel
Plant = HybridContactSystem | PlanarPlant


@lru_cache(maxsize=16)
def model_state(plant: Plant, model: Model) -> ca.Function:
    """
    Return ``(x, p of the plant) -> x of a model of rolling``.

    The contact point is the closest point of the hand: the state means something while the object
    touches the hand, or nearly so. Both have the same controls.

    Raises
    ------
    ParameterError
        One of them is restricted and the other is not; or the contact system has another
        representation, or another hand.

    """
    if isinstance(plant, Restriction) and isinstance(model, Restriction):
        x, _, _, p = plant.symbols
        whole = plant.of(model_state(plant.whole, model.whole))(x, p)
        own = ca.densify(whole[model.state_index.tolist()])
        return ca.Function('model_state', [x, p], [own], ['x', 'p'], ['y'])
    plant, model = _in_space(plant, model)
    values = {**plant.symbols.values, 'contact_h': plant.at.uv}
    out = ca.vertcat(*(values[entry.name] for entry in model.state.entries))
    return plant.of_state('model_state', out, names=['y'])


def plant_state(plant: Plant, p: ArrayLike, model: Model, x: ArrayLike) -> Array:
    """
    Return the state of the plant, touching the hand, of a state of a model of rolling.

    Parameters
    ----------
    plant, p
        The plant and its parameters.
    model, x
        The model and its state; what leads out of the plane of a planar plant is left out.

    """
    if isinstance(plant, Restriction):
        if isinstance(model, Restriction):
            x, model = model.expand_states(x), model.whole
        y = plant_state(plant.whole, plant.expand_parameters(p), model, x)
        return np.array(plant.projection(y[plant.state_index], p)).ravel()
    plant, model = _in_space(plant, model)
    d = model.state.unpack(np.asarray(x, dtype=float))
    values = {e.name: d[e.name] for e in plant.state.entries if e.name in d}
    y = plant.state.pack(p_HO_H=np.zeros(3), v_HO_H=np.zeros(3), **values)
    point, place = np.array(plant.touch(y, p)[2]).ravel(), y[plant.state.slice('p_HO_H')]
    if plant.curved:  # the closest point of the object comes there
        place[:] = point - np.array(plant.arm(y, p)).ravel()
    else:
        place[:2] += d['contact_h'] - point[:2]  # the lowest point comes there
    return plant.constrained(MotionState(t=0.0, x=y, mode='rolling', p=np.asarray(p))).x


def rest_state(state: Layout, **given: ArrayLike) -> Array:
    """Return a state of entries that are given; the others are zero, attitudes the identity."""
    values: dict[str, ArrayLike] = {
        e.name: np.eye(e.size)[0] if e.has_unit_norm else np.zeros(e.size) for e in state.entries
    }
    return state.pack(**(values | given))


def _in_space(plant: Plant, model: Model) -> tuple[HybridContactSystem, ContactSystem]:
    if not (isinstance(plant, Restriction) or isinstance(model, Restriction)):
        kind = (model.representation.name, model.hand_surface.name)
        if kind == ('attitude', plant.hand_surface.name):
            return plant, model
    raise ParameterError(
        'a plant in the plane needs a model in the plane; one in space a contact system on a '
        f"plane in the representation 'attitude'. Got {model.name!r}"
    )


class ObservedState:
    """Source of the states of a model in the plane. Not for use from two threads at once."""

    def __init__(self, model: PlanarModel, params: ArrayLike) -> None:
        """
        Write out the reading.

        Parameters
        ----------
        model, params
            Whose states are wanted, and its parameters.

        """
        hand, body = ca.SX.sym('hand', 13), ca.SX.sym('object', 13)
        p = ca.SX.sym('p', model.parameters.size)
        level = [ca.SX(13, 1), ca.SX(13, 1)]
        for part, given in zip(level, (hand, body), strict=True):
            part[IN_PLANE] = given[IN_PLANE]
        x = posed_state(model.whole)(*level, ca.SX.zeros(2), model.whole_parameters(p))
        turn = model.whole.state.slice('q_HO')
        x[turn] = ca.if_else(x[turn][0] < 0, -x[turn], x[turn])
        own = ca.densify(x[model.state_index.tolist()])
        self._read = FastFunction(ca.Function('observed_state', [hand, body, p], [own]))
        self._read.inputs[2][:] = params

    def restart(self) -> None:
        """Do nothing: a state does not depend on the one before."""

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """
        Return the state of the model, and a gap of zero, whatever the distance is.

        Parameters
        ----------
        hand, object_
            q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in its own frame; shape (13,)
            each. What leads out of the plane is left out.

        Returns
        -------
        NDArray, float
            State, shape (state.size,), a new array. The contact is below the object's
            lowest point, whether it touches or not.

        """
        self._read.inputs[0][:], self._read.inputs[1][:] = hand, object_
        return self._read.evaluate().copy(), 0.0

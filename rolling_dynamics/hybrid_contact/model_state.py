"""States of the hybrid plant as states of the models of rolling, and back."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.restriction import Restriction

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
    e = plant.expressions
    values = plant.state.split(e.x)
    values['contact_h'] = plant.scene.foot.uv
    out = ca.vertcat(*(values[entry.name] for entry in model.state.entries))
    return ca.Function('model_state', [e.x, e.p], [ca.densify(out)], ['x', 'p'], ['y'])


def plant_state(plant: Plant, p: ArrayLike, model: Model, x: ArrayLike) -> Array:
    """Return the state of the plant, touching the hand, of a state of a model of rolling."""
    if isinstance(plant, Restriction) and isinstance(model, Restriction):
        q, y = plant.expand_parameters(p), model.expand_states(x)
        return plant.take_states(plant_state(plant.whole, q, model.whole, y))
    plant, model = _in_space(plant, model)
    d = model.state.unpack(np.asarray(x, dtype=float))
    values = {e.name: d[e.name] for e in plant.state.entries if e.name in d}
    size = plant.state.entry('p_HO_H').size
    y = plant.state.pack(p_HO_H=np.zeros(size), v_HO_H=np.zeros(size), **values)
    point = np.array(plant.touch(y, p)[2]).ravel()
    start, along = plant.state.slice('p_HO_H').start, size - 1
    if plant.curved:  # the closest point of the object comes there
        y[start : start + size] = point - np.array(plant.arm(y, p)).ravel()
    else:
        y[start : start + along] += d['contact_h'] - point[:along]  # the lowest point comes there
    return np.array(plant.projections['rolling'](y, p)).ravel()


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

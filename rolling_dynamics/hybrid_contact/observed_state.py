"""The state of rolling in the plane, from poses and twists of hand and object as measured."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.hybrid_contact.model_state import model_state, PlanarModel, PlanarPlant
from rolling_dynamics.rotations import conjugate, product, rotation_matrix


class ObservedState:
    """Source of the states of a model in the plane. Not for use from two threads at once."""

    def __init__(self, plant: PlanarPlant, params: ArrayLike, model: PlanarModel) -> None:
        """
        Write out the reading.

        Parameters
        ----------
        plant, params
            Body and plate, in the plane, and their parameters; for their shapes.
        model
            Whose states are wanted.

        """
        self._read = FastFunction(_reading(plant, model))
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
            State, shape (state.size,), a new array. The contact is the foot of the object's
            lowest point, whether it touches or not.

        """
        self._read.inputs[0][:], self._read.inputs[1][:] = hand, object_
        return self._read.evaluate().copy(), 0.0


def _reading(plant: PlanarPlant, model: PlanarModel) -> ca.Function:
    """Return ``(hand, object, p of the plant) -> x of the model``."""
    hand, body = ca.SX.sym('hand', 13), ca.SX.sym('object', 13)
    p = ca.SX.sym('p', plant.parameters.size)
    in_plane = ca.SX(13, 1)
    bodies = []
    for given in (hand, body):
        level = ca.SX(in_plane)
        for k in (0, 2, 4, 6, 8, 10, 12):  # w, y of the attitude; x, z; about y; x, z
            level[k] = given[k]
        level[0:4] /= ca.norm_2(level[0:4])
        bodies.append(ca.vertsplit(level, [0, 4, 7, 10, 13]))
    (q_WH, p_WH, w_WH_H, v_WH_H), (q_WO, p_WO, w_WO_O, v_WO_O) = bodies
    R_WH, R_WO = rotation_matrix(q_WH), rotation_matrix(q_WO)
    q_HO, p_HO_H = product(conjugate(q_WH), q_WO), R_WH.T @ (p_WO - p_WH)
    values = {
        'q_WH': q_WH,
        'p_WH': p_WH,
        'q_HO': ca.if_else(q_HO[0] < 0, -q_HO, q_HO),
        'p_HO_H': p_HO_H,
        'w_WH_H': w_WH_H,
        'v_WH_H': v_WH_H,
        'w_HO_H': R_WH.T @ (R_WO @ w_WO_O) - w_WH_H,
        'v_HO_H': R_WH.T @ (R_WO @ v_WO_O) - v_WH_H - ca.cross(w_WH_H, p_HO_H),
    }
    whole = ca.vertcat(*(values[entry.name] for entry in plant.whole.state.entries))
    x = whole[plant.state_index.tolist()]
    return ca.Function('observed_state', [hand, body, p], [model_state(plant, model)(x, p)])

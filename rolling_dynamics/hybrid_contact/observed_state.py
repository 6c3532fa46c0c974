"""The state of planar rolling, from poses and twists of hand and object as they are measured."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.hybrid_contact.model_state import model_state
from rolling_dynamics.hybrid_contact.planar_rolling import PlanarRolling
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.rotations import rotation_matrix


class ObservedState:
    """
    Reads states of the model; the object's turn is counted on from one reading to the next.

    Not for use from two threads at once.
    """

    def __init__(
        self,
        plant: HybridContactSystem,
        params: ArrayLike,
        model: PlanarRolling,
        beta: float = 0.0,
    ) -> None:
        """
        Know the bodies.

        Parameters
        ----------
        plant, params
            Body and plate, in the plane, and their parameters; for their shapes.
        model
            Whose states are wanted.
        beta
            Turn of the object in the hand at the start, to half a turn [rad].

        """
        self._read = FastFunction(_reading(plant, model))
        self._read.inputs[2][:] = params
        self._where = model.state.slice('beta_HO').start
        self.beta = beta

    def read(self, hand: ArrayLike, body: ArrayLike) -> NDArray[np.float64]:
        """
        Return the state of the model.

        Parameters
        ----------
        hand, body
            Of hand and object: q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in its own
            frame; shape (13,) each. What leads out of the plane is left out.

        Returns
        -------
        NDArray
            Shape (9,), a new array. The contact is the foot of the object's lowest point, whether
            it touches or not.

        """
        self._read.inputs[0][:], self._read.inputs[1][:] = hand, body
        x = self._read.evaluate().copy()
        self.beta += math.remainder(float(x[self._where]) - self.beta, 2 * math.pi)
        x[self._where] = self.beta
        return x


def _reading(plant: HybridContactSystem, model: PlanarRolling) -> ca.Function:
    """Return ``(hand, object, p of the plant) -> x of the model``."""
    hand, body = ca.SX.sym('hand', 13), ca.SX.sym('object', 13)
    p = ca.SX.sym('p', plant.parameters.size)
    R_WH, R_WO = rotation_matrix(hand[0:4]), rotation_matrix(body[0:4])
    p_HO_H = R_WH.T @ (body[4:7] - hand[4:7])
    w_HO_H = R_WH.T @ (R_WO @ body[7:10]) - hand[7:10]
    v_HO_H = R_WH.T @ (R_WO @ body[10:13]) - hand[10:13] - ca.cross(hand[7:10], p_HO_H)
    beta_WH = 2 * ca.atan2(hand[2], hand[0])
    values = {
        'beta_WH': beta_WH,
        'p_WH': hand[[4, 6]],
        'beta_HO': 2 * ca.atan2(body[2], body[0]) - beta_WH,
        'p_HO_H': p_HO_H[[0, 2]],
        'w_WH_H': hand[8],
        'v_WH_H': hand[[10, 12]],
        'w_HO_H': w_HO_H[1],
        'v_HO_H': v_HO_H[[0, 2]],
    }
    x = ca.vertcat(*(values[entry.name] for entry in plant.state.entries))
    return ca.Function('observed_state', [hand, body, p], [model_state(plant, model)(x, p)])

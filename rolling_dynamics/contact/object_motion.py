"""Pose and velocity of the object as functions of the state."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import casadi as ca
from rolling_dynamics.rotations import product, rotation_matrix

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem


@lru_cache(maxsize=64)
def object_motion(system: ContactSystem, entry: str) -> ca.Function:
    """
    Return ``(x, p) -> values`` of an entry; see :class:`rolling_dynamics.contract.CarriedObject`.

    The attitude ``q_WO`` is a quaternion where the representation has one, else a rotation matrix.
    """
    e, g = system.expressions, system.expressions.state.geometry
    R_WH, w_WH = rotation_matrix(e.values['q_WH']), e.values['w_WH_H']
    p_HO = g.p_HC - g.r_OC
    w_H = w_WH + e.state.w_HO_H
    v_rel = -ca.cross(e.state.w_HO_H, g.r_OC)
    v_H = e.values['v_WH_H'] + ca.cross(w_WH, p_HO) + v_rel
    values = {
        'p_WO': lambda: e.values['p_WH'] + R_WH @ p_HO,
        'q_WO': lambda: (
            product(e.values['q_WH'], e.values['q_HO'])
            if 'q_HO' in e.values
            else ca.vec(R_WH @ g.R_HO)
        ),
        'v_WO_W': lambda: R_WH @ v_H,
        'w_WO_W': lambda: R_WH @ w_H,
        'v_WO_H': lambda: v_H,
        'w_WO_H': lambda: w_H,
        'v_WO_O': lambda: g.R_HO.T @ v_H,
        'w_WO_O': lambda: g.R_HO.T @ w_H,
        'v_HO_H': lambda: v_rel,
    }
    return ca.Function('object_motion', [e.x, e.p], [ca.densify(values[entry]())])

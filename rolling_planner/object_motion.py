"""
Pose and velocity of the object as functions of the state, for goals.

``p_WO`` is the centre of mass in W [m], ``q_WO`` its attitude; ``v_WO`` is the velocity of the
centre over the world and ``w_WO`` the angular velocity, each with the frame in which it is
expressed, W, H or O; ``v_HO_H`` is the velocity of the centre as seen from the hand.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.rotations import product, rotation_matrix

OBJECT_ENTRIES = {
    'p_WO': 3,
    'q_WO': 4,
    'v_WO_W': 3,
    'w_WO_W': 3,
    'v_WO_H': 3,
    'w_WO_H': 3,
    'v_WO_O': 3,
    'w_WO_O': 3,
    'v_HO_H': 3,
}


def object_entry(name: str) -> tuple[str, slice]:
    """Return the entry that a name stands for, and which of its numbers: ``v_WO_W_z`` is one."""
    stem, _, component = name.rpartition('_')
    if stem in OBJECT_ENTRIES and stem != 'q_WO' and component in ('x', 'y', 'z'):
        k = 'xyz'.index(component)
        return stem, slice(k, k + 1)
    return name, slice(0, OBJECT_ENTRIES.get(name, 0))


@lru_cache(maxsize=64)
def object_motion(system: ContactSystem, entry: str) -> ca.Function:
    """
    Return ``(x, p) -> values`` of one of ``OBJECT_ENTRIES``.

    The attitude ``q_WO`` is a quaternion where the representation has one, else a rotation matrix
    in column-major order.
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

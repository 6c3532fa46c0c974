"""
Names of the object's motion in goals.

``p_WO`` is the centre of mass in W [m], ``q_WO`` its attitude; ``v_WO`` is the velocity of the
centre over the world and ``w_WO`` the angular velocity, each with the frame in which it is
expressed, W, H or O; ``v_HO_H`` is the velocity of the centre as seen from the hand. A system that
carries an object gives them as functions of its state.
"""

from __future__ import annotations

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

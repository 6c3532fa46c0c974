"""Closest points of a body and a hand in the layouts of states and parameters."""

from __future__ import annotations

from rolling_dynamics.contact.equations import HAND_CONFIGURATION, HAND_VELOCITY
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    number_entry,
    quaternion_entry,
    vector_entry,
)
from rolling_dynamics.friction import LEVER_ARM, MU, MU_KINETIC, MU_SPIN, RESISTANCE
from rolling_dynamics.mechanism import Flying

STATE = Layout(
    (
        *HAND_CONFIGURATION,
        quaternion_entry('q_HO', 'attitude of the object in the hand'),
        vector_entry('p_HO_H', 'm', 'H', 'centre of mass of the object in the hand'),
        *HAND_VELOCITY,
        vector_entry('w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand'),
        vector_entry('v_HO_H', 'm/s', 'H', 'velocity of the centre of mass in the hand'),
    )
)
FOOT = Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', text='closest point of the hand')
LOOKED = vector_entry('looked', 'm', 'H', 'where closest points were looked for last')
DEFAULTS = {'rolling_resistance': (0.0,), 'restitution': (0.0,), LOOKED.name: (0.0, 0.0, 0.0)}
_named = {e.name: e for e in STATE.entries}
FLYING = Flying(
    position=_named['p_HO_H'],
    attitude=_named['q_HO'],
    velocity=_named['v_HO_H'],
    speed=_named['w_HO_H'],
)


def friction_parameters(*, dry: bool) -> tuple[Entry, ...]:
    """Return the parameters of the contact, of one with dry rolling resistance if wanted."""
    text = 'fraction of the work of compression that a landing gives back'
    restitution = number_entry('restitution', '', text, 'zero or positive')
    return MU, MU_KINETIC, MU_SPIN, RESISTANCE, *((LEVER_ARM,) if dry else ()), restitution


def state_over(places: int) -> Layout:
    """Return the state over a hand that is not a plane, with its closest points."""
    more = [
        Entry(f'contact_{k}', (f'u_{k}', f'v_{k}'), 'chart', 'hand', text='the next closest point')
        for k in range(2, places + 1)
    ]
    return Layout((*STATE.entries, FOOT, *more), {e.name: (0.0, 0.0) for e in more})


def feet_in(state: Layout) -> list[str]:
    """Return the entries of the closest points of a hand."""
    return [e.name for e in state.entries if e.unit == FOOT.unit]

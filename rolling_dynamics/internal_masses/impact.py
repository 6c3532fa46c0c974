"""
Landing as an inelastic impact, with or without slip.

The impulse acts at the contact point; the masses follow their rails through it. Its size is that
of :mod:`rolling_dynamics.point_contact.inelastic_impact`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.disk import PointMassDisk
from rolling_dynamics.point_contact.inelastic_impact import inelastic_impulse, slips

Array = NDArray[np.float64]
Body = PointMassBall | PointMassDisk


@dataclass(frozen=True)
class Landing:
    """
    What an impact leaves.

    Attributes
    ----------
    state
        After it.
    impulse_W
        Of the ground [N s].
    slips
        Whether the contact slips when it ends.

    """

    state: Array
    impulse_W: Array
    slips: bool


def contact_velocity(system: Body, p: Array, x: Array) -> Array:
    """Return the velocity of the body's point at the contact, in W [m/s]."""
    return np.array(system.contact_velocity(x, p)).ravel()


def kicked(system: Body, p: Array, x: Array, t: float, impulse: ArrayLike) -> Array:
    """Return the state after an impulse at the contact point."""
    turn, centre = system.answer_to_impulse(x, t, p, np.asarray(impulse, dtype=float))
    out = np.array(x, dtype=float)
    spin = 'w_WB_B' if 'w_WB_B' in system.state else 'phi_rate'
    out[system.state.slice(spin)] += np.array(turn).ravel()
    out[system.state.slice('v_WB_W')] += np.array(centre).ravel()
    return out


def landing(system: Body, p: Array, x: Array, t: float) -> Landing:
    """
    Return what an inelastic landing leaves.

    Parameters
    ----------
    system, p
        A unilateral ball or disk, and its parameters; mu holds what sticks, mu_kinetic what slips.
    x, t
        State and time of the touch.

    Raises
    ------
    JammingError
        The impact has no end under Coulomb friction.

    """
    layout = system.parameters
    mu, kinetic = (float(p[layout.slice(n)][0]) for n in ('mu', 'mu_kinetic'))
    v = contact_velocity(system, p, x)
    W = np.column_stack(
        [contact_velocity(system, p, kicked(system, p, x, t, e)) - v for e in np.eye(v.size)]
    )
    impulse, after = inelastic_impulse(W, v, mu, kinetic)
    return Landing(kicked(system, p, x, t, impulse), impulse, slips(v, after))

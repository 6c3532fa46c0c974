"""Relative angular velocity of object and hand, by that in the contact frame or the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.fields import gone, OneOf, vector
from rolling_dynamics.scenario.hand_motion import HandStart
from rolling_dynamics.scenario.placement import Placement
from rolling_dynamics.surfaces.atlas import contact_frame
from transforms3d.quaternions import quat2mat

PATH = 'initial.relative_velocity'


class RelativeVelocity(OneOf):
    """Velocity of the object over the hand, at rest by default."""

    w_HO_Ch: Array | None = vector(
        'relative angular velocity, in the contact frame Ch of the hand', 'rad/s', default=None
    )
    w_WO_W: Array | None = vector(
        'angular velocity of the object in the world', 'rad/s', default=None
    )
    _gone = gone(
        w_HO_H='give w_WO_W instead, which is R_WH (w_HO_H + w_WH_H), or w_HO_Ch',
        q_dot='give w_HO_Ch instead, of which the rates of the coordinates follow',
    )


class Velocity(NamedTuple):
    """w_HO in H and in Ch [rad/s]."""

    in_H: Array
    in_Ch: Array


def relative_velocity(
    given: RelativeVelocity | None, system: ContactSystem, hand: HandStart, at: Placement
) -> Velocity:
    """
    Return the relative angular velocity of an entry, zero if there is none.

    Raises
    ------
    ScenarioError
        It spins with ``pure_rolling``.

    """
    if given is None:
        return Velocity(np.zeros(3), np.zeros(3))
    R_HCh = contact_frame(system.hand_surface, at.contact_h)
    form, values = given.only
    in_H = R_HCh @ values
    if form == 'w_WO_W':
        in_H = quat2mat(hand.q_WH).T @ values - hand.w_WH_H
    in_Ch = R_HCh.T @ in_H
    if system.friction == 'pure_rolling' and abs(in_Ch[2]) > 1e-9 * max(1.0, abs(in_Ch).max()):
        raise ScenarioError(
            f'{PATH}.{form}: spins about the contact normal at {in_Ch[2]:.6g} rad/s, which pure '
            "rolling excludes; make w_HO_Ch[2] zero or use friction.model 'rolling'"
        )
    return Velocity(in_H, in_Ch)

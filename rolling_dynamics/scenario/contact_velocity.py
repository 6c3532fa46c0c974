"""Relative angular velocity of object and hand, in any of the forms a scenario may use."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.first_order_kinematics import first_order_kinematics
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.fields import numbers, vector
from rolling_dynamics.scenario.hand_motion import HandStart
from rolling_dynamics.scenario.model import OneOf
from rolling_dynamics.scenario.placement import Placement
from rolling_dynamics.surfaces.atlas import contact_frame
from transforms3d.quaternions import quat2mat

PATH = 'initial.relative_velocity'
ROLLS = 1e-6  # relative residual of rates that roll
COORDINATES = ('u_o', 'v_o', 'u_h', 'v_h', 'psi')


class RelativeVelocity(OneOf):
    """Velocity of the object over the hand, at rest by default."""

    w_HO_Ch: Array | None = vector(
        'relative angular velocity, in the contact frame Ch of the hand', 'rad/s', default=None
    )
    w_HO_H: Array | None = vector('relative angular velocity in H', 'rad/s', default=None)
    w_WO_W: Array | None = vector(
        'angular velocity of the object in the world', 'rad/s', default=None
    )
    q_dot: Array | None = numbers(
        'rates of `u_o v_o u_h v_h psi`; they must roll', count=5, default=None
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
        Rates that do not roll, or spin with ``pure_rolling``.

    """
    if given is None:
        return Velocity(np.zeros(3), np.zeros(3))
    R_HCh = contact_frame(system.hand_surface, at.contact_h)
    form, values = given.only
    if form == 'w_HO_Ch':
        in_H = R_HCh @ values
    elif form == 'w_HO_H':
        in_H = values
    elif form == 'w_WO_W':
        in_H = quat2mat(hand.q_WH).T @ values - hand.w_WH_H
    else:
        in_H = R_HCh @ _of_rates(values, system, at)
    in_Ch = R_HCh.T @ in_H
    if system.friction == 'pure_rolling' and abs(in_Ch[2]) > 1e-9 * max(1.0, abs(in_Ch).max()):
        raise ScenarioError(
            f'{PATH}.{form}: spins about the contact normal at {in_Ch[2]:.6g} rad/s, which pure '
            "rolling excludes; make w_HO_Ch[2] zero or use friction.model 'rolling'"
        )
    return Velocity(in_H, in_Ch)


def _of_rates(q_dot: Array, system: ContactSystem, at: Placement) -> Array:
    """Invert q_dot = K1 w, Eq. (1), for w in Ch."""
    if at.contact_o is None or at.psi is None:
        raise ScenarioError(
            f'{PATH}.q_dot: the object touches at a pole of its chart, where rates of coordinates '
            'do not exist; give w_HO_H'
        )
    if system.hand_chart:
        raise ScenarioError(
            f'{PATH}.q_dot: the object touches at a pole of the chart of the hand; give w_HO_H'
        )
    bodies = system.object_surface, system.hand_surface
    obj, hand = (
        s.geometry(ca.SX(ca.DM(uv)), ca.SX(ca.DM(s.parameter_values)))
        for s, uv in zip(bodies, (at.contact_o, at.contact_h), strict=True)
    )
    K1 = np.array(ca.evalf(first_order_kinematics(obj, hand, ca.SX(at.psi)).rolling))
    w: Array = np.linalg.lstsq(K1, q_dot, rcond=None)[0]
    rolled = K1 @ w
    if np.linalg.norm(rolled - q_dot) > ROLLS * max(float(np.linalg.norm(q_dot)), 1e-9):
        near = ', '.join(f'{v:.9g}' for v in rolled)
        raise ScenarioError(
            f'{PATH}.q_dot: rates of {" ".join(COORDINATES)} that slide, not roll: '
            f'{q_dot.tolist()}; the nearest that roll are [{near}]'
        )
    return w

"""Relative angular velocity of object and hand, in any of the forms a scenario may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.first_order_kinematics import first_order_kinematics
from rolling_dynamics.scenario.hand_motion import HandStart
from rolling_dynamics.scenario.placement import Placement
from rolling_dynamics.scenario.section import Section
from rolling_dynamics.surfaces.atlas import contact_frame
from transforms3d.quaternions import quat2mat

ROLLS = 1e-6  # relative residual of rates that roll
COORDINATES = ('u_o', 'v_o', 'u_h', 'v_h', 'psi')


class RelativeVelocity(NamedTuple):
    """w_HO in H and in Ch [rad/s]."""

    in_H: NDArray[np.float64]
    in_Ch: NDArray[np.float64]


def read_relative_velocity(
    section: Section, system: ContactSystem, hand: HandStart, placement: Placement
) -> RelativeVelocity:
    """
    Return the relative angular velocity of an entry, zero if it is empty.

    Raises
    ------
    ScenarioError
        Rates that do not roll, or spin with ``pure_rolling``.

    """
    R_HCh = contact_frame(system.hand_surface, placement.contact_h)
    if not section.values:
        return RelativeVelocity(np.zeros(3), np.zeros(3))
    form = section.only()
    values = section.numbers(form)
    in_H = _FORMS[form](values, section, system, hand, placement)
    in_Ch = R_HCh.T @ in_H
    if system.friction == 'pure_rolling' and abs(in_Ch[2]) > 1e-9 * max(1.0, abs(in_Ch).max()):
        raise section.fail(
            form,
            f'spins about the contact normal at {in_Ch[2]:.6g} rad/s, which pure rolling '
            "excludes; make w_HO_Ch[2] zero or use friction.model 'rolling'",
        )
    return RelativeVelocity(in_H, in_Ch)


Reader = Callable[
    [NDArray[np.float64], Section, ContactSystem, HandStart, Placement], NDArray[np.float64]
]


def _in_Ch(
    w: NDArray[np.float64], _: Section, system: ContactSystem, __: HandStart, at: Placement
) -> NDArray[np.float64]:
    return contact_frame(system.hand_surface, at.contact_h) @ w


def _in_H(w: NDArray[np.float64], *_: object) -> NDArray[np.float64]:
    return w


def _of_object(
    w_WO_W: NDArray[np.float64], _: Section, __: ContactSystem, hand: HandStart, ___: Placement
) -> NDArray[np.float64]:
    R_WH: NDArray[np.float64] = quat2mat(hand.q_WH)
    return R_WH.T @ w_WO_W - hand.w_WH_H


def _of_rates(
    q_dot: NDArray[np.float64],
    section: Section,
    system: ContactSystem,
    _: HandStart,
    at: Placement,
) -> NDArray[np.float64]:
    """Invert q_dot = K1 w, Eq. (1)."""
    if at.contact_o is None or at.psi is None:
        raise section.fail(
            'q_dot',
            'the object touches at a pole of its chart, where rates of coordinates do '
            'not exist; give w_HO_H',
        )
    if system.hand_chart:
        raise section.fail(
            'q_dot', 'the object touches at a pole of the chart of the hand; give w_HO_H'
        )
    bodies = system.object_surface, system.hand_surface
    obj, hand = (
        s.geometry(ca.SX(ca.DM(uv)), ca.SX(ca.DM(s.parameter_values)))
        for s, uv in zip(bodies, (at.contact_o, at.contact_h), strict=True)
    )
    K1 = np.array(ca.evalf(first_order_kinematics(obj, hand, ca.SX(at.psi)).rolling))
    w = np.linalg.lstsq(K1, q_dot, rcond=None)[0]
    rolled = K1 @ w
    if np.linalg.norm(rolled - q_dot) > ROLLS * max(float(np.linalg.norm(q_dot)), 1e-9):
        near = ', '.join(f'{v:.9g}' for v in rolled)
        raise section.fail(
            'q_dot',
            f'rates of {" ".join(COORDINATES)} that slide, not roll: '
            f'{q_dot.tolist()}; the nearest that roll are [{near}]',
        )
    w_HO_H: NDArray[np.float64] = contact_frame(system.hand_surface, at.contact_h) @ w
    return w_HO_H


_FORMS: dict[str, Reader] = {
    'w_HO_Ch': _in_Ch,
    'w_HO_H': _in_H,
    'w_WO_W': _of_object,
    'q_dot': _of_rates,
}

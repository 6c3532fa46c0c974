"""Forces at the contacts of a system for a page: of each contact its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import casadi as ca
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import RollingSystem, Symbols
from rolling_dynamics.rotations import homogeneous
from rolling_robotics.page.machine import OnHand


class _Frame(Protocol):
    contact_frame: ca.Function


class _Several(Protocol):
    contacts: Mapping[str, Any]
    symbols: Symbols


class _Phased(Protocol):
    parts: Mapping[str, _Several]
    judged: Any


def forces_of(
    system: RollingSystem, mode: str
) -> tuple[ca.Function, ca.Function, list[str]] | None:
    """
    Return the forces at the contacts in a mode, where they act, and their names; None of none.

    The functions are ``(x, u, t, p) -> forces (3 n) [N]`` on the body that rolls, in axes of what
    it rolls on, and ``(x, p) -> mu (n), X_WC (4, 4 n)``. X is empty where the system has no
    contact frame. Where a machine leaves forces open, they are the least ones; a single contact
    has no name.
    """
    hand = offers(system, OnHand)
    if hand is not None and hand.paired and mode in hand.pair.modes:
        system = hand.pair
    phased = offers(system, _Phased)
    several = offers(system if phased is None else phased.parts[mode], _Several)
    contacts: Mapping[str, Any] = {} if several is None else several.contacts
    wrench, framed = system.modes[mode].wrench, offers(system, _Frame)
    given = Symbols.of(system.state, system.control, system.parameters)
    given = given if several is None else several.symbols
    if len(contacts) > 1 or phased is not None:
        carried = contacts.values()
        forces = [c.wrench[3:] if c.gap is None else ca.SX(3, 1) for c in carried]
        mu, X = [c.mu for c in carried], [homogeneous(c.R_WP, c.place_W) for c in carried]
    elif wrench is None:
        return None
    else:
        forces = [wrench(*given)[3:]]
        mu = [c.mu for c in contacts.values()] or [given.params.get('mu', 0)]
        X = [] if framed is None else [framed.contact_frame(given.x, given.p)]
    at = [ca.densify(ca.vertcat(*mu)), ca.densify(ca.horzcat(*X))]
    return (
        ca.Function('forces', list(given), [ca.densify(ca.vertcat(*forces))]),
        ca.Function('frames', [given.x, given.p], ca.cse(at)),
        list(contacts) if len(contacts) > 1 else [''],
    )

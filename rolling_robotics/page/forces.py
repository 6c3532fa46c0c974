"""Forces at the contacts of a system for a page: of each contact its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import casadi as ca
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import RollingSystem, Symbols
from rolling_dynamics.rotations import homogeneous


class _Frame(Protocol):
    contact_frame: ca.Function


class _Several(Protocol):
    contacts: Mapping[str, Any]
    symbols: Symbols


class _Phased(Protocol):
    parts: Mapping[str, _Several]
    judged: Any


def forces_of(system: RollingSystem, mode: str) -> tuple[ca.Function, list[str]] | None:
    """
    Return the forces at the contacts in a mode, and their names; None where there is no force.

    The function is ``(x, u, t, p) -> forces (3, n) [N], mu (n), X_WC (4, 4 n)``: on the body that
    rolls, in axes of what it rolls on. X is empty where the system has no contact frame. Where a
    machine leaves forces open, they are the least ones; a single contact has no name.
    """
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
    out = [ca.horzcat(*forces), ca.vertcat(*mu), ca.horzcat(*X)]
    names = list(contacts) if len(contacts) > 1 else ['']
    return ca.Function('forces', list(given), list(map(ca.densify, out))), names

"""Forces at each contact of a system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import casadi as ca
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import RollingSystem, Symbols
from rolling_dynamics.rotations import homogeneous


class ContactForces(NamedTuple):
    """
    Forces at the n contacts of a system in a mode.

    Attributes
    ----------
    forces
        ``(x, u, t, p) -> (3 n)`` [N] on the body that rolls, in axes of the body under it.
        Undetermined forces of a machine are the smallest ones; 0 for a separated contact.
    frames
        ``(x, p) -> mu (n), X_WC (4, 4 n)``: coefficients of static friction, 0 without friction,
        and frames of the forces. X is empty if the system has no contact frame.
    names
        Names of the contacts; a single one has the empty name.

    """

    forces: ca.Function
    frames: ca.Function
    names: tuple[str, ...]


class _Frame(Protocol):
    contact_frame: ca.Function


class _Several(Protocol):
    contacts: Mapping[str, Any]
    symbols: Symbols


class _Phased(Protocol):
    parts: Mapping[str, _Several]
    judged: Any


def contact_forces(system: RollingSystem, mode: str) -> ContactForces | None:
    """
    Return the forces at the contacts of a system in a mode, or None if it has none.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.contract.contact_forces import contact_forces
    >>> contact_forces(load_scenario('two_wheeler').system, 'rolling').names
    ('left', 'right')

    """
    phased = offers(system, _Phased)
    part = system if phased is None else phased.parts.get(mode)
    several = offers(part, _Several)  # several points of a hand: no frame of their sum
    contacts: Mapping[str, Any] = {} if several is None else several.contacts
    wrench, framed = system.modes[mode].wrench, offers(system, _Frame)
    given = Symbols.of(system.state, system.control, system.parameters)
    given = given if several is None else several.symbols
    if len(contacts) > 1 or not (phased is None or several is None):
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
    return ContactForces(
        ca.Function('forces', list(given), [ca.densify(ca.vertcat(*forces))]),
        ca.Function('frames', [given.x, given.p], ca.cse(at)),
        tuple(contacts) if len(contacts) > 1 else ('',),
    )

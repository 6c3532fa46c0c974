"""Return to the constraints that the equations preserve and rounding does not."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.contract.capabilities import offers, Projection
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import RollingSystem


def projection(system: RollingSystem) -> ca.Function:
    """
    Return ``(x, p) -> x`` with the system's constraints fulfilled.

    A system that has more constraints than the norm of its quaternions offers the function itself.
    """
    own = offers(system, Projection)
    if own is not None:
        return own.projection
    x = ca.SX.sym('x', system.state.size)
    p = ca.SX.sym('p', system.parameters.size)
    out = ca.vertcat(*unit_norms(system.state, x).values())
    return ca.Function('projection', [x, p], [out], ['x', 'p'], ['y'])


def unit_norms(layout: Layout, x: ca.SX) -> dict[str, ca.SX]:
    """Return the entries of a state by name, attitudes with norm 1."""
    out = {}
    for entry in layout.entries:
        part = x[layout.slice(entry.name)]
        out[entry.name] = part / ca.norm_2(part) if entry.has_unit_norm else part
    return out

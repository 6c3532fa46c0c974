"""Return to the constraints that the equations preserve and rounding does not."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.contract.capabilities import offers, Projection
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
    parts = []
    for entry in system.state.entries:
        part = x[system.state.slice(entry.name)]
        parts.append(part / ca.norm_2(part) if entry.kind == 'quaternion' else part)
    return ca.Function('projection', [x, p], [ca.vertcat(*parts)], ['x', 'p'], ['y'])

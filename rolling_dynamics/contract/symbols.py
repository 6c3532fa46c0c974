"""The symbols in which the equations of a system are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import casadi as ca
from rolling_dynamics.contract.layout import Layout


@dataclass(frozen=True, eq=False)
class Symbols:
    """
    Symbols of the equations.

    Attributes
    ----------
    x, u, t, p
        State, control, time and parameters.
    values, params
        Entries of x and of p by name.

    """

    x: ca.SX
    u: ca.SX
    t: ca.SX
    p: ca.SX
    values: Mapping[str, ca.SX]
    params: Mapping[str, ca.SX]

    @classmethod
    def of(cls, state: Layout, control: Layout, parameters: Layout) -> Symbols:
        """Return the symbols of a state, a control and parameters."""
        x, u = ca.SX.sym('x', state.size), ca.SX.sym('u', control.size)
        t, p = ca.SX.sym('t'), ca.SX.sym('p', parameters.size)
        return Symbols(x, u, t, p, state.split(x), parameters.split(p))

    def __iter__(self) -> Iterator[ca.SX]:
        """Yield x, u, t and p."""
        return iter((self.x, self.u, self.t, self.p))

    def function(self, name: str, output: ca.SX) -> ca.Function:
        """Return ``(x, u, t, p) -> output`` of an expression in these symbols."""
        return ca.Function(name, [*self], [ca.densify(output)], ['x', 'u', 't', 'p'], [name])

"""The equations of a mode as functions without branches or calls."""

from __future__ import annotations

from typing import NamedTuple
import weakref

import casadi as ca
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.guards import joined
from rolling_dynamics.simulation.modes import mode_functions


class Equations(NamedTuple):
    """
    What a mode evaluates.

    Attributes
    ----------
    dynamics, guards
        ``(x, u, t, p) -> values``.
    watched
        Both of them in one, which have much in common.
    project
        ``(x, p) -> x`` on the constraints.
    slip
        ``(x, p) -> velocity of slip``; None where the mode has none.
    names
        Names of the guards.
    charts
        How many of the guards, the last ones, are those of charts.

    """

    dynamics: ca.Function
    project: ca.Function
    guards: ca.Function
    watched: ca.Function
    slip: ca.Function | None
    names: tuple[str, ...]
    charts: int

    @property
    def functions(self) -> tuple[ca.Function, ...]:
        """What machine code is made of."""
        slip = () if self.slip is None else (self.slip,)
        return self.dynamics, self.project, self.guards, self.watched, *slip


_known: weakref.WeakKeyDictionary[RollingSystem, dict[str, Equations]] = (
    weakref.WeakKeyDictionary()
)


def equations(system: RollingSystem, mode: str) -> Equations:
    """Return the equations of a mode of a system, the same object each time."""
    known = _known.setdefault(system, {})
    if mode not in known:
        known[mode] = _made(system, mode)
    return known[mode]


def _made(system: RollingSystem, mode: str) -> Equations:
    these, slip = mode_functions(system, mode), system.modes[mode].slip
    guards = [] if these.guards is None else [these.guards]
    return Equations(
        dynamics=joined('dynamics', system, [these.dynamics]),
        project=_dense('project', these.projection),
        guards=joined('guards', system, guards),
        watched=joined('watched', system, [these.dynamics, *guards]),
        slip=None if slip is None else _dense('slip', slip),
        names=these.names,
        charts=these.charts,
    )


def _dense(name: str, function: ca.Function) -> ca.Function:
    """Return a function ``(x, p)`` as one of scalar expressions."""
    x, p = (ca.SX.sym('xp'[k], function.numel_in(k)) for k in range(2))
    return ca.Function(name, [x, p], [ca.cse(ca.densify(function(x, p)))])

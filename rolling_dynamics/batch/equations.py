"""The equations of a mode as functions without branches or calls."""

from __future__ import annotations

from typing import NamedTuple
import weakref

import casadi as ca
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.guards import chart_guards, guard_set, joined
from rolling_dynamics.simulation.mode_view import in_mode
from rolling_dynamics.simulation.projection import projection


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
    names
        Names of the guards.
    charts
        How many of the guards, the last ones, are those of charts.

    """

    dynamics: ca.Function
    project: ca.Function
    guards: ca.Function
    watched: ca.Function
    names: tuple[str, ...]
    charts: int

    @property
    def functions(self) -> tuple[ca.Function, ...]:
        """What machine code is made of."""
        return self.dynamics, self.project, self.guards, self.watched


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
    watched = guard_set(system, system.modes[mode], {})
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    on_constraints = ca.cse(ca.densify(projection(in_mode(system, mode))(x, p)))
    dynamics = system.modes[mode].dynamics
    guards = [] if watched.function is None else [watched.function]
    return Equations(
        dynamics=joined('dynamics', system, [dynamics]),
        project=ca.Function('project', [x, p], [on_constraints]),
        guards=joined('guards', system, guards),
        watched=joined('watched', system, [dynamics, *guards]),
        names=watched.names,
        charts=len(chart_guards(system)),
    )

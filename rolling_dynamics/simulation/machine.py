"""The compiled functions of a simulation, built once for a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import weakref

import casadi as ca
from rolling_dynamics.rolling_system import RollingSystem
from rolling_dynamics.simulation.compiled_solver import compile_step
from rolling_dynamics.simulation.guards import chart_guards, guard_set
from rolling_dynamics.simulation.projection import projection


@dataclass(frozen=True, eq=False, kw_only=True)
class Machine:
    """
    What a run needs of a system on its charts.

    Attributes
    ----------
    system
        The system.
    step
        The compiled step and the compiled dynamics.
    guards
        ``(x, u, t, p) -> values``, None without guards; the last ``charts`` of them are those of
        the charts.
    names
        Names of the guards.
    projection
        ``(x, p) -> x`` on the constraints.
    resets
        Jumps of the mode.

    """

    system: RollingSystem
    step: tuple[ca.Function, ca.Function]
    guards: ca.Function | None
    names: tuple[str, ...]
    charts: int
    projection: ca.Function
    resets: Mapping[str, ca.Function]


_machines: weakref.WeakKeyDictionary[RollingSystem, dict[str, Machine]] = (
    weakref.WeakKeyDictionary()
)


def machine_of(system: RollingSystem, mode: str, extra: Mapping[str, ca.Function]) -> Machine:
    """Return the compiled functions; those without further guards are kept with the system."""
    known = _machines.setdefault(system, {})
    if not extra and mode in known:
        return known[mode]
    this = system.modes[mode]
    guards = guard_set(system, this, extra)
    machine = Machine(
        system=system,
        step=compile_step(system, this.dynamics, guards.function),
        guards=guards.function,
        names=guards.names,
        charts=len(chart_guards(system)),
        projection=projection(system),
        resets=this.resets,
    )
    if not extra:
        known[mode] = machine
    return machine

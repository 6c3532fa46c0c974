"""The compiled functions of a simulation, built once for a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import weakref

import casadi as ca
from rolling_dynamics.contract.mode import Transition
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.closed_loop import closed
from rolling_dynamics.simulation.compiled_solver import compile_step
from rolling_dynamics.simulation.guards import chart_guards, guard_set
from rolling_dynamics.simulation.mode_view import in_mode
from rolling_dynamics.simulation.projection import projection


@dataclass(frozen=True, eq=False, kw_only=True)
class Machine:
    """
    What a run needs of a system on its charts, in a mode.

    Attributes
    ----------
    system, view
        The system, and as it is in the mode.
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
        What follows its guards.
    law
        Feedback law that is compiled in; None for none.

    """

    system: RollingSystem
    view: RollingSystem
    step: tuple[ca.Function, ca.Function]
    guards: ca.Function | None
    names: tuple[str, ...]
    charts: int
    projection: ca.Function
    resets: Mapping[str, ca.Function | Transition]
    law: ca.Function | None = None


_machines: weakref.WeakKeyDictionary[RollingSystem, dict[str, Machine]] = (
    weakref.WeakKeyDictionary()
)


def machine_of(
    system: RollingSystem,
    mode: str,
    extra: Mapping[str, ca.Function],
    law: ca.Function | None = None,
) -> Machine:
    """
    Return the compiled functions; those of the system alone are kept with it.

    Parameters
    ----------
    system, mode
        The system and its mode of motion.
    extra
        Further guards.
    law
        Feedback law ``(x, t) -> u`` that takes the place of the control; None for none.

    """
    known = _machines.setdefault(system, {})
    key = mode if law is None else f'{mode} with a law'  # of laws, the last one is kept
    if not extra and key in known and _same(known[key].law, law):
        return known[key]
    this = system.modes[mode]
    guards, view = guard_set(system, this, extra), in_mode(system, mode)
    machine = Machine(
        system=system,
        view=view,
        step=compile_step(
            view, closed(this.dynamics, law), guards.function and closed(guards.function, law)
        ),
        guards=guards.function,
        names=guards.names,
        charts=len(chart_guards(system)),
        projection=projection(view),
        resets=this.resets,
        law=law,
    )
    if not extra:
        known[key] = machine
    return machine


def _same(a: ca.Function | None, b: ca.Function | None) -> bool:
    """Tell whether two laws are one object of CasADi."""
    return (a is None and b is None) or (a is not None and b is not None and hash(a) == hash(b))

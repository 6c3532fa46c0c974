"""The guards of a mode, of the user and of the charts as one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.contract.capabilities import Atlas, ChangesCharts, offers, Rechart
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError


@dataclass(frozen=True, eq=False)
class GuardSet:
    """
    Guards to watch, in order.

    Attributes
    ----------
    names
        Their names.
    function
        ``(x, u, t, p) -> values``; None if there are none.

    """

    names: tuple[str, ...]
    function: ca.Function | None


def chart_guards(system: RollingSystem) -> Mapping[str, ca.Function]:
    """Return name -> regularity of each chart that the state stands on; empty without charts."""
    own = offers(system, ChangesCharts)
    return {} if own is None else own.atlas.regularity


def atlas_of(system: RollingSystem) -> Atlas:
    """Return what changes the charts of a system that has chart guards."""
    own = offers(system, ChangesCharts)
    if own is None:
        raise ParameterError(f'a system of kind {system.name!r} has no charts to change')
    return own.atlas


def off_pole(system: RollingSystem, p: ArrayLike, x: ArrayLike) -> Rechart | None:
    """Return system and state on another chart where its own is degenerate; None elsewhere."""
    own = offers(system, ChangesCharts)
    return None if own is None else own.atlas.off_pole(p, x)


def guard_set(system: RollingSystem, mode: Mode, extra: Mapping[str, ca.Function]) -> GuardSet:
    """
    Return all guards of a simulation as one function.

    Parameters
    ----------
    system
        The system.
    mode
        Its mode of motion.
    extra
        The user's own guards, ``(x, u, t, p) -> scalar``.

    Raises
    ------
    ParameterError
        A name stands twice, or a function has other arguments.

    """
    guards: dict[str, ca.Function] = dict(mode.guards)
    sizes = [system.state.size, system.control.size, 1, system.parameters.size]
    for name, g in extra.items():
        if name in guards or name in chart_guards(system):
            raise ParameterError(f'a guard {name!r} exists already; choose another name')
        if g.n_in() != 4 or [g.numel_in(k) for k in range(4)] != sizes or g.numel_out(0) != 1:
            raise ParameterError(
                f'the guard {name!r} must be a function (x, u, t, p) -> scalar with inputs of '
                f'{sizes} numbers'
            )
        guards[name] = g
    guards |= chart_guards(system)
    if not guards:
        return GuardSet((), None)
    return GuardSet(tuple(guards), joined('guards', system, list(guards.values())))


def joined(name: str, system: RollingSystem, functions: Sequence[ca.Function]) -> ca.Function:
    """
    Return functions ``(x, u, t, p)`` of a system as one, with a name.

    Their values stand one below the other; what they have in common is worked out once.
    """
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    values = ca.cse(ca.densify(ca.vertcat(*(f(x, u, t, p) for f in functions))))
    return ca.Function(name, [x, u, t, p], [values])

"""View, constraints and guards of a mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, cast

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.contract.capabilities import (
    Atlas,
    ChangesCharts,
    offers,
    Projection,
    Rechart,
)
from rolling_dynamics.contract.rolling_system import Layout, Mode, RollingSystem, Symbols
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.per_system import once_per_system

NOISE = 1e-12  # a guard that is zero to rounding has not fallen


def chart_guards(system: RollingSystem) -> Mapping[str, ca.Function]:
    """Return name -> regularity of each chart of the state; empty without charts."""
    own = offers(system, ChangesCharts)
    return {} if own is None else own.atlas.regularity


def atlas_of(system: RollingSystem) -> Atlas:
    """Return the atlas of a system that has chart guards."""
    own = offers(system, ChangesCharts)
    if own is None:
        raise ParameterError(f'a system of type {system.name!r} has no charts to change')
    return own.atlas


def off_pole(system: RollingSystem, p: ArrayLike, x: ArrayLike) -> Rechart | None:
    """Return system and state on another chart if its own is degenerate, or None."""
    own = offers(system, ChangesCharts)
    return None if own is None else own.atlas.off_pole(p, x)


def watched_guards(
    system: RollingSystem, mode: Mode, extra: Mapping[str, ca.Function]
) -> tuple[tuple[str, ...], ca.Function | None]:
    """
    Return the names of all guards of a simulation, and one function of them; None without any.

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
        A name is given twice, or a function has other arguments.

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
    values = list(guards.values())
    return tuple(guards), joined('guards', system, values) if guards else None


def joined(name: str, system: RollingSystem, functions: Sequence[ca.Function]) -> ca.Function:
    """
    Return functions ``(x, u, t, p)`` of a system as one, with a name.

    Their values are stacked; common subexpressions are evaluated once.
    """
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    values = ca.cse(ca.densify(ca.vertcat(*(f(x, u, t, p) for f in functions))))
    return ca.Function(name, [x, u, t, p], [values])


class ModeView:
    """A system with one mode only, and the constraints of that mode."""

    def __init__(self, system: RollingSystem, name: str, only: Mode) -> None:
        """Take a system, and the name of the mode."""
        self._system, self.modes = system, {name: only}
        if only.projection is not None:
            self.projection = only.projection

    @property
    def mode(self) -> Mode:
        """The mode."""
        return next(iter(self.modes.values()))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the system has)
        """Return any other attribute of the system."""
        return getattr(self._system, name)


def with_mode(system: RollingSystem, name: str, only: Mode) -> RollingSystem:
    """Return a system with one mode only."""
    return cast('RollingSystem', ModeView(system, name, only))


def in_mode(system: RollingSystem, mode: str) -> RollingSystem:
    """Return a system in one of its modes, the same object each time."""
    whole = len(system.modes) == 1 and system.modes[mode].projection is None
    return system if whole else _view(system, mode)


@once_per_system
def _view(system: RollingSystem, mode: str) -> RollingSystem:
    return with_mode(system, mode, system.modes[mode])


def margin(name: str, system: RollingSystem) -> ca.Function:
    """Return a guard of the first mode of a system; NaN if the mode has no such guard."""
    mode = next(iter(system.modes.values()))
    if name in mode.guards:
        return mode.guards[name]
    symbols = Symbols.of(system.state, system.control, system.parameters)
    return ca.Function('nothing', [*symbols], [ca.SX(math.nan)])


def margin_names(system: RollingSystem) -> list[str]:
    """Return the names of the guards of all modes."""
    return list(dict.fromkeys(name for mode in system.modes.values() for name in mode.guards))


def projection(system: RollingSystem) -> ca.Function:
    """
    Return ``(x, p) -> x`` with the system's constraints fulfilled.

    A system with more constraints than the norms of its quaternions offers this function itself.
    """
    own = offers(system, Projection)
    if own is not None:
        return own.projection
    x, _, _, p = Symbols.of(system.state, system.control, system.parameters)
    out = ca.vertcat(*unit_norms(system.state, x).values())
    return ca.Function('projection', [x, p], [out], ['x', 'p'], ['y'])


def unit_norms(layout: Layout, x: ca.SX) -> dict[str, ca.SX]:
    """Return the entries of a state by name, attitudes with norm 1."""
    out = {}
    for entry in layout.entries:
        part = x[layout.slice(entry.name)]
        out[entry.name] = part / ca.norm_2(part) if entry.has_unit_norm else part
    return out

"""View, constraints and guards of a mode, and location of events in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, cast, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.capabilities import (
    Atlas,
    ChangesCharts,
    offers,
    Projection,
    Rechart,
)
from rolling_dynamics.contract.rolling_system import Layout, Mode, RollingSystem, Symbols
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.dormand_prince import sample_slopes, SAMPLES

if TYPE_CHECKING:
    from rolling_dynamics.simulation.run import Solver

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


class GuardWatch:
    """
    Locates the falls of guards through their levels.

    A guard is evaluated at several instants of a step. If its slopes indicate a minimum in
    between, the minimum is also located.
    """

    def __init__(self, guards: FastFunction | None, p: Array, levels: Array) -> None:
        """
        Monitor guards.

        Parameters
        ----------
        guards
            ``(x, u, t, p) -> values``; None for none.
        p
            Parameters.
        levels
            Levels that they fall through, shape (number of guards,); may be changed in place.

        """
        self._guards, self._p, self.levels = guards, p, levels
        self.inside = [True] * levels.size

    @property
    def all_inside(self) -> bool:
        """True if a step that is clear needs no search."""
        return self._guards is None or False not in self.inside

    def values(self, t: float, x: Array, u: Array) -> Array:
        """Return the guards minus their levels, shape (guards,), in their units."""
        if self._guards is None:
            return np.zeros(0)
        return self._guards(x, u, t, self._p) - self.levels

    def begin(self, t: float, x: Array, u: Array) -> NDArray[np.intp]:
        """Evaluate the guards at a start; return those that are below their levels there."""
        below = self.values(t, x, u) < -NOISE
        self.inside = (~below).tolist()
        return np.flatnonzero(below)

    def search(self, solver: Solver) -> list[tuple[float, int]]:
        """Return time and index of every fall in the last step, in order of time."""
        if self._guards is None or (solver.clear and self.all_inside):
            return []
        times, states = solver.samples()
        table = np.array(
            [self.values(t, x, solver.control(t, x)) for t, x in zip(times, states, strict=True)]
        )
        hits = []
        for k in range(table.shape[1]):
            hits += [(t, k) for t in self._falls(solver, k, times, table[:, k])]
        return sorted(hits)

    def _falls(self, solver: Solver, k: int, times: Array, values: Array) -> list[float]:
        found = []
        slopes = [float(s) for s in sample_slopes(values.tolist())]
        for j in range(SAMPLES):
            a, b = values[j], values[j + 1]
            if not self.inside[k]:
                self.inside[k] = bool(b > NOISE)
            elif b < -NOISE:
                found.append(self._root(solver, k, times[j], times[j + 1]))
                self.inside[k] = False
            elif _may_dip(a, b, slopes[j], slopes[j + 1]):
                bottom = self._bottom(solver, k, times[j], times[j + 1])
                if self._value(solver, k, bottom) < -NOISE:
                    found.append(self._root(solver, k, times[j], bottom))
        return found

    def _value(self, solver: Solver, k: int, t: float) -> float:
        x = solver.state_within(t)
        return float(self.values(t, x, solver.control(t, x))[k])

    def _root(self, solver: Solver, k: int, low: float, high: float) -> float:
        if self._value(solver, k, low) <= 0:
            return float(low)
        if not self._value(solver, k, high) < 0:
            return float(high)
        from scipy.optimize import brentq  # noqa: PLC0415  (large, and most runs find no event)

        finest = 2 * float(np.spacing(max(abs(low), abs(high))))
        try:
            return float(
                brentq(lambda t: self._value(solver, k, t), low, high, xtol=finest, rtol=8.9e-16)
            )
        except ValueError:  # NaN in between
            raise SimulationError(
                f'between t = {low:.9g} and {high:.9g} s a margin has no value; the motion is '
                'singular there'
            ) from None

    def _bottom(self, solver: Solver, k: int, low: float, high: float) -> float:
        from scipy.optimize import minimize_scalar  # noqa: PLC0415

        found = minimize_scalar(
            lambda t: self._value(solver, k, t),
            bounds=(low, high),
            method='bounded',
            options={'xatol': 1e-6 * (high - low)},
        )
        return float(found.x)


def _may_dip(a: float, b: float, slope_a: float, slope_b: float) -> bool:
    """Return whether the tangents at both ends of a part meet below zero."""
    if not (slope_a < 0 < slope_b):
        return False
    return bool(a + slope_a * (b - a - slope_b) / (slope_a - slope_b) <= 0)

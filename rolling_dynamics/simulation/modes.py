"""
Location of events in time, and the state machine of modes, which is their outcome.

The machine of modes is that of simulate, Stepper and batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import MotionState, RollingSystem, Transition
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.dormand_prince import sample_slopes, SAMPLES
from rolling_dynamics.simulation.guards import (
    chart_guards,
    in_mode,
    NOISE,
    projection,
    watched_guards,
)
from rolling_dynamics.simulation.scipy_solver import Solver

AT_ONCE, SAME_TIME = 40, 1e-9  # maximum changes of mode in one instant, and its length [s]
STOP, RECORD, IGNORE = ACTIONS = ('stop', 'record', 'ignore')
Control = Callable[[float, Array], Array]


class ChatterError(SimulationError):
    """Too many changes of mode in one instant."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeFunctions:
    """
    Equations of a system in one mode.

    Attributes
    ----------
    view
        The system in the mode.
    names
        Names of the guards; the last ``charts`` of them belong to charts.
    guards
        ``(x, u, t, p) -> values``; None without guards.
    dynamics
        ``(x, u, t, p) -> xdot``.
    projection
        ``(x, p) -> x`` on the constraints of the mode.
    resets
        Name of a guard -> reset at its event.

    """

    view: RollingSystem
    names: tuple[str, ...]
    charts: int
    guards: ca.Function | None
    dynamics: ca.Function
    projection: ca.Function
    resets: Mapping[str, ca.Function | Transition]


def _watched(system: RollingSystem, name: str, extra: Mapping[str, ca.Function]) -> ModeFunctions:
    """Return the equations of a mode with further guards."""
    mode, view = system.modes[name], in_mode(system, name)
    names, guards = watched_guards(system, mode, extra)
    return ModeFunctions(
        view=view,
        names=names,
        charts=len(chart_guards(system)),
        guards=guards,
        dynamics=mode.dynamics,
        projection=projection(view),
        resets=mode.resets,
    )


@once_per_system
def mode_functions(system: RollingSystem, mode: str) -> ModeFunctions:
    """Return the equations of a mode, the same object each time."""
    return _watched(system, mode, {})


class ModeMachine:
    """Handles events of guards, through all changes of mode in one instant."""

    def __init__(
        self,
        system: RollingSystem,
        actions: Mapping[str, str] | None = None,
        extra: Mapping[str, ca.Function] | None = None,
    ) -> None:
        """
        Set the actions at guards.

        Parameters
        ----------
        system
            The system, on the charts in use.
        actions
            Guard -> ``stop``, ``record`` or ``ignore``, instead of the action of its mode.
        extra
            Further guards by name, ``(x, u, t, p) -> scalar``.

        """
        self.system, self.actions, self.extra = system, actions or {}, extra or {}
        self._functions: dict[str, ModeFunctions] = {}
        self._guards: dict[str, FastFunction | None] = {}

    def functions(self, mode: str) -> ModeFunctions:
        """Return the equations of a mode."""
        if mode not in self._functions:
            if self.extra:
                self._functions[mode] = _watched(self.system, mode, self.extra)
            else:
                self._functions[mode] = mode_functions(self.system, mode)
        return self._functions[mode]

    def guards(self, mode: str) -> FastFunction | None:
        """Return ``(x, u, t, p) -> values`` of the guards of a mode; None without guards."""
        if mode not in self._guards:
            guards = self.functions(mode).guards
            self._guards[mode] = None if guards is None else FastFunction(guards)
        return self._guards[mode]

    def after(self, s: MotionState, guard: str, control: Control) -> MotionState:
        """
        Return the state after the event of a guard.

        Parameters
        ----------
        s
            State at the event.
        guard
            Name of the guard.
        control
            ``(t, x) -> u``.

        Returns
        -------
        MotionState
            With the events of the instant, on the constraints of its mode.

        Raises
        ------
        ChatterError
            There are too many changes of mode.

        """
        reset = self._reset(s.mode, guard)
        if reset is None:
            ends = self.actions.get(guard) != RECORD
            return s.noted(guard, 'the margin falls through zero' if ends else '', ends=ends)
        if isinstance(reset, ca.Function):
            x = np.array(reset(s.x, control(s.t, s.x), s.t, s.p)).ravel()
            return replace(self._counted(s), x=x).noted(guard, '')
        return self.start(self._changed(s, reset, control), control)

    def start(self, s: MotionState, control: Control) -> MotionState:
        """
        Return the state after events of guards that are below zero at the start of a mode.

        Parameters
        ----------
        s
            State at the start of its mode.
        control
            ``(t, x) -> u``.

        """
        below = self._below(s, control)
        while s.ended is None and below:
            guard = below.pop(0)
            reset = self._reset(s.mode, guard)
            if reset is None or isinstance(reset, ca.Function):
                ends = self.actions.get(guard) != RECORD
                s = s.noted(guard, 'already so at the start', ends=ends)
            else:
                s = self._changed(s, reset, control)
                below = self._below(s, control)
        return s

    def _reset(self, mode: str, guard: str) -> ca.Function | Transition | None:
        """Return the reset of a guard in its mode; None if it stops or is recorded."""
        return None if guard in self.actions else self.system.modes[mode].resets.get(guard)

    def _changed(self, s: MotionState, reset: Transition, control: Control) -> MotionState:
        """Return the state after a transition, on the constraints of its mode."""
        after = reset(s := self._counted(s), control(s.t, s.x))
        after = replace(after, changes=s.changes, changed=s.changed)
        if after.mode not in self.system.modes:  # of a view of some modes
            return after.noted(after.mode, 'a mode begins that this system leaves out', ends=True)
        if after.ended is not None:
            return after
        x = np.array(self.functions(after.mode).projection(after.x, after.p)).ravel()
        return replace(after, x=x)

    def _counted(self, s: MotionState) -> MotionState:
        """Return the state with one more change; raise ChatterError if there are too many."""
        changes = s.changes + 1 if s.t - s.changed < SAME_TIME else 1
        if changes > AT_ONCE:
            raise ChatterError(
                f'at t = {s.t:.9g} s the modes change without limit: the contact chatters '
                f'({s.mode})'
            )
        return replace(s, changes=changes, changed=s.t)

    def _below(self, s: MotionState, control: Control) -> list[str]:
        """Return the guards below zero, of those that are neither ignored nor of charts."""
        if s.ended is not None:
            return []
        these, guards = self.functions(s.mode), self.guards(s.mode)
        if guards is None:
            return []
        values = guards(s.x, control(s.t, s.x), s.t, s.p)
        watched = zip(these.names[: len(these.names) - these.charts], values, strict=False)
        return [n for n, g in watched if g < -NOISE and self.actions.get(n) != IGNORE]


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

"""The state machine of modes: the outcome of events, in simulate, Stepper and batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import MotionState, RollingSystem, Transition
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.guards import (
    chart_guards,
    in_mode,
    NOISE,
    projection,
    watched_guards,
)

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

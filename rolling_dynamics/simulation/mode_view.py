"""A system of several modes as it is in one of them."""

from __future__ import annotations

import math
from typing import Any, cast
import weakref

import casadi as ca
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rolling_system import RollingSystem

_views: weakref.WeakKeyDictionary[RollingSystem, dict[str, RollingSystem]] = (
    weakref.WeakKeyDictionary()
)


class ModeView:
    """A system seen in one of its modes, its only one, with the constraints of that mode."""

    def __init__(self, system: RollingSystem, mode: str) -> None:
        """Look at a system in a mode."""
        self._system, only = system, system.modes[mode]
        self.modes = {mode: only}
        if only.projection is not None:
            self.projection = only.projection

    @property
    def mode(self) -> Mode:
        """The mode."""
        return next(iter(self.modes.values()))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the system has)
        """Return everything else as the system has it."""
        return getattr(self._system, name)


def in_mode(system: RollingSystem, mode: str) -> RollingSystem:
    """Return a system in one of its modes, the same object each time."""
    if len(system.modes) == 1 and system.modes[mode].projection is None:
        return system
    views = _views.setdefault(system, {})
    if mode not in views:
        views[mode] = cast('RollingSystem', ModeView(system, mode))
    return views[mode]


def margin(name: str, system: RollingSystem) -> ca.Function:
    """Return a guard of the first mode of a system; not a number where the mode has none such."""
    mode = next(iter(system.modes.values()))
    if name in mode.guards:
        return mode.guards[name]
    sizes = {'x': system.state.size, 'u': system.control.size, 't': 1}
    sizes['p'] = system.parameters.size
    given = [ca.SX.sym(n, size) for n, size in sizes.items()]
    return ca.Function('nothing', given, [ca.SX(math.nan)])


def margin_names(system: RollingSystem) -> list[str]:
    """Return the names of the guards of all modes."""
    return list(dict.fromkeys(name for mode in system.modes.values() for name in mode.guards))

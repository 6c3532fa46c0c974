"""A system with a feedback law in the place of its control."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import casadi as ca
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rolling_system import RollingSystem


class _View:
    """A system in one mode with other equations."""

    def __init__(self, system: RollingSystem, name: str, mode: Mode) -> None:
        self._system, self.modes = system, {name: mode}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the system has)
        """Return everything else as the system has it."""
        return getattr(self._system, name)


def closed_loop(system: RollingSystem, law: ca.Function) -> RollingSystem:
    """
    Return a system in its first mode whose control is a law's.

    Whatever takes a system takes it, so many closed loops run in compiled code without a call of
    Python for the law. A control that it is given has no effect. Every guard ends a motion.

    Parameters
    ----------
    system
        The system.
    law
        ``(x, t) -> u``, in force all the time, not held for a period.

    """
    name, mode = next(iter(system.modes.items()))
    guards = {n: closed(guard, law) for n, guard in mode.guards.items()}
    loop = replace(mode, dynamics=closed(mode.dynamics, law), guards=guards, resets={})
    return cast('RollingSystem', _View(system, name, loop))


def closed(function: ca.Function, law: ca.Function | None) -> ca.Function:
    """Return a function ``(x, u, t, p)`` with a law in the place of its control."""
    if law is None:
        return function
    x, u, t, p = (ca.MX.sym('xutp'[k], function.numel_in(k)) for k in range(4))
    return ca.Function(function.name(), [x, u, t, p], [function(x, law(x, t), t, p)])

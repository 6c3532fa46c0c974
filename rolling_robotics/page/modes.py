"""Modes of a system for a page: functions to be exported, and what follows each guard as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.contact_forces import contact_forces, ContactForces
from rolling_dynamics.contract.rolling_system import Jump, Mode, RollingSystem
from rolling_dynamics.simulation.guards import in_mode, projection
from rolling_dynamics.simulation.modes import IGNORE, RECORD, STOP
from rolling_dynamics.simulation.stepper import step_with_guards
from rolling_robotics.page.machine import follows, OnHand

Functions = dict[str, ca.Function]
Data = dict[str, Any]


def modes_of(
    system: RollingSystem, actions: Mapping[str, str]
) -> tuple[Functions, dict[str, Data]]:
    """
    Return functions by name, the ones of mode k ending in ``_k``, and the modes as data by name.

    Parameters
    ----------
    system
        The system.
    actions
        Guard -> ``stop``, ``record`` or ``ignore``, in place of what its mode says.

    """
    functions: Functions = {}
    modes: dict[str, Data] = {}
    for k, (name, mode) in enumerate(system.modes.items()):
        functions[f'project_{k}'] = projection(in_mode(system, name))
        if (drawn := drawn_forces(system, name)) is None:
            functions[f'step_{k}'] = step_with_guards(system, name)
        else:
            functions[f'frames_{k}'] = drawn.frames
            functions[f'step_{k}'] = step_with_guards(system, name, [drawn.forces])
        modes[name] = {
            'k': k,
            'contacts': [] if drawn is None else list(drawn.names),
            'slip': int(mode.slip is not None),
            'guards': [
                _guard(functions, system, mode, g, f'reset_{k}_{j}', actions.get(g))
                for j, g in enumerate(mode.guards)
            ],
        }
    return functions, modes


def drawn_forces(system: RollingSystem, mode: str) -> ContactForces | None:
    """Return the forces of a mode; of a body in several places of a hand those of all."""
    hand = offers(system, OnHand)
    return contact_forces((hand.over(mode) if hand is not None else None) or system, mode)


def _guard(
    functions: Functions,
    system: RollingSystem,
    mode: Mode,
    name: str,
    called: str,
    action: str | None,
) -> Data:
    """Return what follows a guard; functions that it needs are added."""
    reset = None if action == STOP else mode.resets.get(name)
    out: Data = {'name': name, 'watched': action not in (RECORD, IGNORE)}
    if isinstance(reset, ca.Function):
        functions[called] = reset
        out['call'] = called
    elif isinstance(reset, Jump):
        out['outcomes'] = reset.outcomes
        if reset.function is not None:
            functions[called] = reset.function
            out['call'] = called
    elif (follow := follows(system, reset)) is not None:
        out['contact'] = follow
    elif reset is not None:
        out['python'] = f'what follows is a function of Python ({type(reset).__name__})'
    return out

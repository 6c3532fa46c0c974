"""Modes of a system for a page: functions to be exported, and what follows each guard as data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import casadi as ca
from rolling_dynamics.contract.rolling_system import Jump, Mode, RollingSystem, Transition
from rolling_dynamics.point_contact import impact, transitions
from rolling_dynamics.point_contact.transitions import Transitions
from rolling_dynamics.simulation.guards import in_mode, projection
from rolling_dynamics.simulation.modes import IGNORE, RECORD, STOP
from rolling_dynamics.simulation.stepper import step_with_guards
from rolling_robotics.page.forces import forces_of
from rolling_robotics.page.machine import follows, machine_of

Functions = dict[str, ca.Function]
Data = dict[str, Any]


def modes_of(
    system: RollingSystem, actions: Mapping[str, str]
) -> tuple[Functions, dict[str, Data]]:
    """
    Return functions by name, those of mode k ending in ``_k``, and the modes as data by name.

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
        functions[f'step_{k}'] = step_with_guards(system, name)
        functions[f'project_{k}'] = projection(in_mode(system, name))
        names: list[str] = []
        if (forces := forces_of(system, name)) is not None:
            functions[f'forces_{k}'], names = forces
        modes[name] = {
            'k': k,
            'contacts': names,
            'slip': 0 if mode.slip is None else mode.slip.numel_out(0),
            'own': mode.projection is not None,
            'guards': [
                _guard(functions, system, mode, g, f'reset_{k}_{j}', actions.get(g))
                for j, g in enumerate(mode.guards)
            ],
        }
    return functions, modes


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
    elif decides(reset) is not None:
        out['contact'] = cast('partial[Any]', reset).args[0]
    elif (follow := follows(system, reset)) is not None:
        out['contact'] = follow
    elif reset is not None:
        out['python'] = f'what follows is a function of Python ({type(reset).__name__})'
    return out


def decides(reset: ca.Function | Transition | None) -> Transitions | None:
    """Return what decides after an event at a contact with friction; None of other resets."""
    owner = getattr(getattr(reset, 'func', None), '__self__', None)
    return owner if isinstance(owner, Transitions) else None


def contact_of(system: RollingSystem) -> tuple[Functions, Data] | None:
    """Return functions and numbers by which transitions at contacts are decided."""
    resets = (r for mode in system.modes.values() for r in mode.resets.values())
    found = next((d for d in map(decides, resets) if d is not None), None)
    if found is None:
        return machine_of(system)
    s: Any = found.system
    functions = {'touch': s.touch, 'onset': s.slip_onset, 'lift': s.free_lift}
    functions['kicked'] = _kicked(s.kicked, system)
    wrenches = (m.wrench for m in system.modes.values())
    functions |= {f'wrench_{k}': f for k, f in enumerate(wrenches) if f is not None}
    functions |= {n: getattr(s, n) for n in ('contact_axes', 'foot') if hasattr(s, n)}
    entries = ('mu', 'mu_kinetic', 'mu_spin', 'restitution', 'spin_direction', 'hand_edges')
    places = {n: s.parameters.slice(n).start for n in entries if n in s.parameters}
    of_state = {'velocity': s.velocity_entry, 'spin': s.spin_entry, 'place': 'p_HO_H'}
    places |= {k: s.state.slice(n).start for k, n in of_state.items() if n in s.state}
    names = ('CREEP', 'SPIN_CREEP', 'START', 'TOUCHING', 'REST', 'LIFTS', 'PERFECT')
    numbers = {n: getattr(transitions, n) for n in names}
    numbers |= {n: getattr(impact, n) for n in ('STUCK', 'RESTS', 'SLOWEST', 'CLEAR')}
    return functions, {
        **places,
        **numbers,
        'CONE': transitions.NOISE,
        'planar': s.planar,
        'slides': s.slides,
        'ends': {'painleve': transitions.PAINLEVE, 'foot': transitions.NO_FOOT},
        'detached': transitions.DETACHED,
        'jams': impact.JAMS,
        'several': type(found) is not Transitions,
    }


def _kicked(kicked: ca.Function, system: RollingSystem) -> ca.Function:
    """Return ``(x, t, p, impulse) -> x``."""
    x, t = ca.MX.sym('x', system.state.size), ca.MX.sym('t')
    p, last = ca.MX.sym('p', system.parameters.size), kicked.n_in() - 1
    P = ca.MX.sym('P', kicked.numel_in(last))
    given = (x, t, p, P) if last == len('xtp') else (x, p, P)
    return ca.Function('kicked', [x, t, p, P], [kicked(*given)])

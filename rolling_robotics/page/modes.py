"""Modes and contacts of a system for a page: functions for export, and their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MethodType
from typing import Any, Protocol

import casadi as ca
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.contact_forces import contact_forces, ContactForces
from rolling_dynamics.contract.rolling_system import Jump, Mode, RollingSystem, Transition
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import impact as impacts
from rolling_dynamics.mechanism import rebound, transitions
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.mechanism.transitions import HybridMachine
from rolling_dynamics.simulation.guards import in_mode, projection
from rolling_dynamics.simulation.modes import IGNORE, RECORD, STOP
from rolling_dynamics.simulation.stepper import step_with_guards

Functions = dict[str, ca.Function]
Data = dict[str, Any]
Parts = tuple[Functions, Data]
KNOWN = {'slip', 'stick', 'painleve', 'rest', 'turn', 'part', 'close', 'look', 'lost'}
BOTH = 2  # contacts of an object on a hand that a page has
DECIDES = {  # functions of a contact in each phase
    'rolling': ('slip', 'stop', 'turns'),
    'slipping': ('slip', 'slips'),
    'resting': ('slip', 'turn', 'stop'),
    'separated': ('lift',),
}


class OnHand(Protocol):
    """A body over a hand that has edges, and that it may touch in two places."""

    paired: bool
    feet: Sequence[str]
    leads: Mapping[str, tuple[str, str]]
    limit: str

    @property
    def foot(self) -> ca.Function:
        """``(x, p) -> u, v`` of the closest point of the hand."""
        ...

    @property
    def search(self) -> ca.Function:
        """``(x, p) -> u, v, gap [m], 1 or 0`` (4, n) of closest points, and whether they count."""
        ...

    def over(self, mode: str) -> HybridMachine | None:
        """Return the machine of a mode over several closest points."""
        ...

    @property
    def pair(self) -> HybridMachine:
        """The body in modes over two closest points."""
        ...


def follows(system: RollingSystem, reset: ca.Function | Transition | None) -> list[Any] | None:
    """Return what follows an event at a contact, and its number; None of other events."""
    if not isinstance(system, HybridMachine):
        return None
    while isinstance(reset, partial) and isinstance(reset.args[0], partial):
        reset = reset.args[0]
    if isinstance(reset, MethodType):
        reset = partial(reset)
    name = reset.func.__name__.strip('_') if isinstance(reset, partial) else ''
    return [name, *reset.args] if isinstance(reset, partial) and name in KNOWN else None


def contacts_of(system: RollingSystem) -> Parts | None:
    """Return functions and numbers to continue the motion after events; None without contacts."""
    if not isinstance(system, HybridMachine) or len(system.modes) == 1:
        return None
    numbers = {mode: k for k, mode in enumerate(system.modes)}
    if (hand := offers(system, OnHand)) is None:
        return _contacts(system, numbers)
    pair = hand.pair if hand.paired else None
    if len(hand.feet) > BOTH:
        raise ParameterError(
            f'page: a page has at most {BOTH} contacts of an object on a hand, hybrid.contacts is '
            f'{len(hand.feet)}'
        )
    both = {} if pair is None else {mode: numbers.pop(mode) for mode in pair.modes}
    functions, data = _contacts(system, numbers)
    start = {e.name: system.parameters.slice(e.name).start for e in system.parameters.entries}
    functions['foot'] = hand.foot
    data |= {'edges': start['hand_edges'], 'spin': start['mu_spin']}
    if pair is not None:
        more, data['pair'] = _contacts(pair, both)
        data['pair']['spin'] = start['mu_spin']
        functions |= {'search': hand.search} | {f'{n}_pair': f for n, f in more.items()}
        data |= {
            'feet': [system.state.slice(name).start for name in hand.feet],
            'body': system.state.slice('p_HO_H').start,
            'looked': start['looked'],
            'leads': hand.leads,
            'limit': hand.limit,
        }
    return functions, data


def _contacts(system: HybridMachine, numbers: Mapping[str, int]) -> Parts:
    """Return functions and numbers of the contacts of a system, in modes with their numbers."""
    functions = {'pace': system.pace, 'contact_motion': system.contact_motion}
    functions |= {'impact_terms': system.impact_terms, 'gap_rows': system.gap_rows}
    if system.onset is not None:
        functions['onset'] = system.onset
    phases = {mode: {i: system.phase(mode, i) for i in system.able} for mode in numbers}
    for mode, of in phases.items():
        for i, phase in of.items():
            for what in DECIDES[phase]:
                if what != 'turns' or i in system.resisted:
                    functions[f'{what}_{numbers[mode]}_{i}'] = system.evaluation(what, mode, i)
    functions |= {f'joint_{n}': f for n, f in system.joint_impulses.items()}
    contacts = system.machine.contacts
    last = list(system.contacts)[len(system.contacts) - len(contacts) :]
    return functions, {
        'able': list(system.able),
        'names': [system.able.get(i, name) for i, name in enumerate(last)],
        'parting': list(system.parting),
        'resisted': list(system.resisted),
        'rigid': [c.rigid for c in contacts],
        'bound': list(system.bound),
        'joints': list(system.joint_impulses),
        'speeds': system.speed_places,
        'phases': phases,
        'slides': system.slides,
        'planar': system.planar,
        'searched': system.onset is not None,
        'orders': [list(impacts.orders(n + 1)) for n in range(len(system.parting))],
        'subsets': [impacts.subsets(n + 1) for n in range(len(system.parting))],
        'order': transitions.ORDER,
        'ends': transitions.ENDS,
        **{n: getattr(transitions, n) for n in ('HELD', 'LIFTS', 'PERFECT', 'FAINT')},
        **{n: getattr(impacts, n) for n in ('STILL', 'EXACT', 'ITERATIONS', 'SAME', 'STAGES')},
        **{n: getattr(rebound, n) for n in ('STUCK', 'RESTS', 'SLOWEST', 'SINGULAR', 'ROUNDING')},
        'CONE': transitions.NOISE,
        'OPEN': OPEN,
        'CREEP': system.creep,
        'CLEAR': system.clear,
        'detached': transitions.DETACHED,
        'painleve': transitions.PAINLEVE,
        'jams': rebound.JAMS,
    }


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
        Guard -> ``stop``, ``record`` or ``ignore``, instead of the action of its mode.

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
    """Return the forces of a mode; those of all contacts for a body with several on a hand."""
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

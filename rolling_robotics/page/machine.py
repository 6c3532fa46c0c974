"""Contacts of a machine for a page: what decides which mode follows an event."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import casadi as ca
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import Transition
from rolling_dynamics.mechanism import hybrid
from rolling_dynamics.mechanism import impact as impacts
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.mechanism.system import CREEP
from rolling_dynamics.point_contact import impact, transitions

DECIDES = {  # what is asked in a mode of a contact in each phase
    'rolling': ('slip', 'stop', 'turns'),
    'slipping': ('slips',),
    'resting': ('slip', 'turn', 'stop'),
    'separated': ('lift',),
}


class Decided(Protocol):
    """Decides by functions of a mode and a contact what follows an event."""

    def evaluation(self, what: str, mode: str, i: int) -> ca.Function:
        """Return one of them."""
        ...


def follows(system: Any, reset: ca.Function | Transition | None) -> list[Any] | None:  # noqa: ANN401
    """Return what follows an event at a contact of a machine, and its number; None of others."""
    if offers(system, Decided) is None or not isinstance(reset, partial):
        return None
    return [reset.func.__name__.strip('_'), *reset.args]


def machine_of(system: Any) -> tuple[dict[str, ca.Function], dict[str, Any]] | None:  # noqa: ANN401
    """Return functions and numbers by which a machine goes on after events; None of others."""
    if offers(system, Decided) is None:
        return None
    functions = {'pace': system.pace, 'contact_motion': system.contact_motion}
    functions |= {'impact_terms': system.impact_terms, 'gap_rows': system.gap_rows}
    functions |= {f'joint_{n}': f for n, f in system.joint_impulses.items()}
    for k, (mode, part) in enumerate(system.parts.items()):
        for i in system.able:
            for what in DECIDES[part.phases.of(i)]:
                if what != 'turns' or i in system.resisted:
                    functions[f'{what}_{k}_{i}'] = system.evaluation(what, mode, i)
    contacts = system.machine.contacts
    body = list(system.contacts)[len(system.contacts) - len(contacts) :]
    return functions, {
        'able': list(system.able),
        'names': body,
        'parting': system.parting,
        'resisted': system.resisted,
        'rigid': [c.rigid for c in contacts],
        'bound': system.bound,
        'joints': list(system.joint_impulses),
        'speeds': system.speed_places,
        'phases': {m: {i: s.phases.of(i) for i in system.able} for m, s in system.parts.items()},
        **{n: getattr(hybrid, n) for n in ('START', 'CLEAR', 'HELD', 'LIFTS')},
        **{n: getattr(impacts, n) for n in ('STILL', 'EXACT', 'ITERATIONS')},
        **{n: getattr(impact, n) for n in ('STUCK', 'RESTS', 'SLOWEST')},
        'OPEN': OPEN,
        'CREEP': CREEP,
        'detached': transitions.DETACHED,
        'painleve': transitions.PAINLEVE,
        'jams': impact.JAMS,
    }

"""Machine of a convex body over a hand, with one or several closest points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.equations import hand_machine, inside_edges, solid
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.friction import LEVER_ARM, SPINNING
from rolling_dynamics.hybrid_contact.feet import feet_in, FLYING, FOOT
from rolling_dynamics.mechanism.hybrid import INERT
from rolling_dynamics.mechanism.loops import Contact, Phases
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.shapes import Charted, Sphere
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.touch import contact_rows
from rolling_dynamics.mechanism.transitions import CLEAR, CREEP, HybridMachine
from rolling_dynamics.surfaces.surface import Surface

DIRECTIONS = 500  # in which surfaces are sampled
NONE = 1e-300  # keeps the patch of a contact without spin friction, and its limit, finite


@dataclass(frozen=True, eq=False)
class Convex:
    """A convex body whose surface has a support function, of some dimensions [m]."""

    surface: Surface
    dimensions: ca.SX
    side = ca.DM.zeros(3)

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        return support_point(self.surface, -normal_B, self.dimensions)[0]


def touches_once(body: Surface, hand: Surface) -> bool:
    """
    Return whether a convex body cannot touch a hand in two points.

    It cannot from outside a convex hand, nor from inside one that is less curved in every
    direction (Blaschke, Kreis und Kugel, 1916).
    """
    if hand.support is None:
        return False
    return hand.side == 'outside' or bool(_radii(body).max() < _radii(hand).min())


def _radii(surface: Surface) -> Array:
    """Return radii of curvature (n, 2) [m] of a convex surface, for many normals."""
    n = ca.SX.sym('n', 3)
    _, hessian = support_point(replace(surface, side='outside'), n, surface.parameters)
    f = ca.Function('radii', [n, surface.parameters], [ca.densify(hessian)])
    normals = np.random.default_rng(0).normal(size=(DIRECTIONS, 3))
    normals = np.vstack([np.eye(3), normals / np.linalg.norm(normals, axis=1)[:, None]])
    at = (np.array(f(normal, surface.parameter_values)) for normal in normals)
    return np.array([np.linalg.eigvalsh(H)[1:] for H in at])


class HandContacts(HybridMachine):
    """
    A body over a hand, with contacts at some closest points of the hand.

    A mode is named by the phases of the contacts, such as ``rolling_separated``. The prefix
    ``pure`` marks a contact that also resists spin, if ``mu_spin`` is positive. Closest points of
    a hand that is not a plane are part of the state.

    Attributes
    ----------
    places
        The closest points, by their entries of the state.

    """

    overlap = 'the object overlaps the plate'

    def __init__(
        self,
        body: Surface,
        hand: Surface,
        state: Layout,
        parameters: Layout,
        feet: Sequence[str] = (FOOT.name,),
    ) -> None:
        """Describe the bodies with these surfaces, with contacts at some closest points."""
        machine, _, p = hand_machine(state, parameters)
        if len(feet) == 1:
            machine.creep, machine.clear = CREEP, CLEAR
            machine.inert = dict.fromkeys(('d_HO', 'w_HO_H', *feet), INERT)
        machine.body('object', FLYING, solid(p), on='hand')
        machine.rates |= {name: ca.SX(2, 1) for name in feet_in(state)}
        self.places: dict[str, Foot] = {}
        self._free: list[Contact] = []  # with the spin free, and held, in rolling
        self._held: list[Contact] = []
        curved = Charted(hand, p['hand_surface'])
        size = p['object_surface']
        shape = Sphere(size) if body.name == 'sphere' else Convex(body, size)
        for name in feet:
            last = f'_{name}' if len(feet) > 1 else ''
            contact = _contact(shape, p)
            if name in state:
                contact = replace(contact, surface=curved, foot=name, name=name)
            contact, self.places[name] = _at(contact, machine)
            machine.guard(f'edge{last}', inside_edges(self.places[name].uv, p))
            machine.contact(contact)
            contact = replace(contact, rows=None)
            self._free.append(_at(replace(contact, patch=None), machine)[0])
            self._held.append(_at(replace(contact, spins=1.0), machine)[0])
        super().__init__(machine)
        self.state = state  # most entries have no default
        self.able = dict.fromkeys(self.able, 'the contact') if self.alone else self.able
        for part in (self, *self.parts.values()):
            part.dependent = _dependent(part)

    def _parts_in(self, every: Sequence[Phases]) -> dict[str, MachineSystem]:
        """Return the machine in each mode: with free spin, and with spin held where possible."""
        out, free, held = {}, copy(self.machine), copy(self.machine)
        free.contacts, held.contacts = self._free, self._held
        for phases in every:
            rolls = 'rolling' in {phases.of(i) for i in range(len(self._free))}
            if rolls:
                out[self.mode_of(phases)] = MachineSystem(free, phases)
            machine = held if rolls else self.machine
            out[self.mode_of(phases, spins=True)] = MachineSystem(machine, phases)
        return out

    def mode_of(self, phases: Phases, *, spins: bool = False) -> str:
        """Return the name of a mode, optionally of one that holds the spin."""
        each = [phases.of(i) for i in range(len(self.machine.contacts))]
        pure = {'rolling': 'pure_rolling'} if spins else {}
        return '_'.join(pure.get(phase, phase) for phase in each)

    def mode_in(self, phases: Phases, p: ArrayLike) -> str:
        """Return the mode with these phases; a patch holds the spin."""
        spins = float(np.asarray(p)[self.parameters.slice('mu_spin')][0]) > 0
        return self.mode_of(phases, spins=spins)

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Accept any state: :meth:`begin` determines its mode."""


def _dependent(part: MachineSystem) -> int:
    """
    Return the number of dependent rows of contacts of one body, wherever these are.

    Rows of spin that a patch may hold are not counted.
    """
    rng, J = np.random.default_rng(0), [np.zeros((0, 6))]
    for i, (contact, of) in enumerate(zip(part.machine.contacts, part.closures, strict=True)):
        R, place = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
        moves = np.hstack([R.T, -R.T @ np.cross(np.eye(3), place)])
        turns = np.hstack([np.zeros((3, 3)), R.T])
        rows = np.vstack([moves, *[turns[2:]] * (contact.turning - 3), turns[:2]])
        may = contact.patch is not None and not ca.SX(1 - contact.spins).is_zero()
        held = contact.holds(of, part.phases.of(i))
        J.append(rows[[k for k in held if k != 3 or not may]])
    found = np.vstack(J)
    return len(found) - int(np.linalg.matrix_rank(found))


class Foot(NamedTuple):
    """
    A closest point of the hand, in H.

    Attributes
    ----------
    uv
        Its coordinates; x and y of a plane [m].
    p_HC
        Closest point of the hand [m].
    r_OC
        Closest point of the body from its origin [m].
    frame
        Contact frame Ch of the hand, z along the normal.

    """

    uv: ca.SX
    p_HC: ca.SX
    r_OC: ca.SX
    frame: ca.SX


def _contact(shape: Sphere | Convex, p: Mapping[str, ca.SX]) -> Contact:
    """Return the contact of a body on the plane of a hand."""
    return Contact(
        body='object',
        shape=shape,
        on='hand',
        mu=p['mu'],
        mu_kinetic=p['mu_kinetic'],
        restitution=p['restitution'],
        patch=p['mu_spin'] / (SPINNING * p['mu'] + NONE) + NONE,
        spins=ca.if_else(p['mu_spin'] > 0, 1, 0),
        resistance=p.get(LEVER_ARM.name),
        rolling_resistance=p['rolling_resistance'],
    )


def _at(contact: Contact, machine: Machine) -> tuple[Contact, Foot]:
    """Return a contact at the closest point of the hand, and that point."""
    rows, values, on = contact_rows(contact, machine), machine.symbols.values, contact.surface
    if isinstance(on, Charted):
        uv = values[contact.foot]
        p_HC = on.at(uv).position
    else:
        uv = (values['p_HO_H'] + rows.along.reach)[:2]
        p_HC = ca.vertcat(uv, 0)
    hand = machine.links['hand']
    rows = rows._replace(place_W=hand.p_WB + hand.R_WB @ p_HC)
    return replace(contact, rows=rows), Foot(uv, p_HC, rows.along.reach, rows.along.axes)

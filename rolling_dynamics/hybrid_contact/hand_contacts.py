"""A convex body over a hand that is close to it in one place or in several: a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.equations import hand_machine, inside_edges, solid
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.contract.rolling_system import Layout, Mode
from rolling_dynamics.friction import LEVER_ARM, SPINNING
from rolling_dynamics.hybrid_contact.feet import (
    feet_in,
    FLYING,
    FOOT,
    Foot,
    on_plane,
    on_surface,
)
from rolling_dynamics.mechanism.hybrid import INERT
from rolling_dynamics.mechanism.loops import Along, Contact, ContactRows, Phases
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.shapes import Plane
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.transitions import CLEAR, CREEP, HybridMachine
from rolling_dynamics.surfaces.surface import Surface

DIRECTIONS = 500  # in which surfaces are looked at
NONE = 1e-300  # keeps the patch of a contact without spin friction a number, and what it holds


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
    A body over a hand, with a contact at each of some closest points of the hand.

    A mode is named by what the contacts do, such as ``rolling_separated``; ``pure`` stands before
    what also holds the spin, where ``mu_spin`` is positive. Closest points of a hand that is not a
    plane are part of the state.

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
        """Describe the bodies, which have these surfaces, with contacts at some closest points."""
        machine, x, p = hand_machine(state, parameters)
        if len(feet) == 1:
            machine.creep, machine.clear = CREEP, CLEAR
            machine.inert = dict.fromkeys(('d_HO', 'w_HO_H', *feet), INERT)
        machine.body('object', FLYING, solid(p), on='hand')
        machine.rates |= {name: ca.SX(2, 1) for name in feet_in(state)}
        self.places: dict[str, Foot] = {}
        self._free: list[Contact] = []  # with the spin free, and held, in rolling
        self._held: list[Contact] = []
        for name in feet:
            curved = name in state
            foot = on_surface(body, hand, x[name], x, p) if curved else on_plane(body, x, p)
            self.places[name] = foot
            last = f'_{name}' if len(feet) > 1 else ''
            machine.guard(f'edge{last}', inside_edges(foot.uv, p))
            if curved:
                machine.rates[name] = foot.uv_rate
                machine.guard(f'foot{last}', foot.margin)
            given = machine, Convex(body, p['object_surface']), foot, x, p
            self._free.append(_contact(*given, None))
            self._held.append(_contact(*given, 1.0))
            machine.contact(_contact(*given, ca.if_else(p['mu_spin'] > 0, 1, 0)))
        super().__init__(machine)
        self.state = state  # of which most entries have to be given
        self.able = dict.fromkeys(self.able, 'the contact') if self.alone else self.able
        for part in (self, *self.parts.values()):
            part.dependent = _dependent(part)

    def _parts_in(self, every: Sequence[Phases]) -> dict[str, MachineSystem]:
        """Return the machine in each mode: with its spin free and held where it may be."""
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
        """Return the name of a mode, of one that holds the spin if wanted."""
        each = [phases.of(i) for i in range(len(self.machine.contacts))]
        pure = {'rolling': 'pure_rolling'} if spins else {}
        return '_'.join(pure.get(phase, phase) for phase in each)

    def mode_in(self, phases: Phases, p: ArrayLike) -> str:
        """Return the mode with these phases; a patch holds the spin."""
        spins = float(np.asarray(p)[self.parameters.slice('mu_spin')][0]) > 0
        return self.mode_of(phases, spins=spins)

    def _mode(self, part: MachineSystem) -> Mode:
        steps = {name: foot.step for name, foot in self.places.items() if name in self.state}
        y = part.projection(self.settled(self.symbols.x, steps), self.symbols.p)
        on = self.of_state('projection', y, names=['y'])
        return replace(super()._mode(part), projection=on)

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Accept any state: where it begins, :meth:`begin` decides in which mode."""


def _dependent(part: MachineSystem) -> int:
    """
    Return how many rows of contacts of one body depend on others, wherever these are.

    Spin that a patch may hold is not counted.
    """
    rng, J = np.random.default_rng(0), [np.zeros((0, 6))]
    for i, (contact, of) in enumerate(zip(part.machine.contacts, part.closures, strict=True)):
        R, place = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
        moves = np.hstack([R.T, -R.T @ np.cross(np.eye(3), place)])
        turns = np.hstack([np.zeros((3, 3)), R.T])
        rows = np.vstack([moves, *[turns[2:]] * (contact.turning - 3), turns[:2]])
        held = contact.holds(of, part.phases.of(i))
        J.append(rows[[k for k in held if of.idle is None or of.idle[k].is_zero()]])
    found = np.vstack(J)
    return len(found) - int(np.linalg.matrix_rank(found))


def _contact(
    machine: Machine,
    shape: Convex,
    foot: Foot,
    x: Mapping[str, ca.SX],
    p: Mapping[str, ca.SX],
    holds: ca.SX | float | None,
) -> Contact:
    """
    Return the contact of the body at a closest point, with its kinematics.

    In rolling it holds the spin where ``holds`` is 1; None leaves friction of the spin out.
    """
    w, v, C, hand = x['w_HO_H'], x['v_HO_H'], foot.frame, machine.links['hand']
    solved = machine.links['object'].solved
    w_rate, v_rate = (solved[name][1] for name in ('w_HO_H', 'v_HO_H'))
    moved = v_rate + ca.cross(w_rate, foot.r_OC) + ca.cross(w, foot.r_rate)
    over = v + ca.cross(w, foot.r_OC)
    V, turns = C.T @ over, C.T @ w
    V_rate = C.T @ moved - ca.cross(foot.w_frame, V)
    turns_rate = C.T @ w_rate - ca.cross(foot.w_frame, turns)
    spin = ca.SX(0, 1) if holds is None else ca.SX(1)
    holds = 0.0 if holds is None else holds
    rows = ContactRows(
        velocity=ca.vertcat(V, holds * spin * turns[2], turns[:2]),
        gap=ca.dot(C[:, 2], x['p_HO_H'] + foot.r_OC - foot.p_HC),
        place_W=hand.p_WB + hand.R_WB @ foot.p_HC,
        R_WP=hand.R_WB @ C,
        along=Along(C, over, moved),
        bias=ca.vertcat(V_rate, holds * spin * turns_rate[2], turns_rate[:2]),
        idle=ca.vertcat(ca.SX(3, 1), (1 - holds) * spin, ca.SX(2, 1)),
    )
    patch = p['mu_spin'] / (SPINNING * p['mu'] + NONE) + NONE
    return Contact(
        body='object',
        shape=shape,
        on='hand',
        surface=Plane(ca.vertsplit(C[:, 2]), foot=foot.p_HC, side=C[:, 1]),
        mu=p['mu'],
        mu_kinetic=p['mu_kinetic'],
        restitution=p['restitution'],
        patch=patch if spin.numel() else None,
        resistance=p.get(LEVER_ARM.name),
        rolling_resistance=p['rolling_resistance'],
        rows=rows,
    )

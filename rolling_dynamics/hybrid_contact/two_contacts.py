"""A convex body over a hand that is close to it in two places: a machine with two contacts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.equations import hand_machine, inside_edges, solid
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.contract.rolling_system import Layout, Mode
from rolling_dynamics.hybrid_contact.mode_equations import (
    FLYING,
    FOOT,
    Foot,
    on_surface,
    SECOND_FOOT,
    settled,
)
from rolling_dynamics.mechanism.hybrid import HybridMachine
from rolling_dynamics.mechanism.loops import Contact, Phases
from rolling_dynamics.mechanism.shapes import Plane
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.surfaces.surface import Surface

FEET = FOOT.name, SECOND_FOOT.name
DIRECTIONS = 500  # in which surfaces are looked at


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


class TwoContacts(HybridMachine):
    """
    A body over a hand, with a contact at each of two closest points of the hand.

    A mode is named by what the contacts do, such as ``rolling_separated``. Each contact is with
    the plane that touches the hand in its closest point, which is part of the state.

    Attributes
    ----------
    feet
        The closest points of the hand by their entries of the state.

    """

    overlap = 'the object overlaps the plate'

    def __init__(self, body: Surface, hand: Surface, state: Layout, parameters: Layout) -> None:
        """Describe the bodies, which have these surfaces."""
        machine, x, p = hand_machine(state, parameters)
        machine.body('object', FLYING, solid(p), on='hand')
        self.feet: dict[str, Foot] = {}
        shape = Convex(body, p['object_surface'])
        for name in FEET:
            at, foot = on_surface(body, hand, {**x, FOOT.name: x[name]}, p)
            self.feet[name] = foot
            machine.rates[name] = foot.uv_rate
            machine.guard(f'foot_{name}', foot.margin)
            machine.guard(f'edge_{name}', inside_edges(foot.uv, p))
            g = at.geometry
            plane = Plane(ca.vertsplit(g.frame[:, 2]), foot=g.p_HC, side=g.frame[:, 1])
            friction = {n: p[n] for n in ('mu', 'mu_kinetic', 'restitution')}
            contact = Contact(body='object', shape=shape, on='hand', surface=plane, **friction)
            machine.contact(contact)
        super().__init__(machine)
        for part in (self, *self.parts.values()):
            # two points of a body keep their distance, wherever they are
            part.dependent = int(part.phases == Phases())

    def mode_of(self, phases: Phases) -> str:
        """Return the name of a mode."""
        return f'{phases.of(0)}_{phases.of(1)}'

    def _mode(self, part: MachineSystem) -> Mode:
        y = part.projection(settled(self.symbols, self.feet), self.symbols.p)
        on = self.of_state('projection', y, names=['y'])
        return replace(super()._mode(part), projection=on)

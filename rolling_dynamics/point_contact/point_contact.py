"""A body that touches another one in a point, with Coulomb friction: modes and their functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar, NamedTuple, TYPE_CHECKING

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Jump,
    Mode,
    MotionState,
    Outcome,
    RigidBody,
    Transition,
)
from rolling_dynamics.mechanism.transitions import ContactModes, START

if TYPE_CHECKING:
    from rolling_dynamics.mechanism.system import MachineSystem
    from rolling_dynamics.point_contact.equations import OneContact

PHASES = {'pure_rolling': 'rolling', 'off_hand': 'separated'}  # of modes called otherwise


class Touching(NamedTuple):
    """
    Contact geometry of two bodies, as expressions; vectors have z along the normal.

    Attributes
    ----------
    gap
        Distance [m].
    velocity
        Of the contact point of the body over the other, in the axes of the contact (3) [m/s].
    place
        Contact point (3) [m].
    spin
        Rate of turning about the normal [rad/s].
    axes
        From the contact frame to that in which the state has velocities (3, 3).
    equations
        Equations of flight and slip.
    bias
        Rate (3) of the velocity of the contact at zero rates of the speeds, in its axes [m/s^2].
    slips
        Velocity that friction opposes [m/s].
    torque
        On the body over the normal force, where it slips without spin (3) [m]; None for none.
    turns
        Velocity that a resistance opposes by which the contact comes to rest [m/s].

    """

    gap: ca.SX
    velocity: ca.SX
    place: ca.SX
    spin: ca.SX
    axes: ca.SX
    equations: OneContact
    bias: ca.SX
    slips: ca.SX
    torque: ca.SX | None
    turns: ca.SX


class ModeEquations(NamedTuple):
    """Rates of the state, wrench (6) on the body in the contact frame, and guards of a mode."""

    xdot: ca.SX
    wrench: ca.SX
    guards: Mapping[str, ca.SX]


class PointContact(ContactModes):
    """
    A system in which one body touches another in one point, with Coulomb friction.

    Its modes are ``rolling``, ``slipping`` and ``separated``; where the contact holds the spin
    ``pure_rolling``, and where the other body ends, ``off_hand``.

    Attributes
    ----------
    called
        What guards are otherwise called whose fall the contact decides about.
    leads
        Beginning of the name of a guard to the mode that follows, empty where the motion ends,
        and the text of the event.

    """

    able: Mapping[int, str] = {0: 'the contact'}
    parting, overlap = (0,), 'the object overlaps the plate'
    called: ClassVar[Mapping[str, str]]
    leads: ClassVar[Mapping[str, tuple[str, str]]]

    @property
    @abstractmethod
    def touching(self) -> Touching:
        """Contact geometry of the bodies."""

    @property
    @abstractmethod
    def flight(self) -> MachineSystem:
        """The machine whose body flies."""

    def pushed(self, slip: ca.SX, *others: ca.SX) -> ca.SX:
        """Return the state after an impulse that leaves a slip (2) [m/s]; others vanish."""
        rows = ca.vertsplit(self.touching.velocity - ca.vertcat(slip, 0))
        return self.flight.held(ca.vertcat(*rows[:: 2 if self.planar else 1], *others))[0]

    def slipping_by(self, way: ca.SX) -> ca.SX:
        """Return the state, which rolls, after an impulse by which it slips [m/s]."""
        return self.pushed(way[:2])

    def held(self, mode: str) -> ca.SX:
        """Return what friction holds in a mode of rolling [N]."""
        return self.equations[mode].wrench[3:5]

    @property
    @abstractmethod
    def equations(self) -> Mapping[str, ModeEquations]:
        """The equations of each mode, written once."""

    @property
    @abstractmethod
    def projections(self) -> Mapping[str, ca.Function]:
        """``(x, p) -> x`` on the constraints of each mode."""

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""
        out, fades = {}, {'slipping': self.of_state('slip', self.touching.slips)}
        if self.resisted:
            turns = self.of_state('slip', self.touching.turns)
            fades |= dict.fromkeys(('rolling', 'pure_rolling'), turns)
        for name, e in self.equations.items():
            guards = self.functions(e.guards)
            out[name] = Mode(
                dynamics=self.function('dynamics', e.xdot),
                wrench=self.function('wrench', e.wrench),
                guards=guards,
                resets=self.resets(guards),
                projection=self.projections[name],
                slip=fades.get(name),
            )
        return out

    def resets(self, guards: Iterable[str]) -> dict[str, Transition]:
        """Return what follows each guard of a mode."""
        out, follows = {}, self.follows(0)
        for name in guards:
            lead = next((to for start, to in self.leads.items() if name.startswith(start)), None)
            if lead is None:
                out[name] = follows[self.called.get(name, name)]
            else:
                out[name] = Jump(function=None, outcomes=(Outcome(lead[0], name, lead[1]),))
        return out

    # which mode follows

    def phase(self, mode: str, i: int) -> str:  # noqa: ARG002
        """Return what the contact does in a mode."""
        return PHASES.get(mode, mode)

    def moved(self, s: MotionState, i: int, phase: str = 'rolling') -> str:
        """Return the mode in which the contact does something."""
        return self.mode_with({i: phase}, s.p)

    def mode_with(self, phases: Mapping[int, str], p: ArrayLike) -> str:  # noqa: ARG002
        """Return the mode in which the contact does what is given."""
        return phases[0]

    def evaluation(self, what: str, mode: str, i: int) -> ca.Function:  # noqa: ARG002  the only one
        """Return a function by which it is decided what follows an event."""
        s, e, none = self.symbols, self.equations[mode], ca.SX(2, 1)
        if what == 'lift':
            return self.function(what, self.touching.equations.lift)
        if what == 'stop':
            held = {'pure_rolling': [self.touching.spin], 'resting': [self.touching.turns]}
            after = self.pushed(none, *held.get(mode, []))
            return self.function(what, self.projections[mode](after, s.p))
        if what == 'slip':
            rolls = 'friction' in e.guards
            along = self.held(mode) if rolls else ca.SX(0, 1)
            margin = e.guards['friction' if rolls else 'painleve']
            return self.function(what, ca.vertcat(along, e.wrench[5], margin))
        if what == 'turn':
            return self.function(what, ca.vertcat(e.wrench[:2], e.wrench[5], e.guards[what]))
        turns = self.touching.turns
        way = ca.SX.sym('way', (turns if what == 'turns' else self.held('rolling')).numel())
        rate = START * self.creep * way
        x = self.pushed(none, turns - rate) if what == 'turns' else self.slipping_by(rate)
        return ca.Function(what, [*s, way], [ca.densify(x)])

    @cached_property
    def onset(self) -> ca.Function:  # type: ignore[override]
        """
        ``(x, u, t, p, direction (2)) -> acceleration of slip (2), normal force, margin``.

        Where the margin is not positive, Coulomb friction does not determine the force (Painleve).
        """
        d, contact, axes = ca.SX.sym('direction', 2), self.touching.equations, self.touching.axes
        way, mu = ca.vertcat(d[0], 0 if self.planar else d[1], 0), self.symbols.params
        motion = contact.sliding(axes @ way, mu['mu_kinetic'], self.touching.torque)
        slip = axes.T @ contact.acceleration(motion.response) + self.touching.bias
        outputs = slip[:2], ca.dot(axes[:, 2], motion.force), motion.margin * contact.mass
        return ca.Function('onset', [*self.symbols, d], [ca.densify(o) for o in outputs])

    @cached_property
    def touch(self) -> ca.Function:
        """``(x, p) -> gap [m], velocity of the contact [m/s], its place [m], spin [rad/s]``."""
        return self.of_state('touch', *self.touching[:4])

    @property
    def gaps(self) -> ca.SX:
        """Distance [m] of the bodies (1)."""
        return self.touching.gap

    @cached_property
    def contact_motion(self) -> ca.Function:
        """``(x, p) -> gap (1), velocity (3, 1)`` of the contact."""
        return self.of_state('motion', *self.touching[:2])

    @cached_property
    def pace(self) -> ca.Function:
        """``(x, p) -> speed of slip, of turning against a resistance`` [m/s]."""
        return self.of_state(
            'pace', ca.norm_2(self.touching.slips), ca.norm_2(self.touching.turns)
        )

    def rigid_bodies(self, p: ArrayLike) -> dict[str, RigidBody]:
        """Return masses and inertia of what is not driven."""
        return self.flight.rigid_bodies(p)

    def gravity(self, p: ArrayLike) -> Array:
        """Return gravity in W [m/s^2]."""
        return self.flight.gravity(p)

    @property
    def speed_names(self) -> list[str]:
        """Entries of the speeds of the body that flies."""
        return self.flight.speed_names

    @cached_property
    def impact_terms(self) -> ca.Function:
        """``(x, u, t, p) ->`` mass matrix, rows (3) of the contact, coefficients of friction."""
        s = self.symbols
        speeds = ca.vertcat(*(s.values[name] for name in self.speed_names))
        names = 'mu', 'mu_kinetic', 'restitution'
        terms = [
            self.flight.equations[0],
            ca.jacobian(self.touching.velocity, speeds),
            ca.horzcat(*(s.params.get(name, ca.SX(0)) for name in names)),
        ]
        return ca.Function('impact', [*s], [ca.densify(term) for term in terms])

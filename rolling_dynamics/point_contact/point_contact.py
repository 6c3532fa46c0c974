"""Contact at a point with Coulomb friction, and the direction of slip."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
import math
from typing import NamedTuple, TYPE_CHECKING

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Mode, Transition, WrittenSystem

if TYPE_CHECKING:
    from rolling_dynamics.point_contact.equations import OneContact, Response
    from rolling_dynamics.point_contact.transitions import Transitions


class Landing(NamedTuple):
    """State after an impact, its impulse [N s], shape (3,), and whether the contact sticks."""

    state: Array
    impulse: Array
    sticks: bool


class Touching(NamedTuple):
    """
    Where and how two bodies touch, as expressions; vectors have z along the normal.

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

    """

    gap: ca.SX
    velocity: ca.SX
    place: ca.SX
    spin: ca.SX
    axes: ca.SX


class ModeEquations(NamedTuple):
    """Rates of the state, wrench (6) on the body in the contact frame, and guards of a mode."""

    xdot: ca.SX
    wrench: ca.SX
    guards: Mapping[str, ca.SX]


class PointContact(WrittenSystem):
    """
    A system in which one body touches another in one point, with Coulomb friction.

    Its modes are ``rolling``, ``slipping`` and ``separated``; with spin friction also
    ``pure_rolling`` and ``pure_slipping``, and where the other body ends, ``off_hand``.

    Attributes
    ----------
    slides
        Whether the motion goes on after slip begins.
    velocity_entry
        Entry of the state that holds the velocity of the body's centre; its first numbers are
        those along the other body.
    spin_entry
        Entry whose third number is the spin; None where there is no spin friction.

    """

    slides: bool = True
    velocity_entry: str
    spin_entry: str | None = None

    @property
    def planar(self) -> bool:
        """Whether slip has the first direction only."""
        return False

    @property
    @abstractmethod
    def transitions(self) -> Transitions:
        """What decides which mode follows an event."""

    @property
    @abstractmethod
    def touching(self) -> Touching:
        """Where and how the bodies touch."""

    @property
    @abstractmethod
    def contact(self) -> OneContact:
        """Equations of flight and slip."""

    @property
    @abstractmethod
    def bias(self) -> ca.SX:
        """Rate (3) of the velocity of the contact at zero rates of the speeds, in its axes."""

    @property
    @abstractmethod
    def slip_torque(self) -> ca.SX | None:
        """Torque on the body over the normal force, where it slips with spin (3) [m]."""

    @abstractmethod
    def gained(self, r: Response) -> dict[str, ca.SX]:
        """Return what the entries of the velocities gain by accelerations, or by an impulse."""

    @property
    @abstractmethod
    def equations(self) -> Mapping[str, ModeEquations]:
        """The equations of each mode, written once."""

    @property
    @abstractmethod
    def projections(self) -> Mapping[str, ca.Function]:
        """``(x, p) -> x`` on the constraints of each mode."""

    @abstractmethod
    def landing(self, x: Array, t: float, p: Array) -> Landing:
        """Return what an impact leaves; raise JammingError if it has no end."""

    @abstractmethod
    def over_hand(self, x: Array, p: Array) -> bool:
        """Return whether the contact point lies within the edges of the other body."""

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""
        out = {}
        slip = self.of_state('slip', self.touching.velocity[: 1 if self.planar else 2])
        for name, e in self.equations.items():
            guards = self.functions(e.guards)
            out[name] = Mode(
                dynamics=self.function('dynamics', e.xdot),
                wrench=self.function('wrench', e.wrench),
                guards=guards,
                resets=self.resets(guards),
                projection=self.projections[name],
                slip=slip if name.endswith('slipping') else None,
            )
        return out

    def resets(self, guards: Iterable[str]) -> dict[str, Transition]:
        """Return what follows each guard of a mode."""
        return {name: partial(self.transitions.after, name) for name in guards}

    def slip_in(self, direction: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return acceleration of slip, normal force and margin: see :attr:`slip_onset`."""
        contact, axes = self.contact, self.touching.axes
        mu = self.symbols.params['mu_kinetic']
        motion = contact.sliding(axes @ direction, mu, self.slip_torque)
        slip = axes.T @ contact.acceleration(motion.response) + self.bias
        return slip, ca.dot(axes[:, 2], motion.force), motion.margin * contact.mass

    def struck(self, impulse: ca.SX) -> ca.SX:
        """Return the state after an impulse (3) [N s] at the contact, in its axes."""
        values = dict(self.symbols.values)
        answer = self.contact.answer(self.touching.axes @ impulse)
        for name, jump in self.gained(answer).items():
            values[name] += jump
        return ca.vertcat(*values.values())

    @cached_property
    def touch(self) -> ca.Function:
        """``(x, p) -> gap [m], velocity of the contact [m/s], its place [m], spin [rad/s]``."""
        return self.of_state('touch', *self.touching[:4])

    @cached_property
    def contact_axes(self) -> ca.Function:
        """``(x, p) -> R (3, 3)``: from the contact frame to that of the velocities."""
        return self.of_state('contact_axes', self.touching.axes)

    @cached_property
    def slip_onset(self) -> ca.Function:
        """
        ``(x, u, t, p, direction (2)) -> acceleration of slip (2), normal force, margin``.

        Where the margin is not positive, Coulomb friction does not determine the force (Painleve).
        """
        d = ca.SX.sym('direction', 2)
        a, N, margin = self.slip_in(ca.vertcat(d[0], 0 if self.planar else d[1], 0))
        outputs = [ca.densify(o) for o in (a[:2], N, margin)]
        return ca.Function('slip_onset', [*self.symbols, d], outputs)

    @cached_property
    def free_lift(self) -> ca.Function:
        """``(x, u, t, p) -> acceleration of the gap without contact [m/s^2]``."""
        return self.function('free_lift', self.contact.lift)

    @cached_property
    def kicked(self) -> ca.Function:
        """``(x, t, p, impulse) -> x`` after an impulse [N s] at the contact, along its axes."""
        s, P = self.symbols, ca.SX.sym('P', 2 if self.planar else 3)
        after = self.struck(ca.vertcat(P[0], 0, P[1]) if self.planar else P)
        return ca.Function('kicked', [s.x, s.t, s.p, P], [ca.densify(after)])


DIRECTIONS = 36  # looked at on the circle


class Onset(NamedTuple):
    """Slip that begins: its acceleration (2) [m/s^2], normal force [N], Painleve's margin."""

    acceleration: Array
    normal_force: float
    margin: float

    def grows(self, direction: Array) -> bool:
        """Return whether slip in this direction, a unit vector, can begin."""
        determined = self.normal_force > 0 and self.margin > 0
        return determined and float(self.acceleration @ direction) > 0


def slip_direction(onset: Callable[[Array], Onset], likely: Array, *, planar: bool) -> Array:
    """
    Return the unit vector along which slip begins.

    Parameters
    ----------
    onset
        ``direction (2,) -> Onset``.
    likely
        What is chosen if several directions fit: the nearest to this one; shape (2,).
    planar
        Whether there is only the first of the two directions.

    """
    middle = math.atan2(likely[1], likely[0]) if np.any(likely) else 0.0
    if planar:
        sign = 1.0 if likely[0] >= 0 else -1.0
        d = np.array([sign, 0.0])
        return -d if not onset(d).grows(d) and onset(-d).grows(-d) else d

    def across(angle: float) -> float:
        a = onset(_unit(angle)).acceleration
        return float(-a[0] * math.sin(angle) + a[1] * math.cos(angle))

    step = 2 * math.pi / DIRECTIONS
    angles = [middle + (k - DIRECTIONS / 2 + 0.5) * step for k in range(DIRECTIONS + 1)]
    values = [across(angle) for angle in angles]
    found = []
    for k in range(DIRECTIONS):
        if values[k] > 0 >= values[k + 1]:
            angle = _root(across, angles[k], angles[k + 1])
            d = _unit(angle)
            found.append((not onset(d).grows(d), abs(angle - middle), angle))
    return _unit(min(found)[2]) if found else _unit(middle)


def _unit(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where f falls through zero between low and high."""
    for _ in range(48):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2

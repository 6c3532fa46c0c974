"""Machines with transitions at contacts: stick, slip, separate, close, rest and roll."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Jump,
    Mode,
    MotionState,
    Outcome,
    Transition,
)
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.mechanism.hybrid import HELD, PhasedMachine, TINY
from rolling_dynamics.mechanism.impact import Friction, impact, STILL
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.mechanism.system import MachineSystem

CREEP = 1e-8  # m/s, default speed below which a contact that slips sticks
CLEAR = 1e-12  # m between bodies after a rebound
NOISE = 1e-12  # N: tolerance of a force on the friction cone
LIFTS = -1e-5  # m/s^2: below this free acceleration of the gap, bodies are pressed together
FAINT = 1e-7  # fraction of the largest normal force that counts as rounding
PERFECT = 1e-8  # a normal force below this fraction of friction has vanished
ENDS = {'slipping': 'which slips', 'separated': 'which rebounds'} | dict.fromkeys(
    ('rolling', 'resting'), 'which sticks'
)
DIRECTIONS = 36  # sampled on the circle
PAINLEVE = (
    'the coefficient of the normal force in the equations of contact is not positive (Painleve): '
    'Coulomb friction does not determine what follows'
)
ORDER = (
    'the order of the impulses decides the outcome: one after the other they give velocities '
    'that differ by up to {} m/s'
)
DETACHED = (
    'the normal force vanishes under friction, and without contact force the bodies would run '
    'into each other: perfect friction has no continuation'
)


class HybridMachine(PhasedMachine):
    """
    A machine with modes by phases of its contacts: each rolls, slips, rests or is separated.

    A mode is named by the contacts that do not roll, such as ``slipping_front_separated_rear``, or
    ``slipping`` for an only contact. A contact whose ``normal_force`` is given does not separate.
    In the first mode, for plans and controllers, all contacts roll, except those given as
    separated. Slip starts when static friction reaches its limit; where it ends, the contact
    sticks if friction can hold it. When a contact closes there is an impact, with impulses at all
    closed contacts at once. If the outcome depends on their order, an event ``impact_order`` gives
    the difference.

    Attributes
    ----------
    called
        Names of guards of an only contact, if they differ from those here.
    leads
        Prefix of the name of a guard of the description -> the mode that follows, empty if the
        motion ends, and the text of the event.
    slides
        Whether the motion continues after slip starts.
    overlap
        Error text for overlapping bodies; empty if `check_state` raises it.

    """

    called: Mapping[str, str] = {}
    leads: Mapping[str, tuple[str, str]] = {}
    slides, overlap = True, ''

    def starting(self, p: ArrayLike, x: ArrayLike) -> HybridMachine:
        """
        Return the machine whose first mode fits a start: contacts open there are separated.

        If no contact would be closed, all roll in the first mode, as for a throw that will land.
        """
        gaps = np.array(self.gap_function(x, p)).ravel()
        apart = [i for i in self.parting if gaps[i] > OPEN]
        alone = len(apart) == len(self.contact_names)
        return self if alone or not apart else type(self)(self.machine, apart)

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling, and the other phases of the contacts."""
        return {name: self._mode(part) for name, part in self.parts.items()}

    def _mode(self, part: MachineSystem) -> Mode:
        mode, slip = part.modes['rolling' if part.contact_names else 'separated'], None
        guards = {self.called.get(name, name): guard for name, guard in mode.guards.items()}
        found = [ca.SX(0, 1)]
        for i in self.able:
            contact, rows, phase = self.machine.contacts[i], self.closures[i], part.phases.of(i)
            if phase == 'slipping' and not contact.displacement:
                found.append(contact.sliding(rows))
            if phase == 'rolling':
                found.append(contact.turning_by(rows))
        if (fading := ca.vertcat(*found)).numel():
            slip = self.of_state('slip', fading)
        resets, on = self.resets(part), part.projection
        return replace(mode, guards=guards, resets=resets, projection=on, slip=slip)

    def resets(self, part: MachineSystem) -> dict[str, Transition]:
        """Return the reset of each guard in a mode."""
        out: dict[str, Transition] = {}
        for name in part.guards:
            for mode, text in (to for start, to in self.leads.items() if name.startswith(start)):
                out[self.called.get(name, name)] = Jump(
                    function=None, outcomes=(Outcome(mode, name, text),)
                )
        for i in self.able:
            margins = part.judged[self.closing_names[i]].margins
            named = {k: part.named(k, self.closing_names[i]) for k in margins}
            follows = self.follows(i)
            out |= {self.called.get(n, n): follows[k] for k, n in named.items() if k in follows}
        return out

    # mode of a state

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """
        Return a state with its mode, after the impact of contacts that close there.

        Raises
        ------
        ParameterError
            The state is invalid, or bodies overlap.

        """
        x, p = _vector('x', x, self.state.size), _vector('p', p, self.parameters.size)
        (gaps, v), u = self._moves(x, p), np.asarray(u, dtype=float)
        for i in self.parting:
            if self.overlap and self.rigid(i) and gaps[i] < -OPEN:
                raise ParameterError(
                    f'{self.overlap} by {-gaps[i]:.3g} m; place one on the other or above'
                )
        s = MotionState(t=t, x=x, mode=self._mode_at(p, x), p=p)
        closing = [i for i in self.parting if self.rigid(i) and abs(gaps[i]) <= OPEN]
        meet = any(v[i][2] < -STILL for i in closing)
        return self.by_friction(self._meet(s, u) if meet else self.constrained(s), u)

    def by_friction(self, s: MotionState, u: Array) -> MotionState:
        """Return a state in which contacts slip and roll if friction cannot hold them."""
        for i in self.able:
            phase = self.phase(s.mode, i)
            if phase == 'slipping':
                s = self._slid(i, s, u)
            elif phase in {'rolling', 'resting'} and not self._holds(i, s, u):
                s = self._slip(i, s, u)
            elif phase == 'resting' and self._at(i, s, u, 'turn')[-1] < 0:
                s = self._turn(i, s, u)
        return s

    def part_at(self, p: ArrayLike, x: ArrayLike) -> MachineSystem:
        """Return the machine in the mode of a state."""
        return self.parts[self._mode_at(p, x)]

    def _mode_at(self, p: ArrayLike, x: ArrayLike) -> str:
        gaps, v = self._moves(x, p)
        away = [i for i in self.parting if gaps[i] > OPEN or v[i][2] > STILL]
        return self._mode_of(x, p, away)

    def _mode_of(self, x: ArrayLike, p: ArrayLike, away: Iterable[int]) -> str:
        """Return the mode of a state in which some contacts are separated."""
        phases = dict.fromkeys(away, 'separated')
        slips, turns = (np.array(v).ravel() for v in self.pace(x, p))
        for i in set(self.able) - set(phases):
            rests = i in self.resisted and turns[i] <= self.creep
            phases[i] = 'resting' if rests else 'rolling'
            if slips[i] > self.creep:
                phases[i] = 'slipping'
        return self.mode_with(phases, p)

    def constrained(self, s: MotionState) -> MotionState:
        """Return a state on the constraints of its mode."""
        on = self.modes[s.mode].projection
        return s if on is None else replace(s, x=np.array(on(s.x, s.p)).ravel())

    def conserved(self, p: Array, x: Array) -> list[str]:
        """Return the invariants of rolling; none while a contact slips."""
        return [] if self.part_at(p, x).phases.slipping else super().conserved(p, x)

    # resets of guards

    def follows(self, i: int) -> dict[str, Transition]:
        """Return the resets of the guards of a contact, by name."""
        out = {'stick': self._stick, 'friction': self._slip, 'painleve': self._painleve}
        out |= {'rest': self._rest, 'turn': self._turn}
        if i in self.parting:
            out |= {'normal_force': self._part, 'gap': self._close}
        return {name: partial(follow, i) for name, follow in out.items()}

    def _slip(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact slip against the force that holds it, or separate if there is no force."""
        *force, fz, _ = self._at(i, s, u)
        closed = (k for k in self.able if self.phase(s.mode, k) != 'separated')
        most = max(self._at(k, s, u)[-2] for k in closed)
        if fz <= max(PERFECT * np.linalg.norm(force), FAINT * most) and i in self.parting:
            return self._part(i, s, u)
        return self._begin_slip(i, s, u, force)

    def _begin_slip(self, i: int, s: MotionState, u: Array, force: Sequence[float]) -> MotionState:
        said = f'{self.able[i]} begins to slip'
        if not self.slides:
            return s.noted('friction', said, ends=True)
        way, mode = self._direction(s, u, -np.array(force)), self.moved(s, i, 'slipping')
        return self._started('slips', i, mode, way, s, u).noted('slip', said)

    def _slid(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact that already slips continue, unless the motion is to end there."""
        if not self.slides:
            return s.noted('friction', f'{self.able[i]} slips', ends=True)
        return self._painleve(i, s, u) if self._at(i, s, u)[-1] <= 0 else s

    def _direction(self, s: MotionState, u: Array, way: Array) -> Array:
        """Return the direction of incipient slip, if it is known."""
        asked = self.onset
        if asked is None or np.any(way[2:]):
            return way

        def onset(d: Array) -> Onset:
            a, N, margin = asked(s.x, u, s.t, s.p, d)
            return Onset(np.array(a).ravel(), float(N), float(margin))

        return np.append(slip_direction(onset, way, planar=self.planar), way[2:])

    def _turn(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact roll against the torque that holds it."""
        *torque, _, _ = self._at(i, s, u, 'turn')
        turns = self._started('turns', i, self.moved(s, i), -np.array(torque), s, u)
        return turns.noted('turn', f'{self.able[i]} begins to roll')

    def _started(
        self, what: str, i: int, mode: str, way: Array, s: MotionState, u: Array
    ) -> MotionState:
        """Return a state in another mode, with velocities of a contact just above the creep."""
        along = way / (np.linalg.norm(way) + TINY)
        x = self.at_event(what, mode, i)(s.x, u, s.t, s.p, along)
        return replace(s, x=np.array(x).ravel(), mode=mode)

    def _stick(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact stick if friction can hold it, else continue to slip."""
        still = self._stopped(i, self.moved(s, i), s, u)
        if not self._holds(i, still, u):
            return self._slip(i, still, u)
        return still.noted('stick', f'{self.able[i]} rolls')

    def _rest(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact rest if its resistance can hold it, else continue to roll."""
        still = self._stopped(i, self.moved(s, i, 'resting'), s, u)
        if self._at(i, still, u, 'turn')[-1] < 0:
            return self._turn(i, still, u)
        return still.noted('rest', f'{self.able[i]} comes to rest')

    def _stopped(self, i: int, mode: str, s: MotionState, u: Array) -> MotionState:
        """Return a state in another mode; an impulse of friction stops the remaining velocity."""
        x = self.at_event('stop', mode, i)(s.x, u, s.t, s.p)
        return replace(s, x=np.array(x).ravel(), mode=mode)

    def _part(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact without normal force separate, or slip if the bodies would overlap."""
        away = replace(s, mode=self.moved(s, i, 'separated'))
        lift = self.at_event('lift', away.mode, i)
        if not self.rigid(i) or float(lift(s.x, u, s.t, s.p)) >= LIFTS:
            return away.noted('lift_off', f'{self.able[i]} parts')
        if self.phase(s.mode, i) in {'rolling', 'resting'}:
            *force, fz, _ = self._at(i, s, u)
            if abs(fz) > PERFECT * np.linalg.norm(force):
                return self._begin_slip(i, s, u, force)
        return s.noted('detached', DETACHED, ends=True)

    def _painleve(self, i: int, s: MotionState, u: Array) -> MotionState:  # noqa: ARG002
        """End the motion if Coulomb's law does not determine the normal force of slip."""
        return s.noted('painleve', PAINLEVE, ends=True)

    def _close(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Close a contact: by an impact, unless it is elastic."""
        if self.rigid(i):
            return self._meet(s, u)
        mode = self._mode_of(s.x, s.p, [k for k in self._away(s) if k != i])
        return replace(s, mode=mode).noted('landing', f'{self.able[i]} closes')

    def _away(self, s: MotionState) -> list[int]:
        return [i for i in self.able if self.phase(s.mode, i) == 'separated']

    def _meet(self, s: MotionState, u: Array) -> MotionState:
        """Return the state after an impact of all contacts that are closed."""
        (gaps, before), was = self._moves(s.x, s.p), self._away(s)
        closed = (i for i in self.parting if self.rigid(i))
        near = [i for i in closed if i not in was or abs(gaps[i]) <= OPEN]
        x, p, bound = s.x, s.p, list(self.bound)
        M, J, coefficients = (np.array(a) for a in self.impact_terms(x, u, s.t, p))
        free = np.linalg.solve(M, J.T)
        rows = [3 * i + k for i in near for k in range(3)]
        # impulses (all) for unit impulses at closing contacts: contacts that only roll hold
        parts = np.zeros((len(J), len(rows)))
        parts[rows, range(len(rows))] = 1.0
        if bound:
            B = J[bound]
            parts[bound] = -np.linalg.solve(B @ free[:, bound], B @ free[:, rows])
        try:
            W = J[rows] @ free @ parts
            W[np.diag_indices(len(W))] += np.diag(W) == 0  # no component across a plane
            found = impact(W, before[near].ravel(), [Friction(*coefficients[i]) for i in near])
        except JammingError as e:
            return s.noted('jammed', str(e), ends=True)
        whole = parts @ found.impulse.ravel()
        x = x.copy()
        x[self.speed_places] += (change := free @ whole)
        after = self._moves(x, p)[1]
        leaving = [i for i in near if after[i][2] > STILL]
        mode = self._mode_of(x, p, [i for i in was if i not in near] + leaving)
        met = replace(s, x=self._clear(x, p, leaving), mode=mode)
        if np.any(found.impulse):
            pushed = [
                f'{np.linalg.norm(P):.6g} N s at {self.able[i]}, {ENDS[self.phase(mode, i)]}'
                for i, P in zip(near, found.impulse, strict=True)
                if np.any(P)
            ]
            met = met.noted('landing', f'impact of {"; ".join(pushed)}')
        if found.spread:
            met = met.noted('impact_order', ORDER.format(f'{found.spread:.3g}'))
        for i in near:
            if not self.slides and self.phase(mode, i) == 'slipping':
                met = self._slid(i, met, u)
        return _checked(met, self.holding(s, u, change, whole))

    # evaluations

    def _clear(self, x: Array, p: Array, leaving: list[int]) -> Array:
        """Return a state whose gaps, if negative by rounding, are opened."""
        gaps, G = (np.array(a) for a in self.gap_rows(x, p))
        low = [i for i in leaving if gaps[i, 0] < self.clear]
        if not low:
            return x
        moved = self.retract(x, np.linalg.pinv(G[low]) @ (self.clear - gaps[low, 0]))
        return np.array(moved).ravel()

    def _moves(self, x: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        gaps, velocities = self.contact_motion(x, p)
        return np.array(gaps).ravel(), np.array(velocities).T

    def _at(self, i: int, s: MotionState, u: Array, what: str = 'slip') -> Array:
        """Return the direction of slip or rolling at a contact, normal force [N], and margin."""
        return np.array(self.at_event(what, s.mode, i)(s.x, u, s.t, s.p)).ravel()

    def _holds(self, i: int, s: MotionState, u: Array) -> bool:
        """Return whether friction can hold a contact."""
        *_, fz, margin = self._at(i, s, u)
        return bool(margin >= -NOISE and (fz > 0 or i not in self.parting))


def _vector(name: str, given: ArrayLike, size: int) -> Array:
    array = np.array(given, dtype=float)
    if array.shape != (size,) or not np.all(np.isfinite(array)):
        raise ParameterError(f'{name} takes {size} finite numbers, got shape {array.shape}')
    return array


def _checked(met: MotionState, held: Mapping[str, tuple[Array, float]]) -> MotionState:
    """End the motion if an impact needs impulses that contacts that only roll cannot give."""
    for name, (P, mu) in held.items():
        along = float(np.hypot(P[0], P[1]))
        if P[2] < -HELD or along > mu * P[2] + HELD:
            text = (
                f'the impact needs {P[2]:.3g} N s along the normal and {along:.3g} N s across at '
                f'the {name}, which neither slips nor parts; describe it as a Contact with a '
                'mu_kinetic'
            )
            return met.noted('jammed', text, ends=True)
    return met


class Onset(NamedTuple):
    """Incipient slip: its acceleration (2) [m/s^2], normal force [N], Painleve's margin."""

    acceleration: Array
    normal_force: float
    margin: float

    def grows(self, direction: Array) -> bool:
        """Return whether slip in this direction, a unit vector, can start."""
        determined = self.normal_force > 0 and self.margin > 0
        return determined and float(self.acceleration @ direction) > 0


def slip_direction(onset: Callable[[Array], Onset], likely: Array, *, planar: bool) -> Array:
    """
    Return the unit vector along which slip starts.

    Parameters
    ----------
    onset
        ``direction (2,) -> Onset``.
    likely
        Preferred direction, shape (2,): the closest one is chosen if several directions fit.
    planar
        Whether only the first of the two directions exists.

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

"""Machines whose contacts beside the joints slip, part and meet, by Coulomb's law."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Mode, MotionState, Transition
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.mechanism.impact import Friction, impact, STILL
from rolling_dynamics.mechanism.loops import Phases, SPINNING
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.mechanism.structure import Structure
from rolling_dynamics.mechanism.system import CREEP, MachineSystem, ROLLING
from rolling_dynamics.point_contact.transitions import DETACHED, LIFTS, PAINLEVE

START = 3.0  # slip starts at this many times the creep
CLEAR = 1e-11  # m between bodies after a rebound
HELD = 1e-9  # N s: an impulse this far beyond a cone lies in it


class HybridMachine(MachineSystem):
    """
    A machine of which every contact with a ``mu_kinetic`` may slip, part and meet.

    A mode is a choice of rolling, slipping and separated for each of these contacts, and of
    resting where it has a resistance. It is named by those that do not roll, such as
    ``slipping_front_separated_rear``, or ``slipping`` of the
    only contact. A contact whose ``normal_force`` is given does not part. Slip begins against the
    static friction at its limit; where it ends, the contact sticks if friction can hold it. Where
    a contact closes there is an impact, whose impulses act at all closed contacts at once; where
    their order would decide the outcome, an event ``impact_order`` says by how much.

    Attributes
    ----------
    parts
        The machine in each mode.

    """

    def __init__(self, machine: Machine) -> None:
        """Take a machine, or raise ParameterError where no contact may slip."""
        super().__init__(machine)
        self._names = names = list(self.contacts)[len(self.contacts) - len(machine.contacts) :]
        able = [i for i, c in enumerate(machine.contacts) if c.mu_kinetic is not None]
        if not able:
            raise ParameterError(f'{self.name}: no contact has a mu_kinetic')
        self.able = {i: names[i] for i in able}
        self._parting = [i for i in able if machine.contacts[i].normal_force is None]
        self._resisted = [i for i in able if machine.contacts[i].resistance is not None]
        every = [Phases()]
        for i in able:
            more = ['separated'] * (i in self._parting) + ['resting'] * (i in self._resisted)
            every = [p.moved(i, k) for p in every for k in ('rolling', 'slipping', *more)]
        self._forces: dict[tuple[str, int, str], ca.Function] = {}
        self.parts = {self._mode_of(phases): MachineSystem(machine, phases) for phases in every}

    def _mode_of(self, phases: Phases) -> str:
        """Return the name of a mode."""
        alone, words = len(self.machine.contacts) == 1, []
        for phase, these in phases._asdict().items():
            words += [phase, *(self.able[i] for i in these if not alone)] if these else []
        return '_'.join(words) or 'rolling'

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling, and what the contacts may do else."""
        return {name: self._mode(part) for name, part in self.parts.items()}

    def _mode(self, part: MachineSystem) -> Mode:
        mode, slip = part.modes['rolling'], None
        resets: dict[str, Transition] = {}
        for i, name in self.able.items():
            follows = {'stick': self._stick, 'friction': self._slip, 'painleve': _painleve}
            follows |= {'rest': self._rest, 'turn': self._turn}
            if i in self._parting:
                follows |= {'normal_force': self._part, 'gap': self._close}
            resets |= {
                part.named(kind, name): partial(follow, i)
                for kind, follow in follows.items()
                if part.named(kind, name) in mode.guards
            }
        moves = [(c.slip, c.turns) for c in (part.contacts[n] for n in self.able.values())]
        if found := [v for pair in moves for v in pair if v is not None]:
            slip = ca.vertcat(*found)
            slip = ca.Function('slip', [self.symbols.x, self.symbols.p], [slip])
        return replace(mode, resets=resets, projection=part.projection, slip=slip)

    # which mode a state is in

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Refuse a state as :meth:`MachineSystem.check_state`, in the mode in which it is."""
        self.parts[self._mode_at(p, x)].check_state(p, x)

    def structure(self, p: ArrayLike, x: ArrayLike) -> Structure:
        """Return what contacts leave free in the mode of a state."""
        return self.parts[self._mode_at(p, x)].structure(p, x)

    def _mode_at(self, p: ArrayLike, x: ArrayLike) -> str:
        gaps, v = self._contact_motion(x, p)
        away = [i for i in self._parting if gaps[i] > OPEN or v[i][2] > OPEN]
        return self._mode_of(self._phases(x, p, away))

    def _phases(self, x: ArrayLike, p: ArrayLike, separated: Iterable[int]) -> Phases:
        """Return what contacts do in a state, some of which are separated."""
        out = Phases(separated=tuple(separated))
        slips, turns = (np.array(v).ravel() for v in self._pace(x, p))
        for i in set(self.able) - set(out.separated):
            if slips[i] > CREEP:
                out = out.moved(i, 'slipping')
            elif i in self._resisted and turns[i] <= CREEP:
                out = out.moved(i, 'resting')
        return out

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float) -> MotionState:
        """Return a state with its mode; contacts that meet there have met afterwards."""
        x, p = (np.array(a, dtype=float) for a in (x, p))
        s, u = MotionState(t=t, x=x, mode=self._mode_at(p, x), p=p), np.asarray(u, dtype=float)
        gaps, v = self._contact_motion(x, p)
        if any(v[i][2] < -OPEN and abs(gaps[i]) <= OPEN for i in self._parting if self._rigid(i)):
            s = self._meet(s, u)
        for i in self.able:
            phases = self.parts[s.mode].phases
            if phases.of(i) in ('rolling', 'resting') and self._margin(i, s, u) < 0:
                s = self._slip(i, s, u)
            elif phases.of(i) == 'resting' and self._margin(i, s, u, 'turn') < 0:
                s = self._turn(i, s, u)
        return s

    def _rigid(self, i: int) -> bool:
        return self.machine.contacts[i].rigid

    # what follows the fall of a guard

    def _slip(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact slip against the force that holds it, or part if there is no force."""
        *force, fz, _ = self._at(i, s, u)
        if fz <= 0 and i in self._parting:
            return self._part(i, s, u)
        v, phases = self.closures[i].velocity, self.parts[s.mode].phases.moved(i, 'slipping')
        along = ca.vertcat(v[:2], v[3 : self.machine.contacts[i].turning])
        slips = self._begun(phases, along, force, s)
        return slips.noted('slip', f'{self.able[i]} begins to slip')

    def _turn(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact turn against the torque that holds it."""
        *force, _, _ = self._at(i, s, u, 'turn')
        along = self.closures[i].velocity[self.machine.contacts[i].turning :]
        turns = self._begun(self.parts[s.mode].phases.moved(i), along, force, s)
        return turns.noted('turn', f'{self.able[i]} begins to roll')

    def _begun(
        self, phases: Phases, along: ca.SX, against: Sequence[float], s: MotionState
    ) -> MotionState:
        """Return a state in other phases, with velocities of a contact just above the creep."""
        part, way = self.parts[self._mode_of(phases)], -np.array(against)
        off = along - START * CREEP * way / np.linalg.norm(way)
        x = self._numbers(part.nearest(ca.vertcat(*part.rows, off)), s.x, s.p)
        return replace(s, x=x, mode=self._mode_of(phases))

    def _stick(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact stick where friction can hold it, else slip on."""
        still = self._stopped(self.parts[s.mode].phases.moved(i), s, u)
        if self._margin(i, still, u) < 0:
            return self._slip(i, still, u)
        return still.noted('stick', f'{self.able[i]} rolls')

    def _rest(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact rest where its resistance can hold it, else roll on."""
        still = self._stopped(self.parts[s.mode].phases.moved(i, 'resting'), s, u)
        if self._margin(i, still, u, 'turn') < 0:
            return self._turn(i, still, u)
        return still.noted('rest', f'{self.able[i]} comes to rest')

    def _stopped(self, phases: Phases, s: MotionState, u: Array) -> MotionState:
        """Return a state in other phases; an impulse, as friction gives, takes out the rest."""
        part, x = self.parts[self._mode_of(phases)], s.x.copy()
        M = np.array(self._impact_terms(x, u, s.t, s.p)[0])
        off, G, _ = (np.array(a) for a in part.row_function(x, s.p))
        free = np.linalg.solve(M, G.T)
        x[self._speed_places] -= (free @ np.linalg.pinv(G @ free) @ off).ravel()
        x = np.array(part.projection(x, s.p)).ravel()
        return replace(s, x=x, mode=self._mode_of(phases))

    def _part(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact part whose normal force has vanished."""
        away = replace(s, mode=self._mode_of(self.parts[s.mode].phases.moved(i, 'separated')))
        if self._rigid(i) and self._lift(i, away, u) < LIFTS:
            return s.noted('detached', DETACHED, ends=True)
        return away.noted('lift_off', f'{self.able[i]} parts')

    def _close(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Close a contact: by an impact, but where it gives way."""
        if self._rigid(i):
            return self._meet(s, u)
        away = (k for k in self.parts[s.mode].phases.separated if k != i)
        phases = self._phases(s.x, s.p, away)
        return replace(s, mode=self._mode_of(phases)).noted('landing', f'{self.able[i]} closes')

    def _meet(self, s: MotionState, u: Array) -> MotionState:
        """Return the state after an impact of all contacts that are closed."""
        phases, (gaps, before) = self.parts[s.mode].phases, self._contact_motion(s.x, s.p)
        near = [
            i
            for i in self._parting
            if self._rigid(i) and (i not in phases.separated or abs(gaps[i]) <= OPEN)
        ]
        x, p = s.x, s.p
        M, J, coefficients = (np.array(a) for a in self._impact_terms(x, u, s.t, p))
        free = np.linalg.solve(M, J.T)
        bound = self._bound
        rows = [3 * i + k for i in near for k in range(3)]
        # impulses (all) of unit impulses where contacts meet: contacts that only roll hold
        share = np.zeros((len(J), len(rows)))
        share[rows, range(len(rows))] = 1.0
        if bound:
            B = J[bound]
            share[bound] = -np.linalg.solve(B @ free[:, bound], B @ free[:, rows])
        try:
            W = J[rows] @ free @ share
            found = impact(W, before[near].ravel(), [Friction(*coefficients[i]) for i in near])
        except JammingError as e:
            return s.noted('jammed', str(e), ends=True)
        whole = share @ found.impulse.ravel()
        change = free @ whole
        x = x.copy()
        x[self._speed_places] += change
        after = self._contact_motion(x, p)[1]
        away = {i for i in phases.separated if i not in near}
        away |= {i for i in near if after[i][2] > STILL}
        mode = self._mode_of(self._phases(x, p, sorted(away)))
        met = replace(s, x=self._clear(x, p, [i for i in near if i in away]), mode=mode)
        if np.any(found.impulse):
            pushed = [
                f'{np.linalg.norm(P):.6g} N s at {self.able[i]}'
                for i, P in zip(near, found.impulse, strict=True)
                if np.any(P)
            ]
            met = met.noted('landing', f'impact of {", ".join(pushed)}')
        if found.spread:
            met = met.noted(
                'impact_order',
                'the order of the impulses decides the outcome: one after the other they give '
                f'velocities that differ by up to {found.spread:.3g} m/s',
            )
        held = {
            f'contact {name}': (whole[3 * i : 3 * i + 3], float(coefficients[i][0]))
            for i, name in enumerate(self._names)
            if i not in self.able
        }
        for name, f in self._joint_impulses.items():
            P, mu = np.split(np.array(f(x, u, s.t, p, change, whole)).ravel(), [3])
            held[f'Rolling joint of {name}'] = P, float(mu[0])
        return _judged(met, held)

    # evaluations

    def _clear(self, x: Array, p: Array, leaving: list[int]) -> Array:
        """Return a state whose gaps that rounding has left below zero are open."""
        gaps, G = (np.array(a) for a in self._gap_rows(x, p))
        low = [i for i in leaving if gaps[i, 0] < CLEAR]
        if not low:
            return x
        moved = self.retract(x, np.linalg.pinv(G[low]) @ (CLEAR - gaps[low, 0]))
        return np.array(moved).ravel()

    @cached_property
    def _gap_rows(self) -> ca.Function:
        """``(x, p) -> gaps (n), their derivatives by a tangent vector (n, m)``."""
        x, p, d = self.symbols.x, self.symbols.p, ca.SX.sym('d', self.tangent.size)
        gaps = ca.vertcat(*(r.gap for r in self.closures))
        moved = ca.substitute(gaps, x, self.retract(x, d))
        G = ca.substitute(ca.jacobian(moved, d), d, ca.SX.zeros(d.numel()))
        return ca.Function('gap_rows', [x, p], [ca.densify(gaps), ca.densify(G)])

    @cached_property
    def _speed_places(self) -> list[int]:
        """Numbers of the speeds in the state, in the order of the equations."""
        slices = [self.state.slice(name) for name in self.speed_names]
        return [k for at in slices for k in range(at.start, at.stop)]

    @cached_property
    def _motion_function(self) -> ca.Function:
        """``(x, p) -> gaps (n), velocities (3, n)`` of the contacts beside the joints."""
        rows = self.closures
        outputs = [ca.vertcat(*(r.gap for r in rows)), ca.horzcat(*(r.velocity[:3] for r in rows))]
        inputs = [self.symbols.x, self.symbols.p]
        return ca.Function('motion', inputs, [ca.densify(o) for o in outputs])

    @cached_property
    def _pace(self) -> ca.Function:
        """``(x, p) -> speeds (n) of slip and spin, of turning against a resistance`` [m/s]."""
        pairs = list(zip(self.machine.contacts, self.closures, strict=True))
        slips = (ca.vertcat(r.velocity[:2], r.velocity[3 : c.turning]) for c, r in pairs)
        turns = (r.velocity[c.turning :] for c, r in pairs)
        outputs = [ca.densify(ca.vertcat(*map(ca.norm_2, v))) for v in (slips, turns)]
        return ca.Function('pace', [self.symbols.x, self.symbols.p], outputs)

    def _contact_motion(self, x: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        gaps, velocities = self._motion_function(x, p)
        return np.array(gaps).ravel(), np.array(velocities).T

    @cached_property
    def _impact_terms(self) -> ca.Function:
        """Mass matrix, rows (3 n) of the contacts beside the joints, their coefficients."""
        contacts = self.machine.contacts
        J = ca.jacobian(ca.vertcat(*(r.velocity[:3] for r in self.closures)), self._speeds)
        kinetic = (0 if c.mu_kinetic is None else c.mu_kinetic for c in contacts)
        pairs = zip(contacts, kinetic, strict=True)
        terms = (ca.horzcat(c.mu, sliding, c.restitution) for c, sliding in pairs)
        outputs = [self.machine.dynamics.equations[0], J, ca.vertcat(*terms)]
        return ca.Function('impact', list(self.symbols), [ca.densify(o) for o in outputs])

    @cached_property
    def _bound(self) -> list[int]:
        """Numbers, among the components of all contacts, of those that cannot but hold."""
        pairs = enumerate(zip(self.machine.contacts, self.closures, strict=True))
        only = ((i, c.given(r)) for i, (c, r) in pairs if i not in self.able)
        return [3 * i + k for i, given in only for k in range(3) if k not in given]

    @cached_property
    def _joint_impulses(self) -> dict[str, ca.Function]:
        """``(x, u, t, p, change of speeds, impulses) -> impulse (3), mu`` of Rolling joints."""
        machine, out = self.machine, {}
        change = ca.SX.sym('change', self._speeds.numel())
        impulses = ca.SX.sym('impulses', 3 * len(machine.contacts))
        for name, body in machine.bodies.items():
            if isinstance(body.joint, ROLLING):
                R = machine.links[name].contact.R_WC
                P = self.wrench(change, name) - self.wrench(0 * change, name)
                P = P[3:] - R.T @ self._closing_force(name, ca.vertsplit(impulses, 3))
                inputs = [*self.symbols, change, impulses]
                out[name] = ca.Function('joint', inputs, [ca.vertcat(P, body.joint.mu)])
        return out

    def _at(self, i: int, s: MotionState, u: Array, what: str = 'slip') -> Array:
        """Return along what a contact would slip or turn, its normal force [N], and its margin."""
        if (s.mode, i, what) not in self._forces:
            part, contact = self.parts[s.mode], self.machine.contacts[i]
            at = part.judged[self.able[i]]
            along = at.wrench[:2] if what == 'turn' else at.wrench[3:5]
            if what == 'slip' and contact.patch is not None:  # the normal of the limit surface
                along = ca.vertcat(along, at.wrench[2] / contact.patch / SPINNING**2)
            margins = {'slip': 'friction' if at.slip is None else 'stick'}
            given = ca.vertcat(along, at.wrench[5], at.margins[margins.get(what, what)])
            self._forces[s.mode, i, what] = part.function('at', given)
        return np.array(self._forces[s.mode, i, what](s.x, u, s.t, s.p)).ravel()

    def _margin(self, i: int, s: MotionState, u: Array, what: str = 'slip') -> float:
        return float(self._at(i, s, u, what)[-1])

    def _lift(self, i: int, s: MotionState, u: Array) -> float:
        """Return the acceleration of the gap of a contact in the mode of a state [m/s^2]."""
        part = self.parts[s.mode]
        xdot = part.rate_of_state(part._solution.rates)  # noqa: SLF001 (a part of this machine)
        lift = ca.jtimes(self.closures[i].velocity[2], self.symbols.x, xdot)
        return float(self.function('lift', lift)(s.x, u, s.t, s.p))

    def conserved(self, p: Array, x: Array) -> list[str]:
        """Return what rolling keeps; nothing while a contact slips."""
        return [] if self.parts[self._mode_at(p, x)].phases.slipping else super().conserved(p, x)


def _judged(met: MotionState, held: Mapping[str, tuple[Array, float]]) -> MotionState:
    """End the motion where an impact needs what contacts that only roll cannot give."""
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


def _painleve(i: int, s: MotionState, u: Array) -> MotionState:  # noqa: ARG001
    """End the motion where Coulomb's law does not determine the normal force of slip."""
    return s.noted('painleve', PAINLEVE, ends=True)

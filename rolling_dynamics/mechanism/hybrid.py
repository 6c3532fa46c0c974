"""Machines whose contacts beside the joints slip, part and meet, by Coulomb's law."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Mode, MotionState, Transition
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.friction import SPINNING
from rolling_dynamics.mechanism.impact import Friction, impact, STILL
from rolling_dynamics.mechanism.loops import Phases
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.mechanism.structure import Structure
from rolling_dynamics.mechanism.system import CREEP, MachineSystem, ROLLING
from rolling_dynamics.point_contact.transitions import DETACHED, LIFTS, PAINLEVE

TINY = 1e-300  # N: no force at all has no direction, and the slip starts with none
START = 3.0  # slip starts at this many times the creep
CLEAR = 1e-11  # m between bodies after a rebound
SLOW = 0.03  # rad/s below which plans and laws take a resistance to be in proportion to it
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
        self.parting = [i for i in able if machine.contacts[i].normal_force is None]
        self.resisted = [i for i in able if machine.contacts[i].resistance is not None]
        every = [Phases()]
        for i in able:
            more = ['separated'] * (i in self.parting) + ['resting'] * (i in self.resisted)
            every = [p.moved(i, k) for p in every for k in ('rolling', 'slipping', *more)]
        self._evaluations: dict[tuple[str, str, int], ca.Function] = {}
        self.parts = {self.mode_of(phases): MachineSystem(machine, phases) for phases in every}

    @cached_property
    def mode(self) -> Mode:
        """Rolling, for plans and laws: slow turning is resisted in proportion to its rate."""
        if not self.resisted:
            return super().mode
        machine = copy(self.machine)
        machine.contacts = [replace(c, slow=SLOW) for c in machine.contacts]
        return MachineSystem(machine).mode

    def mode_of(self, phases: Phases) -> str:
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
            if i in self.parting:
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
        gaps, v = self._moves(x, p)
        away = [i for i in self.parting if gaps[i] > OPEN or v[i][2] > OPEN]
        return self.mode_of(self._phases(x, p, away))

    def _phases(self, x: ArrayLike, p: ArrayLike, separated: Iterable[int]) -> Phases:
        """Return what contacts do in a state, some of which are separated."""
        out = Phases(separated=tuple(separated))
        slips, turns = (np.array(v).ravel() for v in self.pace(x, p))
        for i in set(self.able) - set(out.separated):
            if slips[i] > CREEP:
                out = out.moved(i, 'slipping')
            elif i in self.resisted and turns[i] <= CREEP:
                out = out.moved(i, 'resting')
        return out

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float) -> MotionState:
        """Return a state with its mode; contacts that meet there have met afterwards."""
        x, p = (np.array(a, dtype=float) for a in (x, p))
        s, u = MotionState(t=t, x=x, mode=self._mode_at(p, x), p=p), np.asarray(u, dtype=float)
        gaps, v = self._moves(x, p)
        if any(v[i][2] < -OPEN and abs(gaps[i]) <= OPEN for i in self.parting if self._rigid(i)):
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
        if fz <= 0 and i in self.parting:
            return self._part(i, s, u)
        slips = self._begun('slips', i, self.parts[s.mode].phases.moved(i, 'slipping'), force, s)
        return slips.noted('slip', f'{self.able[i]} begins to slip')

    def _turn(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact turn against the torque that holds it."""
        *force, _, _ = self._at(i, s, u, 'turn')
        turns = self._begun('turns', i, self.parts[s.mode].phases.moved(i), force, s)
        return turns.noted('turn', f'{self.able[i]} begins to roll')

    def _begun(
        self, what: str, i: int, phases: Phases, against: Sequence[float], s: MotionState
    ) -> MotionState:
        """Return a state in other phases, with velocities of a contact just above the creep."""
        mode, way = self.mode_of(phases), -np.array(against)
        x = self.evaluation(what, mode, i)(s.x, s.p, way / max(np.linalg.norm(way), TINY))
        return replace(s, x=np.array(x).ravel(), mode=mode)

    def _stick(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact stick where friction can hold it, else slip on."""
        still = self._stopped(i, self.parts[s.mode].phases.moved(i), s, u)
        if self._margin(i, still, u) < 0:
            return self._slip(i, still, u)
        return still.noted('stick', f'{self.able[i]} rolls')

    def _rest(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact rest where its resistance can hold it, else roll on."""
        still = self._stopped(i, self.parts[s.mode].phases.moved(i, 'resting'), s, u)
        if self._margin(i, still, u, 'turn') < 0:
            return self._turn(i, still, u)
        return still.noted('rest', f'{self.able[i]} comes to rest')

    def _stopped(self, i: int, phases: Phases, s: MotionState, u: Array) -> MotionState:
        """Return a state in other phases; an impulse, as friction gives, takes out the rest."""
        mode = self.mode_of(phases)
        x = self.evaluation('stop', mode, i)(s.x, u, s.t, s.p)
        return replace(s, x=np.array(x).ravel(), mode=mode)

    def _part(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact part whose normal force has vanished."""
        away = replace(s, mode=self.mode_of(self.parts[s.mode].phases.moved(i, 'separated')))
        lift = self.evaluation('lift', away.mode, i)
        if self._rigid(i) and float(lift(s.x, u, s.t, s.p)) < LIFTS:
            return s.noted('detached', DETACHED, ends=True)
        return away.noted('lift_off', f'{self.able[i]} parts')

    def _close(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Close a contact: by an impact, but where it gives way."""
        if self._rigid(i):
            return self._meet(s, u)
        away = (k for k in self.parts[s.mode].phases.separated if k != i)
        phases = self._phases(s.x, s.p, away)
        return replace(s, mode=self.mode_of(phases)).noted('landing', f'{self.able[i]} closes')

    def _meet(self, s: MotionState, u: Array) -> MotionState:
        """Return the state after an impact of all contacts that are closed."""
        phases, (gaps, before) = self.parts[s.mode].phases, self._moves(s.x, s.p)
        near = [
            i
            for i in self.parting
            if self._rigid(i) and (i not in phases.separated or abs(gaps[i]) <= OPEN)
        ]
        x, p = s.x, s.p
        M, J, coefficients = (np.array(a) for a in self.impact_terms(x, u, s.t, p))
        free = np.linalg.solve(M, J.T)
        bound = self.bound
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
        x[self.speed_places] += change
        after = self._moves(x, p)[1]
        away = {i for i in phases.separated if i not in near}
        away |= {i for i in near if after[i][2] > STILL}
        mode = self.mode_of(self._phases(x, p, sorted(away)))
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
        for name, f in self.joint_impulses.items():
            P, mu = np.split(np.array(f(x, u, s.t, p, change, whole)).ravel(), [3])
            held[f'Rolling joint of {name}'] = P, float(mu[0])
        return _judged(met, held)

    # evaluations

    def _clear(self, x: Array, p: Array, leaving: list[int]) -> Array:
        """Return a state whose gaps that rounding has left below zero are open."""
        gaps, G = (np.array(a) for a in self.gap_rows(x, p))
        low = [i for i in leaving if gaps[i, 0] < CLEAR]
        if not low:
            return x
        moved = self.retract(x, np.linalg.pinv(G[low]) @ (CLEAR - gaps[low, 0]))
        return np.array(moved).ravel()

    @cached_property
    def gap_rows(self) -> ca.Function:
        """``(x, p) -> gaps (n), their derivatives by a tangent vector (n, m)``."""
        x, p, d = self.symbols.x, self.symbols.p, ca.SX.sym('d', self.tangent.size)
        gaps = ca.vertcat(*(r.gap for r in self.closures))
        moved = ca.substitute(gaps, x, self.retract(x, d))
        G = ca.substitute(ca.jacobian(moved, d), d, ca.SX.zeros(d.numel()))
        return ca.Function('gap_rows', [x, p], [ca.densify(gaps), ca.densify(G)])

    @cached_property
    def speed_places(self) -> list[int]:
        """Numbers of the speeds in the state, in the order of the equations."""
        slices = [self.state.slice(name) for name in self.speed_names]
        return [k for at in slices for k in range(at.start, at.stop)]

    @cached_property
    def contact_motion(self) -> ca.Function:
        """``(x, p) -> gaps (n), velocities (3, n)`` of the contacts beside the joints."""
        rows = self.closures
        outputs = [ca.vertcat(*(r.gap for r in rows)), ca.horzcat(*(r.velocity[:3] for r in rows))]
        inputs = [self.symbols.x, self.symbols.p]
        return ca.Function('motion', inputs, [ca.densify(o) for o in outputs])

    @cached_property
    def pace(self) -> ca.Function:
        """``(x, p) -> speeds (n) of slip and spin, of turning against a resistance`` [m/s]."""
        pairs = list(zip(self.machine.contacts, self.closures, strict=True))
        slips = (ca.vertcat(r.velocity[:2], r.velocity[3 : c.turning]) for c, r in pairs)
        turns = (r.velocity[c.turning :] for c, r in pairs)
        outputs = [ca.densify(ca.vertcat(*map(ca.norm_2, v))) for v in (slips, turns)]
        return ca.Function('pace', [self.symbols.x, self.symbols.p], outputs)

    def _moves(self, x: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        gaps, velocities = self.contact_motion(x, p)
        return np.array(gaps).ravel(), np.array(velocities).T

    @cached_property
    def impact_terms(self) -> ca.Function:
        """Mass matrix, rows (3 n) of the contacts beside the joints, their coefficients."""
        contacts = self.machine.contacts
        J = ca.jacobian(ca.vertcat(*(r.velocity[:3] for r in self.closures)), self._speeds)
        kinetic = (0 if c.mu_kinetic is None else c.mu_kinetic for c in contacts)
        pairs = zip(contacts, kinetic, strict=True)
        terms = (ca.horzcat(c.mu, sliding, c.restitution) for c, sliding in pairs)
        outputs = [self.machine.dynamics.equations[0], J, ca.vertcat(*terms)]
        return ca.Function('impact', list(self.symbols), [ca.densify(o) for o in outputs])

    @cached_property
    def bound(self) -> list[int]:
        """Numbers, among the components of all contacts, of those that cannot but hold."""
        pairs = enumerate(zip(self.machine.contacts, self.closures, strict=True))
        only = ((i, c.given(r)) for i, (c, r) in pairs if i not in self.able)
        return [3 * i + k for i, given in only for k in range(3) if k not in given]

    @cached_property
    def joint_impulses(self) -> dict[str, ca.Function]:
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
        return np.array(self.evaluation(what, s.mode, i)(s.x, u, s.t, s.p)).ravel()

    def _margin(self, i: int, s: MotionState, u: Array, what: str = 'slip') -> float:
        return float(self._at(i, s, u, what)[-1])

    def evaluation(self, what: str, mode: str, i: int) -> ca.Function:
        """
        Return a function by which it is decided what follows an event at a contact.

        Parameters
        ----------
        what
            ``slip`` or ``turn``: ``(x, u, t, p) -> `` force or torque against which the contact
            would, its normal force [N], and its margin. ``slips`` or ``turns``:
            ``(x, p, direction) -> x`` just above the creep. ``stop``: ``(x, u, t, p) -> x`` after
            an impulse by which the closed contacts hold. ``lift``: ``(x, u, t, p) ->``
            acceleration of its gap [m/s^2].
        mode, i
            Mode in which, and number of the contact.

        """
        key = what, mode, i
        if key not in self._evaluations:
            make = {'slips': self._begins, 'turns': self._begins, 'stop': self._stops}
            make |= {'slip': self._carried, 'turn': self._carried, 'lift': self._lifts}
            self._evaluations[key] = make[what](what, self.parts[mode], i)
        return self._evaluations[key]

    def _carried(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        contact, at = self.machine.contacts[i], part.judged[self.able[i]]
        along = at.wrench[:2] if what == 'turn' else at.wrench[3:5]
        if what == 'slip' and contact.patch is not None:  # the normal of the limit surface
            along = ca.vertcat(along, at.wrench[2] / contact.patch / SPINNING**2)
        margins = {'slip': 'friction' if at.slip is None else 'stick'}
        return part.function(
            'at', ca.vertcat(along, at.wrench[5], at.margins[margins.get(what, what)])
        )

    def _begins(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        v, turning = self.closures[i].velocity, self.machine.contacts[i].turning
        along = v[turning:] if what == 'turns' else ca.vertcat(v[:2], v[3:turning])
        way = ca.SX.sym('way', along.numel())
        x = part.nearest(ca.vertcat(*part.rows, along - START * CREEP * way))
        given = [self.symbols.x, self.symbols.p, way]
        return ca.Function(what, given, [ca.densify(x)])

    def _stops(self, what: str, part: MachineSystem, _: int) -> ca.Function:
        return self.function(what, part.projection(part.held()[0], self.symbols.p))

    def _lifts(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        lift = ca.jtimes(self.closures[i].velocity[2], self.symbols.x, part.expressions.xdot)
        return self.function(what, lift)

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

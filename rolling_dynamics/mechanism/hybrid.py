"""Equations of machines whose contacts slip, separate and close under Coulomb friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Mode,
    MotionState,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import SLOW, SPINNING
from rolling_dynamics.mechanism.loops import Phases
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.system import MachineSystem, ROLLING

START = 3.0  # slip starts at this many times the creep
HELD = 1e-9  # N s: tolerance of an impulse in a cone
TINY = 1e-300  # N: a zero force has no direction, and slip starts without one
INERT = 1e9  # weight of entries to keep when a state is projected onto its contacts


class PhasedMachine(MachineSystem):
    """
    A machine in which every contact with a ``mu_kinetic`` may slip, separate and close.

    Attributes
    ----------
    parts
        The machine in each mode.
    able
        Contacts that may slip, by index: their names in events.
    parting
        Those of them that may separate and close.
    resisted
        Those that come to rest by a resistance.
    planar
        Whether slip is along the first direction only.
    creep, clear
        Speed [m/s] below which a contact counts as sticking, and gap between bodies after a
        rebound [m].

    """

    every_contact_rolls = False  # whether contacts without a mu_kinetic are allowed

    resisted: Sequence[int] = ()

    def __init__(self, machine: Machine, apart: Sequence[int] = ()) -> None:
        """Take a machine, or raise ParameterError if no contact may slip."""
        super().__init__(machine, Phases(separated=tuple(apart)))
        self.creep, self.clear = machine.creep, machine.clear
        names = self.closing_names
        able = [i for i, c in enumerate(machine.contacts) if c.mu_kinetic is not None]
        self.planar = self.alone and self.closures[0].velocity[1].is_zero()
        if not (able or self.every_contact_rolls):
            raise ParameterError(f'{self.name}: no contact has a mu_kinetic')
        self.able = {i: names[i] for i in able}
        self.parting = [i for i in able if machine.contacts[i].normal_force is None]
        self.resisted = [i for i in able if machine.contacts[i].resistance is not None]
        every = [Phases()]
        for i in able:
            more = ['separated'] * (i in self.parting) + ['resting'] * (i in self.resisted)
            every = [p.moved(i, k) for p in every for k in ('rolling', 'slipping', *more)]
        every.sort(key=lambda phases: phases != self.phases)
        self.parts = self._parts_in(every)

    def _parts_in(self, every: Sequence[Phases]) -> dict[str, MachineSystem]:
        return {self.mode_of(phases): MachineSystem(self.machine, phases) for phases in every}

    @property
    def alone(self) -> bool:
        """True if there is one contact in addition to the joints."""
        return len(self.machine.contacts) == 1

    @cached_property
    def smooth_mode(self) -> Mode:
        """Rolling for plans and controllers, with slow resistance proportional to the rate."""
        if not self.resisted:
            return self.mode
        machine = copy(self.machine)
        machine.contacts = [replace(c, slow=SLOW) for c in machine.contacts]
        return MachineSystem(machine, self.phases).mode

    def mode_of(self, phases: Phases) -> str:
        """Return the name of a mode."""
        words = []
        for phase, these in phases._asdict().items():
            words += [phase, *(self.able[i] for i in these if not self.alone)] if these else []
        return '_'.join(words) or 'rolling'

    def phase(self, mode: str, i: int) -> str:
        """Return the phase of a contact in a mode."""
        return self.parts[mode].phases.of(i)

    def moved(self, s: MotionState, i: int, phase: str = 'rolling') -> str:
        """Return the mode of a state with one contact in another phase."""
        return self.mode_in(self.parts[s.mode].phases.moved(i, phase), s.p)

    def mode_with(self, phases: Mapping[int, str], p: ArrayLike) -> str:
        """Return the mode with these phases of the contacts."""
        of = Phases()
        for i, phase in phases.items():
            of = of.moved(i, phase)
        return self.mode_in(of, p)

    def mode_in(self, phases: Phases, p: ArrayLike) -> str:  # noqa: ARG002
        """Return the mode with these phases, for some parameters."""
        return self.mode_of(phases)

    def rigid(self, i: int) -> bool:
        """Return whether a contact keeps its gap closed."""
        return self.machine.contacts[i].rigid

    # evaluations

    @property
    def gaps(self) -> ca.SX:
        """Distances [m] at the additional contacts (n)."""
        return ca.vertcat(*(r.gap for r in self.closures))

    def holding(
        self, s: MotionState, u: Array, change: Array, whole: Array
    ) -> Mapping[str, tuple[Array, float]]:
        """Return impulses [N s] (3) in an impact of contacts that cannot slip, and friction."""
        coefficients = np.array(self.impact_terms(s.x, u, s.t, s.p)[2])
        held = {
            f'contact {name}': (whole[3 * i : 3 * i + 3], float(coefficients[i][0]))
            for i, name in enumerate(self.closing_names)
            if i not in self.able
        }
        for name, f in self.joint_impulses.items():
            P, mu = np.split(np.array(f(s.x, u, s.t, s.p, change, whole)).ravel(), [3])
            held[f'Rolling joint of {name}'] = P, float(mu[0])
        return held

    @cached_property
    def contact_motion(self) -> ca.Function:
        """``(x, p) -> gaps (n), velocities (3, n)`` of the additional contacts."""
        velocities = ca.horzcat(*(r.velocity[:3] for r in self.closures))
        return self.of_state('motion', self.gaps, velocities)

    @cached_property
    def pace(self) -> ca.Function:
        """``(x, p) -> speeds (n) of slip and spin, and of rolling against a resistance`` [m/s]."""
        pairs = list(zip(self.machine.contacts, self.closures, strict=True))
        slips = (c.slip_speed(r, c.mu) for c, r in pairs)
        turns = (ca.norm_2(c.turning_by(r)) for c, r in pairs)
        return self.of_state('pace', ca.vertcat(*slips), ca.vertcat(*turns))

    @cached_property
    def impact_terms(self) -> ca.Function:
        """Mass matrix, rows (3 n) of the additional contacts, and their coefficients."""
        contacts = self.machine.contacts
        J = ca.jacobian(ca.vertcat(*(r.velocity[:3] for r in self.closures)), self._speeds)
        kinetic = (0 if c.mu_kinetic is None else c.mu_kinetic for c in contacts)
        pairs = zip(contacts, kinetic, strict=True)
        terms = (ca.horzcat(c.mu, sliding, c.restitution) for c, sliding in pairs)
        outputs = [self.equations[0], J, ca.vertcat(*terms)]
        return ca.Function('impact', list(self.symbols), [ca.densify(o) for o in outputs])

    @cached_property
    def bound(self) -> list[int]:
        """Indices, among the components of all contacts, of those that always hold."""
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

    @cached_property
    def onset(self) -> ca.Function | None:
        """
        ``(x, u, t, p, direction (2)) -> acceleration of slip (2), normal force, margin``.

        Slip grows along the direction. Only for one rigid contact, else None; slip then opposes
        the force. If the margin is not positive, Coulomb friction does not determine the force
        (Painleve).
        """
        contact = self.machine.contacts[0]
        along = contact.displacement or contact.rollers is not None
        if along or not (self.alone and contact.rigid):
            return None
        d, machine = ca.SX.sym('direction', 2), copy(self.machine)
        rows = self.closures[0]
        way = ca.vertcat(d[0], 0 if self.planar else d[1], 0 * rows.velocity[2:])
        machine.contacts = [replace(contact, rows=rows._replace(slip=way))]
        part = MachineSystem(machine, Phases(slipping=(0,)))
        at = part.contacts[self.closing_names[0]]
        outputs = part.contact_rate(0)[:2], at.wrench[5], at.push
        return ca.Function('onset', [*self.symbols, d], [ca.densify(o) for o in outputs])

    def at_event(self, what: str, mode: str, i: int) -> ca.Function:
        """Return :meth:`evaluation`, built once."""
        key = what, mode, i
        if key not in self._evaluations:
            self._evaluations[key] = self.evaluation(what, mode, i)
        return self._evaluations[key]

    @cached_property
    def _evaluations(self) -> dict[tuple[str, str, int], ca.Function]:
        return {}

    def evaluation(self, what: str, mode: str, i: int) -> ca.Function:
        """
        Return a function that determines the outcome of an event at a contact.

        Parameters
        ----------
        what
            ``slip`` or ``turn``: ``(x, u, t, p) -> `` force or torque against which the contact
            would, its normal force [N], and its margin; Painleve's where it slips. ``slips`` or
            ``turns``: ``(x, u, t, p, direction) -> x`` just above the creep. ``stop``:
            ``(x, u, t, p) -> x`` after an impulse by which the closed contacts hold. ``lift``:
            ``(x, u, t, p) ->`` acceleration of its gap [m/s^2].
        mode, i
            Mode, and index of the contact.

        """
        make = {'slips': self._begins, 'turns': self._begins, 'stop': self._stops}
        make |= {'slip': self._carried, 'turn': self._carried, 'lift': self._lifts}
        return make[what](what, self.parts[mode], i)

    def _carried(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        contact, at = self.machine.contacts[i], part.judged[self.closing_names[i]]
        along = at.wrench[:2] if what == 'turn' else at.wrench[3:5]
        if what == 'slip' and contact.patch is not None:  # the normal of the limit surface
            along = ca.vertcat(along, at.wrench[2] / (contact.patch + TINY) / SPINNING**2)
        names = (what, 'friction', 'painleve', 'stick') if what == 'slip' else (what,)
        margin = next(at.margins[name] for name in names if name in at.margins)
        return part.function('at', ca.vertcat(along, at.wrench[5], margin))

    def _begins(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        contact, v = self.machine.contacts[i], self.closures[i].velocity
        first, patch = contact.turning, contact.patch
        along = v[first:] if what == 'turns' else ca.vertcat(v[:2], v[3:first])
        way = ca.SX.sym('way', along.numel())
        slip = START * self.creep * way
        if contact.displacement:
            x = self._stretched(i, ca.fmax, START * self.creep * contact.side_damping)
        else:
            if what == 'turns':
                slip /= contact.resistance
            elif patch is not None:
                slip[2] /= patch + TINY
            free = [k for k in range(along.numel()) if not along[k].is_zero()]
            rest = ca.SX(along.numel(), 1)
            if what == 'slips' and patch is not None:
                rest[2] = 1 - contact.spins
            slips = ca.vertcat(*part.rows, (along - slip)[free])
            x, _ = part.pushed(slips, ca.vertcat(part.idle(), rest[free]))
        return ca.Function(what, [*self.symbols, way], [ca.densify(x)])

    def _stops(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        x = part.projection(part.held()[0], self.symbols.p)
        if self.machine.contacts[i].displacement:
            x = ca.substitute(x, self.symbols.x, self._stretched(i, ca.fmin, -HELD))
        return self.function(what, x)

    def _stretched(
        self, i: int, bound: Callable[[ca.SX, ca.SX], ca.SX], beyond: ca.SX | float
    ) -> ca.SX:
        """Return the state whose spring at a contact exceeds kinetic friction."""
        contact, rows = self.machine.contacts[i], self.closures[i]
        pull, name = contact.pull(rows), contact.displacement
        size = ca.sqrt(ca.sumsqr(pull) + TINY)
        wanted = bound(size, contact.mu_kinetic * contact.given(rows)[2] + beyond)
        R = self.machine.links[contact.on].R_WB if contact.on else ca.SX.eye(3)
        longer = pull * ((wanted / size - 1) / contact.side_stiffness)
        s = self.symbols.values[name]
        return ca.substitute(self.symbols.x, s, s + R.T @ (rows.R_WP[:, :2] @ longer))

    def _lifts(self, what: str, part: MachineSystem, i: int) -> ca.Function:
        return self.function(what, part.contact_rate(i)[2])

    @cached_property
    def gap_rows(self) -> ca.Function:
        """``(x, p) -> gaps (n), their derivatives by a tangent vector (n, m)``."""
        return self.of_state('gap_rows', self.gaps, self.by_tangent(self.gaps))

    @cached_property
    def speed_places(self) -> list[int]:
        """Indices of the speeds in the state, in the order of the equations."""
        slices = [self.state.slice(name) for name in self.speed_names]
        return [k for at in slices for k in range(at.start, at.stop)]

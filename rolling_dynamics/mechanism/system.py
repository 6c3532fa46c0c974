"""A machine from parts as a rolling system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Mode,
    RigidBody,
    Symbols,
    tangent_steps,
    WrittenSystem,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.elimination import Cone, eliminate, widest
from rolling_dynamics.mechanism.joints import (
    Custom,
    Driven,
    Flying,
    Guided,
    Prismatic,
    Revolute,
    Spherical,
)
from rolling_dynamics.mechanism.link import in_axes
from rolling_dynamics.mechanism.loops import (
    Closed,
    closed_rates,
    constraints,
    ContactRows,
    Foot,
    idle,
    Phases,
    spread_over,
)
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.outline import joint_entries, moving, outlines
from rolling_dynamics.mechanism.rolling import PureRolling, Rolling, SurfaceRolling
from rolling_dynamics.mechanism.start import check_start, independent, placed, Structure
from rolling_dynamics.mechanism.touch import contact_rows, relative_curvature
from rolling_dynamics.robots.view import Shape
from rolling_dynamics.rotations import homogeneous
from rolling_dynamics.simulation.guards import unit_norms

ROLLING = (Rolling, PureRolling, SurfaceRolling)
WEIGHTLESS = 9.81e-9  # m/s^2: keeps the envelope finite without gravity
SPINLESS = 1e-12  # m: keeps the limit of a contact without spin friction finite
SPREAD = 1e-10  # of the diagonal, if rows of contacts depend on others
NEWTON_STEPS = 2  # towards closed gaps; they are tiny after a step of an integrator


@dataclass(frozen=True, eq=False)
class MachineExpressions(Symbols):
    """
    The equations with their symbols: xdot, and the wrench of all contacts at the first one.

    Contacts between two free bodies are left out, since they conserve momentum.
    """

    xdot: ca.SX
    wrench: ca.SX


@dataclass(frozen=True, eq=False)
class _Carrying:
    """
    A contact and its load.

    Attributes
    ----------
    mu
        Coefficient of static friction.
    held
        Load of friction (2 or 3) [N]: the force, and the torque about the normal times maximum
        force over maximum torque. Its norm is at most mu times the normal force.
    place_W, R_WP
        Position of the contact in W, and the frame of the plane.
    wrench
        Torque and force (6) on the body that rolls, in the frame of the plane.
    outside
        1 if it is with the ground, or with a body whose motion is prescribed; -1 if the rolling
        body is that body; else 0.
    sticks
        Speed of slip minus the creep [m/s] if the contact slips, else None.
    push
        See :class:`rolling_dynamics.mechanism.loops.Closed`, if the contact slips, else None.
    gap
        Guard that falls to zero when a separated contact closes [m], else None.
    turns
        Speed of rolling times the lever arm of a resistance, minus the creep [m/s], else None.
    rests
        Normal force, and load that keeps a contact from rolling (2) [N], else None.
    sinks
        Remaining depth of an elastic contact, as a fraction of its maximum, else None.

    """

    mu: ca.SX | float
    held: ca.SX
    place_W: ca.SX
    R_WP: ca.SX
    wrench: ca.SX
    outside: int
    sticks: ca.SX | None = None
    push: ca.SX | None = None
    gap: ca.SX | None = None
    turns: ca.SX | None = None
    rests: Cone | None = None
    sinks: ca.SX | None = None

    @property
    def cones(self) -> list[Cone]:
        """Limits of its force in its phase."""
        if self.gap is not None:
            return []
        out = [Cone(self.wrench[5])] + ([] if self.rests is None else [self.rests])
        return (
            out if self.sticks is not None else [*out, Cone(self.mu * self.wrench[5], self.held)]
        )

    @property
    def margins(self) -> dict[str, ca.SX]:
        """Margins that are positive while the contact stays in its phase, by name of a guard."""
        if self.gap is not None:
            return {'gap': self.gap}
        out = {} if self.push is None else {'painleve': self.push}
        out['normal_force'] = self.wrench[5]
        if self.sinks is not None:
            out['depth'] = self.sinks
        if self.turns is not None:
            out['rest'] = self.turns
        if self.rests is not None:
            out['turn'] = self.rests.margin
        if self.sticks is None:
            return {**out, 'friction': self.cones[-1].margin}
        return {**out, 'stick': self.sticks}


def _speed(velocity: ca.SX) -> ca.SX:
    return ca.sqrt(ca.sumsqr(velocity) + 1e-300)


class MachineSystem(WrittenSystem):
    """
    The rolling system of a description.

    Attributes
    ----------
    machine
        The description.
    phases
        Additional contacts that slip or are separated.
    able
        Contacts that may slip and separate, by index.

    """

    machine: Machine
    able: Mapping[int, str] = {}

    def __init__(self, machine: Machine, phases: Phases = Phases()) -> None:  # noqa: B008
        """Take a machine, or raise ParameterError if no body of it rolls."""
        self.machine, self.name, self.phases = machine, machine.name, phases
        self.state, self.control = machine.state, machine.control_layout
        self.parameters = machine.parameters
        rolls = any(isinstance(b.joint, (*ROLLING, Flying)) for b in machine.bodies.values())
        if not (rolls or machine.contacts):
            raise ParameterError(f'{machine.name}: no body is on a Rolling joint or in a Contact')
        joints = [body.joint for body in machine.bodies.values()]
        moved = {e.name for j in joints for e in (*j.configuration, *j.speeds)}
        moved |= {e.name for contact in machine.contacts for e in contact.entries}
        for name in {e.name for e in self.state.entries} - moved - set(machine.rates):
            raise ParameterError(f'{machine.name}: {name!r} is in no joint and has no rate')
        bare = {name for name, body in machine.bodies.items() if body.mass is None}
        for name, body in reversed(machine.bodies.items()):
            if body.parent and name not in bare:
                bare.discard(body.parent)
        for name in (n for n in machine.bodies if n in bare and machine.bodies[n].joint.speeds):
            raise ParameterError(
                f'{machine.name}.bodies.{name}: moves, and neither it nor what it carries has '
                'mass; give it a mass, or prescribe its motion'
            )

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of state, control, time and parameters."""
        return self.machine.symbols

    def rate_of_state(self, found: ca.SX, forces: Sequence[ca.SX] = (), **known: ca.SX) -> ca.SX:
        """
        Return the rate of the state for rates of the speeds, some of which may be known.

        Displacements of contacts also depend on the forces of all additional contacts.
        """
        machine, rates = self.machine, dict(self.machine.rates)
        for body, k in zip(machine.bodies.values(), machine.dynamics.speeds, strict=True):
            link, first = machine.links[body.name], k
            rates |= link.rates
            for name, (matrix, bias) in link.solved.items():
                rates[name] = matrix @ found[k : k + matrix.shape[1]] + bias
            for entry in () if link.solved else body.joint.speeds:
                rates[entry.name] = found[first : first + entry.size]
                first += entry.size
        for i, contact in enumerate(machine.contacts):
            if name := contact.displacement:
                rates[name] = self._displacing(i, rates, forces[i]) if forces else ca.SX(3, 1)
        rates |= {name: foot.rate for name, foot in self.closest.items()}
        return ca.vertcat(*({**rates, **known}[e.name] for e in self.state.entries))

    def _displacing(self, i: int, rates: Mapping[str, ca.SX], force: ca.SX) -> ca.SX:
        """
        Return the rate of a displacement (3); it turns with the normal.

        It is the velocity over the surface while the contact holds, else the rate for which spring
        and damper give the force of friction.
        """
        contact, rows = self.machine.contacts[i], self.closures[i]
        along = rows.velocity[:2]
        if self.phases.of(i) != 'rolling':
            along -= (contact.pull(rows) + force[:2]) / contact.side_damping
        R = self.machine.links[contact.on].R_WB if contact.on else ca.SX.eye(3)
        given = (rates.get(e.name, ca.SX(e.size, 1)) for e in self.state.entries)
        normal, s = R.T @ rows.R_WP[:, 2], self.symbols.values[contact.displacement]
        turning = ca.jtimes(normal, self.symbols.x, ca.vertcat(*given))
        return R.T @ (rows.R_WP[:, :2] @ along) - normal * ca.dot(turning, s)

    @cached_property
    def _speeds(self) -> ca.SX:
        """Symbols of the speeds, in the order of the equations."""
        return ca.vertcat(*(self.symbols.values[name] for name in self.speed_names))

    @property
    def speed_names(self) -> list[str]:
        """Entries of the speeds, in the order of the equations."""
        return [e.name for body in self.machine.bodies.values() for e in body.joint.speeds]

    @cached_property
    def closures(self) -> list[ContactRows]:
        """Kinematics of the additional contacts."""
        return [contact_rows(c, self.machine) for c in self.machine.contacts]

    @property
    def closest(self) -> dict[str, Foot]:
        """Equations of the closest points of Charted surfaces, by their entries of the state."""
        pairs = zip(self.machine.contacts, self.closures, strict=True)
        return {c.foot: r.foot for c, r in pairs if r.foot is not None}

    @property
    def curvatures(self) -> list[ca.SX]:
        """Relative curvature (2, 2) [1/m] at the additional contacts."""
        pairs = zip(self.machine.contacts, self.closures, strict=True)
        return [relative_curvature(c, r, self.machine) for c, r in pairs]

    @cached_property
    def equations(self) -> tuple[ca.SX, ca.SX]:
        """Matrix and right side of the tree for the rates of the speeds."""
        matrix, right = self.machine.dynamics.equations
        return self._turns @ matrix @ self._turns.T, self._turns @ right

    @cached_property
    def _turns(self) -> ca.SX:
        """Axes of the speeds, in the axes of the equations of the tree."""
        machine, blocks = self.machine, [ca.SX(0, 0)]
        for name, body in machine.bodies.items():
            solved = machine.links[name].solved
            turns = ca.vertcat(*(solved[e.name][0] for e in body.joint.speeds if solved))
            blocks.append(turns if solved else ca.SX.eye(sum(e.size for e in body.joint.speeds)))
        return ca.diagcat(*blocks)

    @cached_property
    def _solution(self) -> Closed:
        dynamics, contacts = self.machine.dynamics, self.machine.contacts
        if not contacts:
            return Closed(dynamics.rates, [], {}, [])
        return closed_rates(
            dynamics.equations,
            contacts,
            self.closures,
            (self._speeds, self._turns),
            symmetric=not dynamics.laws,
            phases=self.phases,
            spread=SPREAD if self.dependent else 0.0,
            dependent=self.dependent,
        )

    @property
    def rates(self) -> ca.SX:
        """Rates of the speeds (n), in the axes of the equations of the tree."""
        return self._solution.rates

    def contact_rate(self, i: int) -> ca.SX:
        """Return the rate of the velocity at an additional contact [m/s^2]."""
        rows = self.closures[i]
        return rows.bias + ca.jacobian(rows.velocity, self._speeds) @ (self._turns @ self.rates)

    @cached_property
    def dependent(self) -> int:
        """Number of rows of contacts that depend on others in all states."""
        rng = np.random.default_rng(0)
        x, p = rng.normal(size=self.state.size), rng.uniform(0.5, 1.5, self.parameters.size)
        J = np.array(self.row_function(x, p)[1])
        return len(J) - independent(J)

    @property
    def contact_names(self) -> list[str]:
        """Names of the contacts: bodies that roll on joints, then additional contacts."""
        bodies = self.machine.bodies.items()
        out = [name for name, body in bodies if isinstance(body.joint, ROLLING)]
        for i, contact in enumerate(self.machine.contacts):
            one, second = contact.body, f'{contact.body}_{contact.on or 2}'
            options = (one, second, *(f'{one}_{k + 3}' for k in range(i)))
            out.append(next(name for name in options if name not in out))
        return out

    @cached_property
    def closing_names(self) -> list[str]:
        """Names of the additional contacts."""
        return self.contact_names[len(self.contact_names) - len(self.machine.contacts) :]

    @cached_property
    def contacts(self) -> dict[str, _Carrying]:
        """The contacts with their loads, by the name of the rolling body."""
        return self._carrying(self._solution.forces)

    @cached_property
    def judged(self) -> dict[str, _Carrying]:
        """The contacts with those of the possible forces that maximise the smallest margin."""
        forces, internal = self._solution.forces, self._solution.internal
        if not internal or not (m := internal[0].shape[1]):
            return self.contacts
        z = ca.SX.sym('z', m)
        carried = self._carrying([f + by @ z for f, by in zip(forces, internal, strict=True)])
        best = widest([cone for at in carried.values() for cone in at.cones], z)
        return self._carrying([f + by @ best for f, by in zip(forces, internal, strict=True)])

    def _carrying(self, forces: Sequence[ca.SX]) -> dict[str, _Carrying]:
        """Return the contacts with their loads for forces at the additional contacts."""
        machine, out = self.machine, {}
        for name, body in machine.bodies.items():
            if isinstance(body.joint, ROLLING):
                link = machine.links[name]
                R = link.contact.R_WC
                wrench = self.wrench(self._solution.rates, name)
                force = wrench[3:] - R.T @ self._closing_force(name, forces)
                place = link.p_WB + link.R_WF @ link.contact.reach
                both, outside = ca.vertcat(wrench[:3], force), self._outside(name, body.parent)
                holds, mu = force[:2], body.joint.mu
                if isinstance(body.joint, SurfaceRolling) and link.spin_rate is not None:
                    holds = ca.vertcat(holds, mu / (body.joint.mu_spin + SPINLESS) * wrench[2])
                out[name] = _Carrying(mu, holds, place, R, both, outside)
        closing = zip(self.closing_names, machine.contacts, self.closures, forces, strict=True)
        for i, (name, contact, rows, force) in enumerate(closing):
            phase, first = self.phases.of(i), contact.turning
            spin = 0 if contact.patch is None else force[3]
            turn = force[first:] if contact.resists else ca.SX(2, 1)
            holds = phase == 'resting'
            rolls = contact.resistance is not None and phase == 'rolling'
            slips, creep = phase == 'slipping', machine.creep
            out[name] = _Carrying(
                contact.mu,
                contact.held_by(force),
                rows.place_W,
                rows.R_WP,
                ca.vertcat(turn, spin, force[:3]),
                self._outside(contact.body, contact.on),
                sticks=contact.slip_speed(rows, contact.mu_kinetic) - creep if slips else None,
                push=self._solution.pushes.get(i),
                gap=contact.opening(rows) if phase == 'separated' else None,
                turns=_speed(contact.turning_by(rows)) - creep if rolls else None,
                rests=Cone(force[2], turn / contact.resistance) if holds else None,
                sinks=None if contact.depth is None else 1 + rows.gap / contact.depth,
            )
        return out

    def _outside(self, body: str, on: str) -> int:
        """Return the sign of a contact force on a body in the momentum of the free bodies."""
        return int(self.machine.is_prescribed(on)) - int(self.machine.is_prescribed(body))

    def _closing_force(self, name: str, forces: Sequence[ca.SX]) -> ca.SX:
        """Return the force (3) [N] in W of additional contacts on a body and those it carries."""
        bodies, total = self.machine.bodies, ca.SX(3, 1)
        carried = {name}
        for other, body in bodies.items():
            if body.parent in carried:
                carried.add(other)
        contacts = zip(self.machine.contacts, self.closures, forces, strict=True)
        for contact, rows, force in contacts:
            sign = (contact.body in carried) - (contact.on in carried)
            total += sign * (rows.R_WP @ force[:3])
        return total

    @cached_property
    def expressions(self) -> MachineExpressions:
        """The equations, written once."""
        (R_WC, place), torque, force = self._first_contact, ca.SX(3, 1), ca.SX(3, 1)
        first = [at.outside * at.wrench for at in self.contacts.values()][:1]
        for other in list(self.contacts.values())[1:]:
            pushed = other.outside * (other.R_WP @ other.wrench[3:])
            force += pushed
            torque += other.outside * (other.R_WP @ other.wrench[:3])
            torque += ca.cross(other.place_W - place, pushed)
        return MachineExpressions(
            **vars(self.symbols),
            xdot=self.rate_of_state(self._solution.rates, self._solution.forces),
            wrench=sum(first, ca.vertcat(R_WC.T @ torque, R_WC.T @ force)),
        )

    def wrench(self, rates: ca.SX, body: str) -> ca.SX:
        """
        Return torque and force (6) on a body by its Rolling joint, in axes of the contact.

        Parameters
        ----------
        rates
            Rates of the speeds.
        body
            Name of the body.

        """
        machine, b = self.machine, list(self.machine.bodies).index(body)
        link = machine.links[body]
        R = link.contact.R_FC.T
        carried = machine.dynamics.carried(b, rates)
        force, torque = R @ carried.force, ca.SX(3, 1)
        if isinstance(machine.bodies[body].joint, PureRolling):
            torque = R @ (carried.torque - ca.cross(link.contact.reach, carried.force))
        torque[2] += machine.dynamics.solution[1].get(b, 0)
        for law in machine.dynamics.laws:
            if law.link == b:
                torque += R @ law.given + R @ law.of_normal_force * force[2]
        return ca.vertcat(torque, force)

    def guiding_power(self, rates: ca.SX) -> ca.SX:
        """Return the power [W] that moves Guided bodies, for rates of the speeds."""
        machine, power = self.machine, ca.SX(0)
        for b, (name, body) in enumerate(machine.bodies.items()):
            if isinstance(body.joint, Guided):
                force = machine.dynamics.carried(b, rates).force
                power += ca.dot(force, in_axes(machine.links[name], body.joint.rate))
        return power

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """One mode: rolling while every contact holds, or flight without contacts."""
        e = self.expressions
        return {
            'rolling' if self.contact_names else 'separated': Mode(
                dynamics=self.function('dynamics', e.xdot),
                wrench=self.function('wrench', e.wrench),
                guards=self.functions(self.guards),
            )
        }

    @property
    def guards(self) -> dict[str, ca.SX]:
        """Margins, positive while every contact holds, and those of the description, by name."""
        out: dict[str, ca.SX] = {}
        for name, at in self.judged.items():
            out |= {self.named(kind, name): margin for kind, margin in at.margins.items()}
        pairs = zip(self.machine.contacts, self.closures, strict=True)
        feet = ((c.name or c.body, r.foot) for c, r in pairs)
        out |= {f'foot_{name}': foot.margin for name, foot in feet if foot is not None}
        return out | self.machine.guards

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """
        Limits of each contact as smooth functions, forces over the weight; positive inside.

        For a separated contact it is the gap [m]. ``spin``, for a contact with spin friction, is
        the limit of force and torque together.
        """
        machine, out = self.machine, {}
        mass = sum((b.mass.mass for b in machine.bodies.values() if b.mass), ca.SX(0))
        weight = mass * (ca.norm_2(machine.gravity_W) + WEIGHTLESS)
        for name, at in self.contacts.items():
            if at.gap is not None:
                out[self.named('gap', name)] = at.gap
                continue
            fx, fy, fz, *torque = ca.vertsplit(ca.vertcat(at.wrench[3:], at.held[2:]) / weight)
            out[self.named('normal_force', name)] = fz
            out[self.named('friction', name)] = (at.mu * fz) ** 2 - fx * fx - fy * fy
            if at.sinks is not None:
                out[self.named('depth', name)] = at.sinks
            for spin in torque:
                out[self.named('spin', name)] = out[self.named('friction', name)] - spin * spin
        return self.functions(out)

    def named(self, what: str, contact: str) -> str:
        """Return the name of a quantity of a contact in guards and the envelope."""
        return f'{what}_{contact}' if len(self.contact_names) > 1 else what

    @cached_property
    def projection(self) -> ca.Function:
        """``(x, p) -> x`` with unit quaternions, closed gaps and no slip at contacts of loops."""
        x, p = self.symbols.x, self.symbols.p
        out = ca.vertcat(*unit_norms(self.state, x).values())
        if self.machine.contacts:
            gap = ca.vertcat(*(r.gap for r in self._gaps))
            gaps = ca.Function('gaps', [x, p], [gap, self.by_tangent(gap)])
            out = self._on_feet(out)
            for _ in range(NEWTON_STEPS if self._gaps else 0):
                out = self._on_feet(self._closer(out, gaps))
            if ca.vertcat(*self.rows).numel():
                out = ca.substitute(self._without_slip, x, out)
        return ca.Function('projection', [x, p], [ca.densify(out)], ['x', 'p'], ['y'])

    def _on_feet(self, x: ca.SX) -> ca.SX:
        """Return a state after Newton steps of the closest points of Charted surfaces."""
        return self.settled(x, {name: foot.step for name, foot in self.closest.items()})

    def settled(self, x: ca.SX, steps: Mapping[str, ca.SX]) -> ca.SX:
        """Return a state after Newton steps of entries of the state, by name."""
        s = self.symbols
        moved = ca.vertcat(*(value + steps.get(name, 0) for name, value in s.values.items()))
        nearer = ca.Function('nearer', [s.x, s.p], [moved])
        for _ in range(NEWTON_STEPS if steps else 0):
            x = nearer(x, s.p)
        return x

    @property
    def _gaps(self) -> list[ContactRows]:
        """Contacts whose gap the joints do not determine."""
        pairs = enumerate(zip(self.machine.contacts, self.closures, strict=True))
        return [r for i, (c, r) in pairs if c.rigid and i not in self.phases.separated]

    def _closer(self, x: ca.SX, gaps: ca.Function) -> ca.SX:
        """Return the state after a Newton step of minimal length towards closed gaps."""
        gap, G = gaps(x, self.symbols.p)
        moved = self._mobility(self.tangent.entries) @ G.T
        matrix = self._regular(G @ moved)
        return self.retract(x, -moved @ eliminate(matrix, gap, symmetric=True))

    @property
    def rows(self) -> list[ca.SX]:
        """Velocities of the additional contacts that vanish."""
        return constraints(self.machine.contacts, self.closures, self.phases)

    def _regular(self, matrix: ca.SX, idle_rows: ca.SX | None = None) -> ca.SX:
        """Return the matrix of rows, regularised if some depend on others or are idle."""
        if idle_rows is not None:
            matrix += ca.diag(idle_rows)
        return spread_over(matrix, SPREAD if self.dependent else 0.0)

    def idle(self) -> ca.SX:
        """Return 1 for each of :attr:`rows` that is zero for these parameters, else 0."""
        return idle(self.machine.contacts, self.closures, self.phases)

    @cached_property
    def _without_slip(self) -> ca.SX:
        """The state with the speeds nearest to its own that keep the rows of the contacts."""
        slip = ca.vertcat(*self.rows)
        J = ca.jacobian(slip, self._speeds)
        moved = self._mobility([self.state.entry(name) for name in self.speed_names]) @ J.T
        matrix = self._regular(J @ moved, self.idle())
        nearest = self._speeds - moved @ eliminate(matrix, slip, symmetric=True)
        return ca.substitute(self.symbols.x, self._speeds, nearest)

    def _mobility(self, entries: Iterable[Entry]) -> ca.DM:
        """Return the mobility of entries, the inverse of their weights, as a diagonal matrix."""
        inert = self.machine.inert
        return ca.diag(ca.DM([1 / inert.get(e.name, 1.0) for e in entries for _ in range(e.size)]))

    def held(self) -> tuple[ca.SX, ca.SX]:
        """Return the state after impulses that stop slip, and the energy lost."""
        return self.pushed(ca.vertcat(*self.rows), self.idle())

    def pushed(self, slip: ca.SX, idle_rows: ca.SX) -> tuple[ca.SX, ca.SX]:
        """
        Return the state after impulses that cancel velocities, and the energy lost.

        Parameters
        ----------
        slip, idle_rows
            The velocities, and 1 for each that is zero for the parameters, else 0.

        """
        J, symmetric = ca.jacobian(slip, self._speeds), not self.machine.dynamics.laws
        free = eliminate(self.equations[0], J.T, symmetric=symmetric)
        P = eliminate(self._regular(J @ free, idle_rows), slip, symmetric=symmetric)
        after = ca.substitute(self.symbols.x, self._speeds, self._speeds - free @ P)
        return after, ca.dot(slip, P) / 2

    def part_at(self, p: ArrayLike, x: ArrayLike) -> MachineSystem:  # noqa: ARG002
        """Return the machine in the mode of a state."""
        return self

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Reject a state that its contacts do not allow; see :func:`.check_start`."""
        check_start(self.part_at(p, x), p, x)

    @property
    def _prescribed_names(self) -> list[str]:
        """Entries of the speeds that are prescribed."""
        joints = (body.joint for body in self.machine.bodies.values())
        return [e.name for j in joints if isinstance(j, Driven) for e in j.joint.speeds]

    @cached_property
    def row_function(self) -> ca.Function:
        """``(x, p) -> velocities that vanish, derivatives by speeds and by prescribed speeds``."""
        rows, values = ca.vertcat(ca.SX(0, 1), *self.rows), self.symbols.values
        driven = ca.vertcat(ca.SX(0, 1), *(values[name] for name in self._prescribed_names))
        by = [ca.jacobian(rows, s) for s in (self._speeds, driven)]
        return self.of_state('rows', rows, *by)

    @cached_property
    def driven_contacts(self) -> tuple[ca.Function, Sequence[str], Sequence[str]] | None:
        """Derivatives of the velocities at contacts that are not separated, by all speeds."""
        driven = self._prescribed_names
        names = [*self.speed_names, *driven]
        closed = (r for i, r in enumerate(self.closures) if self.phases.of(i) != 'separated')
        v = ca.vertcat(ca.SX(0, 1), *(r.velocity[:3] for r in closed))
        if not driven or not v.numel():
            return None
        by = ca.jacobian(v, ca.vertcat(*(self.symbols.values[name] for name in names)))
        return self.of_state('contact_rates', by), names, driven

    @cached_property
    def mass_matrix(self) -> ca.Function:
        """``(x, p) -> M`` of the tree for the rates of the speeds."""
        return self.of_state('mass_matrix', self.equations[0])

    @cached_property
    def gap_function(self) -> ca.Function:
        """``(x, p) -> gaps`` of the contacts that close loops."""
        return self.of_state('gaps', ca.vertcat(ca.SX(0, 1), *(r.gap for r in self.closures)))

    @cached_property
    def closing_rows(self) -> ca.Function | None:
        """
        ``(x, p) -> G``, the derivatives by a tangent vector of constraints of contacts (k, n).

        The constraints are gaps and slips of the contacts that close loops; None without any.
        """
        pairs = enumerate(zip(self.machine.contacts, self.closures, strict=True))
        gaps = (r.gap for i, (c, r) in pairs if 2 in c.holds(r, self.phases.of(i)))
        feet = (foot.off for foot in self.closest.values())
        kept = ca.vertcat(*gaps, *self.rows, *feet)
        return self.of_state('closing_rows', self.by_tangent(kept)) if kept.numel() else None

    def by_tangent(self, value: ca.SX) -> ca.SX:
        """Return the derivatives (k, n) of an expression by a tangent vector, at zero."""
        return ca.jacobian(value, self.symbols.x) @ tangent_steps(self, self.symbols.x)

    def structure(self, p: ArrayLike, x: ArrayLike) -> Structure:
        """Return the motions that the additional contacts leave free at a state."""
        if (part := self.part_at(p, x)) is not self:
            return part.structure(p, x)
        rows: list[str] = []
        closing = zip(self.closing_names, self.machine.contacts, self.closures, strict=True)
        for i, (name, contact, of) in enumerate(closing):
            kept = contact.holds(of, self.phases.of(i))
            along = ('x', 'y', 'z', *('spin',) * (contact.turning - 3), 'turn_x', 'turn_y')
            rows += [f'{name}_{along[k]}' for k in kept]
        entries = (self.state.entry(name) for name in self.speed_names)
        speeds = [component for e in entries for component in e.components]
        return Structure.of(np.array(self.row_function(x, p)[1]), rows, speeds)

    def contact_report(self, p: ArrayLike, x: ArrayLike) -> Sequence[str]:
        """Return a description of the motions that contacts leave free; see :meth:`structure`."""
        return self.structure(p, x).lines

    def placed(self, p: ArrayLike, x: ArrayLike, kept: Iterable[str] = ()) -> Array:
        """Return the nearest state with closed contacts that roll; see :func:`.placed`."""
        return placed(self, p, x, kept)

    def outlines(self, p: ArrayLike) -> list[Shape]:
        """Return the shapes to draw."""
        return outlines(self.machine, p)

    @property
    def joint_entries(self) -> tuple[str, ...]:
        """Entries of the state that are positions of joints."""
        return joint_entries(self.machine)

    def state_bounds(self, p: Array) -> Mapping[str, tuple[float, float]]:  # noqa: ARG002
        """Return ranges of joints as bounds by scalar name."""
        return self.machine.bounds

    @property
    def has_front(self) -> bool:
        """True if the first body does not roll itself, on its joint or in a contact."""
        first, body = next(iter(self.machine.bodies.items()))
        rolls = isinstance(moving(body.joint), (*ROLLING, Flying))
        return not rolls and all(contact.body != first for contact in self.machine.contacts)

    def rest_goal(self, x_start: Array) -> dict[str, Array]:  # noqa: ARG002
        """Return default values of a goal at rest: no motion."""
        return {name: np.zeros(self.state.entry(name).size) for name in self.speed_names}

    def momentum(self, about_W: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return momentum [kg m/s] and angular momentum about a point (3) [kg m^2/s], in W."""
        linear, angular = ca.SX(3, 1), ca.SX(3, 1)
        for link in self.machine.links.values():
            m = link.moments
            carried = link.R_WF @ (m.mass * link.v + ca.cross(link.w, m.first))
            linear += carried
            angular += ca.cross(link.pivot_W - about_W, carried)
            angular += link.R_WF @ (m.second @ link.w + ca.cross(m.first, link.v))
        return linear, angular

    @cached_property
    def energy(self) -> ca.SX:
        """Kinetic and potential energy [J]: of gravity from the origin of W, and of contacts."""
        machine, total = self.machine, ca.SX(0)
        for link in machine.links.values():
            m = link.moments
            first_W = m.mass * link.pivot_W + link.R_WF @ m.first
            total += m.twice_kinetic(link.w, link.v) / 2 - ca.dot(machine.gravity_W, first_W)
        for contact, rows in zip(machine.contacts, self.closures, strict=True):
            if contact.stiffness is not None:
                total += contact.stiffness * ca.fmin(rows.gap, 0) ** 2 / 2
            if contact.side_stiffness is not None:
                total += contact.side_stiffness * ca.sumsqr(rows.displacement) / 2
        return total

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy, which is conserved without control and resistance."""
        return self.functions({'energy': self.energy})

    def rigid_bodies(self, p: ArrayLike) -> dict[str, RigidBody]:
        """
        Return mass, centre and inertia of each body whose motion is not prescribed.

        Empty if a hinge or slide is on the ground, since its forces are not in the wrench.
        """
        out = {}
        for name, body in self.machine.bodies.items():
            jointed = isinstance(body.joint, Custom | Prismatic | Revolute | Spherical)
            if jointed and self.machine.is_prescribed(body.parent):
                return {}
            if body.mass is None or self.machine.is_prescribed(name):
                continue
            given = [body.mass.mass, body.mass.centre, body.mass.about_centre]
            values = ca.Function('body', [self.symbols.p], [ca.densify(ca.SX(v)) for v in given])
            mass, centre, inertia = (np.array(v) for v in values(p))
            out[name] = RigidBody(mass=float(mass[0, 0]), centre=centre.ravel(), inertia=inertia)
        return out

    def gravity(self, p: ArrayLike) -> Array:
        """Return gravity in W [m/s^2]."""
        given = ca.Function('gravity', [self.symbols.p], [ca.densify(self.machine.gravity_W)])
        return np.array(given(p)).ravel()

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return ``energy`` if no joint is driven and no contact resists, else nothing."""
        joints = [body.joint for body in self.machine.bodies.values()]
        lost = any(isinstance(joint, Driven) for joint in joints) or self.machine.dynamics.laws
        dampings = [d for c in self.machine.contacts for d in (c.damping, c.side_damping)]
        damped = any(not ca.SX(d).is_zero() for d in dampings)
        return [] if lost or damped else ['energy']

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WC``: axes of the body under the first contact, at the contact."""
        return self.of_state('contact_frame', homogeneous(*self._first_contact))

    @property
    def _first_contact(self) -> tuple[ca.SX, ca.SX]:
        """Axes and position in W of the first contact, or of the first body without contacts."""
        for at in self.contacts.values():
            return at.R_WP, at.place_W
        return ca.SX.eye(3), next(iter(self.machine.links.values())).p_WB

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> 4x4`` of each body, by its name, and of the first ``contact``."""
        contact = self.contact_frame(self.symbols.x, self.symbols.p)
        return self.pose_function(contact=contact)

    def pose_function(self, **more: ca.SX) -> ca.Function:
        """Return ``(x, p) -> 4x4`` of each body and of more; prescribed bodies at time 0."""
        poses = {n: homogeneous(k.R_WB, k.p_WB) for n, k in self.machine.links.items()} | more
        t = self.machine.t
        at_0 = (ca.substitute(X, t, 0) if ca.depends_on(X, t) else X for X in poses.values())
        return self.of_state('pose', *at_0, names=list(poses))

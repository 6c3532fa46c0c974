"""A machine from parts as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rigid_body import RigidBody
from rolling_dynamics.contract.symbols import Symbols
from rolling_dynamics.contract.written_system import WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.joints import Rolling
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.rotations import homogeneous


@dataclass(frozen=True, eq=False)
class MachineExpressions(Symbols):
    """The equations with their symbols: xdot, and the wrench of the first contact."""

    xdot: ca.SX
    wrench: ca.SX


class MachineSystem(WrittenSystem):
    """
    The rolling system that a description stands for.

    Attributes
    ----------
    machine
        The description.

    """

    machine: Machine

    def __init__(self, machine: Machine) -> None:
        """Take a machine, or raise ParameterError where nothing of it rolls."""
        self.machine, self.name = machine, machine.name
        self.state, self.control = machine.state, machine.control_layout
        self.parameters = machine.parameters
        rolling = [(n, b.joint) for n, b in machine.bodies.items() if isinstance(b.joint, Rolling)]
        if not rolling:
            raise ParameterError(f'{machine.name}: no body is on a Rolling joint')
        self._first, self._joint = rolling[0]

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of state, control, time and parameters."""
        return self.machine.symbols

    @cached_property
    def expressions(self) -> MachineExpressions:
        """The equations, written once."""
        machine, dynamics = self.machine, self.machine.dynamics
        found, rates = dynamics.rates, dict[str, ca.SX]()
        for b, (link, body) in enumerate(
            zip(machine.links.values(), machine.bodies.values(), strict=True)
        ):
            rates |= link.rates
            k = dynamics.speeds[b]
            for entry in body.joint.speeds:
                rates[entry.name] = found[k : k + entry.size]
                k += entry.size
        xdot = ca.vertcat(*(rates[e.name] for e in self.state.entries))
        return MachineExpressions(
            **vars(self.symbols), xdot=xdot, wrench=self.wrench(found, self._first)
        )

    def wrench(self, rates: ca.SX, body: str) -> ca.SX:
        """
        Return torque and force (6) on a rolling body at its contact, in axes of its parent.

        Parameters
        ----------
        rates
            Rates of the speeds.
        body
            Name of the body.

        """
        machine, b = self.machine, list(self.machine.bodies).index(body)
        link, parent = machine.links[body], machine.bodies[body].parent
        R_WP = machine.links[parent].R_WB if parent else ca.SX.eye(3)
        R = R_WP.T @ link.R_WF
        force, torque = R @ machine.dynamics.carried(b, rates).force, ca.SX(3, 1)
        for law in machine.dynamics.laws:
            if law.link == b:
                torque += R @ law.given + R @ law.of_normal_force * force[2]
        return ca.vertcat(torque, force)

    def carried_force(self, body: str) -> ca.SX:
        """Return the force (3) [N] of its joint on a body, in W."""
        machine, b = self.machine, list(self.machine.bodies).index(body)
        force = machine.dynamics.carried(b, machine.dynamics.rates).force
        return machine.links[body].R_WF @ force

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """One mode: rolling inside the envelope of contact."""
        e, mu = self.expressions, self._joint.mu
        fx, fy, fz = e.wrench[3], e.wrench[4], e.wrench[5]
        guards = {
            'normal_force': fz,
            'friction': mu * fz - ca.sqrt(fx * fx + fy * fy + 1e-300),
        }
        return {
            'rolling': Mode(
                dynamics=self.function('dynamics', e.xdot),
                wrench=self.function('wrench', e.wrench),
                guards=self.functions(guards),
            )
        }

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """The limits of contact as smooth functions over the weight, positive inside."""
        e, machine = self.expressions, self.machine
        mass = sum((b.mass.mass for b in machine.bodies.values() if b.mass), ca.SX(0))
        weight = mass * ca.norm_2(machine.gravity_W)
        fx, fy, fz = (e.wrench[k] / weight for k in (3, 4, 5))
        out = {'normal_force': fz, 'friction': (self._joint.mu * fz) ** 2 - fx * fx - fy * fy}
        return self.functions(out)

    def rest_goal(self, x_start: Array) -> dict[str, Array]:  # noqa: ARG002
        """Return what a goal at rest has by default: no motion."""
        joints = [body.joint for body in self.machine.bodies.values()]
        return {e.name: np.zeros(e.size) for joint in joints for e in joint.speeds}

    @cached_property
    def energy(self) -> ca.SX:
        """Kinetic and potential energy [J], the latter zero at the origin of W."""
        machine, total = self.machine, ca.SX(0)
        for link in machine.links.values():
            m = link.moments
            first_W = m.mass * link.p_WB + link.R_WF @ m.first
            total += m.twice_kinetic(link.w, link.v) / 2 - ca.dot(machine.gravity_W, first_W)
        return total

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy, which motion without control and resistance keeps."""
        return self.functions({'energy': self.energy})

    def rigid_bodies(self, p: ArrayLike) -> dict[str, RigidBody]:
        """Return mass, centre and inertia of each body."""
        out = {}
        for name, body in self.machine.bodies.items():
            if body.mass is None:
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

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WC``: axes of what carries the first contact, at the contact."""
        machine, name = self.machine, self._first
        link, parent = machine.links[name], machine.bodies[name].parent
        R = machine.links[parent].R_WB if parent else ca.SX.eye(3)
        X = homogeneous(R, link.p_WB + link.R_WF @ link.contact[0])
        return ca.Function('contact_frame', [self.symbols.x, self.symbols.p], [ca.densify(X)])

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> 4x4`` of each body, by its name, and of the first ``contact``."""
        x, p = self.symbols.x, self.symbols.p
        poses = {n: homogeneous(k.R_WB, k.p_WB) for n, k in self.machine.links.items()}
        poses['contact'] = self.contact_frame(x, p)
        outputs = [ca.densify(X) for X in poses.values()]
        return ca.Function('pose', [x, p], outputs, ['x', 'p'], list(poses))

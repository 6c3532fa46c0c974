"""A machine from parts as a model of MuJoCo, in the state in which a scenario starts."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import (
    Contact,
    Cylinder,
    Driven,
    MachineSystem,
    Plane,
    Revolute,
    Rolling,
    Sphere,
    Wheel,
)
from rolling_dynamics.mechanism.shapes import Shape, Surface
from rolling_dynamics.scenario import Scenario
from transforms3d.quaternions import mat2quat

LONG, THIN = 0.06, 1e-3  # m, half the lengths of a cylinder and of an edge


def mjcf(scenario: Scenario) -> str:
    """
    Return the same bodies, hinges and contacts, and driven bodies where they are.

    Raises
    ------
    ParameterError
        MuJoCo has no such joint or contact between primitives.

    """
    return _Model(scenario).text


class _Model:
    """Pieces of the model."""

    def __init__(self, scenario: Scenario) -> None:
        """Write the model of a scenario."""
        if not isinstance(scenario.system, MachineSystem):
            raise ParameterError(f'{scenario.system.name} is not a machine from parts')
        self.machine, self.p, pose = scenario.system.machine, scenario.p, scenario.system.pose
        found = pose(scenario.x0, scenario.p)
        self.poses = {'': np.eye(4)}
        self.poses |= {n: np.array(X) for n, X in zip(pose.name_out(), found, strict=True)}
        self.geoms: dict[str, dict[str, str]] = {n: {} for n in ('', *self.machine.bodies)}
        pairs = [self._pair(c, number) for number, c in enumerate(self._contacts())]
        self.text = (
            f'<mujoco><option gravity="{_row(self._numbers(self.machine.gravity_W))}"/>'
            f'<worldbody>{"".join(self.geoms[""].values())}{"".join(self._bodies(""))}'
            f'</worldbody><contact>{"".join(pairs)}</contact></mujoco>'
        )

    def _numbers(self, value: ca.SX | float) -> Array:
        f = ca.Function('f', [self.machine.symbols.p], [ca.densify(ca.SX(value))])
        return np.array(f(self.p)).ravel(order='F')

    def _contacts(self) -> Iterator[Contact]:
        yield from self.machine.contacts
        for name, body in self.machine.bodies.items():
            if isinstance(body.joint, Rolling):
                yield Contact(body=name, shape=body.joint.shape, on=body.parent, mu=body.joint.mu)

    def _pair(self, contact: Contact, number: int) -> str:
        if contact.rollers is not None:
            raise ParameterError('MuJoCo has no rollers')
        names = (
            self._geom(contact.body, contact.shape, f'shape_{number}'),
            self._geom(contact.on, contact.surface, f'surface_{number}'),
        )
        mu = _row(np.append(np.repeat(self._numbers(contact.mu), 2), [0, 0, 0]))
        return '<pair geom1="{}" geom2="{}" condim="3" friction="{}"/>'.format(*names, mu)

    def _geom(self, body: str, shape: Shape | Surface, name: str) -> str:
        """Add a geometry to a body, and return its name."""
        at, size = '', ''
        if isinstance(shape, Sphere | Cylinder | Wheel):
            size = _row(self._numbers(shape.radius))
            kind = 'sphere' if isinstance(shape, Sphere) else 'cylinder'
            if kind == 'cylinder':
                size += f' {LONG if isinstance(shape, Cylinder) else THIN}'
            if isinstance(shape, Wheel):
                at = f'zaxis="{_row(self._numbers(ca.SX(shape.side)))}"'
        elif isinstance(shape, Plane):
            kind, size = 'plane', '1 1 1'
            at = f'zaxis="{_row(self._numbers(ca.vertcat(*shape.normal)))}"'
        else:
            raise ParameterError(f'MuJoCo has no {type(shape).__name__} among its primitives')
        text = f'<geom name="{name}" type="{kind}" size="{size}" {at} mass="0" '
        self.geoms[body][name] = text + 'contype="0" conaffinity="0"/>'
        return name

    def _bodies(self, parent: str) -> Iterator[str]:
        for name, body in self.machine.bodies.items():
            joint, hinge = '<freejoint/>', body.joint
            if (body.parent if isinstance(hinge, Revolute) else '') != parent:
                continue
            X = np.linalg.solve(self.poses[parent], self.poses[name])
            at = f'pos="{_row(X[:3, 3])}" quat="{_row(mat2quat(X[:3, :3]))}"'
            if isinstance(hinge, Driven):
                joint, at = '', f'{at} mocap="true"'
            elif isinstance(hinge, Revolute):
                joint = f'<joint type="hinge" axis="{_row(hinge.axis)}"/>'
            geoms, inside = ''.join(self.geoms[name].values()), ''.join(self._bodies(name))
            yield f'<body {at}>{joint}{self._inertial(name)}{geoms}{inside}</body>'

    def _inertial(self, name: str) -> str:
        mass = self.machine.bodies[name].mass
        if mass is None:
            return ''
        about = self._numbers(mass.about_centre)
        inertia, heavy = _row(about[[0, 4, 8, 1, 2, 5]]), _row(self._numbers(mass.mass))
        centre = _row(self._numbers(mass.centre))
        return f'<inertial mass="{heavy}" pos="{centre}" fullinertia="{inertia}"/>'


def _row(values: ArrayLike) -> str:
    return ' '.join(f'{v:.17g}' for v in np.ravel(np.asarray(values, dtype=float)))

"""Joints, contacts and drives of machines in scenario files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
import math
from typing import Any, cast, Literal

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Actuator
from rolling_dynamics.contract.rolling_system import (
    Entry,
    quaternion_entry,
    RollingSystem,
    vector_entry,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.mechanism.joints import (
    Custom,
    Driven,
    Free,
    Joint,
    Prismatic,
    Revolute,
    Spherical,
)
from rolling_dynamics.mechanism.link import ground
from rolling_dynamics.mechanism.loops import Contact
from rolling_dynamics.mechanism.rolling import PureRolling, Rolling
from rolling_dynamics.mechanism.shapes import (
    Charted,
    Cylinder,
    Ellipsoid,
    Hollow,
    Plane,
    Sphere,
    Surface,
)
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.touch import contact_rows
from rolling_dynamics.rotations import rotation_about
from rolling_dynamics.scenario.fields import (
    entry,
    Kinds,
    note,
    numbers,
    quantity,
    refused,
    several,
    Term,
    usual,
    vector,
)
from rolling_dynamics.scenario.instruments import ActuatorSection, GROUND
from rolling_dynamics.scenario.machine_parts import Builder, MachinePiece, unit
from rolling_dynamics.scenario.material import Material
from rolling_dynamics.scenario.surface_section import Edges, SURFACES
from rolling_dynamics.scenario.surface_section import SurfaceSection as ChartSection
from rolling_dynamics.surfaces import Ellipsoid as EllipsoidOf

JOINTS, DRIVES = Kinds('joint'), Kinds('drive')
LEAST = 1e-5  # m: a smaller patch, or a shorter lever arm, is left out
RATES = {'m/s': 'm/s^2', 'rad/s': 'rad/s^2'}


def end_at_edges(builder: Builder, name: str, edges: Array, place: ca.SX | None = None) -> None:
    """
    End the motion where a contact leaves a surface.

    Parameters
    ----------
    builder, name
        The machine, and the name of joint or contact.
    edges
        Lowest and highest of each coordinate, shape (2 n,) [m].
    place
        Coordinates (n) [m] of the contact on the surface; None for those of a closing contact.

    Raises
    ------
    ParameterError
        The edges are of another number, or not increasing.

    """
    if place is None:
        machine = builder.machine
        contact = next(c for c in machine.contacts if (c.name or c.body) == name)
        surface, on = contact.surface, machine.links[contact.on] if contact.on else ground()
        along_z = isinstance(surface, Cylinder) or getattr(surface, 'axes', 3) == 2
        rows = contact_rows(contact, machine)
        p_PC = on.R_WB.T @ (rows.place_W - on.p_WB)
        place = p_PC[2] if along_z else p_PC[:2]
    pairs = edges.reshape(-1, 2) if edges.size == 2 * place.numel() else np.zeros((1, 2))
    if not (pairs[:, 0] < pairs[:, 1]).all():
        wanted = 'x_min < x_max, y_min < y_max' if place.numel() == 2 else 'z_min < z_max'
        raise ParameterError(f'edges: takes {wanted}, got {edges.tolist()}')
    inside = ca.mmin(ca.vertcat(place - pairs[:, 0], pairs[:, 1] - place))
    builder.machine.guard(f'edge_{name}', inside)


class SurfaceSection(MachinePiece):
    """On what a body rolls, and how its contact slips, parts and meets."""

    surface: Literal['plane', 'inside', 'cylinder', 'outside', 'chart'] = note(
        'of what it rolls on: a plane through its origin, the inside of a sphere about it or of '
        'an upright cylinder, its outside, or any `chart`. Of an ellipsoid and a chart the state '
        'gets coordinates of the closest point, `foot_<name>`',
        default='plane',
    )
    chart: ChartSection | None = entry(SURFACES, 'surface of `surface: chart`', default=None)
    normal: Array = vector('of the plane, to the free side', default=np.array([0.0, 0.0, 1.0]))
    radius: float | None = quantity(
        'of the inside or the cylinder; that of the body if left out',
        'm',
        positive=True,
        default=None,
    )
    mu: float = quantity('coefficient of static friction', least=0, default=1.0)
    mu_kinetic: float | None = quantity(
        'coefficient of kinetic friction: with it the contact may slip, part and meet again',
        least=0,
        default=None,
    )
    restitution: float = quantity(
        'fraction of work that an impact here alone gives back', least=0, most=1, default=0.0
    )

    def of(self, builder: Builder, name: str, on: str) -> Surface:
        """Return the surface."""
        if self.surface == 'plane':
            return Plane(unit(self.normal, 'normal'))
        if self.surface == 'outside':
            shape = (builder.made[on].side or builder.made[on].shape) if on else None
            if not isinstance(shape, Sphere | Cylinder):
                if isinstance(shape, Ellipsoid):
                    return Charted(EllipsoidOf(1.0, 1.0, 1.0), shape.radii)
                key = 'parent' if isinstance(self, JointSection) else 'against'
                raise ParameterError(
                    f'{key}: a ball, a shell or a cylinder is needed, to roll on its outside'
                )
            return shape
        if self.surface == 'chart':
            if self.chart is None:
                raise ParameterError('chart: is missing, the surface of `surface: chart`')
            return Charted(self.chart.surface(usual(Edges)))
        axes, hollow = (3 if self.surface == 'inside' else 2), None
        if self.radius is not None:
            title = f'{name}_radius'  # the body of this name may have one
            title = f'{name}_hollow' if title in builder.values else title
            hollow = builder.number(title, self.radius, 'm', f'hollow of {name}')
        elif on and axes == 3:
            hollow = builder.made[on].inside
        if hollow is None:
            raise ParameterError('radius: is missing; only a shell has one of its own')
        return Hollow(hollow, axes)


class JointSection(MachinePiece):
    """Motion of a body on its parent."""

    parent: str = note('body that carries it, or `ground`', default=GROUND)

    @property
    def carrier(self) -> str:
        """Frame of what carries the body."""
        return 'W' if self.parent == GROUND else self.parent

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint of a body."""
        raise NotImplementedError

    def touch(self, builder: Builder, name: str) -> None:
        """Add the contact that holds the body on what carries it, where it is on a Free joint."""

    def limit(self, builder: Builder, name: str) -> None:
        """Let the motion end at the limits of the joint, once all bodies are there."""


class OnPlaneSection(JointSection):
    """Rolling on the plane z = 0 of what carries it."""

    mu: float = quantity('coefficient of static friction', least=0, default=1.0)
    edges: Array | None = numbers(
        'lowest and highest x and y of the plane, at which the motion ends',
        'm',
        count=4,
        default=None,
    )

    def limit(self, builder: Builder, name: str) -> None:
        """End at the edges of what it rolls on."""
        if self.edges is not None:
            at = builder.machine.symbols.values.get(f'c_{name}')
            end_at_edges(builder, name, self.edges, at)


@JOINTS.add
class RollingSection(OnPlaneSection, SurfaceSection):
    """
    It rolls on what carries it, usually on its plane z = 0; its body needs a surface.

    On another surface, or with a `mu_kinetic`, its state is that of a `free` body.
    """

    kind: Literal['rolling']
    resistance: float = quantity('lever arm of rolling resistance', 'm', least=0, default=0.0)
    damping: float = quantity('torque per rate of turning', 'N m s', least=0, default=0.0)

    @property
    def parts(self) -> bool:
        """True if the body is free and rolls in a contact."""
        return self.mu_kinetic is not None or bool(self.given & {'surface', 'normal'})

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        shape = builder.shape(name)
        world = isinstance(shape, Sphere)
        turning: dict[str, Any] = {
            'attitude': quaternion_entry(f'q_{name}', f'attitude of {name}', 'W'),
            'speed': vector_entry(f'w_{name}', 'rad/s', 'W' if world else name),
            'axes': 'world' if world else 'body',
        }
        if self.parts:
            return Free(
                position=vector_entry(f'p_{name}', 'm', 'W', f'origin of {name}'),
                velocity=vector_entry(f'v_{name}', 'm/s', 'W', f'velocity of {name}'),
                **turning,
            )
        place = vector_entry(f'c_{name}', 'm', self.carrier, f'contact of {name}', 'xy')
        resisting = self._numbers(builder, name, 'resistance', 'damping')
        return Rolling(shape=shape, contact=place, **resisting, **turning)

    def _numbers(self, builder: Builder, name: str, *more: str) -> dict[str, Any]:
        """Declare friction, and more that is given, as parameters, and return their symbols."""
        texts = {'mu': f'static friction of {name}', 'mu_kinetic': f'kinetic friction of {name}'}
        given = (
            n for n in (*more, 'mu_kinetic') if getattr(self, n) or n in self.given & {*texts}
        )
        return {n: self.number(builder, name, n, texts.get(n, '')) for n in ('mu', *given)}

    def touch(self, builder: Builder, name: str) -> None:
        """Add the contact of a body that may slip and part, or rolls on another surface."""
        if not self.parts:
            return
        if self.damping:
            raise ParameterError('damping: is without mu_kinetic and surface; give a resistance')
        if isinstance(builder.machine.bodies[name].joint, Driven):
            raise ParameterError(
                'its motion is prescribed: it rolls on a plane, without mu_kinetic'
            )
        on, flat = builder.body(self.parent, 'parent'), not self.given & {'surface', 'normal'}
        surface = Plane() if flat else self.of(builder, name, on)
        builder.machine.contact(
            Contact(
                body=name,
                shape=builder.shape(name),
                on=on,
                surface=surface,
                foot=f'foot_{name}' if isinstance(surface, Charted) else '',
                closed=True,
                **self._numbers(builder, name, 'resistance', 'restitution'),
            )
        )


@JOINTS.add
class PureRollingSection(OnPlaneSection):
    """A ball or shell that rolls on the plane z = 0 of what carries it, without spin over it."""

    kind: Literal['pure_rolling']

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        shape = builder.shape(name)
        if not isinstance(shape, Sphere):
            raise ParameterError(f'{name!r} is not a ball or shell; `rolling` takes any shape')
        return PureRolling(
            radius=shape.radius,
            contact=vector_entry(f'c_{name}', 'm', self.carrier, f'contact of {name}', 'xy'),
            speed=vector_entry(f'c_{name}_rate', 'm/s', self.carrier, suffixes='xy'),
            attitude=quaternion_entry(f'q_{name}', f'attitude of {name}', 'W'),
            mu=self.number(builder, name, 'mu', f'static friction of {name}'),
        )


class TurningSection(JointSection):
    """A joint that leaves the attitude free."""

    axes: Literal['world', 'body'] | None = note(
        'axes of its angular velocity; those of the world where its inertia is the same about '
        'every axis',
        default=None,
    )
    tilt: float | None = quantity(
        'angle between its z axis and that of W at which the motion ends',
        'rad',
        positive=True,
        default=None,
    )

    def frame(self, builder: Builder, name: str) -> str:
        """Return the axes."""
        return self.axes or ('world' if isinstance(builder.made[name].shape, Sphere) else 'body')

    def turning(self, builder: Builder, name: str) -> tuple[Entry, Entry]:
        """Return the entries of attitude and angular velocity."""
        axes = 'W' if self.frame(builder, name) == 'world' else name
        text = f'angular velocity of {name}'
        return (
            quaternion_entry(f'q_{name}', f'attitude of {name}', 'W'),
            vector_entry(f'w_{name}', 'rad/s', axes, text),
        )

    def limit(self, builder: Builder, name: str) -> None:
        """End where it tips over."""
        if self.tilt is not None:
            upright = builder.machine.links[name].R_WB[2, 2]
            builder.machine.guard(f'tilt_{name}', upright - math.cos(self.tilt))


@JOINTS.add
class FreeSection(TurningSection):
    """Nothing carries it."""

    kind: Literal['free']

    @model_validator(mode='after')
    def _alone(self) -> FreeSection:
        if self.parent != GROUND:
            raise refused(f'got {self.parent!r}, which cannot carry what is free', 'parent')
        return self

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        attitude, speed = self.turning(builder, name)
        return Free(
            position=vector_entry(f'p_{name}', 'm', 'W', f'origin of {name}'),
            attitude=attitude,
            velocity=vector_entry(f'v_{name}', 'm/s', 'W', f'velocity of {name}'),
            speed=speed,
            axes=self.frame(builder, name),
        )


@JOINTS.add
class SphericalSection(TurningSection):
    """It turns in all directions about a point."""

    kind: Literal['spherical']
    place: Array = vector('of the joint in what carries it', 'm', default=np.zeros(3))

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        attitude, speed = self.turning(builder, name)
        axes = self.frame(builder, name)
        place = self.number(builder, name, 'place', f'joint of {name}')
        return Spherical(attitude=attitude, speed=speed, axes=axes, place=place)


class AxisSection(JointSection):
    """A joint with an axis."""

    axis: Array = vector('direction in what carries it')
    place: Array = vector('of the joint in what carries it', 'm', default=np.zeros(3))
    range: Array | None = numbers(
        'lowest and highest position, at which the motion ends', count=2, default=None
    )

    def at(self, builder: Builder, name: str) -> ca.SX:
        """Return the position of the joint in its parent."""
        return self.number(builder, name, 'place', f'joint of {name}')

    def limit(self, builder: Builder, name: str) -> None:
        """End at either limit."""
        if self.range is not None:
            low, high = self.range
            at = builder.machine.symbols.values[name]
            builder.machine.guard(f'limit_{name}', (at - low) * (high - at))
            builder.machine.bounds[name] = float(low), float(high)


@JOINTS.add
class RevoluteSection(AxisSection):
    """A hinge."""

    kind: Literal['revolute']

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        return Revolute.named(name, unit(self.axis, 'axis'), self.at(builder, name))


@JOINTS.add
class PrismaticSection(AxisSection):
    """A slide."""

    kind: Literal['prismatic']

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        return Prismatic(
            travel=Entry(name, (name,), 'm'),
            speed=Entry(f'{name}_rate', (f'{name}_rate',), 'm/s'),
            axis=unit(self.axis, 'axis'),
            place=self.at(builder, name),
        )


@JOINTS.add
class UniversalSection(JointSection):
    """Two hinges in one point: about an axis of what carries it, then about one of its own."""

    kind: Literal['universal']
    axis: Array = vector('direction of the first hinge in what carries it')
    second: Array = vector('direction of the second one in the body')
    place: Array = vector('of the joint in what carries it', 'm', default=np.zeros(3))

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        angles = Entry(name, (f'{name}_1', f'{name}_2'), 'rad', kind='angle')
        q, names = builder.machine.variable(angles), ('axis', 'second')
        first, second = (ca.SX(ca.DM(unit(getattr(self, n), n))) for n in names)
        place = self.number(builder, name, 'place', f'joint of {name}')
        return Custom(
            coordinates=angles,
            speed=Entry(f'{name}_rate', (f'{name}_1_rate', f'{name}_2_rate'), 'rad/s'),
            R_PB=rotation_about(first, q[0]) @ rotation_about(second, q[1]),
            p_PB=place,
        )


@JOINTS.add
class CurveSection(JointSection):
    """A bead: it moves along a curve in what carries it, and turns with that."""

    kind: Literal['curve']
    curve: list[str | float] = entry(
        several(Term, 3), 'its place, by formulas of the coordinate `s` [m] of the bead', 'm'
    )

    def make(self, builder: Builder, name: str) -> Joint:
        """Return the joint."""
        along = Entry(name, (name,), 'm')
        s = builder.machine.variable(along)
        place = ca.vertcat(*(parse_expression(text, {'s': s}) for text in self.curve))
        if not ca.depends_on(place, s):
            raise ParameterError(f'curve: does not depend on s, got {self.curve}')
        rate = Entry(f'{name}_rate', (f'{name}_rate',), 'm/s')
        return Custom(coordinates=along, speed=rate, R_PB=ca.SX.eye(3), p_PB=place)


class ContactSection(SurfaceSection):
    """A contact beside the joints: a body rolls on another one, or on the ground."""

    body: str | None = note('body that rolls; the name of the contact if left out', default=None)
    against: str = note('body that it rolls on, or `ground`', default=GROUND)
    normal_force: float | None = quantity(
        'preload where joints keep the body there already', 'N', default=None
    )
    side_force: float | None = quantity('preload across the way of a wheel', 'N', default=None)
    stiffness: float | None = quantity(
        'of a contact that gives way along its normal', 'N/m', positive=True, default=None
    )
    damping: float = quantity('of a contact that gives way', 'N s/m', least=0, default=0.0)
    side_stiffness: float | None = quantity(
        'of a contact that gives way along the surfaces; with `mu_kinetic` its end slides where '
        'friction does not hold it. The state gets its displacement (3) [m], '
        '`displacement_<name>`',
        'N/m',
        positive=True,
        default=None,
    )
    side_damping: float = quantity('of the same', 'N s/m', least=0, default=0.0)
    depth: float | None = quantity(
        'greatest depth to which it gives way: a margin, and a limit of plans',
        'm',
        positive=True,
        default=None,
    )
    patch: float | None = quantity(
        'radius of the patch of contact, over which sliding and spinning resist each other',
        'm',
        least=LEAST,
        default=None,
    )
    material: Material | None = note('elastic bodies, in place of `patch`', default=None)
    resistance: float | None = quantity(
        'lever arm of dry rolling resistance, by which it comes to rest',
        'm',
        least=LEAST,
        default=None,
    )
    rolling_resistance: float | None = quantity(
        'torque against rolling over normal force and rate of rolling',
        'm s/rad',
        least=0,
        default=None,
    )
    rollers: float | None = quantity(
        'angle of ideal rollers on a rim, from its axle: 0 of an omni wheel, pi/4 of a mecanum '
        'wheel',
        'rad',
        default=None,
    )

    edges: Array | None = numbers(
        'lowest and highest x and y of the contact in the axes of what it rolls on, at which the '
        'motion ends; of a cylinder its lowest and highest z',
        'm',
        count=None,
        default=None,
    )

    @model_validator(mode='after')
    def _patch(self) -> ContactSection:
        if self.material is not None and self.patch is not None:
            raise refused('gives the patch already; leave one of them out', 'material')
        return self

    def add(self, builder: Builder, name: str) -> None:
        """Add the contact to the machine; a patch of a material is put in by :meth:`elastic`."""
        key = 'body' if self.body else name
        body, on = builder.body(self.body or name, key), builder.body(self.against, 'against')
        shape, given = builder.shape(body), dict[str, ca.SX]()
        numbers = {f.name for f in fields(Contact)} - {'body', 'surface', 'rollers', 'name'}
        for key in type(self).model_fields:
            value = getattr(self, key) if key in numbers else None
            if key == 'patch' and self.material is not None:
                given[key] = builder.number(f'{name}_{key}', LEAST, 'm', f'at {name}')
            elif value is not None and (key == 'mu' or value or key.endswith('force')):
                given[key] = self.number(builder, name, key, f'at {name}')
        moved = '' if self.side_stiffness is None else f'displacement_{name}'
        surface = self.of(builder, name, on)
        called = name if name != body else ''
        foot = f'foot_{name}' if isinstance(surface, Charted) else ''
        contact = Contact(
            body=body, on=on, shape=shape, surface=surface, name=called, foot=foot, **given
        )
        builder.machine.contact(replace(contact, rollers=self.rollers, displacement=moved))

    def limit(self, builder: Builder, name: str) -> None:
        """End where the contact passes an edge of what it rolls on."""
        if self.edges is not None:
            end_at_edges(builder, name, self.edges)

    def elastic(self, name: str, number: int, system: MachineSystem, p: Array, x: Array) -> None:
        """Put the patch that follows from a material into p."""
        if self.material is None:
            return
        rolls = MachineSystem(system.machine)
        at = list(rolls.judged.values())[number - len(rolls.closures)]
        found = rolls.function('elastic', ca.horzcat(rolls.curvatures[number], at.wrench[4:]))
        values = np.array(found(x, np.zeros(system.control.size), 0, p))
        radius = self.material.patch(values[:, :2], float(values[1, 2]))
        p[system.parameters.slice(f'{name}_patch')] = max(radius, LEAST)


class DriveSection(ActuatorSection):
    """A drive; its control has its name."""

    limit: float = quantity('greatest magnitude of each control', positive=True, default=math.inf)

    def actuators(self, system: RollingSystem, name: str) -> list[Actuator]:
        """Return how the drive carries out its commands, for each of its controls."""
        names = (name, f'{name}_v', f'{name}_w')
        return [self.make(system, n, self.limit) for n in names if n in system.control]

    def drive(self, builder: Builder, name: str, joint: Joint) -> Joint:  # noqa: ARG002
        """Return a joint as the drive moves it."""
        return joint

    def act(self, builder: Builder, name: str, joints: Mapping[str, JointSection]) -> None:
        """Add its forces to the machine."""


@DRIVES.add
class MotionDrive(DriveSection):
    """A servo that prescribes the motion of a joint: its acceleration is the control."""

    kind: Literal['motion']
    of: str = note('body whose joint is driven')

    def drive(self, builder: Builder, name: str, joint: Joint) -> Joint:
        """Return the driven joint; of a free one the linear acceleration comes first."""
        controls = []
        for speed in joint.speeds:
            title = name if len(joint.speeds) == 1 else f'{name}_{speed.name[0]}'
            unit_of = RATES[speed.unit]
            if speed.size == 1:
                control = Entry(title, (title,), unit_of)
            else:
                control = vector_entry(title, unit_of, speed.frame, suffixes='xyz'[: speed.size])
            controls.append(builder.machine.control(control))
        return Driven(joint=joint, rates=ca.vertcat(*controls))


@DRIVES.add
class MotorDrive(DriveSection):
    """A motor that turns a hinge by a torque, or moves a slide by a force, against its parent."""

    kind: Literal['motor']
    of: str = note('body whose hinge or slide is driven')

    def act(self, builder: Builder, name: str, joints: Mapping[str, JointSection]) -> None:
        """Add torque or force, and its reaction."""
        joint, machine = joints[builder.body(self.of, 'of')], builder.machine
        if not isinstance(joint, AxisSection):
            raise ParameterError(f'of: {self.of!r} has no hinge or slide; use `torque`')
        parent, axis = builder.body(joint.parent, 'parent'), ca.DM(unit(joint.axis, 'axis'))
        turns = isinstance(joint, RevoluteSection)
        push = machine.control(Entry(name, (name,), 'N m' if turns else 'N'))
        if turns:
            machine.torque(push * axis, on=self.of, reaction=parent, frame=parent)
            return
        machine.force(push * axis, on=self.of, frame=parent)
        if parent:
            slide = cast('Prismatic', machine.bodies[self.of].joint)
            lever = ca.cross(slide.place, axis)  # the line of the force is the axis
            machine.force(-push * axis, on=parent, frame=parent)
            machine.torque(-push * lever, on=parent, frame=parent)


@DRIVES.add
class TorqueDrive(DriveSection):
    """A torque (3) on a body, with its reaction on another one."""

    kind: Literal['torque']
    body: str = note('body that it acts on')
    reaction: str = note('body that takes the reverse, or `ground`', default=GROUND)
    frame: str = note('body in whose axes it is given, or `ground`', default=GROUND)

    def act(self, builder: Builder, name: str, joints: Mapping[str, JointSection]) -> None:  # noqa: ARG002
        """Add it."""
        on, reaction, frame = (
            builder.body(getattr(self, n), n) for n in ('body', 'reaction', 'frame')
        )
        torque = builder.machine.control(vector_entry(name, 'N m', frame or 'W'))
        builder.machine.torque(torque, on=on, reaction=reaction, frame=frame)


@DRIVES.add
class ForceDrive(DriveSection):
    """A force (3) on a body, at its origin, in W."""

    kind: Literal['force']
    body: str = note('body that it acts on')

    def act(self, builder: Builder, name: str, joints: Mapping[str, JointSection]) -> None:  # noqa: ARG002
        """Add it."""
        force = builder.machine.control(vector_entry(name, 'N', 'W'))
        builder.machine.force(force, on=builder.body(self.body, 'body'))

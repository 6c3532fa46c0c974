"""Bodies of machines in scenario files, by type, and rings of rollers on wheels."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
import math
from typing import Any, Literal

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, suggestion
from rolling_dynamics.mechanism.joints import Revolute
from rolling_dynamics.mechanism.link import Distribution, Revolution, Solid
from rolling_dynamics.mechanism.loops import Contact
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.shapes import Barrel, Cylinder, Ellipsoid, Shape, Sphere, Wheel
from rolling_dynamics.robots.view import Ball, Block, Disk, Rod
from rolling_dynamics.robots.view import Shape as Drawn
from rolling_dynamics.scenario.fields import (
    array,
    entry,
    Kinds,
    note,
    quantity,
    Section,
    several,
    tensors,
    vector,
    whole,
)
from rolling_dynamics.scenario.instruments import GROUND

PARTS = Kinds('part')
ACROSS = (0.0, 1.0, 0.0)  # axis of a wheel
THIN = 0.02  # radius of a drawn rod over the size of its outline


@dataclass(frozen=True, eq=False, kw_only=True)
class Made:
    """A body: how its mass is distributed, the surfaces that it has, and how it is drawn."""

    mass: Distribution | None = None
    shape: Shape | None = None
    inside: ca.SX | None = None  # radius of a hollow
    side: Cylinder | None = None  # on which others roll
    drawn: tuple[Drawn, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Builder:
    """
    A machine in the making.

    Attributes
    ----------
    machine
        The machine.
    values
        Values of its parameters, by name.
    made
        Its bodies by name.

    """

    machine: Machine
    values: dict[str, float | Array] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)

    def number(self, name: str, value: float, unit: str, text: str) -> ca.SX:
        """Declare a parameter with its value, and return its symbol."""
        self.values[name] = value
        return self.machine.parameter(name, unit, text)

    def vector(self, name: str, values: Array, unit: str, text: str) -> ca.SX:
        """Declare the nonzero numbers of a vector or symmetric matrix, in its shape and a unit."""
        out, lower = ca.SX(len(values), values.size // len(values)), np.tril(values)
        for at in np.argwhere(values if values.ndim == 1 else lower).tolist():
            title = f'{name}_{"".join("xyz"[k] for k in reversed(at))}'
            out[tuple(at) if len(at) == 2 else at[0]] = self.number(
                title, float(values[tuple(at)]), unit, text
            )
        return out if values.ndim == 1 else ca.tril2symm(out)

    def body(self, name: str, entry: str) -> str:
        """Return a name as the machine has it, or raise ParameterError if no body has it."""
        if name == GROUND:
            return ''
        if name not in self.made:
            raise ParameterError(f'{entry}: got {name!r}{suggestion(name, [*self.made, GROUND])}')
        return name

    def shape(self, name: str) -> Shape:
        """Return the surface of a body, or raise ParameterError if it has none."""
        found = self.made[name].shape
        if found is None:
            raise ParameterError(
                f'{name!r} has no surface that could roll; make it a ball, shell, ellipsoid or '
                'wheel, or give it another joint'
            )
        return found


class MachinePiece(Section):
    """A section whose numbers are parameters of the machine."""

    def number(self, builder: Builder, name: str, entry: str, text: str = '') -> ca.SX:
        """Declare an entry, or the nonzero numbers of a vector, as parameters; return symbols."""
        value, extra = getattr(self, entry), type(self).model_fields[entry].json_schema_extra
        unit = extra['unit'] if isinstance(extra, dict) else ''
        declare: Any = builder.vector if isinstance(value, np.ndarray) else builder.number
        return declare(f'{name}_{entry}', value, unit, text or f'{entry} of {name}')


class Part(MachinePiece):
    """A body, with its origin at its joint."""

    mass: float = quantity('mass', 'kg', positive=True)
    outline: list[Array] = entry(
        several(array(count=3), (2, None)),
        'points that rods join where it is drawn',
        'm',
        default=[],
    )

    def make(self, builder: Builder, name: str) -> Made:
        """Declare its parameters and return it."""
        raise NotImplementedError

    def rods(self, name: str) -> tuple[Drawn, ...]:
        """Return the outline as rods."""
        points = [tuple(map(float, p)) for p in self.outline]
        size = max((abs(c) for p in points for c in p), default=0.0)
        return tuple(
            Rod(name='link', link=f'{name}_link', start=a, end=b, radius=THIN * size)  # type: ignore[arg-type]
            for a, b in pairwise(points)
        )


class RoundPart(Part):
    """A body of the same inertia about every axis."""

    radius: float = quantity('radius', 'm', positive=True)
    inertia: float | None = quantity(
        'about its middle; of a homogeneous one if left out', 'kg m^2', least=0, default=None
    )

    def about(self, builder: Builder, name: str, usual: ca.SX) -> ca.SX:
        """Return the moment of inertia: as it is given, or the usual one."""
        return usual if self.inertia is None else self.number(builder, name, 'inertia')


@PARTS.add
class BallPart(RoundPart):
    """A ball, homogeneous if nothing is said."""

    kind: Literal['ball']

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        r, m = (self.number(builder, name, n) for n in ('radius', 'mass'))
        inertia = self.about(builder, name, 0.4 * m * r**2)
        return Made(mass=Revolution(m, inertia), shape=Sphere(r), drawn=self.rods(name))


@PARTS.add
class ShellPart(RoundPart):
    """A thin spherical shell."""

    kind: Literal['shell']
    inside: float | None = quantity(
        'radius of its hollow; that of the outside if left out', 'm', positive=True, default=None
    )

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        r, m = (self.number(builder, name, n) for n in ('radius', 'mass'))
        hollow = r if self.inside is None else self.number(builder, name, 'inside')
        inertia = self.about(builder, name, 2 / 3 * m * ((r + hollow) / 2) ** 2)
        drawn = Ball(name='shell', link=f'{name}_link', radius=self.radius)
        return Made(mass=Revolution(m, inertia), shape=Sphere(r), inside=hollow, drawn=(drawn,))


@PARTS.add
class EllipsoidPart(Part):
    """A homogeneous ellipsoid."""

    kind: Literal['ellipsoid']
    radii: Array = vector('half axes', 'm')

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        m, radii = (self.number(builder, name, n) for n in ('mass', 'radii'))
        about = ca.diag(m / 5 * (ca.sumsqr(radii) - radii**2))
        return Made(mass=Solid(m, about), shape=Ellipsoid(radii), drawn=self.rods(name))


@PARTS.add
class CylinderPart(Part):
    """A homogeneous cylinder about z, on whose side balls may roll."""

    kind: Literal['cylinder']
    radius: float = quantity('radius', 'm', positive=True)
    length: float = quantity('along z', 'm', positive=True)
    centre: float = quantity('height of its middle over its joint', 'm', default=0.0)

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        m, r, long = (self.number(builder, name, n) for n in ('mass', 'radius', 'length'))
        height = self.number(builder, name, 'centre') if self.centre else 0.0
        along = m * r**2 / 2
        across = along / 2 + m * long**2 / 12
        drawn = Disk(
            name='link',
            link=f'{name}_link',
            radius=self.radius,
            thickness=self.length,
            centre=(0.0, 0.0, self.centre),
        )
        mass = Revolution(m, across, along - across, height)
        return Made(mass=mass, side=Cylinder(r), drawn=(drawn,))


@PARTS.add
class WheelPart(Part):
    """A wheel that rolls on its edge or on a tyre; a homogeneous disk if nothing is said."""

    kind: Literal['wheel']
    radius: float = quantity('of the edge, or of the middle of the tyre', 'm', positive=True)
    tyre: float = quantity('radius of the section of the tyre', 'm', least=0, default=0.0)
    axis: Array = vector('unit vector along its axle', default=np.array(ACROSS))
    inertia: float | None = quantity('about its axle', 'kg m^2', least=0, default=None)
    across: float | None = quantity(
        'moment of inertia about a diameter; half of the other if left out',
        'kg m^2',
        positive=True,
        default=None,
    )

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        r, m = (self.number(builder, name, n) for n in ('radius', 'mass'))
        along = m * r**2 / 2
        if self.inertia is not None:
            along = self.number(builder, name, 'inertia')
        across = along / 2
        if self.across is not None:
            across = self.number(builder, name, 'across')
        axis = ca.DM(unit(self.axis, 'axis'))
        mass = Revolution(m, across, along - across, axis=axis)
        tyre = self.number(builder, name, 'tyre') if self.tyre else ca.SX(0)
        return Made(mass=mass, shape=Wheel(r, tyre, axis), drawn=self.rods(name))


@PARTS.add
class PendulumPart(Part):
    """A body with an axis of symmetry, z, along which its centre of mass is off its joint."""

    kind: Literal['pendulum']
    height: float = quantity('of the centre of mass over the joint, negative below', 'm')
    across: float = quantity('moment of inertia across z, about the centre', 'kg m^2', least=0)
    inertia: float = quantity('moment of inertia about z', 'kg m^2', least=0, default=0.0)

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        names = 'mass', 'height', 'across', 'inertia'
        m, h, across, along = (self.number(builder, name, n) for n in names)
        drawn = self.rods(name)
        if not drawn:
            link, end = f'{name}_link', (0.0, 0.0, self.height)
            size = abs(self.height) or 0.1
            drawn = (Rod(name='pendulum', link=link, end=end, radius=THIN * size),)
            near = (0.0, 0.0, 0.8 * self.height)
            drawn += (Rod(name='mass', link=link, start=near, end=end, radius=size / 8),)
        return Made(mass=Revolution(m, across, along - across, h), drawn=drawn)


@PARTS.add
class SolidPart(Part):
    """Any rigid body."""

    kind: Literal['solid']
    centre: Array = vector('of mass, from the joint', 'm', default=np.zeros(3))
    inertia: Array = entry(tensors(), 'about the centre of mass (3, 3)', 'kg m^2')

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        about, m = np.array(self.inertia), self.number(builder, name, 'mass')
        if about.shape == (3,):
            about = np.diag(about)
        even = about.shape == (3, 3) and np.allclose(about, about.T)
        if not even or np.linalg.eigvalsh(about)[0] <= 0:
            raise ParameterError(
                'inertia: must be a symmetric positive definite matrix (3, 3) or its diagonal, '
                f'got {about.tolist()}'
            )
        inertia = builder.vector(f'{name}_inertia', about, 'kg m^2', f'inertia of {name}')
        centre = self.number(builder, name, 'centre')
        return Made(mass=Solid(m, inertia, centre), drawn=self.rods(name))


@PARTS.add
class BlockPart(Part):
    """A homogeneous box along the axes of its joint."""

    kind: Literal['block']
    sides: Array = vector('lengths of its edges', 'm')
    centre: Array = vector('its middle, from its joint', 'm', default=np.zeros(3))

    def make(self, builder: Builder, name: str) -> Made:
        """Return it."""
        m, edges = (self.number(builder, name, n) for n in ('mass', 'sides'))
        about = ca.diag(m / 12 * (ca.sumsqr(edges) - edges**2))
        sides, centre = (tuple(map(float, v)) for v in (self.sides, self.centre))
        drawn = Block(name='link', link=f'{name}_link', centre=centre, sides=sides)  # type: ignore[arg-type]
        middle = self.number(builder, name, 'centre')
        return Made(mass=Solid(m, about, middle), drawn=(drawn,))


@PARTS.add
class PlatePart(Section):
    """A plate without mass, whose motion is prescribed: its plane z = 0 carries what rolls."""

    kind: Literal['plate']
    side: float = quantity('length of its edges, where it is drawn', 'm', positive=True)

    def make(self, builder: Builder, name: str) -> Made:  # noqa: ARG002
        """Return it."""
        thick = 0.02 * self.side
        sides, centre = (self.side, self.side, thick), (0.0, 0.0, -thick / 2)
        drawn = Block(name='plate', link=f'{name}_link', centre=centre, sides=sides)
        return Made(drawn=(drawn,))


def unit(axis: Array, entry: str) -> list[float]:
    """Return an axis as a unit vector; raise ParameterError where it has no direction."""
    length = math.hypot(*axis.tolist())  # the same bits on every processor
    if not length:
        raise ParameterError(f'{entry}: must not be zero; give a direction such as [0, 1, 0]')
    return [a / length for a in axis.tolist()]


FITS = 1e-6  # of the length of a roller
SLICES = 7  # of a drawn roller


class RingSection(MachinePiece):
    """Barrel rollers around a wheel that turns about y; one of them touches the floor."""

    wheel: str = note('body that carries them')
    count: int = whole('number of rollers', least=3)
    radius: float = quantity('of the rim, which the rollers envelop', 'm', positive=True)
    roller: float = quantity('radius of a roller in its middle', 'm', positive=True)
    angle: float = quantity('between the axes of roller and wheel, to either side', 'rad')
    mass: float = quantity('of a roller', 'kg', positive=True)
    length: float | None = quantity(
        'of a roller; what covers the rim, which it must, if left out',
        'm',
        positive=True,
        default=None,
    )
    inertia: float | None = quantity(
        'of a roller about its axis; of a cylinder as thick as its middle if left out',
        'kg m^2',
        positive=True,
        default=None,
    )
    mu: float = quantity('coefficient of static friction', least=0, default=1.0)
    mu_kinetic: float | None = quantity(
        'coefficient of kinetic friction: with it the rollers may slip', least=0, default=None
    )
    normal_force: float | None = quantity(
        'where joints keep the wheel at its height already', 'N', default=None
    )

    def add(self, builder: Builder, name: str) -> None:
        """Add bodies, joints and contacts of the rollers, named by numbers."""
        on, machine = builder.body(self.wheel, 'wheel'), builder.machine
        reach = math.pi / self.count
        if not 0 < abs(self.angle) < math.pi / 2:
            raise ParameterError(f'angle: must be less than pi/2, and not 0, got {self.angle:g}')
        if self.roller >= self.radius:
            raise ParameterError('roller: must be less than the radius of the rim')
        names = 'radius', 'roller', 'mass'
        rim, thick, mass = (self.number(builder, name, n, f'of {name}') for n in names)
        given = (n for n in ('mu', 'mu_kinetic', 'normal_force') if getattr(self, n) is not None)
        friction = {n: self.number(builder, name, n, f'of {name}') for n in given}
        offset, along = rim - thick, mass * thick**2 / 2
        shapes = [
            Barrel(rim=rim, offset=offset, angle=self.angle, reach=reach, axis=ca.DM(axis))
            for axis in self._axes()
        ]
        self._check_length(reach)
        if self.inertia is not None:
            along = self.number(builder, name, 'inertia', f'of {name}')
        long = 2 * ca.fabs(shapes[0].profile(reach)[0])
        across = along / 2 + mass * long**2 / 12
        for k, shape in enumerate(shapes):
            body, turn = f'{name}_{k}', 2 * math.pi * k / self.count
            place = offset * ca.DM([-math.sin(turn), 0, -math.cos(turn)])
            hinge = Revolute.named(body, shape.axis, place)
            machine.body(
                body, hinge, Revolution(mass, across, along - across, 0, shape.axis), on=on
            )
            builder.made[body] = Made()
            machine.contact(Contact(body=body, shape=shape, **friction))
            machine.drawn += self._slices(body, shape.axis)

    def _axes(self) -> list[list[float]]:
        """Return the axes of the rollers in the wheel."""
        across, along = math.sin(self.angle), math.cos(self.angle)
        turns = (2 * math.pi * k / self.count for k in range(self.count))
        return [[across * math.cos(t), along, -across * math.sin(t)] for t in turns]

    def _numbers(self) -> Barrel:
        offset = self.radius - self.roller
        return Barrel(
            rim=self.radius, offset=offset, angle=self.angle, reach=math.pi, axis=ca.DM([0, 1, 0])
        )

    def _check_length(self, reach: float) -> None:
        """Reject rollers that leave gaps between them, or overlap."""
        least, end = self.radius * (1 - math.cos(reach)), abs(self._numbers().profile(reach)[0])
        if self.roller <= least:
            raise ParameterError(
                f'roller: must be more than {least:.4g} m, so that {self.count} rollers cover the '
                'rim'
            )
        if self.length is not None and abs(self.length - 2 * end) > FITS * end:
            wrong = 'leaves gaps between' if self.length < 2 * end else 'lets two touch, of'
            raise ParameterError(
                f'length: {self.length:g} m {wrong} {self.count} rollers; {2 * end:.9g} m covers '
                'the rim'
            )

    def _slices(self, body: str, axis: ca.DM) -> list[Disk]:
        """Return a roller as it is drawn: disks along its axis."""
        reach, out = math.pi / self.count, []
        for k in range(SLICES):
            low, middle, high = (
                self._numbers().profile(reach * ((2 * k + half) / SLICES - 1))
                for half in (0, 1, 2)
            )
            x, y, z = (float(a) for a in axis.elements())
            at = float(middle[0])
            out.append(
                Disk(
                    name='mass' if k % 2 else 'link',
                    link=f'{body}_link',
                    radius=float(middle[1]),
                    thickness=abs(float(high[0] - low[0])),
                    centre=(at * x, at * y, at * z),
                    axis=(x, y, z),
                )
            )
        return out

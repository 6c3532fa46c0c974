"""Rings of barrel rollers on wheels, in scenario files."""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.joints import Revolute
from rolling_dynamics.mechanism.loops import Contact
from rolling_dynamics.mechanism.mass import Revolution
from rolling_dynamics.mechanism.shapes import Barrel
from rolling_dynamics.robots.view import Disk
from rolling_dynamics.scenario.fields import note, quantity, whole
from rolling_dynamics.scenario.machine_parts import Builder, MachinePiece, Made

FITS = 1e-6  # of the length of a roller
SLICES = 7  # of a drawn roller


class RingSection(MachinePiece):
    """Barrel rollers around a wheel that turns about y; one of them touches the floor."""

    wheel: str = note('body that carries them')
    count: int = whole('number of rollers', least=3)
    radius: float = quantity('of the rim, which the rollers envelop', 'm', positive=True)
    roller: float = quantity('radius of a roller in its middle', 'm', positive=True)
    angle: float = quantity('between the axes of roller and wheel', 'rad', positive=True)
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

    def add(self, builder: Builder, name: str) -> None:
        """Add bodies, joints and contacts of the rollers, named by numbers."""
        on, machine = builder.body(self.wheel, 'wheel'), builder.machine
        reach = math.pi / self.count
        if not self.angle < math.pi / 2:
            raise ParameterError(f'angle: must be less than pi/2, got {self.angle:g}')
        if self.roller >= self.radius:
            raise ParameterError('roller: must be less than the radius of the rim')
        names = 'radius', 'roller', 'mass', 'mu'
        rim, thick, mass, mu = (self.number(builder, name, n, f'of {name}') for n in names)
        offset, along = rim - thick, mass * thick**2 / 2
        shapes = [
            Barrel(rim=rim, offset=offset, angle=self.angle, reach=reach, axis=ca.DM(axis))
            for axis in self._axes()
        ]
        self._check_length(reach)
        if self.inertia is not None:
            along = self.number(builder, name, 'inertia', f'of {name}')
        long = 2 * shapes[0].profile(reach)[0]
        across = along / 2 + mass * long**2 / 12
        for k, shape in enumerate(shapes):
            body, turn = f'{name}_{k}', 2 * math.pi * k / self.count
            place = offset * ca.DM([-math.sin(turn), 0, -math.cos(turn)])
            hinge = Revolute.named(body, shape.axis, place)
            machine.body(
                body, hinge, Revolution(mass, across, along - across, 0, shape.axis), on=on
            )
            builder.made[body] = Made()
            machine.contact(Contact(body=body, shape=shape, mu=mu))
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
        least, end = self.radius * (1 - math.cos(reach)), float(self._numbers().profile(reach)[0])
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
                    thickness=float(high[0] - low[0]),
                    centre=(at * x, at * y, at * z),
                    axis=(x, y, z),
                )
            )
        return out

"""Numbers of the planar arm: lengths, masses, place of its base, limits of its joints."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm_chain import Body, Chain, Link, Place

JOINTS = 3
MOUNT = math.pi / 2  # pitch of the hand where link 3 points along x
SLENDER = 1e-3  # inertia of a link about its own length, of that about its joint: not measured


@dataclass(frozen=True, kw_only=True)
class ArmModel:
    """
    A planar arm with three revolute joints about the world's y axis.

    A joint angle turns about +y, so that a link at angle phi points along
    ``(cos phi, 0, -sin phi)``. The hand sits at the end of link 3 with its z axis along the link:
    its pitch is ``q1 + q2 + q3 + pi/2``.

    Attributes
    ----------
    lengths
        Of the links [m].
    masses
        Of the links, the last with the hand [kg].
    centres
        From a link's joint to its centre of mass, along the link [m].
    inertias
        About the centre of mass of a link, y axis [kg m^2].
    base
        x and z of joint 1 in the world [m].
    gravity
        x and z of gravity in the world [m/s^2]; of an inclined table its component in the table.
    low, high
        Least and greatest joint angle [rad].
    speed
        Greatest joint speed [rad/s].
    acceleration
        Greatest joint acceleration [rad/s^2].
    torque
        Greatest joint torque, after the gear [N m].
    singular_sine
        Least ``|sin q2|``: the arm is singular where it is stretched or folded.

    """

    lengths: tuple[float, ...] = (0.40, 0.40, 0.10)
    masses: tuple[float, ...] = (1.4, 1.1, 0.5)
    centres: tuple[float, ...] = (0.20, 0.20, 0.08)
    inertias: tuple[float, ...] = (1.9e-2, 1.5e-2, 6e-3)
    base: tuple[float, ...] = (-0.50, -0.25)
    gravity: tuple[float, ...] = (0.0, -9.81 * math.sin(math.radians(24.0)))
    low: tuple[float, ...] = (-2.8, 0.05, -3.1)
    high: tuple[float, ...] = (1.6, 2.9, 1.6)
    speed: tuple[float, ...] = (8.0, 8.0, 12.0)
    acceleration: tuple[float, ...] = (150.0, 200.0, 400.0)
    torque: tuple[float, ...] = (60.0, 40.0, 15.0)
    singular_sine: float = 0.1

    def __post_init__(self) -> None:
        """Refuse numbers that no arm has."""
        sizes = {'base': 2, 'gravity': 2}
        for name in self.__dataclass_fields__:
            value = np.atleast_1d(np.asarray(getattr(self, name), dtype=float))
            size = 1 if name == 'singular_sine' else sizes.get(name, JOINTS)
            if value.shape != (size,) or not np.all(np.isfinite(value)):
                raise ParameterError(
                    f'arm: {name} takes {size} finite numbers, got {value.tolist()}'
                )
        for name in ('lengths', 'masses', 'inertias', 'speed', 'acceleration', 'torque'):
            if min(getattr(self, name)) <= 0:
                raise ParameterError(f'arm: {name} must be positive, got {getattr(self, name)}')
        if not all(a < b for a, b in zip(self.low, self.high, strict=True)):
            raise ParameterError(
                f'arm: low must be less than high for each joint, got {self.low} and {self.high}'
            )
        if not 0.0 < self.singular_sine < 1.0:
            raise ParameterError(
                f'arm: singular_sine must lie between 0 and 1, got {self.singular_sine:g}'
            )

    @property
    def chain(self) -> Chain:
        """The arm as a chain, in the plane y = 0 of the world."""
        (x, z), (gx, gz), (a, b, c) = self.base, self.gravity, self.lengths
        places = ((x, 0.0, z), (a, 0.0, 0.0), (b, 0.0, 0.0))
        links = [
            Link(
                joint=f'joint_{k + 1}',
                place=Place(position=places[k]),
                axis=1,
                body=_slender(self.masses[k], self.centres[k], self.inertias[k]),
                low=self.low[k],
                high=self.high[k],
                speed=self.speed[k],
                acceleration=self.acceleration[k],
                torque=self.torque[k],
            )
            for k in range(JOINTS)
        ]
        return Chain(
            links=tuple(links),
            hand=Place(position=(c, 0.0, 0.0), rpy=(0.0, MOUNT, 0.0)),
            gravity=(gx, 0.0, gz),
            home=tuple((low + high) / 2 for low, high in zip(self.low, self.high, strict=True)),
            determinant=self.singular_sine * a * b,
        )


def _slender(mass: float, centre: float, inertia: float) -> Body:
    along = SLENDER * inertia
    return Body(
        mass=mass, centre=(centre, 0.0, 0.0), inertia=(along, inertia, inertia, 0.0, 0.0, 0.0)
    )

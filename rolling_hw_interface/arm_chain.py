"""The chain of links of an arm, and the parameters of its model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from transforms3d.euler import euler2mat, euler2quat

ALL = (0, 1, 2, 3, 4, 5)  # of alpha_WH_H and a_WH_H
ROUNDED = 15  # digits after the point of attitudes: those of right angles are exact
FRAME, BODY = 16, 10  # numbers of a frame, and of what has mass


@dataclass(frozen=True, kw_only=True)
class Body:
    """
    What has mass.

    Attributes
    ----------
    mass
        Mass [kg].
    centre
        Centre of mass in the frame of the link [m].
    inertia
        xx, yy, zz, xy, xz, yz about the centre of mass, along the axes of the link [kg m^2].

    """

    mass: float = 0.0
    centre: tuple[float, ...] = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...] = (0.0,) * 6

    def numbers(self) -> list[float]:
        """Return mass, centre and inertia as one list."""
        return [self.mass, *self.centre, *self.inertia]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a frame stands in the one before it: place [m], and roll, pitch, yaw [rad]."""

    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)

    @property
    def quaternion(self) -> Array:
        """Its attitude (w, x, y, z), shape (4,)."""
        return np.asarray(np.round(euler2quat(*self.rpy, 'sxyz'), ROUNDED) + 0.0, dtype=float)

    @property
    def matrix(self) -> Array:
        """Its attitude as a rotation matrix, without unit, shape (3, 3)."""
        return np.asarray(np.round(euler2mat(*self.rpy, 'sxyz'), ROUNDED) + 0.0, dtype=float)

    def numbers(self) -> list[float]:
        """Return the matrix by rows, the quaternion and the place as one list."""
        return [*self.matrix.ravel(), *self.quaternion, *self.position]


@dataclass(frozen=True, kw_only=True)
class Link:
    """
    A link and the joint that moves it; its frame stands in the joint and turns with it.

    Attributes
    ----------
    joint
        Name of the joint.
    place
        Of the joint in the frame of the link before, at a joint angle of zero.
    axis
        0, 1 or 2: the joint turns about x, y or z.
    body
        Mass of the link.
    low, high, speed, acceleration, torque
        Limits of the joint [rad], [rad/s], [rad/s^2], [N m].

    """

    joint: str
    place: Place
    axis: int
    body: Body
    low: float
    high: float
    speed: float
    acceleration: float
    torque: float


class Frame(NamedTuple):
    """Attitude, as a matrix and as a quaternion, and place, as expressions."""

    R: ca.SX
    q: ca.SX
    p: ca.SX


class MovingBody(NamedTuple):
    """Mass, centre and inertia (3, 3) as expressions."""

    mass: ca.SX
    centre: ca.SX
    inertia: ca.SX


class Structure(NamedTuple):
    """
    What the equations of an arm are written for.

    Attributes
    ----------
    axes
        Axis of each joint.
    moves
        Which of the hand's six accelerations the arm gives.
    pattern
        Its numbers where they are 0, 1 or -1, None where they are inputs.

    """

    axes: tuple[int, ...]
    moves: tuple[int, ...]
    pattern: tuple[float | None, ...]

    @property
    def size(self) -> int:
        """Number of inputs."""
        return self.pattern.count(None)

    @property
    def moved(self) -> list[int]:
        """Which of v_WH_W and w_WH_W the arm moves."""
        return sorted((k + 3) % 6 for k in self.moves)

    def _all(self, c: ca.SX) -> ca.SX:
        inputs = iter(range(self.size))
        return ca.vertcat(*(c[next(inputs)] if v is None else v for v in self.pattern))

    def frames(self, c: ca.SX) -> list[Frame]:
        """Return joints and hand, each in the frame before."""
        numbers, found = self._all(c), []
        for k in range(len(self.axes) + 1):
            n = numbers[FRAME * k : FRAME * (k + 1)]
            found.append(Frame(ca.reshape(n[:9], 3, 3).T, n[9:13], n[13:16]))
        return found

    def bodies(self, c: ca.SX) -> Iterator[tuple[int, MovingBody]]:
        """Yield what has mass with the number of its frame: the links, then the hand."""
        numbers = self._all(c)[FRAME * (len(self.axes) + 1) : -3]
        for k in range(len(self.axes) + 1):
            n = numbers[BODY * k : BODY * (k + 1)]
            xx, yy, zz, xy, xz, yz = (n[j] for j in range(4, 10))
            J = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
            yield k, MovingBody(n[0], n[1:4], J)

    def gravity(self, c: ca.SX) -> ca.SX:
        """Return gravity in the world."""
        return self._all(c)[-3:]


@dataclass(frozen=True, kw_only=True)
class Chain:
    """
    A chain of links between the world and the hand.

    Attributes
    ----------
    links
        From the base on; the joint of the first stands in the world.
    hand
        Where the hand stands in the last link.
    payload
        Mass of the hand, in its frame.
    gravity
        In the world [m/s^2].
    home
        Joint angles [rad] near which it works.
    determinant
        Minimum magnitude of the determinant of its Jacobian: below, it counts as singular.

    """

    links: tuple[Link, ...]
    hand: Place
    payload: Body = Body()
    gravity: tuple[float, ...]
    home: tuple[float, ...]
    determinant: float

    def __post_init__(self) -> None:
        """Refuse a chain whose joints do not fix the motion of the hand."""
        if len(self.links) != len(self.moves):
            raise ParameterError(
                f'arm: it has {len(self.links)} joints, 6 are needed, or 3 about the y axis of '
                'the world'
            )
        if len(self.home) != len(self.links):
            raise ParameterError(f'arm: home takes {len(self.links)} angles, got {len(self.home)}')

    @property
    def joint_names(self) -> list[str]:
        """Names of its joints, from the base on."""
        return [link.joint for link in self.links]

    @property
    def moves(self) -> tuple[int, ...]:
        """Which of alpha_WH_H and a_WH_H the arm gives: all, or those in the plane x-z."""
        places = [*(link.place for link in self.links), self.hand]
        level = all(abs(r) + abs(y) < 1e-12 for r, _, y in (p.rpy for p in places))
        planar = level and all(link.axis == 1 for link in self.links)
        return (1, 3, 5) if planar else ALL

    def _limit(self, name: str) -> Array:
        return np.array([getattr(link, name) for link in self.links])

    @cached_property
    def low(self) -> Array:
        """Minimum joint angles [rad], shape (n,)."""
        return self._limit('low')

    @cached_property
    def high(self) -> Array:
        """Maximum joint angles [rad], shape (n,)."""
        return self._limit('high')

    @cached_property
    def speed(self) -> Array:
        """Maximum joint rates [rad/s], shape (n,)."""
        return self._limit('speed')

    @cached_property
    def acceleration(self) -> Array:
        """Maximum joint accelerations [rad/s^2], shape (n,)."""
        return self._limit('acceleration')

    @cached_property
    def torque(self) -> Array:
        """Maximum joint torques [N m], shape (n,)."""
        return self._limit('torque')

    def split(self) -> tuple[Structure, Array]:
        """Return the structure, and what its equations take [SI units], shape (size,)."""
        places: Sequence[Place] = (*(link.place for link in self.links), self.hand)
        bodies = (*(link.body for link in self.links), self.payload)
        every = [v for place in places for v in place.numbers()]
        every += [v for body in bodies for v in body.numbers()]
        every += self.gravity
        pattern = tuple(float(v) if v in (0, 1, -1) else None for v in every)
        numbers = [v for v, fixed in zip(every, pattern, strict=True) if fixed is None]
        structure = Structure(tuple(link.axis for link in self.links), self.moves, pattern)
        return structure, np.array(numbers)


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

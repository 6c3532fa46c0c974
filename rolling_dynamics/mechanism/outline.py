"""Shapes of a machine for pictures, from its description alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.mechanism.joints import Driven, Joint, Prismatic, Revolute
from rolling_dynamics.mechanism.rolling import PureRolling, Rolling
from rolling_dynamics.mechanism.shapes import Plane, Sphere, Wheel
from rolling_dynamics.robots.view import Ball, Disk, Floor, Shape

if TYPE_CHECKING:
    from rolling_dynamics.mechanism.machine import Machine

FLAT = 0.1  # thickness of a wheel without a tyre, in radii
FLOOR = 20.0  # side of the floor, in radii
SLANTED, THIN = 3.0, 0.01  # radius of another plane, in radii, and its thickness over its own
UP = Plane().normal


def moving(joint: Joint) -> Joint:
    """Return a joint, whether or not its motion is prescribed."""
    return joint.joint if isinstance(joint, Driven) else joint


def joint_entries(machine: Machine) -> tuple[str, ...]:
    """Return the entries of the state that are positions of hinges and slides."""
    joints = (moving(body.joint) for body in machine.bodies.values())
    return tuple(j.configuration[0].name for j in joints if isinstance(j, Revolute | Prismatic))


def outlines(machine: Machine, p: ArrayLike) -> list[Shape]:
    """Return the shapes to draw of a machine: given ones, surfaces that roll, and the floor."""

    def value(length: ca.SX | float) -> float:
        return float(ca.Function('length', [machine.symbols.p], [ca.SX(length)])(p))

    def slanted(surface: Plane, size: float) -> Disk:
        """Return a disk in a plane, up from the origin."""
        n = np.array([value(a) for a in surface.normal])
        up = np.array([0.0, 0.0, 1.0]) - n[2] * n
        middle = size * up / np.linalg.norm(up) - THIN * size / 2 * n
        x, y, z, a, b, c = (float(v) for v in (*middle, *n))
        thick = THIN * size
        return Disk(
            name='shell',  # transparent
            link='odom',
            radius=size,
            thickness=thick,
            centre=(x, y, z),
            axis=(a, b, c),
        )

    out, drawn = list(machine.drawn), {shape.link for shape in machine.drawn}
    for name, shape in _rolling(machine):
        link = f'{name}_link'
        if link in drawn:
            continue
        drawn.add(link)
        if isinstance(shape, Wheel):
            radius = value(shape.radius)
            thick = 2 * value(shape.tyre) or FLAT * radius
            x, y, z = (float(a) for a in np.array(ca.DM(shape.side)).ravel())
            out.append(
                Disk(name='link', link=link, radius=radius, thickness=thick, axis=(x, y, z))
            )
        elif isinstance(shape, Sphere):
            out.append(Ball(name='ball', link=link, radius=value(shape.radius)))
    sizes = [s.radius for s in out if isinstance(s, Ball | Disk)]
    grounded = (b.joint for b in machine.bodies.values() if not b.parent)
    planes = [c.surface for c in machine.contacts if not c.on and isinstance(c.surface, Plane)]
    upward = [all(value(a) == b for a, b in zip(s.normal, UP, strict=True)) for s in planes]
    stands = any(isinstance(j, Rolling | PureRolling) for j in grounded) or any(upward)
    if sizes:
        size = SLANTED * max(sizes)
        out += [slanted(s, size) for s, up in zip(planes, upward, strict=True) if not up]
    if sizes and stands:
        out.append(Floor(name='floor', link='odom', side=FLOOR * max(sizes)))
    return out


def _rolling(machine: Machine) -> Iterator[tuple[str, object]]:
    """Yield bodies with the surface on which they roll."""
    for name, body in machine.bodies.items():
        joint = moving(body.joint)
        if isinstance(joint, PureRolling):
            yield name, Sphere(joint.radius)
        elif isinstance(joint, Rolling):
            yield name, joint.shape
    for contact in machine.contacts:
        yield contact.body, contact.shape

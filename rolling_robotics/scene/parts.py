"""What the scenes of several systems have in common: colours of traces, wrench, curves, floor."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from rolling_dynamics.robots.view import GLASS, OBSTACLE
from rolling_robotics.result_arrays import Arrays, Values
from rolling_robotics.scene.meshes import cylinder_mesh, floor_mesh, moved_mesh
from rolling_robotics.scene.scene import (
    Body,
    GROUND,
    Line,
    Mesh,
    rotation_matrices,
    still,
    Strip,
    Trace,
    Wrench,
)

ON_GROUND = (0.0, 0.45, 0.70)
ON_BODY = (0.84, 0.37, 0.0)
MARK = (0.35, 0.35, 0.35)
TURN = np.linspace(0, 2 * np.pi, 49)


def contact_wrench(arrays: Arrays, size: float) -> Wrench:
    """Return the contact force; the greatest normal force becomes an arrow as long as ``size``."""
    force = arrays['f_contact']
    top = float(np.nanmax(np.abs(force[:, 2]), initial=0)) or 1.0
    mu = np.full(len(force), arrays.parameter('mu'))
    return Wrench(force=force, mu=mu, scale=size / top)


def contact_strips(arrays: Arrays) -> tuple[Strip, ...]:
    """Return the share of the friction that is used, and the normal force."""
    force, mu = arrays['f_contact'], arrays.parameter('mu')
    with np.errstate(divide='ignore', invalid='ignore'):
        used = np.hypot(force[:, 0], force[:, 1]) / (mu * force[:, 2])
    used[force[:, 2] <= 0] = np.nan
    return (
        Strip(title='friction used', unit='', curves={'|f_t| / mu f_n': used}, limit=1.0),
        Strip(title='normal force', unit='N', curves={'f_n': force[:, 2]}, limit=0.0),
    )


def error_strips(bodies: Sequence[Body], ghosts: Sequence[Body]) -> tuple[Strip, ...]:
    """Return how far the bodies are from where their ghosts, a plan, have them: way and angle."""
    known = {b.name: b for b in bodies}
    pairs = [(known[g.name], g) for g in ghosts if g.name in known]
    if not pairs:
        return ()
    way = {b.name: np.linalg.norm(b.position - g.position, axis=1) for b, g in pairs}
    turn = {b.name: _angle(b.attitude, g.attitude) for b, g in pairs}
    return (
        Strip(title='distance from the plan', unit='m', curves=way),
        Strip(title='angle from the plan', unit='rad', curves=turn),
    )


def _angle(q_a: Values, q_b: Values) -> Values:
    """Return the angle between attitudes, shape (T,) [rad]."""
    cosine = np.abs(np.sum(q_a * q_b, axis=1))
    angle: Values = 2 * np.arccos(np.minimum(cosine, 1.0))
    return angle


def rolling_traces(
    contact: Values, attitude: Values, radius: float, names: tuple[str, str, str]
) -> tuple[Trace, Trace]:
    """
    Return the paths of the contact over the floor and over a sphere or a disk.

    Parameters
    ----------
    contact
        Contact point over time, shape (T, 3) [m].
    attitude
        Of what rolls, shape (T, 4).
    radius
        Its radius [m].
    names
        Of both paths, and of the body that rolls.

    """
    ground, rolling, body = names
    points = on_body(rotation_matrices(attitude), radius)
    return (
        Trace(name=ground, body='', points=contact, colour=ON_GROUND),
        Trace(name=rolling, body=body, points=points, colour=ON_BODY),
    )


def floor_body(contact: Values, radius: float, marks: Sequence[Line] = ()) -> Body:
    """
    Return the floor around a path.

    Parameters
    ----------
    contact
        Contact point over time, shape (T, 3) [m].
    radius
        Size of the body on it [m]; the cells are as large as a round number near it.
    marks
        Lines drawn on it.

    """
    pad = 1.6 * radius
    low, high = np.nanmin(contact, axis=0)[:2] - pad, np.nanmax(contact, axis=0)[:2] + pad
    for line in marks:
        low, high = (
            np.minimum(low, line.points[:, :2].min(0)),
            np.maximum(high, line.points[:, :2].max(0)),
        )
    cell = 10.0 ** math.floor(math.log10(radius))
    cell *= max(f for f in (1, 2, 5) if f * cell <= radius * 1.0000001)
    while float(np.prod((high - low) / cell)) > 1500:
        cell *= 2
    position, attitude = still(len(contact))
    return Body(
        name='floor',
        position=position,
        attitude=attitude,
        meshes=(floor_mesh(low, high, cell),),
        lines=tuple(marks),
        layer=GROUND,
    )


def pillar(centre: Sequence[float], radius: float, height: float) -> Mesh:
    """Return a cylinder that stands on the floor: what must not be touched."""
    mesh = cylinder_mesh(radius, height / 2, OBSTACLE, opacity=GLASS)
    return moved_mesh(mesh, np.eye(3), np.array([centre[0], centre[1], height / 2]))


def circle(center: Sequence[float], radius: float) -> Line:
    """Return a circle on the floor."""
    x, y = center[0] + radius * np.cos(TURN), center[1] + radius * np.sin(TURN)
    return Line(points=np.column_stack([x, y, np.zeros_like(x)]), colour=MARK, width=1.6)


def cross(place: Sequence[float], size: float) -> tuple[Line, Line]:
    """Return a cross on the floor."""
    x, y = float(place[0]), float(place[1])
    one = np.array([[x - size, y - size, 0], [x + size, y + size, 0]])
    other = np.array([[x - size, y + size, 0], [x + size, y - size, 0]])
    return Line(points=one, colour=(0, 0, 0), width=1.6), Line(
        points=other, colour=(0, 0, 0), width=1.6
    )


def under(position: Values, radius: float) -> Values:
    """Return the lowest points of a ball that moves, shape (T, 3) [m]."""
    lowest: Values = position - np.array([0.0, 0.0, radius])
    return lowest


def on_body(rotations: Values, radius: float) -> Values:
    """Return the contact point in the frame of a ball on a floor, shape (T, 3) [m]."""
    point: Values = -radius * rotations[:, 2, :]
    return point

"""Parts of scenes: meshes of bodies, arrows, lines on the floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
import math

import numpy as np
from rolling_dynamics.robots.view import GHOST, GLASS, HAND, OBSTACLE, pose_along
from rolling_dynamics.surfaces.surface import CELLS, drawn_cells, grid_cells, Surface
from rolling_robotics.arrays import array_name
from rolling_robotics.files import Arrays
from rolling_robotics.scene.scene import (
    Body,
    Colour,
    fixed_body,
    GROUND,
    Line,
    Mesh,
    rotation_matrices,
    Strip,
    Trace,
    Values,
    Wrench,
)

FAR = 1e5  # an edge beyond this counts as no edge
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIDES = np.array(
    [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
)  # of a box, by its corners, anticlockwise from outside


def drawn_box(surface: Surface, path: Values, edges: Values | None = None) -> Values:
    """
    Return the bounds in u and v of the drawn part of a surface, shape (2, 2).

    Parameters
    ----------
    surface
        The surface; a periodic or bounded coordinate is drawn whole.
    path
        Path over it, chart coordinates, shape (N, 2); an unbounded one is drawn around it.
    edges
        Edges u_min, u_max, v_min, v_max of a hand, if it has any.

    """
    low, high = np.nanmin(path, axis=0), np.nanmax(path, axis=0)
    if surface.side == 'inside':  # a dish: near the path, or its rim hides everything
        around = 0.35 * np.max(high - low) + 0.05
        return np.array([low - around, high + around])
    pad = 0.25 * np.maximum(high - low, np.max(high - low) / 2 + 1e-3)
    box: Values = np.array([low - pad, high + pad])
    for k, (bounds, period) in enumerate(
        zip(surface.chart.bounds, surface.chart.periods, strict=True)
    ):
        if period:
            start = box[:, k].mean() - period / 2
            box[:, k] = start, start + period
        elif math.isfinite(bounds[0]) and math.isfinite(bounds[1]):
            box[:, k] = bounds
        if edges is not None and np.abs(edges[2 * k : 2 * k + 2]).max() < FAR:
            box[:, k] = edges[2 * k : 2 * k + 2]
    return box


def surface_mesh(
    surface: Surface,
    box: Values,
    colours: Sequence[Colour],
    *,
    opacity: float = 1.0,
    closed: bool = True,
) -> Mesh:
    """Return the mesh of a surface over a box of its first chart."""
    points, faces, which = drawn_cells(surface, box)
    return Mesh(
        vertices=points,
        faces=faces[:, ::-1] if surface.side == 'inside' else faces,
        colours=np.asarray(colours, dtype=float)[which],
        opacity=opacity,
        closed=closed,
    )


def grid_mesh(points: Values, colours: Sequence[Colour], *, opacity: float = 1.0) -> Mesh:
    """Return the closed mesh of a grid of points, shape (n, m, 3), chequered in two colours."""
    faces, which = grid_cells(*points.shape[:2])
    chequered = np.asarray(colours, dtype=float)[which]
    return Mesh(vertices=points.reshape(-1, 3), faces=faces, colours=chequered, opacity=opacity)


def sphere_mesh(
    radius: float, colours: Sequence[Colour], *, opacity: float = 1.0, cells: int = CELLS
) -> Mesh:
    """Return a sphere about the origin."""
    u, v = np.meshgrid(
        np.linspace(0, np.pi, cells + 1), np.linspace(0, 2 * np.pi, cells + 1), indexing='ij'
    )
    points = radius * np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1)
    return grid_mesh(points, colours, opacity=opacity)


def cylinder_mesh(
    radius: float, half_height: float, colours: Sequence[Colour], *, opacity: float = 1.0
) -> Mesh:
    """Return a cylinder about the origin with its axis along z, closed by two disks."""
    v = np.linspace(0, 2 * np.pi, CELLS + 1)
    r, z = (np.array(a) for a in ([0, 1, 1, 0], [1, 1, -1, -1]))
    points = np.stack(
        [
            radius * np.outer(r, np.cos(v)),
            radius * np.outer(r, np.sin(v)),
            half_height * np.outer(z, np.ones_like(v)),
        ],
        axis=-1,
    )
    return grid_mesh(points, colours, opacity=opacity)


def box_mesh(sides: Sequence[float], colour: Colour, *, opacity: float = 1.0) -> Mesh:
    """Return a box about the origin with edges along the axes."""
    return Mesh(
        vertices=CORNERS * np.asarray(sides, dtype=float),
        faces=SIDES,
        colours=np.tile(colour, (len(SIDES), 1)),
        opacity=opacity,
    )


def ghost_of(body: Body) -> Body:
    """Return a body as a ghost: its outline, which shows its attitude too."""
    pieces = [_outline(mesh) for mesh in body.meshes]
    points = np.concatenate([*pieces, np.zeros((0, 3))])
    return replace(body, meshes=(), lines=(Line(points=points, colour=GHOST[0], width=2.0),))


def _outline(mesh: Mesh) -> Values:
    """Return three sections of a mesh through its middle, with NaN between the pieces."""
    corners, place = mesh.vertices[mesh.triangles], mesh.vertices
    middle = (place.min(axis=0) + place.max(axis=0)) / 2 + 1e-6 * np.ptp(place)
    return np.concatenate([_section(corners, k, middle[k]) for k in range(3)])


def _section(corners: Values, axis: int, level: float) -> Values:
    """Return where a plane cuts triangles, shape (M, 3, 3)."""
    over = corners[:, :, axis] - level
    ends = []
    for i, j in ((0, 1), (1, 2), (2, 0)):
        cut = over[:, i] * over[:, j] < 0
        fraction = over[:, i] / np.where(cut, over[:, i] - over[:, j], 1.0)
        at = corners[:, i] + fraction[:, None] * (corners[:, j] - corners[:, i])
        ends.append(np.where(cut[:, None], at, np.nan))
    every = np.stack(ends, axis=1)
    both = np.isfinite(every[:, :, 0]).sum(axis=1) == 2
    segments = every[both][np.isfinite(every[both])].reshape(-1, 2, 3)
    gaps = np.full((len(segments), 1, 3), np.nan)
    return np.concatenate([segments, gaps], axis=1).reshape(-1, 3)


def floor_mesh(low: Values, high: Values, cell: float) -> Mesh:
    """Return the floor z = 0 over a rectangle, in square cells whose corners stay in place."""
    a, b = np.floor(low / cell), np.ceil(high / cell)
    x, y = (cell * np.arange(a[k], b[k] + 1) for k in (0, 1))
    points = np.stack([*np.meshgrid(x, y, indexing='ij'), np.zeros((len(x), len(y)))], axis=-1)
    i, j = np.meshgrid(np.arange(a[0], b[0]), np.arange(a[1], b[1]), indexing='ij')
    which = (i + j).ravel().astype(int) % 2
    return replace(grid_mesh(points, HAND), colours=np.asarray(HAND)[which], closed=False)


def rod_mesh(
    start: Values,
    end: Values,
    radius: float,
    colours: Sequence[Colour],
    *,
    opacity: float = 1.0,
) -> Mesh:
    """Return a cylinder from one point of its body to another one [m]."""
    X = pose_along((end - start).tolist(), ((start + end) / 2).tolist())
    mesh = cylinder_mesh(radius, float(np.linalg.norm(end - start)) / 2, colours, opacity=opacity)
    return moved_mesh(mesh, X[:3, :3], X[:3, 3])


def moved_mesh(mesh: Mesh, rotation: Values, shift: Values) -> Mesh:
    """Return a mesh turned and shifted in its body."""
    return replace(mesh, vertices=mesh.vertices @ rotation.T + shift)


ON_GROUND = (0.0, 0.45, 0.70)
ON_BODY = (0.84, 0.37, 0.0)
MARK = (0.35, 0.35, 0.35)
TURN = np.linspace(0, 2 * np.pi, 49)


def contact_wrenches(arrays: Arrays, mu: Mapping[str, float], size: float) -> dict[str, Wrench]:
    """
    Return the force of each contact for which there are arrays, by its name.

    Parameters
    ----------
    arrays
        Arrays of a result.
    mu
        Name of a contact, empty for a single one -> coefficient of friction; 0 where unknown.
    size
        Length of the arrow for the maximum normal force [m].

    """
    found = {name: array_name(name) for name in mu if array_name(name) in arrays}
    force = {name: arrays[of] for name, of in found.items()}
    top = max((float(np.nanmax(np.abs(f[:, 2]), initial=0)) for f in force.values()), default=0)
    scale = size / (top or 1.0)
    return {n: Wrench(force=f, mu=np.full(len(f), mu[n]), scale=scale) for n, f in force.items()}


def contact_strips(wrenches: Mapping[str, Wrench]) -> tuple[Strip, ...]:
    """Return the fraction of the friction that is used, and the normal force, of each contact."""
    used, normal = {}, {}
    for name, wrench in wrenches.items():
        force, mu = wrench.force, wrench.mu
        with np.errstate(divide='ignore', invalid='ignore'):
            fraction = np.hypot(force[:, 0], force[:, 1]) / (mu * force[:, 2])
        fraction[force[:, 2] <= 0] = np.nan
        used[name or '|f_t| / mu f_n'], normal[name or 'f_n'] = fraction, force[:, 2]
    return (
        Strip(title='friction used', unit='', curves=used, limit=1.0),
        Strip(title='normal force', unit='N', curves=normal, limit=0.0),
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
    points = -radius * rotation_matrices(attitude)[:, 2, :]  # of the contact, in the body
    return (
        Trace(name=ground, body='', points=contact, colour=ON_GROUND),
        Trace(name=rolling, body=body, points=points, colour=ON_BODY),
    )


def floor_body(count: int, contact: Values, radius: float, marks: Sequence[Line] = ()) -> Body:
    """
    Return the floor around a path.

    Parameters
    ----------
    count
        Number of times of the scene.
    contact
        Points around which it lies, shape (N, 3) [m].
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
    floor = fixed_body('floor', count, floor_mesh(low, high, cell))
    return replace(floor, lines=tuple(marks), layer=GROUND)


def pillar(centre: Sequence[float], radius: float, height: float) -> Mesh:
    """Return a cylinder on the floor, as an obstacle."""
    mesh = cylinder_mesh(radius, height / 2, OBSTACLE, opacity=GLASS)
    return moved_mesh(mesh, np.eye(3), np.array([centre[0], centre[1], height / 2]))


def circle(center: Sequence[float], radius: float) -> Line:
    """Return a circle on the floor."""
    x, y = center[0] + radius * np.cos(TURN), center[1] + radius * np.sin(TURN)
    return Line(points=np.column_stack([x, y, np.zeros_like(x)]), colour=MARK, width=1.6)


def cross(place: Sequence[float], size: float) -> tuple[Line, Line]:
    """Return a cross on the floor."""
    x, y = float(place[0]), float(place[1])
    one, other = (
        np.array([[x - size, y - end, 0], [x + size, y + end, 0]]) for end in (size, -size)
    )
    line = Line(points=one, colour=(0, 0, 0), width=1.6)
    return line, replace(line, points=other)

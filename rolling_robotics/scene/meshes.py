"""Meshes of surfaces and of simple bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.robots.view import GHOST, GLASS, HAND
from rolling_dynamics.surfaces.surface import CELLS, drawn_cells, grid_cells, Surface
from rolling_robotics.scene.scene import Colour, Mesh, Values

FAR = 1e5  # an edge beyond this is none
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIDES = np.array(
    [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
)  # of a box, by its corners, anticlockwise from outside


def drawn_box(surface: Surface, path: Values, edges: Values | None = None) -> Values:
    """
    Return least and greatest u and v of the part of a surface that is drawn, shape (2, 2).

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
    """Return the mesh of what is drawn of a surface over a box of its first chart."""
    return _cell_mesh(
        *drawn_cells(surface, box),
        colours,
        inward=surface.side == 'inside',
        opacity=opacity,
        closed=closed,
    )


def grid_mesh(
    points: Values,
    colours: Sequence[Colour],
    *,
    opacity: float = 1.0,
    closed: bool = True,
) -> Mesh:
    """Return the mesh of a grid of points, shape (n, m, 3), chequered in two colours."""
    cells = grid_cells(*points.shape[:2])
    return _cell_mesh(points.reshape(-1, 3), *cells, colours, opacity=opacity, closed=closed)


def _cell_mesh(
    points: Values,
    faces: NDArray[np.int_],
    which: NDArray[np.int_],
    colours: Sequence[Colour],
    *,
    inward: bool = False,
    opacity: float,
    closed: bool,
) -> Mesh:
    return Mesh(
        vertices=points,
        faces=faces[:, ::-1] if inward else faces,
        colours=np.asarray(colours, dtype=float)[which],
        opacity=opacity,
        closed=closed,
    )


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


def ghost_mesh(mesh: Mesh) -> Mesh:
    """Return a mesh as a ghost shows it: translucent, with a chequer that tells its attitude."""
    _, which = np.unique(mesh.colours, axis=0, return_inverse=True)
    return replace(mesh, colours=np.asarray(GHOST)[which.ravel() % 2], opacity=GLASS)


def floor_mesh(low: Values, high: Values, cell: float) -> Mesh:
    """Return the floor z = 0 over a rectangle, in square cells whose corners stay in place."""
    a, b = np.floor(low / cell), np.ceil(high / cell)
    x, y = (cell * np.arange(a[k], b[k] + 1) for k in (0, 1))
    points = np.stack([*np.meshgrid(x, y, indexing='ij'), np.zeros((len(x), len(y)))], axis=-1)
    mesh = grid_mesh(points, HAND, closed=False)
    i, j = np.meshgrid(np.arange(a[0], b[0]), np.arange(a[1], b[1]), indexing='ij')
    which = (i + j).ravel().astype(int) % 2
    return replace(mesh, colours=np.asarray(HAND)[which])


def moved_mesh(mesh: Mesh, rotation: Values, shift: Values) -> Mesh:
    """Return a mesh turned and shifted in its body."""
    return replace(mesh, vertices=mesh.vertices @ rotation.T + shift)

"""What every drawing of a surface starts from: cells between points of it, chequered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.surfaces.surface import Surface

CELLS = 24  # of a mesh along each direction
CHEQUER = 3  # cells of a square of the pattern that shows the rolling


def drawn_cells(
    surface: Surface, box: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int_], NDArray[np.int_]]:
    """
    Return what is drawn of a surface: its picture, or the first chart over a box.

    Parameters
    ----------
    surface
        The surface.
    box
        Least and greatest u and v, shape (2, 2).

    Returns
    -------
    points
        In the frame of the body [m], shape (N, 3).
    corners, colour
        Of the cells, see :func:`grid_cells`; a triangle repeats its last corner.

    """
    picture = surface.picture
    if picture is None:
        points = surface_points(surface, box, CELLS + 1).reshape(-1, 3)
        return points, *grid_cells(CELLS + 1, CELLS + 1)
    x, y, z = picture.vertices[picture.triangles].mean(axis=1).T
    angles = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x) % (2 * np.pi)
    wide = np.pi * CHEQUER / CELLS, 2 * np.pi * CHEQUER / CELLS
    colour = sum((a // w).astype(int) for a, w in zip(angles, wide, strict=True)) % 2
    return picture.vertices, picture.triangles[:, [0, 1, 2, 2]], np.asarray(colour)


def surface_points(surface: Surface, box: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """
    Return points of the first chart of a surface on a grid.

    Parameters
    ----------
    surface
        The surface.
    box
        Least and greatest u and v, shape (2, 2).
    count
        Points along each coordinate.

    Returns
    -------
    NDArray
        In the frame of the body [m], shape (count, count, 3).

    """
    uv = np.linspace(box[0], box[1], count)
    grid = np.stack(np.meshgrid(uv[:, 0], uv[:, 1], indexing='ij'), axis=-1).reshape(-1, 2)
    f = surface.numeric().map(len(grid))
    values = np.tile(np.asarray(surface.parameter_values)[:, None], (1, len(grid)))
    return np.array(f(grid.T, values)[0]).T.reshape(count, count, 3)


def grid_cells(rows: int, columns: int) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """
    Return the cells of a grid of points, chequered.

    Parameters
    ----------
    rows, columns
        Points of the grid along each direction.

    Returns
    -------
    corners
        Numbers of the points of each cell in the order of its edge, seen from where the surface's
        normal points to, shape (N, 4).
    colour
        0 or 1 for each cell, shape (N,).

    """
    i, j = (
        a.ravel() for a in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing='ij')
    )
    first = i * columns + j
    corners = np.column_stack([first, first + columns, first + columns + 1, first + 1])
    return corners, (i // CHEQUER + j // CHEQUER) % 2

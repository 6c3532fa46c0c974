"""Points of a surface on a grid, and the cells between them: what every drawing starts from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.surfaces.surface import Surface

CELLS = 24  # of a mesh along each direction
CHEQUER = 3  # cells of a square of the pattern that shows the rolling


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

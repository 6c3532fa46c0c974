"""Files of meshes: mass properties, the smooth convex body closest to one, and what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
import io
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need
from rolling_dynamics.regular_file import read_regular
from rolling_dynamics.surfaces.support import fit_support

if TYPE_CHECKING:
    from trimesh import Trimesh

SUFFIXES = ('stl', 'obj', 'ply', 'off')
MAX_BYTES = 50_000_000
MAX_DRAWN = 3000  # triangles of a picture
FINE = 100  # cells along the longest side of a picture that is made coarser
COARSE = (8, 5, 3)  # triangles there, that a chequer may be seen: as many as can be


def read_mesh(path: Path, unit: float, degree: int) -> dict[str, Any]:
    """
    Return what is made of a closed mesh, as the entry ``fit`` of a surface of ``kind: mesh``.

    Parameters
    ----------
    path
        STL, OBJ, PLY or OFF.
    unit
        Length of a unit of the file [m].
    degree
        Greatest degree of the spherical harmonics.

    Raises
    ------
    ParameterError
        The file cannot be read, holds no closed mesh, or trimesh is not installed.
    SurfaceError
        No smooth convex body of this degree is close to it.

    """
    need('mesh', 'trimesh')
    import trimesh  # noqa: PLC0415  optional, and rarely needed

    kind = path.suffix.lower().lstrip('.')
    if kind not in SUFFIXES:
        raise ParameterError(f'{path}: {" or ".join(SUFFIXES)} is needed')
    try:
        mesh: Any = trimesh.load_mesh(io.BytesIO(read_regular(path, MAX_BYTES)), file_type=kind)
        closed = mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0
    except (ParameterError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  whatever its readers raise on damaged files
        raise ParameterError(f'{path}: cannot be read as {kind}: {error}') from None
    if not closed:
        raise ParameterError(
            f'{path}: the mesh is not closed, so that its centre of mass is not known; repair it '
            'with trimesh or MeshLab'
        )
    mesh.apply_scale(unit)
    mesh.density = 1.0 / mesh.volume
    centre = np.array(mesh.center_mass)
    fit = fit_support(np.array(mesh.convex_hull.vertices) - centre, degree)
    return {
        'coefficients': fit.coefficients.tolist(),
        'error': fit.error,
        'centre': centre.tolist(),
        'volume': float(mesh.volume),
        'inertia': np.array(mesh.moment_inertia).tolist(),
        **_drawn(mesh, centre),
    }


def _drawn(mesh: Trimesh, centre: NDArray[np.float64]) -> dict[str, Any]:
    """Return the mesh about its centre of mass, as coarse and as fine as its picture needs."""
    drawn, cells = mesh.copy(), FINE
    size = float(np.ptp(mesh.vertices, axis=0).max())
    while len(drawn.faces) > MAX_DRAWN:  # vertices of one cell become one
        drawn = mesh.copy()
        drawn.vertices = np.round(drawn.vertices * (cells / size)) * (size / cells)
        drawn.merge_vertices()
        drawn.update_faces(drawn.nondegenerate_faces() & drawn.unique_faces())
        cells = cells * 3 // 4
    finer: Iterator[Any] = (drawn.subdivide_to_size(size / cells) for cells in COARSE)
    drawn = next((m for m in finer if len(m.faces) <= MAX_DRAWN), drawn)
    drawn.remove_unreferenced_vertices()
    decimals = 6 - math.ceil(math.log10(size))
    return {
        'vertices': np.round(drawn.vertices - centre, decimals).tolist(),
        'triangles': drawn.faces.tolist(),
    }

"""Meshes of bodies: the file, and the section that names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import io
import math
from pathlib import Path
from typing import Any, Literal, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.errors import ParameterError, ScenarioError, SurfaceError
from rolling_dynamics.extras import need
from rolling_dynamics.scenario.fields import (
    array,
    entry,
    note,
    numbers,
    quantity,
    Section,
    tensors,
    vector,
    whole,
)
from rolling_dynamics.scenario.surface_section import Edges, Pole, SURFACES, SurfaceSection
from rolling_dynamics.surfaces.support import fit_support, HarmonicBody, MAX_DEGREE
from rolling_dynamics.surfaces.surface import Picture, Surface

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


class Fit(Section):
    """What was made of the mesh; with it the file is not opened any more."""

    coefficients: Array = numbers(
        'of the support function in real spherical harmonics',
        'm',
        count=(9, (MAX_DEGREE + 1) ** 2),
    )
    error: float = quantity('maximum distance from the hull of the mesh', 'm', least=0)
    centre: Array = vector('centre of mass, in the frame of the file', 'm')
    volume: float = quantity('volume', 'm^3', positive=True)
    inertia: Array = entry(tensors(), 'inertia of the solid for 1 kg', 'm^2')
    vertices: Array | None = numbers(
        'of the mesh that is drawn', 'm', of=array(count=3), count=(4, None), default=None
    )
    triangles: Array | None = numbers(
        'numbers of their vertices', of=array(count=3), count=(4, None), default=None
    )

    def picture(self) -> Picture | None:
        """Return what is drawn; None for the smooth body."""
        if self.vertices is None or self.triangles is None:
            return None
        triangles = self.triangles.astype(np.int64)
        if not np.isin(self.triangles, np.arange(len(self.vertices))).all():
            raise SurfaceError(
                f'fit.triangles: must be numbers of vertices, 0 to {len(self.vertices) - 1}'
            )
        return Picture(self.vertices, triangles)


@SURFACES.add
class MeshSection(SurfaceSection):
    """The smooth convex body closest to a mesh; u, v are the angles of its outward normal."""

    kind: Literal['mesh']
    file: str = note('STL, OBJ, PLY or OFF, from the folder of the scenario')
    unit: float = quantity('length of a unit of the file', 'm', positive=True, default=1e-3)
    degree: int = whole(
        'maximum degree of the spherical harmonics', least=2, most=MAX_DEGREE, default=8
    )
    pole: Pole = note('axis of the poles of the chart', default='z')
    fit: Fit | None = note('what was made of it, filled in where the file is read', default=None)

    def surface(self, edges: Edges) -> Surface:
        """Return the surface; its origin lies in the centre of mass."""
        del edges
        return HarmonicBody(self._fit.coefficients, pole=self.pole, picture=self._fit.picture())

    def volume(self) -> float:
        """Return the volume of the mesh [m^3]."""
        return self._fit.volume

    def solid_inertia(self, mass: float) -> Array:
        """Return the inertia matrix of the mesh, filled [kg m^2]."""
        return mass * self._fit.inertia

    @property
    def _fit(self) -> Fit:
        if self.fit is None:
            raise SurfaceError(
                f'file: {self.file!r} is read where the scenario itself is a file; give `fit` here'
            )
        return self.fit


def with_meshes(document: dict[str, Any], folder: Path) -> None:
    """
    Add to each surface of ``kind: mesh`` what is made of its file.

    Parameters
    ----------
    document
        Scenario that was read from a file; it is changed. What does not fit the model is left to
        its check.
    folder
        Where relative paths begin.

    Raises
    ------
    ScenarioError
        A file cannot be read, holds no closed mesh, or trimesh is not installed.

    """
    for name, body in document.items():
        surface = body.get('surface') if isinstance(body, Mapping) else None
        if not isinstance(surface, dict) or surface.get('kind') != 'mesh' or 'fit' in surface:
            continue
        try:
            section = MeshSection.model_validate(surface)
        except ValidationError:
            continue
        try:
            surface['fit'] = read_mesh(folder / section.file, section.unit, section.degree)
        except (ParameterError, SurfaceError) as error:
            raise ScenarioError(f'{name}.surface.file: {error}') from None

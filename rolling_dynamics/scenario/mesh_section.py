"""A surface that is given by a mesh: the smooth convex body closest to its convex hull."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, ScenarioError, SurfaceError
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
from rolling_dynamics.scenario.mesh_file import read_mesh
from rolling_dynamics.scenario.surface_section import Edges, Pole, SURFACES, SurfaceSection
from rolling_dynamics.surfaces.support import HarmonicBody, MAX_DEGREE
from rolling_dynamics.surfaces.surface import Picture, Surface


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

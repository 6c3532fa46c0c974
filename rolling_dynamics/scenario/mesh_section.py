"""A surface that is given by a mesh: the smooth convex body closest to its convex hull."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
import io
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError
from rolling_dynamics.errors import ParameterError, ScenarioError, SurfaceError
from rolling_dynamics.regular_file import read_regular
from rolling_dynamics.scenario.entry import Array, Tensor
from rolling_dynamics.scenario.fields import entry, note, numbers, quantity, vector, whole
from rolling_dynamics.scenario.model import Section
from rolling_dynamics.scenario.surface_section import Edges, Pole, SURFACES, SurfaceSection
from rolling_dynamics.surfaces.harmonic import HarmonicBody
from rolling_dynamics.surfaces.support_fit import fit_support, MAX_DEGREE
from rolling_dynamics.surfaces.surface import Surface

SUFFIXES = ('stl', 'obj', 'ply', 'off')
MAX_BYTES = 50_000_000


class Fit(Section):
    """What was made of the mesh; with it the file is not opened any more."""

    coefficients: Array = numbers(
        'of the support function in real spherical harmonics',
        'm',
        count=(9, (MAX_DEGREE + 1) ** 2),
    )
    error: float = quantity('greatest distance from the hull of the mesh', 'm', least=0)
    centre: Array = vector('centre of mass, in the frame of the file', 'm')
    volume: float = quantity('volume', 'm^3', positive=True)
    inertia: Array = entry(Tensor('inertia of the solid for 1 kg', 'm^2'))


@SURFACES.add
class MeshSection(SurfaceSection):
    """The smooth convex body closest to a mesh; u, v are the angles of its outward normal."""

    kind: Literal['mesh']
    file: str = note('STL, OBJ, PLY or OFF, from the folder of the scenario')
    unit: float = quantity('length of a unit of the file', 'm', positive=True, default=1e-3)
    degree: int = whole(
        'greatest degree of the spherical harmonics', least=2, most=MAX_DEGREE, default=8
    )
    pole: Pole = note('axis of the poles of the chart', default='z')
    fit: Fit | None = note('what was made of it, filled in where the file is read', default=None)

    def surface(self, edges: Edges) -> Surface:
        """Return the surface; its origin lies in the centre of mass."""
        del edges
        return HarmonicBody(self._fit.coefficients, pole=self.pole)

    def volume(self) -> float:
        """Return the volume of the mesh [m^3]."""
        return self._fit.volume

    def solid_inertia(self, mass: float) -> Array:
        """Return the inertia of the mesh, filled [kg m^2]."""
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
            surface['fit'] = _fit_file(folder / section.file, section)
        except (ParameterError, SurfaceError) as error:
            raise ScenarioError(f'{name}.surface.file: {error}') from None


def _fit_file(path: Path, section: MeshSection) -> dict[str, Any]:
    if find_spec('trimesh') is None:
        raise ParameterError("a mesh needs trimesh; install it with `pip install '.[mesh]'`")
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
    mesh.apply_scale(section.unit)
    mesh.density = 1.0 / mesh.volume
    centre = np.array(mesh.center_mass)
    fit = fit_support(np.array(mesh.convex_hull.vertices) - centre, section.degree)
    return {
        'coefficients': fit.coefficients.tolist(),
        'error': fit.error,
        'centre': centre.tolist(),
        'volume': float(mesh.volume),
        'inertia': np.array(mesh.moment_inertia).tolist(),
    }

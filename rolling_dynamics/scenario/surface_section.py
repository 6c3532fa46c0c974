"""Section ``surface`` of a body: a model for each type, meshes too; packages add others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import io
import math
from pathlib import Path
import re
from typing import Any, Literal, TYPE_CHECKING

import numpy as np
from pydantic import model_validator, ValidationError
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.errors import ParameterError, ScenarioError, SurfaceError
from rolling_dynamics.extras import need
from rolling_dynamics.inertia import solid_ellipsoid_inertia
from rolling_dynamics.scenario.fields import (
    array,
    entry,
    Kinds,
    note,
    Number,
    numbers,
    pair,
    quantity,
    refused,
    Section,
    tensors,
    Term,
    terms,
    vector,
    whole,
)
from rolling_dynamics.surfaces import Cylinder, Ellipsoid, ExpressionSurface, Plane, Sphere, Torus
from rolling_dynamics.surfaces.support import fit_support, HarmonicBody, MAX_DEGREE
from rolling_dynamics.surfaces.surface import Picture, Surface, UNBOUNDED

if TYPE_CHECKING:
    from trimesh import Trimesh


SURFACES = Kinds('surface')
NAME = re.compile('[A-Za-z][A-Za-z0-9_]*')
Side = Literal['outside', 'inside']
Pole = Literal['x', 'y', 'z']


class Edges(Section):
    """Edges of the hand, in its chart coordinates."""

    u: Array | None = pair('minimum and maximum u', default=None)
    v: Array | None = pair('minimum and maximum v', default=None)

    @model_validator(mode='after')
    def _increasing(self) -> Edges:
        check_ranges(self, 'u', 'v')
        return self

    def bounds(self) -> Array:
        """
        Return u_min, u_max, v_min, v_max, infinite where there is no edge; shape (4,).

        Their units are the chart's: m of a plane, rad of an angle.
        """
        return np.array([*bounds(self.u), *bounds(self.v)])


def check_ranges(section: Section, *keys: str) -> None:
    """Reject ranges of a section that do not increase."""
    for key in keys:
        low, high = bounds(getattr(section, key))
        if not low < high:
            raise refused(f'must increase, got [{low:g}, {high:g}]', key)


def bounds(given: Array | None) -> tuple[float, float]:
    """
    Return the minimum and the maximum of a vector of two, in its unit.

    Unbounded if there is none.
    """
    low, high = UNBOUNDED if given is None else given
    return float(low), float(high)


def sphere_volume(radius: float) -> float:
    """Return the volume of a sphere [m^3] of a radius [m]."""
    return 4 / 3 * math.pi * radius**3


class SurfaceSection(Section):
    """A surface; subclasses have a field ``kind: Literal['name']``."""

    def surface(self, edges: Edges) -> Surface:
        """Return the surface, which ends at its edges if it ends anywhere."""
        raise NotImplementedError

    def solid(self, mass: float) -> tuple[float, Array] | None:  # noqa: ARG002
        """Return volume [m^3] and inertia matrix [kg m^2] of the body inside, if it is known."""
        return None


@SURFACES.add
class SphereSection(SurfaceSection):
    """(u, v) -> radius (sin u cos v, sin u sin v, cos u), 0 < u < pi, for the pole z."""

    kind: Literal['sphere']
    radius: float = quantity('radius', 'm', positive=True)
    side: Side = note('where the other body touches', default='outside')
    pole: Pole = note('axis of the poles of the first chart', default='z')

    def surface(self, edges: Edges) -> Surface:  # noqa: ARG002
        """Return the surface."""
        return Sphere(self.radius, side=self.side, pole=self.pole)

    def solid(self, mass: float) -> tuple[float, Array] | None:
        """Return volume [m^3] and inertia matrix [kg m^2] of the ball."""
        r = self.radius
        return sphere_volume(r), solid_ellipsoid_inertia(mass, r, r, r)


@SURFACES.add
class EllipsoidSection(SurfaceSection):
    """(u, v) -> (a sin u cos v, b sin u sin v, c cos u), 0 < u < pi, for the pole z."""

    kind: Literal['ellipsoid']
    a: float = quantity('semi-axis along x', 'm', positive=True)
    b: float = quantity('semi-axis along y', 'm', positive=True)
    c: float = quantity('semi-axis along z', 'm', positive=True)
    side: Side = note('where the other body touches', default='outside')
    pole: Pole = note('axis of the poles of the first chart', default='z')

    def surface(self, edges: Edges) -> Surface:  # noqa: ARG002
        """Return the surface."""
        return Ellipsoid(self.a, self.b, self.c, side=self.side, pole=self.pole)

    def solid(self, mass: float) -> tuple[float, Array] | None:
        """Return volume [m^3] and inertia matrix [kg m^2] of the ellipsoid."""
        a, b, c = self.a, self.b, self.c
        return 4 / 3 * math.pi * a * b * c, solid_ellipsoid_inertia(mass, a, b, c)


@SURFACES.add
class CylinderSection(SurfaceSection):
    """(u, v) -> (radius cos u, radius sin u, v)."""

    kind: Literal['cylinder']
    radius: float = quantity('radius', 'm', positive=True)
    side: Side = note('where the other body touches', default='outside')

    def surface(self, edges: Edges) -> Surface:
        """Return the surface."""
        return Cylinder(self.radius, side=self.side, v_bounds=bounds(edges.v))


@SURFACES.add
class TorusSection(SurfaceSection):
    """(u, v) -> ((major + minor cos u) cos v, (major + minor cos u) sin v, -minor sin u)."""

    kind: Literal['torus']
    major: float = quantity('radius of the circle of centres', 'm', positive=True)
    minor: float = quantity('radius of the tube, less than `major`', 'm', positive=True)
    side: Side = note('where the other body touches', default='outside')

    def surface(self, edges: Edges) -> Surface:  # noqa: ARG002
        """Return the surface."""
        return Torus(self.major, self.minor, side=self.side)

    def solid(self, mass: float) -> tuple[float, Array] | None:
        """Return volume [m^3] and inertia matrix [kg m^2] of the torus."""
        across = mass * (self.major**2 / 2 + 5 * self.minor**2 / 8)
        inertia = np.diag([across, across, mass * (self.major**2 + 3 * self.minor**2 / 4)])
        return 2 * math.pi**2 * self.major * self.minor**2, inertia


@SURFACES.add
class PlaneSection(SurfaceSection):
    """(u, v) -> (u, v, 0), normal +z."""

    kind: Literal['plane']

    def surface(self, edges: Edges) -> Surface:
        """Return the surface."""
        return Plane(u_bounds=bounds(edges.u), v_bounds=bounds(edges.v))


@SURFACES.add
class ExpressionSection(SurfaceSection):
    """(u, v) -> position, as formulas; F_u x F_v points out of the material."""

    kind: Literal['expression']
    position: list[Term] = terms(
        'formulas of x, y, z in `u`, `v` and the names of `dimensions`', 'm', count=3
    )
    dimensions: Mapping[str, Number] = note('dimensions by name', 'm', default={})
    support: str = note(
        'formula h(nx, ny, nz) of the support function of a convex body, homogeneous of degree '
        '1; with it an object has no chart singularities',
        default='',
    )
    side: Side = note('where the other body touches', default='outside')
    u_bounds: Array | None = pair('minimum and maximum u of the chart', default=None)
    v_bounds: Array | None = pair('minimum and maximum v of the chart', default=None)
    u_period: float | None = quantity('period of u, if it has one', positive=True, default=None)
    v_period: float | None = quantity('period of v, if it has one', positive=True, default=None)

    @model_validator(mode='after')
    def _checked(self) -> ExpressionSection:
        check_ranges(self, 'u_bounds', 'v_bounds')
        for name in self.dimensions:
            if not NAME.fullmatch(name):
                raise refused(
                    f'{name!r} is not a name: a letter, then letters and digits', 'dimensions'
                )
        return self

    def surface(self, edges: Edges) -> Surface:  # noqa: ARG002
        """Return the surface."""
        return ExpressionSurface(
            self.position,
            parameters=dict(self.dimensions),
            support=self.support if 'support' in self.given else None,
            side=self.side,
            u_bounds=bounds(self.u_bounds),
            v_bounds=bounds(self.v_bounds),
            periods=(self.u_period, self.v_period),
        )


SUFFIXES = ('stl', 'obj', 'ply', 'off')
MAX_BYTES = 50_000_000
MAX_DRAWN = 3000  # triangles of a picture
FINE = 100  # cells along the longest side of a picture that is made coarser
COARSE = (8, 5, 3)  # triangles there, so that a chequer is visible: as many as possible


def read_mesh(path: Path, unit: float, degree: int) -> dict[str, Any]:
    """
    Return the fit of a closed mesh, as the entry ``fit`` of a surface of ``kind: mesh``.

    Parameters
    ----------
    path
        STL, OBJ, PLY or OFF.
    unit
        Length of a unit of the file [m].
    degree
        Maximum degree of the spherical harmonics.

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


def _drawn(mesh: Trimesh, centre: Array) -> dict[str, Any]:
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
    """Surface that was fitted to the mesh; with it the file is not opened any more."""

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
        """Return the drawn mesh; None for the smooth body."""
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

    def surface(self, edges: Edges) -> Surface:  # noqa: ARG002
        """Return the surface; its origin lies in the centre of mass."""
        return HarmonicBody(self._fit.coefficients, pole=self.pole, picture=self._fit.picture())

    def solid(self, mass: float) -> tuple[float, Array] | None:
        """Return volume [m^3] and inertia matrix [kg m^2] of the mesh, filled."""
        return self._fit.volume, mass * self._fit.inertia

    @property
    def _fit(self) -> Fit:
        if self.fit is None:
            raise SurfaceError(
                f'file: {self.file!r} is read where the scenario itself is a file; give `fit` here'
            )
        return self.fit


def with_meshes(document: dict[str, Any], folder: Path) -> None:
    """
    Add the fit of its file to each surface of ``kind: mesh``.

    Parameters
    ----------
    document
        Scenario that was read from a file; it is changed. Entries that do not fit the model are
        left to its check.
    folder
        Folder of relative paths.

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

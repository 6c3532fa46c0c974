"""The ``surface`` of a body in a scenario: one model for each kind, to which others are added."""

from __future__ import annotations

from collections.abc import Mapping
import math
import re
from typing import Literal

import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.inertia import solid_ellipsoid_inertia
from rolling_dynamics.scenario.fields import (
    Kinds,
    note,
    Number,
    pair,
    quantity,
    refused,
    Section,
    Term,
    terms,
)
from rolling_dynamics.surfaces import Cylinder, Ellipsoid, ExpressionSurface, Plane, Sphere, Torus
from rolling_dynamics.surfaces.surface import Surface, UNBOUNDED

SURFACES = Kinds('surface')
NAME = re.compile('[A-Za-z][A-Za-z0-9_]*')
Side = Literal['outside', 'inside']
Pole = Literal['x', 'y', 'z']


class Edges(Section):
    """Where the hand ends, in its chart coordinates."""

    u: Array | None = pair('minimum and maximum u', default=None)
    v: Array | None = pair('minimum and maximum v', default=None)

    @model_validator(mode='after')
    def _increasing(self) -> Edges:
        check_ranges(self, 'u', 'v')
        return self

    def bounds(self) -> Array:
        """
        Return u_min, u_max, v_min, v_max, infinite where there is no edge; shape (4,).

        Their units are those of the chart: m of a plane, rad of an angle.
        """
        return np.array([*bounds(self.u), *bounds(self.v)])


def check_ranges(section: Section, *keys: str) -> None:
    """Refuse ranges of a section that do not increase."""
    for key in keys:
        low, high = bounds(getattr(section, key))
        if not low < high:
            raise refused(f'must increase, got [{low:g}, {high:g}]', key)


def bounds(given: Array | None) -> tuple[float, float]:
    """
    Return the least and the greatest of a vector of two, in its unit.

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

    def volume(self) -> float:
        """Return the volume of a body that is touched from outside [m^3], NaN if not known."""
        return math.nan

    def solid_inertia(self, mass: float) -> Array | None:
        """Return the inertia matrix of a homogeneous body [kg m^2], None if it is not known."""
        del mass
        return None


@SURFACES.add
class SphereSection(SurfaceSection):
    """(u, v) -> radius (sin u cos v, sin u sin v, cos u), 0 < u < pi, for the pole z."""

    kind: Literal['sphere']
    radius: float = quantity('radius', 'm', positive=True)
    side: Side = note('where the other body touches', default='outside')
    pole: Pole = note('axis of the poles of the first chart', default='z')

    def surface(self, edges: Edges) -> Surface:
        """Return the surface."""
        del edges
        return Sphere(self.radius, side=self.side, pole=self.pole)

    def volume(self) -> float:
        """Return the volume of the body [m^3]."""
        return sphere_volume(self.radius) if self.side == 'outside' else math.nan

    def solid_inertia(self, mass: float) -> Array | None:
        """Return the inertia matrix of the ball [kg m^2]."""
        r = self.radius
        return solid_ellipsoid_inertia(mass, r, r, r) if self.side == 'outside' else None


@SURFACES.add
class EllipsoidSection(SurfaceSection):
    """(u, v) -> (a sin u cos v, b sin u sin v, c cos u), 0 < u < pi, for the pole z."""

    kind: Literal['ellipsoid']
    a: float = quantity('semi-axis along x', 'm', positive=True)
    b: float = quantity('semi-axis along y', 'm', positive=True)
    c: float = quantity('semi-axis along z', 'm', positive=True)
    side: Side = note('where the other body touches', default='outside')
    pole: Pole = note('axis of the poles of the first chart', default='z')

    def surface(self, edges: Edges) -> Surface:
        """Return the surface."""
        del edges
        return Ellipsoid(self.a, self.b, self.c, side=self.side, pole=self.pole)

    def volume(self) -> float:
        """Return the volume of the body [m^3]."""
        solid = 4 / 3 * math.pi * self.a * self.b * self.c
        return solid if self.side == 'outside' else math.nan

    def solid_inertia(self, mass: float) -> Array | None:
        """Return the inertia matrix of the solid ellipsoid [kg m^2]."""
        outside = self.side == 'outside'
        return solid_ellipsoid_inertia(mass, self.a, self.b, self.c) if outside else None


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

    def surface(self, edges: Edges) -> Surface:
        """Return the surface."""
        del edges
        return Torus(self.major, self.minor, side=self.side)

    def volume(self) -> float:
        """Return the volume of the body [m^3]."""
        return 2 * math.pi**2 * self.major * self.minor**2 if self.side == 'outside' else math.nan

    def solid_inertia(self, mass: float) -> Array | None:
        """Return the inertia matrix of the solid torus [kg m^2]."""
        if self.side == 'inside':
            return None
        across = mass * (self.major**2 / 2 + 5 * self.minor**2 / 8)
        return np.diag([across, across, mass * (self.major**2 + 3 * self.minor**2 / 4)])


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

    def surface(self, edges: Edges) -> Surface:
        """Return the surface."""
        del edges
        return ExpressionSurface(
            self.position,
            parameters=dict(self.dimensions),
            support=self.support if 'support' in self.given else None,
            side=self.side,
            u_bounds=bounds(self.u_bounds),
            v_bounds=bounds(self.v_bounds),
            periods=(self.u_period, self.v_period),
        )

"""The ``surface`` of a body in a scenario."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact.inertia import solid_ellipsoid_inertia
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.surfaces import Cylinder, Ellipsoid, ExpressionSurface, Plane, Sphere, Torus
from rolling_dynamics.surfaces.surface import Surface, UNBOUNDED

Range = tuple[float, float]


def read_range(section: Section, key: str) -> Range:
    """Return an entry of two increasing numbers, unbounded if it is not there."""
    low, high = section.numbers(key, UNBOUNDED)
    if not low < high:
        raise section.fail(key, f'must increase, got [{low:g}, {high:g}]')
    return float(low), float(high)


def _sphere(s: Section, _: Section) -> Surface:
    return Sphere(s.number('radius'), side=s.get('side', 'outside'), pole=s.get('pole', 'z'))


def _ellipsoid(s: Section, _: Section) -> Surface:
    axes = (s.number(k) for k in 'abc')
    return Ellipsoid(*axes, side=s.get('side', 'outside'), pole=s.get('pole', 'z'))


def _cylinder(s: Section, edges: Section) -> Surface:
    return Cylinder(
        s.number('radius'), side=s.get('side', 'outside'), v_bounds=read_range(edges, 'v')
    )


def _torus(s: Section, _: Section) -> Surface:
    return Torus(s.number('major'), s.number('minor'), side=s.get('side', 'outside'))


def _plane(_: Section, edges: Section) -> Surface:
    return Plane(u_bounds=read_range(edges, 'u'), v_bounds=read_range(edges, 'v'))


def _period(s: Section, key: str) -> float | None:
    return s.number(key) if key in s else None


def _expression(s: Section, _: Section) -> Surface:
    dimensions = s.section('dimensions')
    return ExpressionSurface(
        s['position'],
        parameters={k: dimensions.number(k) for k in dimensions.values},
        support=s.get('support'),
        side=s.get('side', 'outside'),
        u_bounds=read_range(s, 'u_bounds'),
        v_bounds=read_range(s, 'v_bounds'),
        periods=(_period(s, 'u_period'), _period(s, 'v_period')),
    )


KINDS: dict[str, Callable[[Section, Section], Surface]] = {
    'sphere': _sphere,
    'ellipsoid': _ellipsoid,
    'cylinder': _cylinder,
    'torus': _torus,
    'plane': _plane,
    'expression': _expression,
}


def read_surface(body: Section, edges: Section | None = None) -> Surface:
    """
    Return the surface of a body.

    Parameters
    ----------
    body
        The body's section, with the entry ``surface``.
    edges
        Section with the ranges ``u`` and ``v`` in which the body ends.

    """
    section = body.section('surface')
    with located(section.path):
        return KINDS[section['kind']](section, edges or Section({}, ''))


def _solid_torus(mass: float, major: float, minor: float) -> NDArray[np.float64]:
    across = mass * (major**2 / 2 + 5 * minor**2 / 8)
    return np.diag([across, across, mass * (major**2 + 3 * minor**2 / 4)])


SOLIDS: dict[str, Callable[..., NDArray[np.float64]]] = {
    'sphere': lambda mass, r: solid_ellipsoid_inertia(mass, r, r, r),
    'ellipsoid': solid_ellipsoid_inertia,
    'torus': _solid_torus,
}


def read_inertia(body: Section, surface: Surface) -> NDArray[np.float64]:
    """Return the inertia of a body, a number, 3 or 3x3; ``solid`` from its surface."""
    if body['inertia'] != 'solid':
        try:
            return body.numbers('inertia')
        except ScenarioError as e:
            raise ScenarioError(f"{e}; or write 'solid'") from None
    if surface.name not in SOLIDS or surface.side != 'outside':
        raise body.fail(
            'inertia',
            f"'solid' is known for {', '.join(SOLIDS)}, touched from outside; give the "
            f'moments of inertia of this {surface.name} as numbers',
        )
    return SOLIDS[surface.name](body.number('mass'), *surface.parameter_values)


def read_edges(edges: Section) -> list[float]:
    """Return u_min, u_max, v_min, v_max, infinite where there is no edge."""
    return [value for key in 'uv' for value in read_range(edges, key)]

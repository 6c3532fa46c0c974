"""What may be written and is hardly meant, such as millimetres for metres: asked, not refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import Any

from rolling_dynamics.scenario.formulas import number
from rolling_dynamics.scenario.registry import schema_of
from rolling_dynamics.scenario.section import Section
from rolling_dynamics.scenario.validation import entry_path

SMALLEST, LARGEST = 1e-4, 10.0  # of a body [m]
LIGHTEST, DENSEST = 0.08, 22_600.0  # hydrogen and osmium [kg/m^3]


def doubts(document: Mapping[str, Any]) -> list[str]:
    """
    Return questions about a scenario that was read, each beginning with the path of an entry.

    Parameters
    ----------
    document
        The scenario as plain data.

    """
    out = [
        f'{path}: is {value:g} m meant? Lengths are in metres; 100 mm is 0.1'
        for path, value in _lengths(schema_of(document), document, '')
        if not SMALLEST <= value <= LARGEST
    ]
    for path, mass, volume in _bodies(Section(document)):
        if volume > 0 and not LIGHTEST <= mass / volume <= DENSEST and mass > 0:
            out.append(
                f'{path}: is {mass:g} kg meant? With its size that is {mass / volume:.3g} kg/m^3, '
                f'and matter has {LIGHTEST:g} to {DENSEST:g}; masses are in kg, lengths in metres'
            )
    return out


def _lengths(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[tuple[str, float]]:  # noqa: ANN401
    """Yield path and value [m] of each entry that is the size of something."""
    if isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _lengths(schema.get('items', {}), inner, f'{path}[{k}]')
    elif isinstance(value, dict):
        known = dict(schema.get('properties', {}))
        for branch in schema.get('allOf', ()):  # of surfaces, by kind
            if branch['if']['properties']['kind']['const'] == value.get('kind'):
                known |= branch['then']['properties']
        for key, inner in value.items():
            yield from _lengths(known.get(key, {}), inner, entry_path([key], path))
    elif schema.get('unit') == 'm' and schema.get('exclusiveMinimum') == 0:
        yield path, number(value)


def _bodies(top: Section) -> Iterator[tuple[str, float, float]]:
    """Yield path of the mass, mass [kg] and volume [m^3] of each closed body."""
    body, ball, sphere = top.section('object'), top.section('ball'), top.section('sphere')
    if 'mass' in body:
        yield body.at('mass'), body.number('mass'), _volume(body.section('surface'))
    if 'mass' in ball:
        inside = sum(number(m['mass']) for m in top.get('masses', []))
        yield (
            ball.at('mass'),
            ball.number('mass') + inside,
            _ellipsoid(*3 * [ball.number('radius')]),
        )
    if 'shell_mass' in sphere:
        mass = sphere.number('shell_mass') + sphere.number('pendulum_mass')
        yield sphere.at('shell_mass'), mass, _ellipsoid(*3 * [sphere.number('shell_radius')])


def _ellipsoid(a: float, b: float, c: float) -> float:
    return 4 / 3 * math.pi * a * b * c


def _volume(surface: Section) -> float:
    """Return the volume of a solid [m^3], NaN where it is not known."""
    if surface.get('side', 'outside') == 'outside':
        if surface['kind'] == 'sphere':
            return _ellipsoid(*3 * [surface.number('radius')])
        if surface['kind'] == 'ellipsoid':
            return _ellipsoid(*(surface.number(k) for k in 'abc'))
        if surface['kind'] == 'torus':
            return 2 * math.pi**2 * surface.number('major') * surface.number('minor') ** 2
    return math.nan

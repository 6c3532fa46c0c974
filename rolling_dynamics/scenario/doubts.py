"""What may be written and is hardly meant, such as millimetres for metres: asked, not refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rolling_dynamics.scenario.faults import check, entry_path
from rolling_dynamics.scenario.formulas import number
from rolling_dynamics.scenario.json_schema import entries_of, schema_of
from rolling_dynamics.scenario.registry import model_of

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
    model = model_of(document)
    out = [
        f'{path}: is {value:g} m meant? Lengths are in metres; 100 mm is 0.1'
        for path, value in _lengths(schema_of(model), document, '')
        if not SMALLEST <= value <= LARGEST
    ]
    for path, mass, volume in check(model, document).bodies():
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
        known = entries_of(schema, value)
        for key, inner in value.items():
            yield from _lengths(known.get(key, {}), inner, entry_path((key,), path))
    elif schema.get('unit') == 'm' and schema.get('exclusiveMinimum') == 0:
        yield path, number(value)

"""Parameters of a scenario as sliders: bounds, and the scenario's error beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.control import number
from rolling_dynamics.scenario.faults import check, entries_of, schema_of
from rolling_dynamics.scenario.scenario import model_of
from rolling_robotics.page.modes import Data

MOST = 6  # components of an entry that has sliders: maps of a plate have hundreds
REACH = 4.0  # a slider without bounds goes from a fourth of its value to four times as much
FAR = 1e5  # values beyond mean no bound
BEYOND = 987654321.0  # a value that triggers the scenario's error text
Path = tuple[str, ...]


def sliders_of(scenario: Scenario) -> list[Data | None]:
    """Return name, unit, text and bounds of each parameter; None of one without a slider."""
    raw, out = scenario.raw, []
    leaves = list(_leaves(raw))
    schema = schema_of(model_of(raw))
    for entry in scenario.system.parameters.entries:
        values = scenario.p[scenario.system.parameters.slice(entry.name)].tolist()
        for name, value in zip(entry.components, values, strict=True):
            path = next((p for p, v in leaves if name.endswith(p[-1]) and v == value), None)
            shown = entry.size <= MOST and abs(value) < FAR and (value != 0 or path is not None)
            bounds = {} if path is None else _bounds(schema, raw, path)
            low, high = bounds.get('minimum'), bounds.get('maximum')
            start = min(value * REACH, 0.0) if value < 0 else low or value / REACH
            data = {
                'name': name,
                'unit': entry.unit,
                'text': entry.text,
                'least': low,
                'most': high,
                'from': start,
                'to': high if high is not None else max(REACH * value, 0.0) or 1.0,
                'entry': '.'.join(path or ()),
                'says': [_said(raw, path, v) for v in (-BEYOND, BEYOND)] if path else ['', ''],
            }
            out.append(data if shown else None)
    return out


def _leaves(raw: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, float]]:
    """Yield the numbers in a scenario, with their paths."""
    for key, value in raw.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        elif isinstance(value, (int, float, str)) and not isinstance(value, bool):
            try:
                yield (*path, key), number(value)
            except (ScenarioError, ValueError):
                continue


def _bounds(schema: Data, raw: Mapping[str, Any], path: Path) -> Data:
    """Return minimum and maximum of an entry, from its JSON Schema."""
    value: Any = raw
    for key in path:
        schema = entries_of(schema, value).get(key, {})
        value = value[key]
    for part in (schema, *schema.get('anyOf', ())):
        low = part.get('minimum', part.get('exclusiveMinimum'))
        if low is not None or 'maximum' in part:
            return {'minimum': low, 'maximum': part.get('maximum')}
    return {}


def _said(raw: Mapping[str, Any], path: Path, value: float) -> str:
    """Return the scenario's error for a value, the value as ``{}``; empty for a valid one."""
    changed: Any = deepcopy(dict(raw))
    section = changed
    for key in path[:-1]:
        section = section[key]
    section[path[-1]] = value
    try:
        check(model_of(changed), changed)
    except ScenarioError as e:
        return str(e).replace(str(value), '{}').replace(f'{value:g}', '{}')
    return ''

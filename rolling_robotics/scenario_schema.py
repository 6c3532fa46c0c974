"""The JSON Schema of scenario files, of which an editor makes completion and hints."""

from __future__ import annotations

from typing import Any

from rolling_dynamics.plugin import roles
from rolling_dynamics.scenario.json_schema import Json, schema_of
from rolling_planner.planners.planner import general_planner
from rolling_robotics.sweep.points import SweepSection

DIALECT = 'https://json-schema.org/draft/2020-12/schema'


def scenario_schema() -> Json:
    """Return one schema for the scenarios of all systems that are installed."""
    defs: Json = {}
    planners = dict(roles('planner'))
    for name, model in roles('scenario'):
        planner = planners.get(name) or general_planner()
        own = {'sweep': schema_of(SweepSection), 'plan': schema_of(planner.section)}
        schema = schema_of(model)
        defs[name] = _with_units(schema | {'properties': schema['properties'] | own})
    return {
        '$schema': DIALECT,
        'title': 'Scenario of the rolling suite',
        'type': 'object',
        'required': ['system'],
        'properties': {'system': {'enum': list(defs), 'description': 'kind of rolling system'}},
        'allOf': [
            {
                'if': {'required': ['system'], 'properties': {'system': {'const': name}}},
                'then': {'$ref': f'#/$defs/{name}'},
            }
            for name in defs
        ],
        '$defs': defs,
    }


def _with_units(schema: Any) -> Any:  # noqa: ANN401  parts of a schema
    """Return a schema whose sentences end with the unit: editors show sentences only."""
    if isinstance(schema, list):
        return [_with_units(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _with_units(part) for key, part in schema.items()}
    if isinstance(unit := out.get('unit'), str):
        out['description'] = f'{out.get("description", "")} [{unit}]'.strip()
    return out

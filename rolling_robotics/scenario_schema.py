"""JSON Schema of scenarios, and the tables of entries in the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import sys
from typing import Any

from rolling_dynamics.plugin import roles
from rolling_dynamics.scenario.faults import Json, schema_of
from rolling_planner.planners.planner import general_planner
from rolling_planner.problem import PlanProblem
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


HEAD = '| entry | takes | unit | meaning |\n|---|---|---|---|'
MARK = re.compile(r'(<!-- table: (\S+) -->\n).*?(<!-- end -->)', re.DOTALL)


def tables() -> dict[str, str]:
    """Return each table of the document by name: one for each system, surfaces, plan, sweep."""
    schemas = {name: schema_of(model) for name, model in roles('scenario')}
    out = {name: _table(schema, '') for name, schema in schemas.items()}
    hand = schemas['contact']['properties']['hand']
    mass = schemas['point_mass_ball']['properties']['masses']['items']
    out['surface'] = _kinds_table(hand['properties']['surface'])
    out['rail'] = _kinds_table(mass['properties']['rail'])
    machine = schemas['machine']['properties']['machine']['properties']
    for name, entry in (
        ('part', 'bodies'),
        ('joint', 'joints'),
        ('drive', 'drives'),
        ('sensor', 'sensors'),
    ):
        out[name] = _kinds_table(machine[entry]['additionalProperties'])
    out['ring'] = _table(machine['rings']['additionalProperties'], '')
    out['machine_contact'] = _table(machine['contacts']['additionalProperties'], '')
    out['plan'] = _table(schema_of(PlanProblem), 'plan')
    out['sweep'] = _table(schema_of(SweepSection), 'sweep')
    return out


def updated(text: str) -> str:
    """Return a document with its tables written again."""
    known = tables()
    return MARK.sub(lambda m: f'{m[1]}{known[m[2]]}\n{m[3]}', text)


def _table(schema: Json, prefix: str) -> str:
    return '\n'.join([HEAD, *_rows(schema, prefix)])


def _kinds_table(schema: Json) -> str:
    rows = [HEAD]
    for branch in schema['allOf']:
        kind = branch['if']['properties']['kind']['const']
        then = branch['then']
        rows.append(f'| `kind: {kind}` | | | {_text(then)} |')
        rows += [
            _row(f'`{name}`', sub, name in then.get('required', ()))
            for name, sub in then['properties'].items()
            if name != 'kind'
        ]
    return '\n'.join(rows)


def _rows(schema: Json, prefix: str) -> Iterator[str]:
    """Yield the rows of a mapping, rows of a mapping inside below its own."""
    for name, sub in schema.get('properties', {}).items():
        path = f'{prefix}.{name}' if prefix else name
        yield _row(f'`{path}`', sub, name in schema.get('required', ()))
        if name not in ('attitude', 'surface'):  # they have their own table
            yield from _rows(sub, path)


def _row(path: str, schema: Json, required: bool) -> str:
    need = ' (needed)' if required else ''
    return f'| {path}{need} | {_takes(schema)} | {_unit(schema)} | {_text(schema)} |'


def _unit(schema: Json) -> str:
    return str(schema.get('unit', ''))


def _text(schema: Json) -> str:
    text = ' '.join(str(schema.get('description', '')).split())
    if 'default' in schema:
        text = f'{text} (default: {_default(schema["default"])})'.lstrip()
    return text.replace('|', '\\|')


def _default(value: Any) -> str:  # noqa: ANN401  as YAML has it
    if isinstance(value, list):
        return f'[{", ".join(map(_default, value))}]'
    if isinstance(value, bool):
        return str(value).lower()
    return f'`{value}`' if isinstance(value, str) else f'{value:g}'


def _takes(schema: Json) -> str:
    if 'enum' in schema:
        return ', '.join(f'`{v}`' for v in schema['enum'])
    types = schema.get('type', 'object')
    types = [types] if isinstance(types, str) else types
    formula = str(schema.get('format', '')).startswith('formula')
    words = [_word(t, schema, formula) for t in types if not (formula and t == 'string')]
    return ' or '.join(w for w in words if w) + _bounds(schema)


def _word(kind: str, schema: Json, formula: bool) -> str:
    low, high = schema.get('minItems'), schema.get('maxItems')
    if kind == 'array':
        items = schema.get('items', {})
        of = 'formulas of `t`' if items.get('format') == 'formula_t' else _many(items)
        return f'{low} {of}' if low == high and low is not None else f'list of {of}'
    if kind == 'object':
        one = schema.get('maxProperties') == 1
        return 'one of its entries' if one else 'mapping'
    if kind == 'number' and formula:
        return 'formula of `t`' if schema['format'] == 'formula_t' else 'number'
    return {'string': 'text', 'boolean': 'true, false', 'integer': 'whole number'}.get(kind, kind)


def _many(items: Json) -> str:
    kind = items.get('type', 'number')
    if kind == ['number', 'string'] and 'format' not in items:
        return 'formulas'
    if kind == 'array':
        return 'vectors'
    return 'names' if kind == 'string' else 'numbers'


def _bounds(schema: Json) -> str:
    parts = []
    if 'exclusiveMinimum' in schema:
        low = schema['exclusiveMinimum']
        parts.append('positive' if low == 0 else f'more than {low:g}')
    if 'minimum' in schema:
        low = schema['minimum']
        parts.append('zero or positive' if low == 0 else f'at least {low:g}')
    if 'maximum' in schema:
        parts.append(f'at most {schema["maximum"]:g}')
    return f', {", ".join(parts)}' if parts else ''


def main() -> None:
    """Write the tables of the document that is named on the command line."""
    path = Path(sys.argv[1])
    path.write_text(updated(path.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()

# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""Checking a document against a schema, with messages a person can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import difflib
from functools import cache
from importlib.resources import files
from typing import Any, TYPE_CHECKING

import casadi as ca
from rolling_dynamics.errors import ExpressionError, ScenarioError
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.formulas import formula_of_time, number, SMALLEST
from rolling_dynamics.scenario.known_good import KnownGood
from rolling_dynamics.suggestion import suggestion
import yaml

if TYPE_CHECKING:
    import jsonschema
    from jsonschema.exceptions import ValidationError

MAX_ERRORS = 8
_WORDS = {
    'number': 'a number',
    'string': 'a text',
    'object': 'a mapping',
    'array': 'a list',
    'boolean': 'true or false',
    'integer': 'a whole number',
    'null': 'nothing',
}


@cache
def load_schema(package: str, *names: str) -> dict[str, Any]:
    """
    Return schemas of a package merged into one, references to ``$defs`` resolved; not to change.

    Parameters
    ----------
    package
        Package that holds files ``*.schema.yaml``.
    names
        Their names before that; later ones add to ``properties``, ``required`` and ``$defs``.

    """
    merged: dict[str, Any] = {'type': 'object', 'additionalProperties': False}
    defs: dict[str, Any] = {}
    for name in names:
        part = _read_schema(package, name)
        defs |= part.get('$defs', {})
        merged['properties'] = merged.get('properties', {}) | part.get('properties', {})
        merged['required'] = merged.get('required', []) + part.get('required', [])
    result: dict[str, Any] = _resolved(merged, defs)
    return result


def load_definition(package: str, name: str, definition: str) -> dict[str, Any]:
    """Return one of the ``$defs`` of a schema, references resolved."""
    defs = _read_schema(package, name)['$defs']
    result: dict[str, Any] = _resolved(defs[definition], defs)
    return result


@cache
def _read_schema(package: str, name: str) -> dict[str, Any]:
    text = files(package).joinpath(f'{name}.schema.yaml').read_text(encoding='utf-8')
    result: dict[str, Any] = yaml.safe_load(text)
    return result


def _resolved(schema: Any, defs: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_resolved(s, defs) for s in schema]
    if not isinstance(schema, dict):
        return schema
    base = _resolved(defs[schema['$ref']], defs) if '$ref' in schema else {}
    return base | {k: _resolved(v, defs) for k, v in schema.items() if k != '$ref'}


class _Fault:
    """One breach of a schema: keyword, its value, the schema around it, and what was given."""

    def __init__(self, error: ValidationError) -> None:
        self.keyword, self.text = str(error.validator), str(error.cause or error.message)
        self.value: Any = error.validator_value
        self.schema: Any = error.schema
        self.given: Any = error.instance


Translation = Callable[[_Fault, str], Iterator[str]]


def check(document: Mapping[str, Any], schema: Mapping[str, Any], path: str = '') -> None:
    """
    Raise ScenarioError, one line for each fault, unless the document fits the schema.

    Parameters
    ----------
    document
        Plain data.
    schema
        Of :func:`load_schema`.
    path
        Path of the document itself, put before the paths in messages.

    """
    known = KnownGood.of(schema)
    if known.holds(document):
        return
    errors = list(_validator_class()(schema, format_checker=_formats()).iter_errors(document))
    lines: list[str] = []
    for error in errors:
        fault = _Fault(error)
        where = entry_path(error.absolute_path, path)
        translate = _TRANSLATIONS.get(fault.keyword, _untranslated)
        lines += [line for line in translate(fault, where) if line not in lines]
    if lines:
        more = [f'and {len(lines) - MAX_ERRORS} more'] if len(lines) > MAX_ERRORS else []
        raise ScenarioError('\n'.join(lines[:MAX_ERRORS] + more))
    known.passed()


def entry_path(parts: Sequence[str | int], prefix: str = '') -> str:
    """Return the path of an entry as it stands in messages, such as ``initial.contact.u_h``."""
    out = prefix
    for part in parts:
        out += f'[{part}]' if isinstance(part, int) else f'.{part}' if out else str(part)
    return out


def _unit(schema: Mapping[str, Any]) -> str:
    return f' [{schema["unit"]}]' if 'unit' in schema else ''


def _unknown(fault: _Fault, path: str) -> Iterator[str]:
    known = list(fault.schema.get('properties', {}))
    for name in fault.given:
        if name not in known:
            yield f'{entry_path([name], path)}: unknown entry{suggestion(name, known)}'


def _missing(fault: _Fault, path: str) -> Iterator[str]:
    for name in fault.value:
        if name not in fault.given:
            sub = fault.schema.get('properties', {}).get(name, {})
            text = f' ({sub["description"]}{_unit(sub)})' if 'description' in sub else ''
            close = difflib.get_close_matches(name, [str(k) for k in fault.given], 1)
            unknown = [k for k in close if k not in fault.schema.get('properties', {})]
            hint = f'; is it {unknown[0]!r}, misspelt?' if unknown else ''
            yield f'{entry_path([name], path)}: is missing{text}{hint}'


def _untranslated(fault: _Fault, path: str) -> Iterator[str]:
    yield f'{path}: {fault.text}'


def _type(fault: _Fault, path: str) -> Iterator[str]:
    types = fault.value
    words = [_WORDS[t] for t in ([types] if isinstance(types, str) else types)]
    if str(fault.schema.get('format', '')).startswith('formula'):
        words = ['a formula' if w == 'a text' else w for w in words]
    needed = ' or '.join(words)
    yield f'{path}: must be {needed}{_unit(fault.schema)}, got {shorten(fault.given)}'


def _choice(fault: _Fault, path: str) -> Iterator[str]:
    known = [str(v) for v in fault.value]
    yield f'{path}: got {shorten(fault.given)}{suggestion(str(fault.given), known)}'


def _value(given: str | float) -> float:
    """Return a number to hold against a bound; a whole one may be too large for a float."""
    return given if type(given) is int else number(given)


def _bound(words: str) -> Translation:
    def translate(fault: _Fault, path: str) -> Iterator[str]:
        bound = fault.value
        text = f'{words} {bound:g}'
        if (words, bound) == ('more than', 0):
            text = 'positive' if not _value(fault.given) > 0 else f'at least {SMALLEST:g}'
        yield f'{path}: must be {text}{_unit(fault.schema)}, got {shorten(fault.given)}'

    return translate


def _length(fault: _Fault, path: str) -> Iterator[str]:
    low, high = (fault.schema.get(k) for k in ('minItems', 'maxItems'))
    count = str(low) if low == high else f'at least {low}' if high is None else f'{low} to {high}'
    got = f'{len(fault.given)}: {shorten(fault.given)}'
    yield f'{path}: takes {count} entries{_unit(fault.schema)}, got {got}'


def _entries(fault: _Fault, path: str) -> Iterator[str]:
    known = ', '.join(fault.schema.get('properties', {}))
    given = ', '.join(fault.given) or 'none'
    exact = fault.schema.get('maxProperties') == 1
    needed = f'exactly one of {known}' if exact else 'at least one entry'
    yield f'{path}: {needed} is needed, got {given}'


_TRANSLATIONS: dict[str, Translation] = {
    'additionalProperties': _unknown,
    'required': _missing,
    'type': _type,
    'enum': _choice,
    'exclusiveMinimum': _bound('more than'),
    'minimum': _bound('at least'),
    'maximum': _bound('at most'),
    'minItems': _length,
    'maxItems': _length,
    'minProperties': _entries,
    'maxProperties': _entries,
    'format': _untranslated,
}


@cache
def _formats() -> jsonschema.FormatChecker:
    import jsonschema  # noqa: PLC0415  (large, and only for what is not good)

    checker = jsonschema.FormatChecker(formats=())
    t = ca.SX.sym('t')

    @checker.checks('formula', raises=ExpressionError)
    def _constant(value: object) -> bool:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number(value)
        return True

    @checker.checks('formula_t', raises=ExpressionError)
    def _of_time(value: object) -> bool:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            formula_of_time(value, t)
        return True

    return checker


@cache
def _validator_class() -> Any:
    """Return the validator of JSON Schema 2020-12 whose bounds hold for formulas too."""
    import jsonschema  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    holds = {
        'exclusiveMinimum': lambda value, bound: value > bound and (bound or value >= SMALLEST),
        'minimum': lambda value, bound: value >= bound,
        'maximum': lambda value, bound: value <= bound,
    }

    def keyword(name: str) -> Callable[..., Iterator[ValidationError]]:
        def validate(_: Any, bound: float, instance: Any, __: Any) -> Iterator[ValidationError]:
            if isinstance(instance, bool) or not isinstance(instance, str | int | float):
                return
            try:
                value = _value(instance)
            except ExpressionError:
                return  # said by the format
            if not holds[name](value, bound):
                yield ValidationError(f'{instance!r} breaks {name} {bound}')

        return validate

    base = jsonschema.Draft202012Validator
    whole = base.TYPE_CHECKER.redefine('integer', lambda _, value: type(value) is int)  # not 3.0
    return jsonschema.validators.extend(  # type: ignore[no-untyped-call]
        base, {name: keyword(name) for name in holds}, type_checker=whole
    )

"""Whether a document is a result: entries of the right kind, arrays that fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import printable, quoted

LARGEST = 1e30  # no quantity of mechanics in SI units is greater
Entries = Mapping[str, Any]


def check_result(document: object) -> dict[str, Any]:
    """
    Return a result whose entries have the form that `rolling simulate` and `rolling plan` write.

    Parameters
    ----------
    document
        What a JSON file held.

    Raises
    ------
    ParameterError
        It is no result, or an entry is missing or of another form; the text names it.

    """
    known = isinstance(document, dict) and str(document.get('format', '')).startswith('rolling/')
    if not isinstance(document, dict) or not known or not isinstance(document.get('arrays'), dict):
        raise ParameterError(
            'is not a result of `rolling simulate` or `rolling plan` (entries `format` and '
            '`arrays` are missing)'
        )
    for name, (kind, needed) in ENTRIES.items():
        if name in document or needed:
            _checked(document, name, kind)
    arrays = document['arrays']
    _check_times({n: _array(entry, f'arrays.{quoted(n)}') for n, entry in arrays.items()})
    for name, entry in document['parameters'].items():
        _array(entry, f'parameters.{quoted(name)}')
    for k, event in enumerate(document.get('events', [])):
        _checked(event, 'time', 'a number', f'events[{k}].')
        _checked(event, 'name', 'a text', f'events[{k}].')
    for name, limit in document.get('control_limits', {}).items():
        if limit is not None and not _is_number(limit):
            raise _damage(f'control_limits.{quoted(name)}', 'a number', limit)
    for name, entry in document.get('goal', {}).items():
        _array(entry, f'goal.{quoted(name)}')
    if 'plan' in document:
        _check_plan(document['plan'])
    return document


# Of each entry that somebody reads: its kind, and whether there must be one.
ENTRIES = {
    'system': ('a text', True),
    'scenario': ('a mapping', True),
    'parameters': ('a mapping', True),
    'name': ('a text', False),
    'events': ('a list of mappings', False),
    'control_limits': ('a mapping', False),
    'goal': ('a mapping', False),
    'plan': ('a mapping', False),
}


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST


KINDS: dict[str, Callable[[object], bool]] = {
    'a text': lambda v: isinstance(v, str),
    'a number': _is_number,
    'a mapping': lambda v: isinstance(v, dict),
    'a list of mappings': lambda v: isinstance(v, list) and all(isinstance(e, dict) for e in v),
    'a list of texts': lambda v: isinstance(v, list) and all(isinstance(e, str) for e in v),
}


def _damage(path: str, needed: str, given: object) -> ParameterError:
    shown = printable(repr(given)[:200], 60)
    return ParameterError(f'is damaged: {path} must be {needed}, got {shown}')


def _checked(entries: Entries, name: str, kind: str, path: str = '') -> Any:  # noqa: ANN401
    """Return an entry of a kind."""
    if name not in entries:
        raise ParameterError(f'is damaged: {path}{name} is missing, {kind}')
    value = entries[name]
    if not KINDS[kind](value):
        raise _damage(f'{path}{name}', kind, value)
    return value


def _array(entry: object, path: str) -> NDArray[np.float64]:
    """Return the values of an array, shape (N,) or (N, k), null as NaN."""
    if not isinstance(entry, dict):
        raise _damage(path, 'a mapping', entry)
    for name in ('unit', 'frame', 'text'):
        if name in entry:
            _checked(entry, name, 'a text', f'{path}.')
    values = _numbers(entry.get('values'), f'{path}.values')
    components = entry.get('components', [])
    if not KINDS['a list of texts'](components):
        raise _damage(f'{path}.components', 'a list of texts', components)
    columns = values.shape[-1] if values.ndim == 2 else len(components)
    if components and columns != len(components):
        raise _damage(f'{path}.components', f'a list of {columns} texts', components)
    return values


def _numbers(values: object, path: str) -> NDArray[np.float64]:
    """Return a list of numbers, or of as many numbers each, as an array; null as NaN."""
    needed = 'a list of numbers, or of lists of as many numbers each'
    if not isinstance(values, list):
        raise _damage(path, needed, values)
    rows = values if values and all(isinstance(v, list) for v in values) else [values]
    kinds = {type(v) for row in rows for v in row}
    if not kinds <= {int, float, type(None)} or len({len(row) for row in rows}) > 1:
        raise _damage(path, needed, values)
    try:
        out = np.array(values, dtype=float)
    except (ValueError, TypeError, OverflowError):
        raise _damage(path, needed, values) from None
    if np.any(np.abs(out) > LARGEST):
        raise ParameterError(f'is damaged: {path} has a number beyond {LARGEST:g}')
    return out


def _check_times(arrays: Mapping[str, NDArray[np.float64]]) -> None:
    """Raise ParameterError unless times rise and every array has a row for each of them."""
    times = arrays.get('time')
    if times is None or times.ndim != 1 or not len(times):
        raise ParameterError('is damaged: arrays.time is missing, a list of times')
    if not np.all(np.isfinite(times)) or np.any(np.diff(times) < 0):
        raise ParameterError('is damaged: arrays.time must be finite and rise')
    for name, values in arrays.items():
        if len(values) != len(times):
            raise ParameterError(
                f'is damaged: arrays.{quoted(name)} has {len(values)} rows for {len(times)} times'
            )


def _check_plan(plan: Entries) -> None:
    times = _numbers(plan.get('times'), 'plan.times')
    if times.ndim != 1 or len(times) < 2 or not np.all(np.diff(times) > 0):
        raise ParameterError('is damaged: plan.times must be two or more times that rise')
    for kind in ('state', 'control'):
        names = _checked(plan, f'{kind}_names', 'a list of texts', 'plan.')
        values = _numbers(plan.get(f'{kind}s'), f'plan.{kind}s')
        if values.shape != (len(times), len(names)) or not np.all(np.isfinite(values)):
            raise ParameterError(
                f'is damaged: plan.{kind}s must be {len(times)} rows of {len(names)} finite '
                f'numbers, got shape {values.shape}'
            )

"""Result files: arrays, checks, and the paths that they are written to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
import contextlib
from contextlib import contextmanager
from itertools import chain, count
import json
import math
import os
from pathlib import Path
import sys
import tempfile
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.errors import ParameterError, printable, quoted, RollingError, ScenarioError

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
        It is not a result, or an entry is missing or of another form; the text names it.

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


def _array(entry: object, path: str) -> Array:
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


def _numbers(values: object, path: str) -> Array:
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


def _check_times(arrays: Mapping[str, Array]) -> None:
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


MOST_BYTES = 1_000_000_000  # of a result
STDOUT = Path('-')  # given for a file: standard output


def checked_output(path: Path, suffix: str | Collection[str], option: str = '--out') -> Path:
    """
    Return the path of a file that can be written, before any work is done.

    Its folder is made when it is written. A result (``.json``) may go to standard output, ``-``.

    Parameters
    ----------
    path, suffix
        The file, and what its name must end with, or several endings of which one will do.
    option
        Argument that named it, for errors.

    Raises
    ------
    ParameterError
        It is a folder, its folder cannot be made or written to, or its suffix is another.

    """
    if path == STDOUT and suffix == '.json':
        return path
    suffixes = [suffix] if isinstance(suffix, str) else list(suffix)
    if path.suffix not in suffixes:
        known = ' or '.join(f'*{ending}' for ending in suffixes)
        raise ParameterError(f'{option}: a file {known} is needed, got {str(path)!r}')
    if path.is_dir():
        raise ParameterError(f'{option}: {str(path)!r} is a folder; name a file in it')
    checked_folder(path.parent, option)
    return path


def checked_folder(folder: Path, option: str = '--out') -> Path:
    """Return a folder that can be made and written to, or raise ParameterError."""
    there = folder
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise ParameterError(f'{option}: {str(there)!r} is not a folder')
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError as error:
        reason = f'the folder {str(there)!r} is not writable: {error.strerror}'
        raise ParameterError(f'{option}: {reason}') from None
    return folder


def unused_folder(folder: Path) -> Path:
    """Return the folder, or one beside it that does not exist yet."""
    others = (folder.with_name(f'{folder.name}_{k}') for k in count(1))
    return next(path for path in chain([folder], others) if not path.exists())


def say_written(out: Path | None, *lines: str) -> None:
    """Print what a command has to say, beside a result on standard output on stderr."""
    for line in lines:
        print(line, file=sys.stderr if out == STDOUT else sys.stdout)
    if out not in (None, STDOUT):
        print(f'written to {out}')


def write_json(path: Path, document: dict[str, Any]) -> None:
    r"""
    Write a result: one line for each entry, so that a person can look into it.

    The file appears complete or not at all; ``-`` is standard output.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rolling_robotics import write_json
    >>> write_json(Path('result.json'), {'times': [0.0, 0.5]})
    >>> Path('result.json').read_text()[:9]
    '{\n "times'

    """
    text = _lines(document)
    if path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()  # a reader that has gone is noticed here
        return
    with written_beside(path) as scratch:
        scratch.write_text(text, encoding='utf-8')


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """
    Yield a new file in the folder of another, whose place it takes at the end.

    Its name cannot be foreseen, and it is removed where writing fails. The folder is made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f'.{path.stem}.', suffix=path.suffix
        )
    except OSError as error:
        raise ParameterError(f'{path}: cannot be written: {printable(error)}') from None
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        mask = os.umask(0)
        os.umask(mask)
        scratch.chmod(0o666 & ~mask)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _lines(document: dict[str, Any]) -> str:
    rows = []
    for key, value in document.items():
        if key == 'arrays':
            inner = ',\n  '.join(f'{json.dumps(k)}: {_compact(v)}' for k, v in value.items())
            rows.append(f'"arrays": {{\n  {inner}\n }}')
        else:
            rows.append(f'{json.dumps(key)}: {_compact(value)}')
    return '{\n ' + ',\n '.join(rows) + '\n}\n'


def _compact(value: Any) -> str:  # noqa: ANN401
    return json.dumps(jsonable(value), allow_nan=False, separators=(', ', ': '))


def jsonable(value: Any) -> Any:  # noqa: ANN401
    """Return plain data for JSON: arrays as lists, what is not a finite number as null."""
    if isinstance(value, np.ndarray) and value.dtype.kind in 'biuf':
        finite = np.isfinite(value)
        if not finite.all():
            value = value.astype(object)
            value[~finite] = None
        return value.tolist()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_result(path: Path) -> dict[str, Any]:
    """
    Return a result that this package wrote.

    Nothing but this file is opened, whatever stands in it.

    Raises
    ------
    ParameterError
        There is no such file, or it is not a result, or a damaged one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_robotics import read_result, simulate_scenario, simulation_result, write_json
    >>> scenario = load_scenario('pendulum_slope')
    >>> write_json(Path('slope.json'), simulation_result(scenario, simulate_scenario(scenario)))
    >>> read_result(Path('slope.json'))['name']
    'pendulum_slope'

    """
    try:
        document = json.loads(
            read_regular(path, MOST_BYTES).decode('utf-8'),
            object_pairs_hook=_without_doubles,
            parse_constant=_no_number,
        )
    except ParameterError:
        raise
    except (ValueError, RecursionError) as e:
        first = ''
        if path.suffix in ('.yaml', '.yml'):
            first = '; make a result of a scenario by `rolling simulate` first'
        raise ParameterError(f'{path}: is not JSON: {printable(e, 200)}{first}') from None
    except MemoryError:
        raise ParameterError(f'{path}: does not fit into memory') from None
    try:
        return check_result(document)
    except ParameterError as e:
        raise ParameterError(f'{path}: {e}') from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'duplicate key {quoted(double)}')
    return out


def _no_number(text: str) -> float:
    raise ValueError(f'{text} is not a number')


Values = Array


class Arrays:
    """The arrays of a result, by name."""

    def __init__(self, result: dict[str, Any]) -> None:
        """Wrap a result."""
        self.result = result
        self._arrays = result['arrays']

    def __contains__(self, name: object) -> bool:
        """Return whether there is an array of this name."""
        return name in self._arrays

    def __getitem__(self, name: str) -> Values:
        """Return its values; null has become NaN."""
        return np.array(self._arrays[name]['values'], dtype=float)

    def names(self) -> list[str]:
        """Return the names of all arrays."""
        return list(self._arrays)

    def unit(self, name: str) -> str:
        """Return the unit of an array."""
        return str(self._arrays[name]['unit'])

    def components(self, name: str) -> list[str]:
        """Return the names of its columns."""
        return list(self._arrays[name]['components'])

    def text(self, name: str) -> str:
        """Return what it is."""
        return str(self._arrays[name]['text'])

    def parameter(self, name: str) -> float:
        """Return a parameter that is one number."""
        return float(self.result['parameters'][name]['values'][0])

    @property
    def time(self) -> Values:
        """Output times [s]."""
        return self['time']


LONGEST_REASON = 200  # characters


@contextmanager
def damage_reported(what: str) -> Iterator[None]:
    """
    Turn any exception into a ParameterError that says the file is damaged.

    For code that works on what stands in a file after the file was checked: no check sees every
    combination of values, and libraries raise what they like. ``ROLLING_TRACEBACK=1`` lets the
    exception through.

    Parameters
    ----------
    what
        What is read, as the error names it.

    """
    try:
        yield
    except ScenarioError as error:  # a line for each of its faults
        raise ParameterError(f'{what}: its scenario: {printable(error)}') from None
    except RollingError:
        raise
    except MemoryError:
        raise ParameterError(f'{what}: does not fit into memory') from None
    except Exception as error:
        if os.environ.get('ROLLING_TRACEBACK'):
            raise
        reason = f'{type(error).__name__} {printable(error, LONGEST_REASON)}'.rstrip()
        raise ParameterError(f'{what}: is damaged: {reason}; write it again') from error

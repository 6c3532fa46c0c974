"""Result files: arrays, checks, and the paths that they are written to."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import chain, count
import json
import math
import os
from pathlib import Path
import sys
import tempfile
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
    PlainValidator,
    ValidationError,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.errors import ParameterError, printable, quoted, RollingError, ScenarioError
from rolling_planner.plan import Plan

LARGEST = 1e30  # no quantity of mechanics in SI units is greater
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


def _numbers(values: object) -> Array:
    """Return a list of numbers, or of as many numbers each, as an array; null as NaN."""
    if not isinstance(values, list):
        raise ValueError('a list is needed')  # noqa: TRY004  pydantic passes on ValueErrors alone
    rows = values if values and all(isinstance(v, list) for v in values) else [values]
    kinds = {type(v) for row in rows for v in row}
    if not kinds <= {int, float, type(None)} or len({len(row) for row in rows}) > 1:
        raise ValueError('numbers are needed, or lists of as many numbers each')
    if any(v is not None and abs(v) > LARGEST for row in rows for v in row):
        raise ValueError(f'there is a number beyond {LARGEST:g}')
    return np.array(values, dtype=float)


class _Entry(BaseModel):
    """Entries that somebody reads; others may be anything."""

    model_config = ConfigDict(strict=True, arbitrary_types_allowed=True)


class _Array(_Entry):
    values: Annotated[Array, PlainValidator(_numbers)]  # shape (N,) or (N, k)
    unit: str = ''
    frame: str = ''
    text: str = ''
    components: list[str] = []

    @model_validator(mode='after')
    def _named(self) -> _Array:
        columns = self.values.shape[-1] if self.values.ndim == 2 else len(self.components)
        if self.components and columns != len(self.components):
            raise ValueError(f'there must be {columns} components')
        return self


class _Event(_Entry):
    time: Number
    name: str


class _Result(_Entry):
    """Form of a result that `rolling simulate` and `rolling plan` write."""

    arrays: dict[str, _Array]
    parameters: dict[str, _Array]
    system: str
    scenario: dict[str, Any]
    name: str = ''
    events: list[_Event] = []
    control_limits: dict[str, Number | None] = {}
    goal: dict[str, _Array] = {}
    plan: Annotated[Plan | None, PlainValidator(Plan.from_dict)] = None

    @model_validator(mode='after')
    def _timed(self) -> _Result:
        times = self.arrays['time'].values if 'time' in self.arrays else np.zeros(0)
        if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)):
            raise ValueError('arrays.time must be finite times')
        if np.any(np.diff(times) < 0):
            raise ValueError('arrays.time must rise')
        for name, array in self.arrays.items():
            if len(array.values) != len(times):
                given = f'{len(array.values)} rows for {len(times)} times'
                raise ValueError(f'arrays.{quoted(name)} has {given}')
        return self


def _check_result(document: object) -> dict[str, Any]:
    """Return a result of the right form; raise ParameterError, which names the wrong entry."""
    known = isinstance(document, dict) and str(document.get('format', '')).startswith('rolling/')
    if not isinstance(document, dict) or not known or not isinstance(document.get('arrays'), dict):
        raise ParameterError(
            'is not a result of `rolling simulate` or `rolling plan` (entries `format` and '
            '`arrays` are missing)'
        )
    try:
        _Result.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ''.join(f'{printable(str(step), 60)}: ' for step in first['loc'])
        raise ParameterError(
            f'is damaged: {where}{printable(first["msg"].removeprefix("Value error, "))}'
        ) from None
    return document


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
    """Return the folder, or one next to it that does not exist yet."""
    others = (folder.with_name(f'{folder.name}_{k}') for k in count(1))
    return next(path for path in chain([folder], others) if not path.exists())


def say_written(out: Path | None, *lines: str) -> None:
    """Print the messages of a command, to stderr where the result goes to standard output."""
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


@contextmanager
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
    """Return plain data for JSON: arrays as lists, numbers that are not finite as null."""
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

    Only this file is opened, whatever its content.

    Raises
    ------
    ParameterError
        The file does not exist, is not a result, or is damaged.

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
        return _check_result(document)
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
        """Return the type of the file."""
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
    Turn any exception into a ParameterError about a damaged file.

    For code that uses the content of a file after a check of the file: no check finds every
    combination of values, and libraries raise arbitrary exceptions. ``ROLLING_TRACEBACK=1`` lets
    the exception through.

    Parameters
    ----------
    what
        Name of the file in the error.

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

"""Reading and writing result files, with errors a person can act on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
import contextlib
import json
import math
import os
from pathlib import Path
import sys
import tempfile
from typing import Any

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.regular_file import read_regular
from rolling_dynamics.text import printable, quoted
from rolling_robotics.result_checks import check_result

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
    if not os.access(there, os.W_OK | os.X_OK):
        raise ParameterError(f'{option}: the folder {str(there)!r} is not writable')
    return folder


def say_written(out: Path | None, *lines: str) -> None:
    """Print what a command has to say, beside a result on standard output on stderr."""
    for line in lines:
        print(line, file=sys.stderr if out == STDOUT else sys.stdout)
    if out not in (None, STDOUT):
        print(f'written to {out}')


def write_json(path: Path, document: dict[str, Any]) -> None:
    """
    Write a result: one line for each entry, so that a person can look into it.

    The file appears complete or not at all; ``-`` is standard output.
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
    """Return plain data for JSON: arrays as lists, what is no finite number as null."""
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
        There is no such file, or it is no result, or a damaged one.

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

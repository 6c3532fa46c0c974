"""Reading and writing result files, with errors a person can act on."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
from rolling_dynamics.errors import ParameterError


def checked_output(path: Path, suffix: str) -> Path:
    """
    Return the path of a file that can be written, before any work is done.

    Raises
    ------
    ParameterError
        It is a folder, its folder does not exist or is not writable, or its suffix is another.

    """
    if path.suffix != suffix:
        raise ParameterError(f'--out: a file *{suffix} is needed, got {str(path)!r}')
    if path.is_dir():
        raise ParameterError(f'--out: {str(path)!r} is a folder; name a file in it')
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(f'--out: there is no folder {str(folder)!r}; make it first')
    if not os.access(folder, os.W_OK):
        raise ParameterError(f'--out: the folder {str(folder)!r} is not writable')
    return path


def write_json(path: Path, document: dict[str, Any]) -> None:
    """
    Write a result: one line for each entry, so that a person can look into it.

    The file appears complete or not at all.
    """
    text = _lines(document)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'w', encoding='utf-8') as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
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

    Raises
    ------
    ParameterError
        There is no such file, or it is no result.

    """
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding='utf-8'))
    except OSError as e:
        raise ParameterError(f'{path}: cannot be read: {e.strerror}') from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as e:
        raise ParameterError(f'{path}: is no JSON: {e}') from None
    known = isinstance(document, dict) and str(document.get('format', '')).startswith('rolling/')
    if not known or not isinstance(document.get('arrays'), dict):
        raise ParameterError(
            f'{path}: is no result of `rolling simulate` or `rolling plan` (entries `format` and '
            '`arrays` are missing)'
        )
    return document

"""Reading a file that somebody gave: a regular one, of bounded size."""

from __future__ import annotations

import os
from pathlib import Path
import stat
from typing import BinaryIO

from rolling_dynamics.errors import ParameterError


def read_regular(path: Path, most: int) -> bytes:
    """
    Return what stands in a file.

    Parameters
    ----------
    path
        The file.
    most
        Greatest size [bytes].

    Raises
    ------
    ParameterError
        It cannot be read, is not a regular file (a pipe would wait, a device never end), or is too
        large.

    """
    try:
        with open_regular(path, most) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ParameterError(f'{path}: cannot be read: {error.strerror}') from None
    if len(data) > most:
        raise ParameterError(f'{path}: grew beyond {most} bytes while it was read')
    return data


def open_regular(path: Path, most: int = 2**63) -> BinaryIO:
    """Return an open file; arguments and errors as in :func:`read_regular`."""
    try:  # O_NONBLOCK, as a pipe without a writer would wait for one
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise ParameterError(f'{path}: cannot be read: {reason}') from None
    found = os.fstat(handle)
    problem = ''
    if stat.S_ISDIR(found.st_mode):
        problem = 'is a folder'
    elif not stat.S_ISREG(found.st_mode):
        problem = 'is not a regular file'
    elif found.st_size > most:
        problem = f'has {found.st_size} bytes; at most {most} are read'
    if problem:
        os.close(handle)
        raise ParameterError(f'{path}: cannot be read: it {problem}')
    return os.fdopen(handle, 'rb')

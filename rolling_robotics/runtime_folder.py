"""Locks of processes of one user, in a folder that nobody else can write."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import stat
import tempfile

from rolling_dynamics.errors import RollingError

OWN = 'rolling_robotics'


def open_runtime_folder() -> int:
    """
    Return a descriptor of the folder for locks.

    It is ``rolling_robotics`` in ``$XDG_RUNTIME_DIR``, where that is the user's own; else
    ``rolling_robotics-<user id>`` in the folder for temporary files.

    Raises
    ------
    RollingError
        The folder cannot be made, is a link, belongs to somebody else, or others may use it.

    """
    given = os.environ.get('XDG_RUNTIME_DIR', '')
    if given:
        with contextlib.suppress(OSError, RollingError):
            os.close(_open_private(Path(given)))
            return _open_own(Path(given, OWN))
    return _open_own(Path(tempfile.gettempdir(), f'{OWN}-{os.geteuid()}'))


def open_lock_file(folder: int, name: str) -> int:
    """
    Return a descriptor of a lock file, made if it is not there; links are not followed.

    Parameters
    ----------
    folder
        Descriptor of :func:`open_runtime_folder`.
    name
        Name of the file in it.

    Raises
    ------
    OSError
        It cannot be opened, or is not a regular file.

    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    lock = os.open(name, flags, 0o600, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(lock).st_mode):
        os.close(lock)
        raise OSError(f'{name} is not a regular file')
    return lock


def _open_own(path: Path) -> int:
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        return _open_private(path)
    except OSError as error:
        raise RollingError(
            f'{path}: no folder for locks can be made or used there: {error.strerror}; remove it, '
            'or set XDG_RUNTIME_DIR to a folder of your own'
        ) from None


def _open_private(path: Path) -> int:
    """Return a descriptor of a folder of the user's own; raise OSError or RollingError."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(folder)
    if found.st_uid == os.geteuid() and not found.st_mode & 0o077:
        return folder
    os.close(folder)
    raise RollingError(
        f'{path}: belongs to user {found.st_uid} with mode {stat.S_IMODE(found.st_mode):o}; a '
        f'folder of user {os.geteuid()} with mode 700 is needed; remove it, or set '
        'XDG_RUNTIME_DIR to a folder of your own'
    )

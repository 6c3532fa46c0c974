"""Configuration files: where they are searched for, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import stat
import sys
from typing import BinaryIO

from rolling_dynamics.errors import nearest, ParameterError, ScenarioError

PACKAGE = 'rolling_robotics'
SUFFIX = '.yaml'  # of a scenario
# Prefixes of the name of an example: none, or its folder in the source tree.
WITHIN = {Path(), Path('scenarios'), Path('config/scenarios')}


def share_folders() -> Iterator[Path]:
    """
    Yield the folders that may hold ``config`` and ``launch``, the most specific first.

    They are the ament index, the source tree, the folders where pip installs data (next to ``lib``
    in an environment or a user's folder, or in the ``--target``), and the environment's.
    """
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix and Path(prefix, 'share/ament_index/resource_index/packages', PACKAGE).exists():
            yield Path(prefix, 'share', PACKAGE)
    source = Path(__file__).resolve().parents[1]
    if (source / 'setup.py').exists():
        yield source
    else:
        for folder in (*list(source.parents)[2:3], source):
            yield folder / 'share' / PACKAGE
    yield Path(sys.prefix, 'share', PACKAGE)


def examples() -> dict[str, Path]:
    """Return the scenarios of the suite and of installed plug-ins, sorted: file by name."""
    from rolling_dynamics.plugin import plugins  # noqa: PLC0415  imports every plug-in

    found = _shipped()
    for plugin in plugins().values():
        path = Path(plugin.example or '')
        if path.is_absolute() and path.is_file():
            found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def _shipped() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in share_folders():
        for path in (folder / 'config' / 'scenarios').glob(f'*{SUFFIX}'):
            found.setdefault(path.stem, path)
    return found


def find_scenario(name: str | Path) -> Path:
    """
    Return the file of a scenario.

    Parameters
    ----------
    name
        A path, or the name of an example, with or without ``.yaml`` and ``config/scenarios/``.

    Raises
    ------
    ScenarioError
        There is neither; the text gives the example with the most similar name.

    """
    if not str(name):
        raise ScenarioError('no file was named; give the path of a scenario, or an example')
    given = Path(os.path.expanduser(name))  # noqa: PTH111  Path.expanduser raises RuntimeError
    if os.path.isfile(given):  # noqa: PTH113  Path.is_file raises where a folder is closed
        return given
    wanted, known = given.name.removesuffix(SUFFIX), _shipped()
    if wanted not in known:
        known = examples()
    if given.parent in WITHIN and wanted in known:
        return known[wanted]
    if os.path.lexists(given):
        return given  # the reader reports its errors
    raise ScenarioError(f'no file {str(name)!r}, and no example of that name{hint(wanted)}')


def hint(name: str) -> str:
    """Return the end of an error: the example with the most similar name."""
    close = nearest(name, examples())
    guess = f'did you mean {close!r}? ' if close else ''
    return f'; {guess}`rolling examples` lists them'


def find_installed(name: str) -> Path | None:
    """Return the path of an example by its name, or None; paths are not names."""
    return examples().get(name.removesuffix(SUFFIX))


def find_config(name: str) -> Path:
    """
    Return the path of a configuration file.

    Parameters
    ----------
    name
        A path, or the name of a file in ``config`` or ``config/scenarios``.

    Raises
    ------
    ParameterError
        There is no such file; the text lists the folders that were searched.

    """
    if not name:
        raise ParameterError('no file was named; give a path, or the name of a file in config/')
    given = Path(name).expanduser()
    if given.is_file():
        return given
    folders = [f / 'config' / inner for f in share_folders() for inner in ('', 'scenarios')]
    tried = [folder / name for folder in folders]
    for path in tried:
        if path.is_file():
            return path
    places = ', '.join(str(path.parent) for path in tried if path.parent.is_dir())
    neither = f', neither as a path nor in {places}' if places else ''
    raise ParameterError(f'no file {name!r}{neither}')


def read_regular(path: Path, most: int) -> bytes:
    """
    Return the content of a file.

    Parameters
    ----------
    path
        The file.
    most
        Maximum size [bytes].

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

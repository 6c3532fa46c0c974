"""Where the installed configuration lies: ament index, the environment's share, source tree."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import sys

from rolling_dynamics.errors import ParameterError

PACKAGE = 'rolling_robotics'


def share_folders() -> Iterator[Path]:
    """Yield the folders that may hold ``config`` and ``launch``, the most specific first."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix and Path(prefix, 'share/ament_index/resource_index/packages', PACKAGE).exists():
            yield Path(prefix, 'share', PACKAGE)
    source = Path(__file__).resolve().parents[1]
    if (source / 'setup.py').exists():
        yield source
    yield Path(sys.prefix, 'share', PACKAGE)


def _in(folder: Path, name: str) -> tuple[Path, ...]:
    return folder / 'config' / name, folder / 'config' / 'scenarios' / name


def find_installed(name: str) -> Path | None:
    """Return the path of a file that comes with the suite, or None; a path is never one."""
    if name != Path(name).name or name in {'', '.', '..'} or '\0' in name:
        return None
    found = (path for folder in share_folders() for path in _in(folder, name) if path.is_file())
    return next(found, None)


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
        There is no such file; the text names where it was looked for.

    """
    if not name:
        raise ParameterError('no file was named; give a path, or the name of a file in config/')
    given = Path(name).expanduser()
    if given.is_file():
        return given
    tried = [path for folder in share_folders() for path in _in(folder, name)]
    for path in tried:
        if path.is_file():
            return path
    places = ', '.join(str(path.parent) for path in tried)
    raise ParameterError(f'no file {name!r}, neither as a path nor in {places}')

"""From the name of a type, which anybody may have sent, to its class: through the ament index."""

from __future__ import annotations

from collections.abc import Iterator
import importlib
import os
from pathlib import Path
import re
import sys

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import quoted

INTERFACES = 'ament_index/resource_index/rosidl_interfaces'
MESSAGE_NAME = re.compile(r'([a-z][a-z0-9_]*)/msg/([A-Z][A-Za-z0-9]*)', re.ASCII)


def share_folders() -> Iterator[Path]:
    """Yield the share folders of what is sourced, then that of the environment of Python."""
    for prefix in (*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix):
        if prefix and Path(prefix, 'share').is_dir():
            yield Path(prefix, 'share')


def message_class(kind: str) -> type:
    """
    Return the class of a message.

    Nothing is imported but what the ament index lists as an interface, so that a name which came
    from the graph cannot run a module that happens to lie in the path.

    Parameters
    ----------
    kind
        Name of the type, ``package/msg/Name``.

    Raises
    ------
    ParameterError
        It is no such name, the index does not list it, or its package cannot be imported.

    """
    found = MESSAGE_NAME.fullmatch(kind)
    if found is None:
        raise ParameterError(f'type {quoted(kind)} is not a name such as std_msgs/msg/String')
    package, name = found.groups()
    if not any(name in _listed(share, package) for share in share_folders()):
        raise ParameterError(f'type {quoted(kind)} is not known here; the ament index lacks it')
    try:
        out: type = getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f'type {quoted(kind)} cannot be loaded: {error}') from None
    return out


def _listed(share: Path, package: str) -> set[str]:
    """Return the messages that the index of a share folder lists for a package."""
    path = share / INTERFACES / package
    if not path.is_file():
        return set()
    entries = (Path(line.strip()) for line in path.read_text(encoding='utf-8').splitlines())
    return {entry.stem for entry in entries if entry.parent.name == 'msg'}

"""Public names of a package that are loaded when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
import sys


def lazy_names(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """
    Return ``__getattr__`` and ``__dir__`` of a package.

    Importing the package then costs nothing, and a program carries only what it uses.

    Parameters
    ----------
    package
        Its ``__name__``.
    places
        Public name -> module that defines it.

    """

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return load, names

"""Public names of a package that are loaded when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
import sys
import warnings


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


def moved_names(module: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """
    Return ``__getattr__`` of a module whose names have moved; each warns where it is used.

    Parameters
    ----------
    module
        Its ``__name__``.
    places
        Name -> module that defines it now.

    """

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f'module {module!r} has no attribute {name!r}')
        warnings.warn(
            f'{module}.{name} is {places[name]}.{name} now',
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(places[name]), name)

    return load

"""Names that have moved to another module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
import warnings


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

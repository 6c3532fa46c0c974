"""Caching of results of functions per system."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Concatenate, ParamSpec, TypeVar

from rolling_dynamics.contract.rolling_system import RollingSystem

S = TypeVar('S', bound=RollingSystem)
T = TypeVar('T')
P = ParamSpec('P')


def once_per_system(make: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """
    Return the function with results cached in each system, for the lifetime of the system.

    A result of None is not cached. A thread waits for a result that another thread is computing.
    """
    name, lock = f'_results of {make.__module__}.{make.__qualname__}', threading.Lock()

    def kept(system: S, /, *args: P.args, **options: P.kwargs) -> T:
        key = (args, *options.items())
        with lock:
            owner, known = vars(system).get(name, (None, {}))
            if owner is not system:  # a copy has the attributes of the original
                known = {}
                vars(system)[name] = system, known
            result: T | None = known.get(key)
            if result is None:
                result = known[key] = make(system, *args, **options)
            return result

    return kept

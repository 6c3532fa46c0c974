"""Functions whose results are kept for each system."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rolling_dynamics.contract.rolling_system import RollingSystem

S = TypeVar('S', bound=RollingSystem)
T = TypeVar('T')
P = ParamSpec('P')


def once_per_system(make: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """
    Return the function with its results kept as long as their systems live.

    A result of None is not kept. A thread that asks for what another one is making waits for it.
    """
    made: WeakKeyDictionary[S, dict[Any, T]] = WeakKeyDictionary()
    lock = threading.Lock()

    def kept(system: S, /, *args: P.args, **options: P.kwargs) -> T:
        key = (args, *options.items())
        with lock:
            known = made.setdefault(system, {})
            result = known.get(key)
            if result is None:
                result = known[key] = make(system, *args, **options)
            return result

    return kept

"""Functions that are made once for each system."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import TypeVar
from weakref import WeakKeyDictionary

from rolling_dynamics.contract.rolling_system import RollingSystem

S = TypeVar('S', bound=RollingSystem)
T = TypeVar('T')


def once_per_system(make: Callable[[S], T]) -> Callable[[S], T]:
    """
    Return the function with its results remembered as long as their systems live.

    A thread that asks for what another one is making waits for it.
    """
    made: WeakKeyDictionary[S, T] = WeakKeyDictionary()
    lock = threading.Lock()

    def remembered(system: S) -> T:
        with lock:
            found = made.get(system)
            if found is None:
                found = made[system] = make(system)
            return found

    return remembered

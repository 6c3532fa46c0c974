"""
Functions as machine code, cached by content and compiled behind the back of who uses them.

Until the machine code is there CasADi's virtual machine evaluates the same operations in the same
order, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
import threading
import time
from typing import Protocol
from weakref import WeakSet

import casadi as ca
from rolling_dynamics.compiled import jobs
from rolling_dynamics.compiled.library import Library, TIME_LIMIT
from rolling_dynamics.compiled.policy import compiler, compiles, NOW, Target, USUAL, when
from rolling_dynamics.compiled.source import c_source

POLL_PERIOD = 0.05  # between two looks for what is being compiled [s]


@dataclass(slots=True)
class _Order:
    """Functions that are being compiled into a library, and what came of it."""

    functions: tuple[ca.Function, ...]
    library: Library
    awaited: bool
    machine_code: tuple[ca.Function, ...] | None = None

    @property
    def open(self) -> bool:
        """Whether the machine code may still come."""
        return self.machine_code is None and not self.library.failed

    def look(self) -> None:
        """Load the machine code if it is there by now."""
        if self.machine_code is None:
            self.machine_code = self.library.load([f.name() for f in self.functions])


class _Renewable(Protocol):
    function: ca.Function

    def renew(self) -> None:
        """Go over to machine code."""


_orders: dict[int, _Order] = {}  # by what CasADi hashes a function to
_users: WeakSet[_Renewable] = WeakSet()
_turn = threading.RLock()


def compiled(*functions: ca.Function, target: Target = USUAL) -> tuple[ca.Function, ...]:
    """
    Return the same functions as machine code, or as given while that is being made.

    Parameters
    ----------
    functions
        Functions of distinct names; they share one library.
    target
        Level of optimisation and number type.

    Returns
    -------
    tuple of casadi.Function
        As given, too, where there is no compiler or it fails.

    """
    if all(f.class_name() == 'External' for f in functions):
        return functions  # machine code already; CasADi writes no C of it
    content = ''.join(f.serialize() for f in functions) if compiles() else ''
    names = [f.name() for f in functions]
    return compiled_once(content, names, lambda: functions, target, awaited=True)


def compiled_once(
    content: str,
    names: Sequence[str],
    build: Callable[[], tuple[ca.Function, ...]],
    target: Target = USUAL,
    *,
    awaited: bool = False,
) -> tuple[ca.Function, ...]:
    """
    Return functions that follow from a content, building them only if they are not in the cache.

    Parameters
    ----------
    content
        Text that determines the functions, for instance the serialized function of which they are
        derivatives, with a version of how they are derived.
    names
        Their names, in order.
    build
        Returns them.
    target
        Level of optimisation and number type.
    awaited
        Whether a loop that keeps time is not to start without it, see :func:`pending`.

    Returns
    -------
    tuple of casadi.Function
        Machine code, or as built while it is being made, or where there is no compiler or it
        fails.

    """
    cc = compiler()
    if cc is None or not compiles():
        return build()
    library = Library.of(names[0], content, cc, target)
    found = library.load(names)
    if found is not None:
        return found
    functions = build()
    if when() == NOW:
        if not library.failed and library.build(c_source(functions)):
            return library.load(names) or functions
        return functions
    if jobs.ask_for(library, functions):
        order = _Order(functions, library, awaited)
        with _turn:
            _orders.update(dict.fromkeys(map(hash, functions), order))
    return functions


def compiled_source(name: str, source: str, target: Target) -> Path | None:
    """
    Return the shared library of C of one's own, and wait for the compiler where it is new.

    Parameters
    ----------
    name
        What its file is called, before what follows from its content.
    source
        One translation unit, with ``casadi_real`` as its number type.
    target
        Level of optimisation, number type and processor.

    Returns
    -------
    Path or None
        None where there is no compiler or it fails.

    """
    cc = compiler()
    if cc is None or not compiles():
        return None
    library = Library.of(name, source, cc, target)
    end = time.monotonic() + 2 * TIME_LIMIT
    if when() == NOW and not (library.sound or library.failed):
        library.build(source)
    elif not library.sound and jobs.ask_for(library, (), source):
        while not (library.sound or library.failed) and time.monotonic() < end:
            jobs.start()
            time.sleep(POLL_PERIOD)
    return library.file if library.sound else None


def newest(function: ca.Function) -> ca.Function:
    """Return the machine code of a function if it is there by now, else the function."""
    with _turn:
        order = _orders.get(hash(function))
        if order is None:
            return function
        order.look()
        if order.machine_code is None:
            return function
        names = [f.name() for f in order.functions]
        return order.machine_code[names.index(function.name())]


def register(user: _Renewable) -> None:
    """Note what :func:`renew` is to renew."""
    with _turn:
        if hash(user.function) in _orders:
            _users.add(user)


def renew() -> None:
    """Have all that evaluates by the virtual machine go over to machine code, if it is there."""
    with _turn:
        for user in list(_users):
            user.renew()
            if hash(user.function) not in _orders:
                _users.discard(user)


def pending(*, awaited: bool = False) -> list[str]:
    """Return the names of what is being compiled; if asked for, only of what loops wait for."""
    with _turn:
        orders = [order for order in {id(o): o for o in _orders.values()}.values() if order.open]
        for order in orders:
            order.look()
        return sorted(
            order.functions[0].name()
            for order in orders
            if order.open and (order.awaited or not awaited)
        )


def wait(
    seconds: float, give_up: Callable[[], bool] = lambda: False, *, awaited: bool = False
) -> bool:
    """
    Wait until nothing is being compiled any more.

    Parameters
    ----------
    seconds
        Longest wait [s].
    give_up
        Asked now and then whether to wait no longer.
    awaited
        Whether to wait only for what loops wait for.

    Returns
    -------
    bool
        Whether everything is there.

    """
    end = time.monotonic() + seconds
    while pending(awaited=awaited):
        if time.monotonic() > end or give_up():
            return False
        jobs.start()  # the process may have been killed
        time.sleep(POLL_PERIOD)
    return True


def settle(seconds: float, give_up: Callable[[], bool] = lambda: False) -> bool:
    """Wait for what loops wait for, then go over to machine code as :func:`renew` does."""
    done = wait(seconds, give_up, awaited=True)
    renew()
    return done

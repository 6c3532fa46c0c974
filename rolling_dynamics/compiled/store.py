"""
Functions as machine code, cached by content and compiled in the background, and fast calls.

Until the machine code is ready, CasADi's virtual machine evaluates the same operations in the same
order, with results equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
import threading
import time
from weakref import WeakSet

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import jobs
from rolling_dynamics.compiled.library import Library, TIME_LIMIT
from rolling_dynamics.compiled.policy import compiler, compiles, NOW, Target, USUAL, when
from rolling_dynamics.compiled.source import c_source

POLL_PERIOD = 0.05  # between two checks of running compilations [s]


@dataclass(slots=True)
class _Order:
    """Functions that are being compiled into a library, and the result."""

    functions: tuple[ca.Function, ...]
    library: Library
    awaited: bool
    machine_code: tuple[ca.Function, ...] | None = None

    @property
    def open(self) -> bool:
        """True while the machine code may still become available."""
        return self.machine_code is None and not self.library.failed

    def look(self) -> None:
        """Load the machine code if it is ready."""
        if self.machine_code is None:
            self.machine_code = self.library.load([f.name() for f in self.functions])


_orders: dict[int, _Order] = {}  # by CasADi's hash of a function
_users: WeakSet[FastFunction] = WeakSet()
_turn = threading.RLock()


def compiled(*functions: ca.Function, target: Target = USUAL) -> tuple[ca.Function, ...]:
    """
    Return the functions as machine code, or as given while that is being compiled.

    Parameters
    ----------
    functions
        Functions of distinct names; they go into one library.
    target
        Level of optimisation and number type.

    Returns
    -------
    tuple of casadi.Function
        Also as given if there is no compiler, or if it fails.

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
        Whether a real-time loop waits for it before it starts; see :func:`pending`.

    Returns
    -------
    tuple of casadi.Function
        Machine code; as built while that is being compiled, and without a working compiler.

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
    Return the shared library of C source, which is compiled first if it is new.

    Parameters
    ----------
    name
        Start of its file name; the rest follows from the content.
    source
        One translation unit, with ``casadi_real`` as its number type.
    target
        Level of optimisation, number type and processor.

    Returns
    -------
    Path or None
        None if there is no compiler, or if it fails.

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
    """Return the machine code of a function if it is ready, else the function."""
    with _turn:
        order = _orders.get(hash(function))
        if order is None:
            return function
        order.look()
        if order.machine_code is None:
            return function
        names = [f.name() for f in order.functions]
        return order.machine_code[names.index(function.name())]


def renew() -> None:
    """Switch all functions evaluated by the virtual machine to machine code that is ready."""
    with _turn:
        for user in list(_users):
            user.renew()
            if hash(user.function) not in _orders:
                _users.discard(user)


def pending(*, awaited: bool = False) -> list[str]:
    """Return the names of functions being compiled; if awaited, of those loops wait for."""
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
    Wait until no function is being compiled.

    Parameters
    ----------
    seconds
        Longest wait [s].
    give_up
        Called repeatedly; waiting ends when it returns True.
    awaited
        Whether to wait only for functions that real-time loops wait for.

    Returns
    -------
    bool
        Whether all machine code is ready.

    """
    end = time.monotonic() + seconds
    while pending(awaited=awaited):
        if time.monotonic() > end or give_up():
            return False
        jobs.start()  # the process may have been killed
        time.sleep(POLL_PERIOD)
    return True


def settle(seconds: float, give_up: Callable[[], bool] = lambda: False) -> bool:
    """Wait for the functions that real-time loops need, then switch as :func:`renew` does."""
    done = wait(seconds, give_up, awaited=True)
    renew()
    return done


class FastFunction:
    """
    A function that is called without CasADi's conversions: arrays in, one preallocated array out.

    One call costs a fraction of a microsecond plus the function itself. Not for use from two
    threads at once.

    Attributes
    ----------
    inputs, output
        Arrays that are read and written in place.
    call
        Evaluates at the values in ``inputs``; replaced by :meth:`renew`.

    """

    def __init__(self, function: ca.Function) -> None:
        """
        Bind buffers to a function with dense inputs and one dense output.

        Parameters
        ----------
        function
            Compiled or not.

        """
        sizes = (function.nnz_in(k) for k in range(function.n_in()))
        self._ends = list(accumulate(sizes, initial=0))
        self._given = np.zeros(self._ends[-1])
        self.inputs = [self._given[a:b] for a, b in pairwise(self._ends)]
        self.output = np.zeros(function.nnz_out(0))
        if not function.sparsity_out(0).is_dense():
            raise ValueError(f'{function.name()}: a dense output is needed')
        self._buffers: list[object] = []  # a caller that holds an earlier `call` may still use it
        self._bind(newest(function))
        with _turn:
            if hash(self.function) in _orders:
                _users.add(self)

    def _bind(self, function: ca.Function) -> None:
        self.function = function
        buffer, self.call = function.buffer()
        for k, array in enumerate(self.inputs):
            buffer.set_arg(k, memoryview(array.data))
        buffer.set_res(0, memoryview(self.output.data))
        self._buffers.append(buffer)

    def renew(self) -> None:
        """Switch to machine code if it is ready; not while another thread calls the function."""
        function = newest(self.function)
        if function is not self.function:
            self._bind(function)

    def __call__(self, *values: ArrayLike) -> Array:
        """Return the output as a new array, entries in column-major order."""
        for array, value in zip(self.inputs, values, strict=True):
            array[:] = value
        self.call()
        return self.output.copy()

    def side_by_side(self, first: int, end: int) -> Array:
        """Return inputs of one size as rows, shape (end - first, size), in their units."""
        return self._given[self._ends[first] : self._ends[end]].reshape(end - first, -1)

    def evaluate(self) -> Array:
        """Evaluate at the values in ``inputs``; return the output's own array, shape (size,)."""
        self.call()
        return self.output

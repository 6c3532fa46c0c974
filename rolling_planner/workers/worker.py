"""A worker process of the planner: jobs, results, and their interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
import importlib
import io
from multiprocessing.connection import Connection
import os
import signal
import sys
import threading
import traceback
from typing import Any

from rolling_dynamics.errors import CancelledError, origin, RollingError

SIGNAL = signal.SIGUSR1


class _Nowhere(io.TextIOBase):
    """Discards the output of interrupted solvers."""

    def write(self, text: str) -> int:
        return len(text)


class Interruption:
    """Current job of the main thread, and the cancelled jobs."""

    def __init__(self) -> None:
        """Install the signal handler; only in the main thread."""
        self._cancelled: set[int] = set()
        self._job: int | None = None
        self._held = False
        self._errors = sys.stderr
        self._main = threading.get_ident()
        signal.signal(SIGNAL, self._raise)

    def cancel(self, job: int) -> None:
        """Cancel a job; from any thread."""
        if job not in self._cancelled:  # one signal: clean-up is not interrupted again
            self._cancelled.add(job)
            signal.pthread_kill(self._main, SIGNAL)

    def is_cancelled(self, job: int) -> bool:
        """Return whether a job is cancelled."""
        return job in self._cancelled

    def begin(self, job: int) -> None:
        """Allow interruption of a job; raise CancelledError if it is cancelled already."""
        self._job = job
        self._raise()

    def end(self) -> None:
        """Disallow interruption."""
        self._job = None
        sys.stderr = self._errors

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Defer interruption, such as while a message is sent."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _raise(self, *_: object) -> None:
        if self._job in self._cancelled and not self._held:
            sys.stderr = _Nowhere()
            raise CancelledError('planning was cancelled')


Report = Callable[[Mapping[str, Any]], bool]
Work = Callable[[Mapping[str, Any], Report], Mapping[str, Any]]

DONE, FAILED, CANCELLED, FAULT = 'done', 'failed', 'cancelled', 'fault'


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    End of a job.

    Attributes
    ----------
    kind
        ``done``, ``failed`` (an error that the user can correct), ``cancelled`` or ``fault``.
    value
        Result of the function, if done.
    error
        Name of the class of the error.
    text
        Text of the error.
    trace
        Traceback of a fault, for developers.

    """

    kind: str
    value: Mapping[str, Any] | None = None
    error: str = ''
    text: str = ''
    trace: str = ''


def find_function(path: str) -> Callable[..., Any]:
    """Return the function at ``package.module:name``."""
    module, _, name = path.partition(':')
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def perform(
    work: Work, job: Mapping[str, Any], number: int, report: Report, interruption: Interruption
) -> Outcome:
    """
    Return the outcome of one job; never raises.

    Parameters
    ----------
    work, job, number
        The function, its argument, and the number by which the job is cancelled.
    report
        Called with progress; False cancels.
    interruption
        Interrupts the job.

    """
    try:
        interruption.begin(number)
        value = work(job, report)
        interruption.end()
        return Outcome(DONE, value)
    except Exception as error:  # noqa: BLE001 - reported to the node
        interruption.end()
        name, text = type(error).__name__, str(error)
        if isinstance(error, CancelledError) or interruption.is_cancelled(number):
            return Outcome(CANCELLED, error=name, text=text)
        if isinstance(error, RollingError):
            return Outcome(FAILED, error=name, text=text)
        where = origin(error)
        text = f'{where}: {text}' if where else text
        return Outcome(FAULT, error=name, text=text, trace=traceback.format_exc())


def serve(pipe: Connection, function: str) -> None:
    """Process jobs from the pipe until it closes."""
    interruption = Interruption()
    jobs: list[tuple[int, Mapping[str, Any]]] = []
    arrived = threading.Condition()

    def listen() -> None:
        while True:
            try:
                kind, number, content = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)  # the node has ended: no process waits for the solve
            if kind == 'cancel':
                interruption.cancel(number)
                continue
            with arrived:
                jobs.append((number, content))
                arrived.notify()

    work = find_function(function)
    warm_up = getattr(work, 'warm_up', None)
    threading.Thread(target=listen, daemon=True).start()
    while True:
        with arrived:
            arrived.wait_for(lambda: jobs)
            number, job = jobs.pop(0)
        if number == 0:  # the first one
            if job and warm_up is not None:
                perform(lambda j, _: warm_up(j) or {}, job, 0, lambda _: True, interruption)
            pipe.send(('ready', 0, None))
            continue

        def report(progress: Mapping[str, Any], number: int = number) -> bool:
            with interruption.deferred():
                pipe.send(('progress', number, progress))
            return not interruption.is_cancelled(number)

        pipe.send(('outcome', number, perform(work, job, number, report, interruption)))


def main() -> None:
    """Serve the socket given by number on the command line."""
    number, function = sys.argv[1:]
    try:
        serve(Connection(int(number)), function)
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)

"""A worker of the planner: jobs, answers, and their interruption."""

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
    """Takes what solvers print when they are cut short; it is of no use to anyone."""

    def write(self, text: str) -> int:
        return len(text)


class Interruption:
    """Current job of the main thread, and the jobs that it is to give up."""

    def __init__(self) -> None:
        """Take over the signal; only in the main thread."""
        self._cancelled: set[int] = set()
        self._job: int | None = None
        self._held = False
        self._errors = sys.stderr
        self._main = threading.get_ident()
        signal.signal(SIGNAL, self._raise)

    def cancel(self, job: int) -> None:
        """Have a job given up; from any thread."""
        if job not in self._cancelled:  # one signal: what cleans up is not cut short again
            self._cancelled.add(job)
            signal.pthread_kill(self._main, SIGNAL)

    def is_cancelled(self, job: int) -> bool:
        """Return whether a job is to be given up."""
        return job in self._cancelled

    def begin(self, job: int) -> None:
        """Let a job be cut short from now on; raise CancelledError if it has been already."""
        self._job = job
        self._raise()

    def end(self) -> None:
        """Let nothing be cut short any more."""
        self._job = None
        sys.stderr = self._errors

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """Finish what must not be cut short, such as a message that is being sent."""
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
        ``done``, ``failed`` (an error that the user can mend), ``cancelled`` or ``fault``.
    value
        What the function returned, if done.
    error
        Name of the class of the error.
    text
        Its text.
    trace
        Where a fault happened, for developers.

    """

    kind: str
    value: Mapping[str, Any] | None = None
    error: str = ''
    text: str = ''
    trace: str = ''


def find_function(path: str) -> Callable[..., Any]:
    """Return the function that ``package.module:name`` names."""
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
        The function, what it gets, and the number by which the job is cancelled.
    report
        Passes progress on; False cancels.
    interruption
        Cuts the job short.

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
    """Work on jobs from the pipe until it closes."""
    interruption = Interruption()
    jobs: list[tuple[int, Mapping[str, Any]]] = []
    arrived = threading.Condition()

    def listen() -> None:
        while True:
            try:
                kind, number, content = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)  # the node is gone: nobody waits for the solve
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
            with interruption.held_off():
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

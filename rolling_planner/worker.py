"""
Solves in a process of their own, so that a node answers while it plans.

A worker is a fresh Python that imports no ROS, ignores SIGINT, works on one job at a time and ends
when its pipe closes. Cancelling sets a flag that the solve polls at each iteration; a solve that
does not heed it in time is killed, and a spare worker that is already warm takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
from dataclasses import dataclass
import importlib
from multiprocessing.connection import Connection
import os
from pathlib import Path
import socket
import subprocess
import sys
import threading
import traceback
from typing import Any

from rolling_dynamics.errors import CancelledError, RollingError

KILL_AFTER = 0.12  # from the request to cancel to the end of a worker that does not heed it [s]
END_TIMEOUT = 0.1  # for a worker to end once its pipe is closed [s]
REPLACE_AFTER = 0.3  # starting a process costs time that the answer to a cancel needs [s]
START = (  # SIGINT is ignored before the imports, which take long
    'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); '
    'from rolling_planner.worker import main; main()'
)

Report = Callable[[Mapping[str, Any]], bool]
Work = Callable[[Mapping[str, Any], Report], Mapping[str, Any]]

DONE, FAILED, CANCELLED, FAULT = 'done', 'failed', 'cancelled', 'fault'


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    How a job ended.

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


# -- inside the worker ----------------------------------------------------------------------------


def find_function(path: str) -> Callable[..., Any]:
    """Return the function that ``package.module:name`` names."""
    module, _, name = path.partition(':')
    return getattr(importlib.import_module(module), name)


def perform(work: Work, job: Mapping[str, Any], report: Report) -> Outcome:
    """Return the outcome of one job; never raises."""
    try:
        return Outcome(DONE, work(job, report))
    except CancelledError as error:
        return Outcome(CANCELLED, error=type(error).__name__, text=str(error))
    except RollingError as error:
        return Outcome(FAILED, error=type(error).__name__, text=str(error))
    except Exception as error:  # noqa: BLE001 - reported to the node
        return Outcome(
            FAULT, error=type(error).__name__, text=str(error), trace=traceback.format_exc()
        )


def serve(pipe: Connection, function: str) -> None:
    """Work on jobs from the pipe until it closes."""
    cancelled: set[int] = set()
    jobs: list[tuple[int, Mapping[str, Any]]] = []
    arrived = threading.Condition()

    def listen() -> None:
        while True:
            try:
                kind, number, content = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)  # the node is gone: nobody waits for the solve
            with arrived:
                if kind == 'cancel':
                    cancelled.add(number)
                else:
                    jobs.append((number, content))
                    arrived.notify()

    work = find_function(function)
    warm_up = getattr(work, 'warm_up', None)
    threading.Thread(target=listen, daemon=True).start()
    pipe.send(('ready', 0, None))
    while True:
        with arrived:
            arrived.wait_for(lambda: jobs)
            number, job = jobs.pop(0)
        if number == 0:
            if warm_up is not None:
                perform(lambda j, _: warm_up(j) or {}, job, lambda _: True)
            continue

        def report(progress: Mapping[str, Any], number: int = number) -> bool:
            pipe.send(('progress', number, progress))
            return number not in cancelled

        outcome = perform(work, job, report)
        pipe.send(('outcome', number, outcome))


def main() -> None:
    """Serve the socket given by number on the command line."""
    number, function = sys.argv[1:]
    try:
        serve(Connection(int(number)), function)
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)


# -- on the side of the node ----------------------------------------------------------------------


@dataclass(slots=True)
class _Job:
    number: int
    on_progress: Callable[[Mapping[str, Any]], None]
    on_end: Callable[[Outcome], None]
    cancelled: bool = False


class Worker:
    """One process and the job it works on."""

    def __init__(self, function: str, warm_up: Mapping[str, Any] | None = None) -> None:
        """
        Start the process; it is ready a moment later.

        Parameters
        ----------
        function
            ``package.module:name`` of a :data:`Work`; if the function has an attribute
            ``warm_up``, that is called once with the second argument.
        warm_up
            A job for it, or None.

        """
        ours, theirs = socket.socketpair()
        environment = dict(os.environ)
        source = str(Path(__file__).resolve().parents[1])
        environment['PYTHONPATH'] = os.pathsep.join(
            part for part in (source, environment.get('PYTHONPATH')) if part
        )
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, '-c', START, str(theirs.fileno()), function],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )  # Ctrl-C in a terminal is for the node alone
        theirs.close()
        self._socket = ours
        self._pipe = Connection(os.dup(ours.fileno()))
        self._send_lock, self._lock = threading.Lock(), threading.Lock()
        self._job: _Job | None = None
        self._ready = threading.Event()
        if warm_up is not None:
            self._send(('job', 0, dict(warm_up)))
        self._thread = threading.Thread(target=self._listen, name='worker pipe', daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the process has imported its function."""
        return self._ready.wait(timeout)

    def begin(self, job: _Job, content: Mapping[str, Any]) -> None:
        """Start on a job; its end is reported exactly once, from another thread."""
        with self._lock:
            self._job = job
        if not self._send(('job', job.number, dict(content))):
            self._end(Outcome(FAULT, text='the worker process has ended'))

    def cancel(self) -> None:
        """Set the flag of the present job."""
        with self._lock:
            job = self._job
        if job is not None:
            job.cancelled = True
            self._send(('cancel', job.number, None))

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipe and see the process end."""
        with contextlib.suppress(OSError):
            # wakes the listener on either side; closing alone would leave ours blocked in a read
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_TIMEOUT)
        self._thread.join(END_TIMEOUT)

    def _send(self, message: tuple[str, int, Any]) -> bool:
        with self._send_lock:
            try:
                self._pipe.send(message)
            except (OSError, ValueError):
                return False
        return True

    def _listen(self) -> None:
        while True:
            try:
                kind, number, content = self._pipe.recv()
            except (EOFError, OSError):
                break
            if kind == 'ready':
                self._ready.set()
                continue
            job = self._job
            if job is None or job.number != number:
                continue
            if kind == 'progress':
                job.on_progress(content)
            else:
                self._end(content)
        self._process.wait()
        with self._send_lock:
            self._pipe.close()
            self._socket.close()
        job = self._job
        self._end(
            Outcome(CANCELLED)
            if job is not None and job.cancelled
            else Outcome(
                FAULT, text=f'the worker process ended with status {self._process.returncode}'
            )
        )

    def _end(self, outcome: Outcome) -> None:
        with self._lock:
            job, self._job = self._job, None
        if job is not None:
            job.on_end(outcome)


class WorkerPool:
    """A worker for the job at hand and a warm spare."""

    def __init__(
        self, function: str, warm_up: Mapping[str, Any] | None = None, *, spares: int = 1
    ) -> None:
        """
        Start the processes.

        Parameters
        ----------
        function, warm_up
            See :class:`Worker`.
        spares
            Number of workers that wait beside the one at work.

        """
        self._function, self._warm_up = function, warm_up
        self._lock = threading.Lock()
        self._size = 1 + spares
        self._workers = [Worker(function, warm_up) for _ in range(self._size)]
        self._number = 0
        self._at_work: Worker | None = None
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [w.pid for w in self._workers]

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the first worker can take a job."""
        return self._workers[0].wait_ready(timeout)

    def begin(
        self,
        content: Mapping[str, Any],
        on_progress: Callable[[Mapping[str, Any]], None],
        on_end: Callable[[Outcome], None],
    ) -> None:
        """
        Start a job; one at a time.

        Parameters
        ----------
        content
            What the function gets; must be picklable.
        on_progress
            Called from another thread with each progress report.
        on_end
            Called once, from another thread, with the outcome.

        Raises
        ------
        RollingError
            A job is at work, or the pool is closed.

        """
        with self._lock:
            if self._closed or self._at_work is not None:
                raise RollingError('the planner is busy or closed')
            self._number += 1
            self._replace_dead()
            worker = self._workers[0]
            self._at_work = worker

        def end(outcome: Outcome) -> None:
            with self._lock:
                self._at_work = None
            on_end(outcome)

        worker.begin(_Job(self._number, on_progress, end), content)

    def cancel(self) -> None:
        """Cancel the present job, if any: it ends within 0.12 s, or its worker is killed."""
        with self._lock:
            worker, number = self._at_work, self._number
        if worker is None:
            return
        worker.cancel()
        killer = threading.Timer(KILL_AFTER, self._kill_if_at_work, (worker, number))
        killer.daemon = True
        killer.start()

    def close(self) -> None:
        """End every process."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, []
        enders = [threading.Thread(target=w.close, daemon=True) for w in workers]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _kill_if_at_work(self, worker: Worker, number: int) -> None:
        with self._lock:
            stuck = self._at_work is worker and self._number == number
        if stuck:
            worker.kill()
            replacer = threading.Timer(REPLACE_AFTER, self._refill)
            replacer.daemon = True
            replacer.start()

    def _refill(self) -> None:
        with self._lock:
            if not self._closed:
                self._replace_dead()

    def _replace_dead(self) -> None:
        living = [w for w in self._workers if w.alive]
        missing = self._size - len(living)
        self._workers = living + [Worker(self._function, self._warm_up) for _ in range(missing)]

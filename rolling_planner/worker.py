"""
Solves in a process of their own, so that a node answers while it plans.

A worker is a fresh Python that imports no ROS, ignores SIGINT, works on one job at a time and ends
when its pipe closes. Cancelling sets a flag that the solve polls at each iteration, and interrupts
what goes on in between. A solve that does not heed it in time is left to itself: the answer is
given, a spare worker that is already warm takes over, and the one left behind becomes the spare
once it has ended, or is killed.
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
from rolling_planner.interruption import Interruption

ANSWER_AFTER = 0.12  # from the request to cancel to the answer, whatever the worker does [s]
KILL_AFTER = 3.0  # from there to the end of a worker that does not heed the request [s]
END_TIMEOUT = 0.1  # for a worker to end once its pipe is closed [s]
REAP_TIMEOUT = 1.0  # for one that was killed [s]
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
    pipe.send(('ready', 0, None))
    while True:
        with arrived:
            arrived.wait_for(lambda: jobs)
            number, job = jobs.pop(0)
        if number == 0:
            if warm_up is not None:
                perform(lambda j, _: warm_up(j) or {}, job, 0, lambda _: True, interruption)
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
        self._at_work_on: int | None = None
        self._killed = False
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
        """Whether the process runs and is to go on."""
        return not self._killed and self._process.poll() is None

    @property
    def at_work_on(self) -> int | None:
        """Number of the job that the process has not ended yet, also one that was given up."""
        return self._at_work_on

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the process has imported its function."""
        return self._ready.wait(timeout)

    def begin(self, job: _Job, content: Mapping[str, Any]) -> None:
        """Start on a job; its end is reported exactly once, from another thread."""
        with self._lock:
            self._job, self._at_work_on = job, job.number
        if not self._send(('job', job.number, dict(content))):
            self._end(Outcome(FAULT, text='the worker process has ended'))

    def cancel(self) -> None:
        """Set the flag of the present job."""
        with self._lock:
            job = self._job
        if job is not None:
            job.cancelled = True
            self._send(('cancel', job.number, None))

    def give_up(self, number: int) -> None:
        """Answer that a job is cancelled, whatever the process does."""
        self._end(Outcome(CANCELLED), number)

    def kill(self) -> None:
        """End the process at once."""
        self._killed = True
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
            with contextlib.suppress(subprocess.TimeoutExpired):  # a machine that is very busy
                self._process.wait(REAP_TIMEOUT)
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
            if kind == 'outcome':
                if self._at_work_on == number:
                    self._at_work_on = None
                self._end(content, number)
                continue
            job = self._job
            if job is not None and job.number == number:
                job.on_progress(content)
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

    def _end(self, outcome: Outcome, number: int | None = None) -> None:
        with self._lock:
            if number is not None and (self._job is None or self._job.number != number):
                return
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
            worker = self._at_work = self._idle_worker()

        def end(outcome: Outcome) -> None:
            with self._lock:
                self._at_work = None
            on_end(outcome)

        worker.begin(_Job(self._number, on_progress, end), content)

    def cancel(self) -> None:
        """Cancel the present job, if any: it is answered within 0.12 s."""
        with self._lock:
            worker, number = self._at_work, self._number
        if worker is None:
            return
        worker.cancel()
        _later(ANSWER_AFTER, self._give_up, worker, number)

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

    def _give_up(self, worker: Worker, number: int) -> None:
        if worker.at_work_on == number:
            worker.give_up(number)
            _later(KILL_AFTER, self._kill, worker, number)

    def _kill(self, worker: Worker, number: int) -> None:
        if worker.at_work_on == number:
            worker.kill()
            _later(REPLACE_AFTER, self._refill)

    def _idle_worker(self) -> Worker:
        """Return a worker without a job, the one that waited first; the others stay spares."""
        self._replace_dead()
        if all(w.at_work_on is not None for w in self._workers):
            self._workers[0].kill()
            self._replace_dead()
        worker = next(w for w in self._workers if w.at_work_on is None)
        self._workers.sort(key=lambda w: w is not worker)
        return worker

    def _refill(self) -> None:
        with self._lock:
            if not self._closed:
                self._replace_dead()

    def _replace_dead(self) -> None:
        living = [w for w in self._workers if w.alive]
        missing = self._size - len(living)
        self._workers = living + [Worker(self._function, self._warm_up) for _ in range(missing)]


def _later(delay: float, call: Callable[..., object], *args: object) -> None:
    """Call a function after a delay [s], from another thread."""
    timer = threading.Timer(delay, call, args)
    timer.daemon = True
    timer.start()

"""A worker process, from the side of the node: jobs, progress and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
from dataclasses import dataclass
import math
from multiprocessing.connection import Connection
import os
from pathlib import Path
from queue import SimpleQueue
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from rolling_dynamics.one_thread import one_thread
from rolling_planner.workers.worker import CANCELLED, FAULT, Outcome

END_TIMEOUT = 0.1  # for a worker to end once its pipe is closed [s]
REAP_TIMEOUT = 1.0  # for a killed one [s]
START = (  # SIGINT is ignored before the imports, which take long
    'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); '
    'from rolling_planner.workers.worker import main; main()'
)


@dataclass(slots=True)
class Job:
    """
    Job for a worker.

    Attributes
    ----------
    number
        Unique number, by which it is cancelled.
    content
        Argument of the function; must be picklable.
    on_progress
        Called from another thread with each progress report.
    on_end
        Called once, from another thread, with the outcome.
    time_limit
        Time after which the process is killed [s].
    cancelled
        Whether it was cancelled.

    """

    number: int
    content: Mapping[str, Any]
    on_progress: Callable[[Mapping[str, Any]], None]
    on_end: Callable[[Outcome], None]
    time_limit: float = math.inf
    cancelled: bool = False


class Worker:
    """
    A process and its current job.

    Attributes
    ----------
    at_work_on
        Number of the job that the process has not ended yet, even if it was cancelled.

    """

    def __init__(
        self,
        function: str,
        warm_up: Mapping[str, Any] | None = None,
        on_idle: Callable[[], object] = lambda: None,
    ) -> None:
        """
        Start the process; it is ready once it has warmed up.

        Parameters
        ----------
        function
            ``package.module:name`` of a ``Work`` of :mod:`rolling_planner.workers.worker`; if the
            function has an attribute ``warm_up``, that is called once with the second argument.
        warm_up
            A job for it, or None.
        on_idle
            Called from another thread when the process is ready, a job has ended in it, or the
            process has.

        """
        ours, theirs = socket.socketpair()
        environment = dict(os.environ)
        one_thread(environment)
        source = str(Path(__file__).resolve().parents[2])
        environment['PYTHONPATH'] = os.pathsep.join(
            part for part in (source, environment.get('PYTHONPATH')) if part
        )
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, '-c', START, str(theirs.fileno()), function],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )  # Ctrl-C in a terminal is for the node only
        theirs.close()
        self._socket = ours
        self._pipe = Connection(os.dup(ours.fileno()))
        self._lock = threading.Lock()
        self._on_idle = on_idle
        self._job: Job | None = None
        self.at_work_on: int | None = None
        self._killed = self._gone = False
        self._started = time.monotonic()
        self._ready = threading.Event()
        self._outbox: SimpleQueue[tuple[str, int, Any] | None] = SimpleQueue()
        self._outbox.put(('job', 0, dict(warm_up or {})))
        self._sender = threading.Thread(target=self._send, name='worker outbox', daemon=True)
        self._thread = threading.Thread(target=self._listen, name='worker pipe', daemon=True)
        self._sender.start()
        self._thread.start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if the process runs and is not to be ended."""
        return not self._killed and self._process.poll() is None

    @property
    def stopped(self) -> bool:
        """True if the process was stopped (SIGSTOP)."""
        look = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.pid, look) is not None
        except ChildProcessError:
            return False

    @property
    def ready(self) -> bool:
        """True once the process has warmed up."""
        return self._ready.is_set()

    @property
    def age(self) -> float:
        """Time since the start [s]."""
        return time.monotonic() - self._started

    @property
    def end_text(self) -> str:
        """Description of the end of the process."""
        return f'the worker process ended with status {self._process.returncode}'

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the process has imported its function and warmed up."""
        return self._ready.wait(timeout)

    def begin(self, job: Job) -> None:
        """Start on a job; its end is reported exactly once, from another thread."""
        with self._lock:
            self._job, self.at_work_on = job, job.number
            gone = self._gone
        if gone:
            self.end(Outcome(FAULT, text=self.end_text))
        self._outbox.put(('job', job.number, dict(job.content)))

    def cancel(self) -> None:
        """Set the flag of the present job."""
        with self._lock:
            job = self._job
        if job is not None:
            job.cancelled = True
            self._outbox.put(('cancel', job.number, None))

    def kill(self) -> None:
        """End the process at once."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """Close the pipe and wait for the end of the process."""
        with contextlib.suppress(OSError):
            # wakes the listener on either side; closing alone would leave ours blocked in a read
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # on a very busy machine
                self._process.wait(REAP_TIMEOUT)
        self._thread.join(END_TIMEOUT)

    def _send(self) -> None:
        """Send in a separate thread: a stopped process does not accept a long message."""
        with contextlib.suppress(OSError, ValueError):
            while (message := self._outbox.get()) is not None:
                self._pipe.send(message)

    def _listen(self) -> None:
        while True:
            try:
                kind, number, content = self._pipe.recv()
            except (EOFError, OSError):
                break
            if kind == 'ready':
                self._ready.set()
                self._on_idle()
                continue
            if kind == 'outcome':
                if self.at_work_on == number:
                    self.at_work_on = None
                self.end(content, number)
                self._on_idle()
                continue
            job = self._job
            if job is not None and job.number == number:
                job.on_progress(content)
        self._process.wait()
        self._outbox.put(None)
        self._sender.join()
        self._pipe.close()
        self._socket.close()
        with self._lock:
            self._gone, job = True, self._job
        self.end(
            Outcome(CANCELLED)
            if job is not None and job.cancelled
            else Outcome(FAULT, text=self.end_text)
        )
        self._on_idle()

    def end(self, outcome: Outcome, number: int | None = None) -> None:
        """Report the present job, or the one with a number, whatever the process does."""
        with self._lock:
            if number is not None and (self._job is None or self._job.number != number):
                return
            job, self._job = self._job, None
        if job is not None:
            job.on_end(outcome)

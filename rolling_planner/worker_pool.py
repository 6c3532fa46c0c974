"""
Work in processes of its own, so that a node answers while it plans.

There are as many workers as jobs at work, one, and a spare that is already warm. A solve that does
not heed a cancel in time is left to itself: the answer is given, the spare takes over, and the
worker left behind becomes the spare once it has ended, or is killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
from typing import Any

from rolling_dynamics.errors import RollingError
from rolling_planner.worker import CANCELLED, Outcome
from rolling_planner.worker_process import Job, Worker

ANSWER_AFTER = 0.1  # from the request to cancel to the answer, whatever the worker does [s]
KILL_AFTER = 3.0  # from there to the end of a worker that does not heed the request [s]
REPLACE_AFTER = 0.3  # starting a process costs time that the answer to a cancel needs [s]


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
        self._lock = threading.RLock()
        self._number = 0
        self._job: Job | None = None
        self._at_work: Worker | None = None
        self._closed = False
        self._size = 1 + spares
        self._workers = [self._worker() for _ in range(self._size)]

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
        content, on_progress, on_end
            See :class:`Job`.

        Raises
        ------
        RollingError
            A job is at work, or the pool is closed.

        """
        with self._lock:
            if self._closed or self._job is not None:
                raise RollingError('the planner is busy or closed')
            self._number += 1

            def end(outcome: Outcome) -> None:
                with self._lock:
                    self._job = self._at_work = None
                on_end(outcome)

            self._job = Job(self._number, content, on_progress, end)
        self._dispatch()

    def cancel(self) -> None:
        """Cancel the present job, if any: it is answered within 0.1 s."""
        with self._lock:
            worker, job = self._at_work, self._job
            if job is not None and worker is None:
                job.cancelled = True
        if job is None:
            return
        if worker is None:  # it waits for a worker
            job.on_end(Outcome(CANCELLED))
            return
        worker.cancel()
        _later(ANSWER_AFTER, self._give_up, worker, job.number)

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

    def _dispatch(self) -> None:
        """Give a job that waits to a worker without one, if there is any."""
        with self._lock:
            job = self._job
            if self._closed or job is None or job.cancelled or self._at_work is not None:
                return
            self._replace_dead()
            idle = [w for w in self._workers if w.at_work_on is None]
            if not idle:
                return  # again when one of them has ended what it was to give up, or was replaced
            self._at_work = idle[0]
            self._workers.sort(key=lambda w: w is not idle[0])
            idle[0].begin(job)

    def _give_up(self, worker: Worker, number: int) -> None:
        if worker.at_work_on == number:
            worker.give_up(number)
            _later(KILL_AFTER, self._kill, worker, number)

    def _kill(self, worker: Worker, number: int) -> None:
        if worker.at_work_on == number:
            worker.kill()
            _later(REPLACE_AFTER, self._refill)

    def _refill(self) -> None:
        with self._lock:
            if not self._closed:
                self._replace_dead()
        self._dispatch()

    def _replace_dead(self) -> None:
        living = [w for w in self._workers if w.alive]
        missing = self._size - len(living)
        self._workers = living + [self._worker() for _ in range(missing)]

    def _worker(self) -> Worker:
        return Worker(self._function, self._warm_up, self._dispatch)


def _later(delay: float, call: Callable[..., object], *args: object) -> None:
    """Call a function after a delay [s], from another thread."""
    timer = threading.Timer(delay, call, args)
    timer.daemon = True
    timer.start()

"""
Planning in separate processes, so that a node stays responsive.

There is a worker for the current job, and a spare that is already warm. If a solve does not react
to a cancel in time, the pool reports the result without it and the spare takes over. The old
worker becomes the spare once its solve has ended, or is killed.

Workers may fail. A job goes to one that is ready and was not stopped. When the job's time limit is
over, its result is reported, the worker is killed and another one replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import threading
from typing import Any

from rolling_dynamics.errors import RollingError
from rolling_planner.progress import PlanningTimeoutError
from rolling_planner.workers.worker import CANCELLED, FAILED, FAULT, Outcome
from rolling_planner.workers.worker_process import Job, Worker

ANSWER_AFTER = 0.1  # from the request to cancel to the result, whatever the worker does [s]
KILL_AFTER = 3.0  # from there to the end of a worker that does not react [s]
LOOK_AGAIN = 0.5  # for a worker to become ready, while a job waits [s]
READY_WITHIN = 600.0  # from its start, with an empty cache on a slow machine [s]
SIZE = 2  # the worker for the current job, and a warm spare
REPLACE_AFTER = 0.3  # starting a process would delay the result of a cancel [s]


class WorkerPool:
    """A worker for the current job and a warm spare."""

    def __init__(self, function: str, warm_up: Mapping[str, Any] | None = None) -> None:
        """
        Start the processes.

        Parameters
        ----------
        function, warm_up
            See :class:`Worker`.

        """
        self._function, self._warm_up = function, warm_up
        self._lock = threading.RLock()
        self._number = 0
        self._job: Job | None = None
        self._at_work: Worker | None = None
        self._deadline: threading.Timer | None = None
        self._closed = False
        self._workers = [self._worker() for _ in range(SIZE)]

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
        time_limit: float = math.inf,
    ) -> None:
        """
        Start a job, one at a time; it waits for a ready worker.

        Parameters
        ----------
        content, on_progress, on_end
            See :class:`Job`.
        time_limit
            Time limit from the start of the job in a worker [s]; then the worker is killed and the
            outcome is a PlanningTimeoutError.

        Raises
        ------
        RollingError
            Another job is running, or the pool is closed.

        """
        with self._lock:
            if self._closed or self._job is not None:
                raise RollingError('the planner is busy or closed')
            self._number += 1

            def end(outcome: Outcome) -> None:
                with self._lock:
                    self._job = self._at_work = None
                    if self._deadline is not None:
                        self._deadline.cancel()
                        self._deadline = None
                on_end(outcome)

            self._job = job = Job(self._number, content, on_progress, end, time_limit)
        self._dispatch()
        self._look_again(job.number)

    def cancel(self) -> None:
        """Cancel the present job, if any; its result is reported within 0.1 s."""
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
            if self._job is not None and self._at_work is None:
                self._job.on_end(Outcome(CANCELLED))
        enders = [threading.Thread(target=w.close, daemon=True) for w in workers]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _dispatch(self) -> None:
        """Give a waiting job to an idle worker, if there is one."""
        with self._lock:
            job = self._job
            if self._closed or job is None or job.cancelled or self._at_work is not None:
                return
            unfit = self._replace_unfit()
            idle = [w for w in self._workers if w.ready and w.at_work_on is None]
            if idle:
                self._at_work = worker = idle[0]
                self._workers.sort(key=lambda w: w is not worker)
                if math.isfinite(job.time_limit):
                    self._deadline = _later(job.time_limit, self._enforce, worker, job)
                worker.begin(job)
            elif unfit:
                job.on_end(Outcome(FAULT, text=unfit))

    def _look_again(self, number: int) -> None:
        """Retry a waiting job: its worker may have been stopped."""
        with self._lock:
            waits = self._job is not None and self._job.number == number and not self._at_work
        if waits:
            self._dispatch()
            _later(LOOK_AGAIN, self._look_again, number)

    def _enforce(self, worker: Worker, job: Job) -> None:
        """Report a job whose time is over, and kill its worker, which should have responded."""
        if worker.at_work_on == job.number:
            text = (
                f'the worker process did not answer within {job.time_limit:g} s and was killed; '
                'send the goal again to another one, with more time_budget if the machine is busy'
            )
            worker.end(Outcome(FAILED, None, PlanningTimeoutError.__name__, text), job.number)
            self._kill(worker, job.number)

    def _give_up(self, worker: Worker, number: int) -> None:
        if worker.at_work_on == number:
            worker.end(Outcome(CANCELLED), number)
            _later(KILL_AFTER, self._kill, worker, number)

    def _kill(self, worker: Worker, number: int) -> None:
        if worker.at_work_on == number:
            worker.kill()
            _later(REPLACE_AFTER, self._refill)

    def _refill(self) -> None:
        with self._lock:
            if not self._closed:
                self._replace_unfit()
        self._dispatch()

    def _replace_unfit(self) -> str:
        """Replace unusable workers; return why one never became ready, or the empty string."""
        why = ''
        for worker in self._workers:
            if not worker.alive and not worker.ready:
                why = worker.end_text
            elif not worker.ready and worker.age > READY_WITHIN:
                why = f'the worker process was not ready within {READY_WITHIN:g} s'
                worker.kill()
            elif worker.stopped and worker.at_work_on is None:
                worker.kill()
        living = [w for w in self._workers if w.alive]
        missing = SIZE - len(living)
        self._workers = living + [self._worker() for _ in range(missing)]
        return why

    def _worker(self) -> Worker:
        return Worker(self._function, self._warm_up, self._dispatch)


def _later(delay: float, call: Callable[..., object], *args: object) -> threading.Timer:
    """Call a function after a delay [s], from another thread."""
    timer = threading.Timer(delay, call, args)
    timer.daemon = True
    timer.start()
    return timer

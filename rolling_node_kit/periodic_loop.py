"""A thread that calls a function at absolute deadlines and keeps count of its punctuality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
import gc
import threading
import time

from rolling_node_kit.overruns import Overruns


@dataclass(slots=True)
class Punctuality:
    """
    Punctuality of a loop since the last reading.

    Attributes
    ----------
    ticks
        Number of calls.
    misses
        Calls that ended after the next deadline.
    skipped
        Periods given up because the loop was too far behind.
    worst_jitter
        Largest wake-up minus deadline [s].
    mean_work
        Mean duration of a call [s].

    """

    ticks: int = 0
    misses: int = 0
    skipped: int = 0
    worst_jitter: float = 0.0
    mean_work: float = 0.0


class PeriodicLoop:
    """
    Thread that calls ``tick()`` every period until that returns False or the loop is stopped.

    Deadlines are absolute (start + n period), so that lateness does not add up. A loop that is
    late catches up without sleeping; one that is later than ``give_up`` skips ahead.

    Attributes
    ----------
    period
        Time between deadlines [s].
    deadline
        Deadline of the present iteration, by ``time.monotonic`` [s].
    overruns
        Counter of missed deadlines with thresholds; None where deadlines do not matter.

    """

    def __init__(
        self,
        tick: Callable[[], bool | None],
        period: float,
        *,
        name: str = 'loop',
        give_up: float = 0.05,
        on_skip: Callable[[float], None] | None = None,
        on_fault: Callable[[Exception], None] | None = None,
        overruns: Overruns | None = None,
        on_overrun: Callable[[str], None] | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Prepare the loop; :meth:`start` starts it.

        Parameters
        ----------
        tick
            Called every period; returning False ends the loop.
        period
            Time between deadlines [s].
        name
            Name of the thread.
        give_up
            Lateness beyond which periods are skipped [s].
        on_skip
            Called with the time that was skipped [s].
        on_fault
            Called with an exception that tick raised; the loop has then ended.
        overruns
            Counter of missed deadlines with thresholds; None for no such alarm.
        on_overrun
            Called in the loop when more are missed than ``overrun_abort`` allows; the loop
            continues unless it is stopped.
        wait
            Waits a number of seconds for the next iteration; where it returns sooner, the
            iteration starts at once, and the next deadline counts from there.

        """
        self._tick, self._wait = tick, wait
        self.period, self.deadline = period, 0.0
        self._name = name
        self._give_up = max(give_up, 2.0 * period)
        self._on_skip = on_skip
        self._on_fault = on_fault
        self.overruns, self._on_overrun = overruns, on_overrun
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._record = Punctuality()

    @property
    def running(self) -> bool:
        """True while the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; a loop runs once."""
        _freeze_once()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 0.5) -> bool:
        """Ask the loop to end, wait for it, and return whether it did; callable from the loop."""
        self._stop.set()
        if self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def read_punctuality(self) -> Punctuality:
        """Return the figures since the last call, and start new ones."""
        with self._lock:
            record, self._record = self._record, Punctuality()
        if record.ticks:
            record.mean_work /= record.ticks
        return record

    def _run(self) -> None:
        try:
            self._turn()
        except Exception as error:
            if self._on_fault is None:
                raise
            self._on_fault(error)

    def _turn(self) -> None:
        deadline = time.monotonic()
        while not self._stop.is_set():
            self.deadline, woken = deadline, time.monotonic()
            if self._tick() is False:
                return
            done = time.monotonic()
            self._note(woken - deadline, done - woken, missed=done > deadline + self.period)
            deadline += self.period
            behind, periods = done - deadline, 0
            if behind > self._give_up:
                periods = int(behind / self.period)
                deadline += periods * self.period
                self._record.skipped += periods
                if self._on_skip is not None:
                    self._on_skip(periods * self.period)
            if behind > 0.0:
                self._overrun(done, 1 + periods)
            else:
                self._wait(-behind)
                deadline = min(deadline, time.monotonic())

    def overrun_fraction(self) -> float:
        """Return the fraction of missed deadlines, a turn without end included."""
        if self.overruns is None:
            return 0.0
        now = time.monotonic()
        pending = int((now - self.deadline) / self.period) - 1 if self.running else 0
        return self.overruns.fraction(now, self.period, max(pending, 0))

    def _overrun(self, now: float, count: int) -> None:
        if self.overruns is None:
            return
        self.overruns.note(now, count)
        if self._on_overrun is None:
            return
        text = self.overruns.exceeds('abort', self.overruns.fraction(now, self.period))
        if text:
            self.overruns.forget()
            self._on_overrun(text)

    def _note(self, jitter: float, work: float, *, missed: bool) -> None:
        with self._lock:
            record = self._record
            record.ticks += 1
            record.misses += missed
            record.mean_work += work
            record.worst_jitter = max(record.worst_jitter, jitter)


@cache
def _freeze_once() -> None:
    """
    Exclude objects of start-up from garbage collections in a loop.

    Not at each start: garbage of an execution would stay forever. Nothing is collected before: in
    measurements, iterations of controller loops then took twice as long.
    """
    gc.freeze()

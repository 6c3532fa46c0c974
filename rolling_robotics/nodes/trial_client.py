"""A client of the laboratory's nodes: sets up trials, starts them, and watches."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import json
import os
from pathlib import Path
import time
from types import TracebackType
from typing import Any

import numpy as np
from rolling_dynamics.text import quoted
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.priority import take_priority
from rolling_node_kit.qos import EVENT, LATCHED
from rolling_robotics.demo.laboratory.seen import Offset, TrialSeen
from rolling_robotics.demo.record import Execution, Stream
from rolling_robotics.experiments import RECORDER
from rolling_robotics.nodes.demo_client import ClientError, DemoClient
from rolling_robotics.nodes.replay.runs import REPLAYED
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

TRUTH, ESTIMATE = 'object/ground_truth', 'object/odometry'
AGREED = 0.02  # rad between estimate and truth, below which a trial may begin
AGREED_FOR = 0.5  # s
PATIENCE = 30.0  # for that [s]
PRIORITY = 5  # below those of loops and recorder
LATE = 2.0  # s, for the last samples of a trial
SPARE = 60.0  # beyond its length that a trial may take [s]


class TrialClient(DemoClient):
    """Speaks to controller and plant of the laboratory; a context manager."""

    def __init__(
        self, *, domain: int, check: Callable[[], None], hardware: str, by_clock: bool
    ) -> None:
        """
        Start a node.

        Parameters
        ----------
        domain, check
            As of :class:`DemoClient`.
        hardware
            ``simulated`` or ``emulated``.
        by_clock
            Whether the nodes go by the clock: a reader that is left behind holds them up, so that
            this one takes a low real-time priority where it may.

        """
        super().__init__(
            domain=domain, check=check, watched={TRUTH: 'attitude', ESTIMATE: 'attitude'}
        )
        self._hardware = hardware
        self._status: list[dict[str, Any]] = []
        self._modes: list[tuple[float, str]] = []
        self._node.create_subscription(String, 'controller/trial', self._take_status, LATCHED)
        modes = 'contact/ground_truth' if hardware == 'emulated' else 'contact/state'
        self._node.create_subscription(RollingContact, modes, self._take_contact, EVENT)
        self._prompt = by_clock and take_priority(PRIORITY)

    def __enter__(self) -> TrialClient:  # noqa: PYI034  Self needs Python 3.11
        """Return the client."""
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancel what still runs, and leave as an ordinary process."""
        super().__exit__(kind, error, trace)
        if self._prompt:
            for task in Path('/proc/self/task').iterdir():
                with contextlib.suppress(OSError):
                    os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))

    def _take_status(self, message: String) -> None:
        try:
            status = json.loads(message.data)
        except (ValueError, RecursionError):
            status = None
        if isinstance(status, dict) and isinstance(status.get('phase'), str):
            self._status.append(status)
        else:
            self._node.get_logger().warning(f'controller/trial refused: {quoted(message.data)}')

    def _take_contact(self, message: RollingContact) -> None:
        stamp = time_to_nanoseconds(message.header.stamp) * 1e-9
        self._modes.append((stamp, message.mode))

    def _told(self, phase: str, run: int | None = None) -> dict[str, Any] | None:
        """Return what the controller told of a phase, or None."""
        for status in reversed(self._status):
            if status['phase'] == phase and run in {None, status.get('run')}:
                return status
        return None

    # -- calls ------------------------------------------------------------------------------

    def wait_until_ready(self, timeout: float) -> None:
        """Wait until the laws are prepared, the plant is seen, and a recorder listens."""
        self._wait(
            'controller and plant did not come up',
            lambda: (
                self._seen.is_set()
                and bool(self._told('ready') or self._told('failed'))
                and self._is_recorded()
            ),
            timeout,
        )
        failed = self._told('failed')
        if failed:
            raise ClientError(f'controller: {failed["reason"]}')

    def _is_recorded(self) -> bool:
        """Tell whether a recorder, if there is one, listens to all that a replay needs."""
        if RECORDER.name not in self._node.get_node_names():
            return True
        return all(
            any(
                reader.node_name == RECORDER.name
                for reader in self._node.get_subscriptions_info_by_topic(topic)
            )
            for topic in REPLAYED
        )

    def preparation(self) -> str:
        """Return what the controller told when it was ready."""
        return str((self._told('ready') or {}).get('told', ''))

    def _trigger(self, name: str) -> str:
        answer = self._call(Trigger, name, Trigger.Request())
        if not answer.success:
            raise ClientError(f'{name}: {answer.message}')
        return str(answer.message)

    def _switch(self, node: str, *, on: bool) -> None:
        self._call(SetBool, f'{node}/enable', SetBool.Request(data=on))

    def _await_samples(self, record: Execution, end: float) -> None:
        """Wait a little for samples that were sent before a time [s] and have not come yet."""
        late = time.monotonic() + LATE
        while time.monotonic() < late and not record.seen[TRUTH].stamps[-1:] >= [end]:
            time.sleep(0.01)

    # -- trials -----------------------------------------------------------------------------

    def place(self, off: Offset) -> None:
        """Put the object at its start, off by so much."""
        if self._hardware == 'emulated':
            self._place_emulated(off)
            return
        self.set_parameters(
            'simulator',
            {
                'perturbation_position': [off.shift, 0.0],
                'perturbation_rotation': [0.0, off.turn, 0.0],
                'inertia_factor': off.inertia,
                'resistance_factor': off.resistance,
            },
        )
        self._trigger('simulator/reset')

    def _place_emulated(self, off: Offset) -> None:
        """Let the arm go back to its start, and wait until the object is known there."""
        self._trigger('motor_bridge/stop')
        self.set_parameters(
            'emulated_motors',
            {
                'perturbation_position': off.shift,
                'perturbation_rotation': off.turn,
                'inertia_factor': off.inertia,
                'resistance_factor': off.resistance,
                'held': True,
                'release_at_command': True,
            },
        )
        self._trigger('emulated_motors/reset')
        self._switch('estimator', on=True)
        self._switch('motor_bridge', on=True)
        self._await_agreement()

    def _await_agreement(self) -> None:
        """Wait until estimate and truth have agreed for some time."""
        record = Execution(seen={watch.topic: Stream() for watch in self._watches})
        self._running = record
        since, end = time.monotonic(), time.monotonic() + PATIENCE
        while time.monotonic() - since < AGREED_FOR:
            self._check()
            if not _agree(record):
                since = time.monotonic()
            if time.monotonic() > end:
                raise ClientError(f'the object is not known {PATIENCE:g} s after its reset')
            time.sleep(0.02)
        self._running = None

    def run_trial(
        self,
        law: str,
        seed: int,
        off: Offset,
        duration: float,
        *,
        slower: float = 1.0,
        on_start: Callable[[], None] = lambda: None,
    ) -> TrialSeen:
        """
        Run one trial from where the object is, and watch.

        Parameters
        ----------
        law, duration
            In which way, and how long [s].
        seed, off
            Kept with what is seen.
        slower
            Wall-clock seconds that a second may take.
        on_start
            Called once it goes on.

        """
        self.set_parameters('controller', {'law': law, 'duration': duration})
        record = Execution(seen={watch.topic: Stream() for watch in self._watches})
        before = self._modes[-1:]
        self._modes, self._running = before, record
        run = int(self._trigger('controller/start').split()[1].rstrip(':'))
        on_start()
        self._wait(
            'the trial did not end',
            lambda: self._told('ended', run) is not None,
            slower * duration + SPARE,
        )
        status = self._told('ended', run) or {}
        start = (status['started'] or 0) * 1e-9
        self._await_samples(record, start + status['duration'])
        self._running = None
        stamps = np.array(record.seen[TRUTH].stamps)
        keep = (stamps >= start) & (stamps <= start + status['duration'])
        rows = np.array(record.seen[TRUTH].rows).reshape(-1, 4)
        return TrialSeen(
            law=law,
            seed=seed,
            offset=off,
            times=stamps[keep] - start,
            attitudes=rows[keep],
            modes=[
                (t - start, mode) for t, mode in self._modes if t - start <= status['duration']
            ],
            complete=bool(status['complete']),
            reason=str(status['reason']),
            balancing_since=status['balancing_since'],
        )


def _agree(record: Execution) -> bool:
    """Tell whether the newest attitudes of estimate and truth are the same, nearly."""
    newest = [stream.rows[-1:] for stream in record.seen.values()]
    if not all(newest):
        return False
    one, other = (np.array(rows[0]) for rows in newest)
    return float(2 * np.arccos(min(abs(one @ other), 1.0))) < AGREED

"""A client of the laboratory's nodes: sets up trials, starts them, and watches."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import math
import os
from pathlib import Path
import time

import numpy as np
from rclpy.action import ActionClient
from rolling_dynamics.text import printable
from rolling_interfaces.action import RunExperiment
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.priority import take_priority
from rolling_node_kit.qos import EVENT
from rolling_robotics.demo.laboratory.recorded_trials import MODES, TRUTH
from rolling_robotics.demo.laboratory.trial_record import Offset, TrialSeen, Truth
from rolling_robotics.demo.record import Execution, Stream
from rolling_robotics.experiment import RECORDER
from rolling_robotics.hardware import EMULATED
from rolling_robotics.nodes.demo_client import ClientError, DemoClient
from rolling_robotics.nodes.replay.runs import REPLAYED
from std_srvs.srv import SetBool, Trigger

ESTIMATE = 'object/odometry'
AGREED = 0.02  # rad between estimate and truth, below which a trial may begin
AGREED_FOR = 0.5  # s
PATIENCE = 30.0  # for that [s]
PRIORITY = 5  # below those of loops and recorder
CODES = RunExperiment.Result
NEVER_BEGUN = (CODES.INVALID_GOAL, CODES.INFEASIBLE, CODES.INACTIVE)
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
            Whether the nodes run in wall-clock time: a reader that is left behind holds them up,
            so that this one takes a low real-time priority where it may.

        """
        topics = (TRUTH, ESTIMATE) if hardware == EMULATED else (TRUTH,)
        super().__init__(domain=domain, check=check, watched=dict.fromkeys(topics, 'attitude'))
        self._hardware = hardware
        self._modes: list[tuple[float, str]] = []
        self._experiment = ActionClient(self._node, RunExperiment, 'run_experiment')
        self._node.create_subscription(RollingContact, MODES[hardware], self._take_contact, EVENT)
        self._prompt = by_clock and take_priority(PRIORITY)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Cancel what still runs, and leave as an ordinary process."""
        super().__exit__(kind)
        if self._prompt:
            for task in Path('/proc/self/task').iterdir():
                with contextlib.suppress(OSError):
                    os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))

    def _take_contact(self, message: RollingContact) -> None:
        stamp = time_to_nanoseconds(message.header.stamp) * 1e-9
        self._modes.append((stamp, message.mode))

    # -- calls ------------------------------------------------------------------------------

    def wait_until_ready(self, timeout: float) -> None:
        """Wait until the laws are prepared, the plant is seen, and a recorder listens."""
        end = time.monotonic() + timeout
        self.wait_until_active(['controller'], timeout)
        self._wait(
            'the plant was not seen',
            lambda: (
                self._seen.is_set() and self._experiment.server_is_ready() and self._is_recorded()
            ),
            end - time.monotonic(),
        )

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
        return printable(self._lateness.values.get('controller', {}).get('prepared', ''))

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
        if self._hardware == EMULATED:
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
        record = Execution(seen={watch.topic: Stream() for watch in self._watches})
        before = self._modes[-1:]
        self._modes, self._running = before, record
        self._lateness.begin()
        result = self._run(
            self._experiment,
            RunExperiment.Goal(law=law, duration=float(duration)),
            lambda _: None,
            slower * duration + SPARE,
            on_start,
        )
        if result.error_code in NEVER_BEGUN:
            raise ClientError(f'controller: {printable(result.error_string)}')
        start = time_to_nanoseconds(result.start) * 1e-9
        span = start, start + result.duration
        self._await_samples(record, span[1])
        self._running = None
        stale = printable(result.error_string) if result.error_code == CODES.STALE_STATE else ''
        seen = Truth(
            stamps=np.array(record.seen[TRUTH].stamps),
            attitudes=np.array(record.seen[TRUTH].rows).reshape(-1, 4),
            modes=self._modes,
        )
        return TrialSeen(
            law=law,
            seed=seed,
            offset=off,
            span=span,
            **seen.within(*span),
            complete=result.error_code == CODES.NONE,
            reason=printable(result.error_string),
            balancing_since=None if math.isnan(result.balancing_since) else result.balancing_since,
            void=self._lateness.void or stale,
        )


def _agree(record: Execution) -> bool:
    """Tell whether the newest attitudes of estimate and truth are the same, nearly."""
    newest = [stream.rows[-1:] for stream in record.seen.values()]
    if not all(newest):
        return False
    one, other = (np.array(rows[0]) for rows in newest)
    return float(2 * np.arccos(min(abs(one @ other), 1.0))) < AGREED

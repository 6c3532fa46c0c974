"""
Estimates, computed again: the same messages at the same steps.

The estimator logs which messages each of its steps took, and when. Recorded with its inputs, and
with its parameters, that is all on which its estimates depend, so a replay finds them again bit by
bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.nodes.estimation import Estimation, Inputs
from rolling_hw_interface.nodes.estimator_node import TABLE
from rolling_hw_interface.object_estimator import BEGIN, ENABLED, FORGET, Step, steps_in
from rolling_node_kit.cdr import ACCEL, decode_odometry, decode_stamped, JointReader, POSE
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.replayed import Replayed

STEPS, SETTINGS = 'estimator/steps', 'estimator/settings'
COMMANDS, IMAGES = 'hand/accel_command', 'vision/object_pose'
HAND, OBJECT = 'hand/odometry', 'object/odometry'


class _Queue:
    """The recorded messages of a topic, taken in their order by their stamps."""

    def __init__(
        self, recorded: Recorded, topic: str, read: Callable[[bytes], Any | None]
    ) -> None:
        self._path, self._topic = recorded.path, topic
        self._waiting = deque(
            taken for _, _, data in recorded.raw([topic]) if (taken := read(data)) is not None
        )

    def take(self, stamps: Sequence[int]) -> list[Any]:
        """Return the messages of these stamps; those before them were taken by nobody."""
        out = []
        for stamp in stamps:
            while self._waiting:
                taken = self._waiting.popleft()
                if taken.stamp == stamp:
                    out.append(taken)
                    break
            else:
                raise ParameterError(
                    f'{self._path}: a message of {self._topic} that the estimator took is not in '
                    'it; start the recorder before the estimator'
                )
        return out


def replay_estimates(recorded: Recorded) -> list[Replayed]:
    """
    Compute every estimate of a recording again.

    Parameters
    ----------
    recorded
        Recording with the log, the parameters and the inputs of the estimator.

    Returns
    -------
    list of Replayed
        One for the hand and one for the object, as far as they were estimated.

    Raises
    ------
    ParameterError
        An input is missing, or the log does not start with the estimator.

    """
    settings = recorded.settings(SETTINGS, TABLE)
    steps = [s for _, _, m in recorded.messages([STEPS]) for s in steps_in(m.data)]
    if not settings or not steps:
        return []
    if not steps[0].flags & BEGIN:
        raise ParameterError(
            f'{recorded.path}: the log of the estimator lacks its beginning; start the recorder '
            'before the estimator'
        )
    found: dict[str, dict[int, Array]] = {HAND: {}, OBJECT: {}}
    for stamp, hand, estimate in _estimates(recorded, settings[0], steps):
        found[HAND][stamp] = hand
        if estimate is not None:
            found[OBJECT][stamp] = estimate.object_
    machine = settings[0][FINGERPRINT]
    return [_compared(recorded, t, computed, machine) for t, computed in found.items() if computed]


def _estimates(recorded: Recorded, values: dict[str, Any], steps: Sequence[Step]) -> Iterator[Any]:
    core = Estimation(values)
    queues = [
        _Queue(recorded, topic, _unless_refused(read))
        for topic, read in (
            (COMMANDS, lambda data: decode_stamped(data, ACCEL)),
            (values['state_topic'], JointReader(values['joint_names']).read),
            (IMAGES, lambda data: decode_stamped(data, POSE)),
        )
    ]
    for step in steps:
        if step.flags & BEGIN:
            core.begin(step.now)
        if step.flags & FORGET:
            core.forget()
        stamps = (step.commands, step.joints, step.images)
        inputs = Inputs(*(q.take(s) for q, s in zip(queues, stamps, strict=True)))
        yield from core.step(step.now, inputs, enabled=bool(step.flags & ENABLED))


def _unless_refused(read: Callable[[bytes], Any]) -> Callable[[bytes], Any | None]:
    """Return a reader of messages that returns None for one that the estimator rejected."""

    def reader(data: bytes) -> Any | None:
        try:
            return read(data)
        except ParameterError:
            return None

    return reader


def _compared(
    recorded: Recorded, topic: str, computed: dict[int, Array], fingerprint: str
) -> Replayed:
    """Compare the recording up to the last step of the log."""
    last, unknown = max(computed), np.full_like(next(iter(computed.values())), np.nan)
    odometry = (decode_odometry(data) for _, _, data in recorded.raw([topic]))
    stream = [(s, values) for s, values, _ in odometry if s <= last]
    pairs = np.array([(computed.get(s, unknown), x) for s, x in stream])
    rows = pairs.reshape(-1, 2, unknown.size)
    return Replayed(topic, rows[:, 0], rows[:, 1], fingerprint, 'estimates')

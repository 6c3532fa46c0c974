"""Commands and estimates of a recording, computed again, beside the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.fingerprint import other_machine, PORTABLE
from rolling_node_kit.cdr import ACCEL, decode_odometry, decode_stamped, hand_control
from rolling_robotics.nodes.recorded import Recorded

Timed = tuple[int, Array]  # stamp [ns] and values


class Answer(NamedTuple):
    """
    One command or estimate.

    Attributes
    ----------
    stamp
        Its time [ns].
    computed
        Its numbers; None where what they are computed from is not in the recording.
    recorded
        Those in the recording; None where it has none.

    """

    stamp: int
    computed: Array | None
    recorded: Array | None


@dataclass
class Replayed:
    """
    One execution, run or stream, computed again.

    Attributes
    ----------
    title
        What it is.
    noun
        What was computed.
    fingerprint
        That of the machine in the recording; the empty string if there is none.
    answers
        Each of them.

    """

    title: str
    noun: str = 'commands'
    fingerprint: str = ''
    answers: list[Answer] = field(default_factory=list)

    @property
    def _pairs(self) -> list[tuple[Array, Array]]:
        return [
            (a.computed, a.recorded)
            for a in self.answers
            if a.computed is not None and a.recorded is not None
        ]

    @property
    def recorded(self) -> int:
        """Number of answers that are recorded and computed."""
        return len(self._pairs)

    @property
    def equal(self) -> int:
        """Number of answers that are equal: bit by bit, or to 1e-9 of another machine's."""
        pairs = self._pairs
        if not self.rounding:
            return sum(a.tobytes() == b.tobytes() for a, b in pairs)
        largest = max((float(np.abs(b).max()) for _, b in pairs), default=0.0)
        bound = PORTABLE * max(1.0, largest)  # [SI unit]
        return sum(bool(np.abs(a - b).max() <= bound) for a, b in pairs)

    @property
    def rounding(self) -> str:
        """Reason why the machine that recorded may round otherwise; empty if it does not."""
        return other_machine(self.fingerprint)

    @property
    def difference(self) -> float:
        """Greatest difference of a component."""
        return max((float(np.abs(a - b).max()) for a, b in self._pairs), default=0.0)

    @property
    def lost(self) -> int:
        """Number of answers that could not be computed."""
        return sum(a.computed is None for a in self.answers)

    @property
    def same(self) -> bool:
        """True if it was computed whole, and every recorded value came out the same."""
        return not self.lost and 0 < self.equal == self.recorded

    def lines(self) -> Iterator[str]:
        """Yield what to report to a user."""
        how = f'to {PORTABLE:g}' if self.rounding else 'bit by bit'
        yield (
            f'{self.title}: {self.equal} of {self.recorded} {self.noun} equal {how}, '
            f'largest difference {self.difference:.3g}'
        )
        if self.rounding:
            yield f'  not compared bit by bit: {self.rounding}'
        if self.lost:
            yield f'  {self.lost} not computed, a step or a message before is not in the recording'
        missing = len(self.answers) - self.lost - self.recorded
        if missing:
            yield f'  {missing} not compared, they are not in the recording'


def recorded_values(recorded: Recorded, topic: str) -> Iterator[Timed]:
    """
    Yield stamps and values of accelerations or odometry, in the order of arrival.

    Raises
    ------
    ParameterError
        The topic holds other messages.

    """
    kind = recorded.topics.get(recorded.topic(topic) or '', '')
    for _, _, data in recorded.raw([topic]):
        if kind.endswith('/Odometry'):
            yield decode_odometry(data)[:2]
        elif kind.endswith('/AccelStamped'):
            accel = decode_stamped(data, ACCEL)
            yield accel.stamp, hand_control(accel.values)
        else:
            raise ParameterError(f'{recorded.path}: {topic} holds {kind}, which is not replayed')

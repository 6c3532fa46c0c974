"""The latest state of a robot, and the latest consistent pair of hand and object states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_view import Source
from rolling_dynamics.contract.rolling_system import Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.cdr import decode_odometry, JointReader
from rolling_node_kit.newest_state import NewestState, StampCheck
from rolling_node_kit.polled_subscription import PolledSubscription

WAITING = 32  # messages whose counterpart has not come
BODY = Layout(
    (
        quaternion_entry('q'),
        vector_entry('p', 'm'),
        vector_entry('w', 'rad/s'),
        vector_entry('v', 'm/s'),
    )
)
Body = tuple[Array, Array]  # pose and twist, and their covariances
Bodies = tuple[Body, Body]


class Measurements(NewestState[Bodies]):
    """Pairs the two odometry streams by their stamps and makes a state of the newest pair."""

    def __init__(self, source: Source, check: StampCheck | None = None) -> None:
        """Convert with this source; take stamps that pass the check."""
        super().__init__(check)
        self._source = source
        self._waiting: dict[bool, dict[int, Body]] = {False: {}, True: {}}

    def take(self, data: bytes, *, is_hand: bool) -> bool:
        """Take one serialized message; return whether it completed a pair."""
        try:
            stamp, values, covariances = decode_odometry(data)
        except ParameterError as error:
            self.refuse(str(error))
            return False
        problem = BODY.problem(values)
        if problem:
            self.refuse(f'{"hand" if is_hand else "object"}/odometry {problem}')
            return False
        body = values, covariances
        other = self._waiting[not is_hand].pop(stamp, None)
        if other is None:
            mine = self._waiting[is_hand]
            mine[stamp] = body
            while len(mine) > WAITING:
                del mine[next(iter(mine))]
            return False
        self.offer(stamp, (body, other) if is_hand else (other, body))
        return True

    @property
    def covariances(self) -> Array | None:
        """Covariances of pose and twist of the object, shape (2, 6, 6), in the newest state."""
        used = self._used
        return None if used is None else used[1][1][1]

    def restart(self) -> None:
        """Forget what came: the object was put elsewhere."""
        with self._lock:
            self._forget()
            self._waiting = {False: {}, True: {}}
        self._source.restart()

    def _read(self, raw: Bodies) -> Array | None:
        (hand, _), (object_, _) = raw
        x, _ = self._source.state(hand, object_)
        if np.all(np.isfinite(x)):
            return x
        self._source.restart()
        self.restarts += 1
        self.refuse('poses of hand and object give no contact')
        return None


class RobotStates(NewestState[Array]):
    """
    States by the names of their layout; none of them depends on those before.

    Attributes
    ----------
    topics
        Where they come from; empty where they are taken by hand.

    """

    topics: Sequence[PolledSubscription] = ()

    def __init__(self, layout: Layout, topic: str, check: StampCheck | None = None) -> None:
        """Take states of this layout; the topic is named where one is refused."""
        super().__init__(check)
        self._reader = JointReader(layout.names)
        self._layout, self._topic = layout, topic
        self._unit = [layout.slice(e.name) for e in layout.entries if e.has_unit_norm]

    def poll(self) -> None:
        """Take what came."""
        for topic in self.topics:
            for data in topic.take():
                self.take(data)

    def note(self, u: Array, stamp: int) -> None:
        """Ignore a control that acts from a time [ns] on."""

    def take(self, data: bytes) -> bool:
        """Take one serialized message; return whether it has a state."""
        try:
            reading = self._reader.read(data)
            stamp, x = reading.stamp, reading.needed('position')
        except ParameterError as error:
            self.refuse(f'{self._topic}: {error}')
            return False
        if problem := self._layout.problem(x):
            self.refuse(f'{self._topic} {problem}')
            return False
        for where in self._unit:
            x[where] /= np.linalg.norm(x[where])
        self.offer(stamp, x)
        self.state()
        return True

    def _read(self, raw: Array) -> Array:
        return raw

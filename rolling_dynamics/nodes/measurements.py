"""The latest state of a robot, and the latest consistent pair of hand and object states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast, ClassVar

from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.contact_view import Source, StateSource
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.contract.rolling_system import (
    Layout,
    quaternion_entry,
    RollingSystem,
    vector_entry,
)
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.cdr import decode_odometry, JointReader
from rolling_node_kit.newest_state import NewestState, Raw, StampCheck
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import STREAM_POLLED
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import JointState

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


HAND = 'hand/odometry'


class PlantStates(NewestState[Raw], ABC):
    """
    States of the plant, read from its topics.

    Attributes
    ----------
    topics
        Names of the topics, each with the type of its messages.
    text
        The topics, in words.
    polled
        Those topics, once a node listens to them.

    """

    topics: ClassVar[dict[str, type]]
    text: ClassVar[str]
    polled: Sequence[PolledSubscription] = ()

    def listen(self, node: SuiteNode) -> Sequence[PolledSubscription]:
        """Subscribe; :meth:`poll` takes what comes."""
        self.polled = [
            node.polled(kind, name, STREAM_POLLED, raw=True) for name, kind in self.topics.items()
        ]
        return self.polled

    def poll(self) -> None:
        """Take what came."""
        for topic, name in zip(self.polled, self.topics, strict=True):
            for data in topic.take():
                self.take(data, name)

    @abstractmethod
    def take(self, data: bytes, topic: str) -> bool:
        """Take one serialized message of a topic; return whether it completed a state."""


class Measurements(PlantStates[Bodies]):
    """Pairs the two odometry streams by their stamps and makes a state of the newest pair."""

    topics: ClassVar[dict[str, type]] = {HAND: Odometry, 'object/odometry': Odometry}
    text = 'hand/odometry with object/odometry of equal stamp'

    def __init__(self, source: Source, check: StampCheck | None = None) -> None:
        """Convert with this source; take stamps that pass the check."""
        super().__init__(check)
        self._source = source
        self._waiting: dict[bool, dict[int, Body]] = {False: {}, True: {}}

    def take(self, data: bytes, topic: str) -> bool:
        """Take one serialized message of a topic; return whether it completed a pair."""
        is_hand = topic == HAND
        try:
            stamp, values, covariances = decode_odometry(data)
        except ParameterError as error:
            self.refuse(str(error))
            return False
        problem = BODY.problem(values)
        if problem:
            self.refuse(f'{topic} {problem}')
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
        """Covariances of pose and twist of hand and object in the newest state: (2, 2, 6, 6)."""
        used = self._used
        return None if used is None else np.array([known for _, known in used[1]])

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
        self.refuse('poses of hand and object give no contact')
        return None


class RobotStates(PlantStates[Array]):
    """States by the names of their layout; none of them depends on those before."""

    text = 'robot/state'
    topics: ClassVar[dict[str, type]] = {text: JointState}

    def __init__(self, layout: Layout, check: StampCheck | None = None) -> None:
        """Take states of this layout."""
        super().__init__(check)
        self._reader, self._layout = JointReader(layout.names), layout
        self._unit = [layout.slice(e.name) for e in layout.entries if e.has_unit_norm]

    def note(self, u: Array, stamp: int) -> None:
        """Ignore a control that acts from a time [ns] on."""

    def take(self, data: bytes, topic: str = text) -> bool:
        """Take one serialized message; return whether it has a state."""
        try:
            reading = self._reader.read(data)
            stamp, x = reading.stamp, reading.needed('position')
        except ParameterError as error:
            self.refuse(f'{topic}: {error}')
            return False
        if problem := self._layout.problem(x):
            self.refuse(f'{topic} {problem}')
            return False
        for where in self._unit:
            x[where] /= np.linalg.norm(x[where])
        self.offer(stamp, x)
        self.state()
        return True


def states_of(system: RollingSystem, params: Array, start: Array) -> PlantStates[Any]:
    """Return what reads states of a plant: of an object on a hand, or of a robot by name."""
    if offers(system, CarriedObject) is None:
        return RobotStates(system.state)
    contact_h = start[system.state.slice('contact_h')]
    return Measurements(StateSource(cast('ContactSystem', system), params, contact_h))

"""The latest consistent pair of hand and object states."""

from __future__ import annotations

import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_view import Source
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.cdr import decode_odometry
from rolling_node_kit.newest_state import NewestState, StampCheck

WAITING = 32  # messages whose counterpart has not come
UNIT = 0.01  # by which the norm of a quaternion may differ from 1
GREATEST = 1e6  # m, rad/s or m/s of a body: beyond it numbers overflow where they are squared
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
        problem = _problem(values)
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


def _problem(values: Array) -> str:
    """Return why pose and twist of a body cannot be used, or the empty string."""
    if not math.isfinite(values.sum()):
        return 'is not finite'
    if (greatest := float(abs(values).max())) > GREATEST:
        return f'has a number of {greatest:.3g}; at most {GREATEST:g} is believed'
    q = values[:4]
    norm = math.sqrt(float(q @ q))
    if abs(norm - 1.0) > UNIT:
        return f'has a quaternion of norm {norm:.3g}; a unit quaternion is needed'
    return ''

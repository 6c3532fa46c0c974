"""The latest consistent pair of hand and object states."""

from __future__ import annotations

from collections import deque
import math
import threading
import time
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.odometry_codec import decode_odometry

WAITING = 32  # messages whose counterpart has not come
KEPT = 256  # pairs that are remembered
Pair = tuple[int, NDArray[np.float64], NDArray[np.float64]]


class Source(Protocol):
    """What makes a state of poses and twists of hand and object, 13 numbers each."""

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """Return the state, and the gap between the bodies [m]."""
        ...

    def restart(self) -> None:
        """Begin anew after a state that was none."""


class Measurements:
    """Pairs the two odometry streams by their stamps and makes a state of the newest pair."""

    def __init__(self, source: Source) -> None:
        """Convert with this source."""
        self._source = source
        self._lock = threading.Lock()
        self._waiting: dict[bool, dict[int, NDArray[np.float64]]] = {False: {}, True: {}}
        self._pair: Pair | None = None
        self._recent: deque[Pair] = deque(maxlen=KEPT)
        self._converted: tuple[int, NDArray[np.float64]] | None = None
        self._received = -np.inf
        self.refused = ''
        self.count = 0
        self.restarts = 0  # times that a pair gave no state, and the source began anew

    def take(self, data: bytes, *, is_hand: bool) -> bool:
        """Take one serialized message; tell whether it completed a pair."""
        try:
            stamp, values = decode_odometry(data)
        except ParameterError as error:
            self.refused = str(error)
            return False
        if not math.isfinite(values.sum()):
            self.refused = f'{"hand" if is_hand else "object"}/odometry is not finite'
            return False
        other = self._waiting[not is_hand].pop(stamp, None)
        if other is None:
            mine = self._waiting[is_hand]
            mine[stamp] = values
            while len(mine) > WAITING:
                del mine[next(iter(mine))]
            return False
        with self._lock:
            self._pair = (stamp, values, other) if is_hand else (stamp, other, values)
            self._recent.append(self._pair)
            self._received = time.monotonic()
            self.count += 1
        return True

    def restart(self) -> None:
        """Forget what came: the object was put elsewhere."""
        with self._lock:
            self._pair = self._converted = None
            self._recent.clear()
            self._waiting = {False: {}, True: {}}
        self._source.restart()

    def wait_anew(self) -> None:
        """Count the age from now, where nobody listened before."""
        self._received = time.monotonic()

    @property
    def age(self) -> float:
        """Time since the newest pair came, by a steady clock [s]."""
        return time.monotonic() - self._received

    def state(self) -> tuple[int, NDArray[np.float64]] | None:
        """Return stamp [ns] and state of the newest pair, or None; from one thread at a time."""
        with self._lock:
            pair = self._pair
        if pair is None:
            return None
        if self._converted is None or self._converted[0] != pair[0]:
            x, _ = self._source.state(pair[1], pair[2])
            if not np.all(np.isfinite(x)):
                self._source.restart()
                self.restarts += 1
                self.refused = 'poses of hand and object give no contact'
                return self._converted
            self._converted = (pair[0], x)
        return self._converted

    def state_near(self, stamp: int) -> NDArray[np.float64] | None:
        """Return the state whose stamp is nearest to a time [ns], of the last ones; or None."""
        with self._lock:
            pair = min(self._recent, key=lambda p: abs(p[0] - stamp), default=None)
        if pair is None:
            return None
        x, _ = self._source.state(pair[1], pair[2])
        return x if np.all(np.isfinite(x)) else None

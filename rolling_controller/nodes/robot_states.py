"""The newest states of a robot, as they come in joint states."""

from __future__ import annotations

from collections import deque
import math
import threading
import time

import numpy as np
from rolling_controller.nodes.machine import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.joint_state_codec import JointStateDecoder

KEPT = 256  # states that are remembered


class RobotStates:
    """
    Takes states by the names of their layout; see :class:`States`.

    Attributes
    ----------
    count
        Number of states that came.
    restarts
        None of them depends on those before: 0.
    refused
        Why the last bad message was refused, or the empty string.

    """

    def __init__(self, layout: Layout, topic: str) -> None:
        """Take states of this layout; the topic is named where one is refused."""
        self._decoder = JointStateDecoder(layout.names)
        self._topic = topic
        self._quaternions = [
            layout.slice(e.name) for e in layout.entries if e.kind == 'quaternion'
        ]
        self._lock = threading.Lock()
        self._recent: deque[tuple[int, Array]] = deque(maxlen=KEPT)
        self._received = -math.inf
        self.refused = ''
        self.count = self.restarts = 0

    def take(self, data: bytes) -> None:
        """Take one serialized message."""
        try:
            stamp, x = self._decoder.read(data)
        except ParameterError as error:
            self.refused = f'{self._topic}: {error}'
            return
        if not math.isfinite(x.sum()):
            self.refused = f'{self._topic} is not finite'
            return
        for where in self._quaternions:
            norm = math.sqrt(float(x[where] @ x[where]))
            if not 0.5 < norm < 2.0:
                self.refused = f'{self._topic}: a quaternion has the norm {norm:.3g}'
                return
            x[where] /= norm
        with self._lock:
            self._recent.append((stamp, x))
            self._received = time.monotonic()
            self.count += 1

    def wait_anew(self) -> None:
        """Count the age from now, where nobody listened before."""
        self._received = time.monotonic()

    @property
    def age(self) -> float:
        """Time since the newest state came, by a steady clock [s]."""
        return time.monotonic() - self._received

    def state(self) -> tuple[int, Array] | None:
        """Return stamp [ns] and value of the newest state, or None."""
        with self._lock:
            return self._recent[-1] if self._recent else None

    def state_near(self, stamp: int) -> Array | None:
        """Return the state whose stamp is nearest to a time [ns], of the last ones; or None."""
        with self._lock:
            found = min(self._recent, key=lambda s: abs(s[0] - stamp), default=None)
        return None if found is None else np.array(found[1])

"""The newest states of a robot, as they come in joint states."""

from __future__ import annotations

import math

from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.joint_state_codec import JointStateDecoder
from rolling_node_kit.newest_state import NewestState, StampCheck


class RobotStates(NewestState[Array]):
    """Takes states by the names of their layout; none of them depends on those before."""

    def __init__(self, layout: Layout, topic: str, check: StampCheck | None = None) -> None:
        """Take states of this layout; the topic is named where one is refused."""
        super().__init__(check)
        self._decoder = JointStateDecoder(layout.names)
        self._topic = topic
        self._quaternions = [
            layout.slice(e.name) for e in layout.entries if e.kind == 'quaternion'
        ]

    def take(self, data: bytes) -> None:
        """Take one serialized message."""
        try:
            stamp, x = self._decoder.read(data)
        except ParameterError as error:
            self.refuse(f'{self._topic}: {error}')
            return
        if not math.isfinite(x.sum()):
            self.refuse(f'{self._topic} is not finite')
            return
        for where in self._quaternions:
            norm = math.sqrt(float(x[where] @ x[where]))
            if not 0.5 < norm < 2.0:
                self.refuse(f'{self._topic}: a quaternion has the norm {norm:.3g}')
                return
            x[where] /= norm
        self.offer(stamp, x)
        self.state()

    def _read(self, raw: Array) -> Array:
        return raw

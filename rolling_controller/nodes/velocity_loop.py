"""What a robot does between plans: it keeps a commanded velocity, or is held where it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import time
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rolling_controller.law import Law, VELOCITY
from rolling_controller.nodes.control_loop import CODES, ControlLoop, Task
from rolling_controller.nodes.equipment import Equipment
from rolling_dynamics.arrays import Array

STILL = np.zeros(3)


class Wanted(NamedTuple):
    """Commanded velocity (forward, left, turn), and when it came, by a steady clock [s]."""

    velocity: Array = STILL
    since: float = 0.0

    @property
    def moves(self) -> bool:
        """Whether it is one to move."""
        return bool(self.velocity.any())


class Driving(Mapping[str, Array]):
    """
    Keeps the velocity that was commanded last; a mapping of it, as laws take it.

    A command that is older than ``command_timeout`` is one to stand still.

    Attributes
    ----------
    control
        The loop that does it.
    law
        The law; one that takes no velocity holds the robot where it stands.
    holds
        Whether it is such a law.
    ended
        Why the driving ended by itself, or the empty string.

    """

    def __init__(
        self, node: Node, equipment: Equipment, law: Law[Any], wanted: Wanted | None = None
    ) -> None:
        """Start to drive, or to hold where no velocity is commanded."""
        self._node, self._equipment, self.law = node, equipment, law
        self.holds, self.ended = VELOCITY not in law.inputs, ''
        self.wanted, self._safe = wanted or Wanted(), True
        equipment.tracker.forget()
        task = Task(
            law=law,
            finish=self._finish,
            name='driving',
            signals=self,
            origin=0,
            waits=False,
            judge=self._judge,
        )
        self.control = ControlLoop(node, equipment, task)
        self.control.loop.start()

    def __getitem__(self, name: str) -> Array:
        """Return the commanded velocity, zero where the command is too old."""
        if name != VELOCITY:
            raise KeyError(name)
        wanted, timeout = self.wanted, self._equipment.values['command_timeout']
        return wanted.velocity if time.monotonic() - wanted.since <= timeout else STILL

    def __iter__(self) -> Iterator[str]:
        """Yield the name of the velocity."""
        yield VELOCITY

    def __len__(self) -> int:
        """Return that there is one signal."""
        return 1

    def stop(self, *, safe: bool = True) -> None:
        """Stop; the last command is the safe one, unless another loop goes on."""
        self._safe = safe
        self.control.end(CODES.NONE, '')

    @property
    def moves(self) -> bool:
        """Whether the robot is to move."""
        return bool(self[VELOCITY].any())

    def _finish(self, _code: int, reason: str) -> None:
        self.ended = reason
        if reason or self._safe:
            self._equipment.send_safe_command(self._node)
        if reason:
            self._node.get_logger().error(f'driving ended: {reason}')

    def _judge(self, t: float, x: Array, u: Array) -> tuple[int, str, Array]:
        """Return why a robot cannot be held any more."""
        u = self._equipment.watch.limited(u)
        lost = self._equipment.tracker.lost(t, x, u) if self.holds else ''
        return CODES.CONTACT_LOST, lost and f'the robot cannot be held any more: {lost}', u

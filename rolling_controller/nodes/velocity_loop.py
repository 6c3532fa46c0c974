"""The loop between plans: it keeps a wanted velocity, or holds the robot where it stands."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rolling_controller.law import gathered, Law, STATE, VELOCITY
from rolling_controller.nodes.execution import Equipment, LOST_MODES
from rolling_controller.nodes.intake import Intake
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import SimulationError

STILL = np.zeros(3)


class Wanted(NamedTuple):
    """Commanded velocity (forward, left, turn), and when it came, by a steady clock [s]."""

    velocity: Array = STILL
    since: float = 0.0

    @property
    def moves(self) -> bool:
        """Whether it is one to move."""
        return bool(self.velocity.any())


class Driving:
    """
    Keeps the velocity that was asked for last, in a thread of its own.

    A wish that is older than ``command_timeout`` is one to stand still.

    Attributes
    ----------
    contact_mode
        Mode of the contact as last reported.
    law
        The law; one that takes no velocity holds the robot where it stands.
    ended
        Why the driving ended by itself, or the empty string.

    """

    def __init__(
        self, node: Node, equipment: Equipment, law: Law[Any], wanted: Wanted | None = None
    ) -> None:
        """Start to drive, or to hold where no velocity is wanted."""
        self._node, self._equipment, self.law = node, equipment, law
        self.holds, self._memory = VELOCITY not in law.inputs, law.start()
        self.wanted = wanted or Wanted()
        self.contact_mode = ''
        self.ended = ''
        self._intake, self._stopped = Intake(equipment), False
        equipment.predictor.forget()
        equipment.watch.begin()
        equipment.tracker.forget()
        self.loop = equipment.loop(self._tick, self._fail, 'driving')
        self.loop.start()

    def stop(self, *, safe: bool = True) -> None:
        """Stop; the last command is the safe one, unless another loop goes on."""
        self._stopped = True
        self.loop.stop()
        if safe and not self.ended:
            self._equipment.send_safe_command(self._node)

    @property
    def moves(self) -> bool:
        """Whether the robot is to move."""
        return bool(self._wish().any())

    def _wish(self) -> Array:
        """Return the wanted velocity, zero where the wish is too old."""
        wanted, timeout = self.wanted, self._equipment.values['command_timeout']
        fresh = time.monotonic() - wanted.since <= timeout
        return wanted.velocity if fresh else STILL

    def _fail(self, text: str) -> None:
        self.loop.stop()
        self._give_up(text)

    def _give_up(self, reason: str) -> None:
        self.ended = reason
        self._equipment.send_safe_command(self._node)
        self._node.get_logger().error(f'driving ended: {reason}')

    def _tick(self) -> bool:
        now = self._intake.take()
        trouble = self._trouble(now)
        if trouble:
            self._give_up(trouble)
        return not trouble and (now is None or self._answer(*now))

    def _trouble(self, now: tuple[int, Array] | None) -> str:
        """Return why the robot cannot be driven any more, or the empty string."""
        if self._intake.stale:
            return self._intake.stale
        if self.contact_mode in LOST_MODES:
            return f'the contact is {self.contact_mode}'
        fault = '' if now is None else self._equipment.watch.judge(*now).fault
        return f'states are not plausible: {fault}' if fault else ''

    def _answer(self, stamp: int, x: Array) -> bool:
        equipment = self._equipment
        at, x = equipment.acting_state(self._node, stamp, x)
        given = gathered(self.law.inputs, {STATE: x, VELOCITY: self._wish()})
        self._memory, u = self.law.step(self._memory, given, at * 1e-9)
        if not np.isfinite(u).all():
            raise SimulationError('the law gave no finite control')
        u = equipment.watch.limited(u)
        lost = equipment.tracker.lost(at * 1e-9, x, u) if self.holds else ''
        if lost:
            self._give_up(f'the robot cannot be held any more: {lost}')
        if lost or self._stopped:  # while this step was computed: the safe command is the last one
            return False
        equipment.predictor.note(at, u)
        equipment.machine.send(u, at)
        return True

"""A robot on a stick: the loop that keeps a wanted velocity until something else is wanted."""

from __future__ import annotations

from dataclasses import dataclass
import time

import numpy as np
from rclpy.node import Node
from rolling_controller.nodes.execution import Equipment, LOST_MODES
from rolling_controller.nodes.intake import Intake
from rolling_controller.robot_laws import Drive
from rolling_dynamics.errors import SimulationError


@dataclass(frozen=True, slots=True)
class Wanted:
    """Velocity ahead [m/s], yaw rate [rad/s], and when it was asked for, by a steady clock [s]."""

    forward: float
    turn: float
    since: float


class Driving:
    """
    Keeps the velocity that was asked for last, in a thread of its own.

    A wish that is older than ``command_timeout`` is one to stand still.

    Attributes
    ----------
    contact_mode
        Mode of the contact as last reported.
    ended
        Why the driving ended by itself, or the empty string.

    """

    def __init__(self, node: Node, equipment: Equipment, drive: Drive, wanted: Wanted) -> None:
        """Start to drive."""
        self._node, self._equipment, self._drive = node, equipment, drive
        self.wanted = wanted
        self.contact_mode = ''
        self.ended = ''
        self._intake, self._stopped = Intake(equipment), False
        equipment.predictor.forget()
        equipment.watch.begin()
        self.loop = equipment.loop(self._tick, self._fail, 'driving')
        self.loop.start()

    def stop(self) -> None:
        """Stop; the last command is the safe one."""
        self._stopped = True
        self.loop.stop()
        if not self.ended:
            self._equipment.send_safe_command(self._node)

    def _fail(self, text: str) -> None:
        self.loop.stop()
        self._give_up(text)

    def _give_up(self, reason: str) -> None:
        self.ended = reason
        self._equipment.send_safe_command(self._node)
        self._node.get_logger().error(f'driving ended: {reason}')

    def _tick(self) -> bool:
        equipment = self._equipment
        now = self._intake.take()
        if self._intake.stale:
            self._give_up(self._intake.stale)
            return False
        if self.contact_mode in LOST_MODES:
            self._give_up(f'the contact is {self.contact_mode}')
            return False
        if now is None:
            return True
        fault = equipment.watch.judge(*now).fault
        if fault:
            self._give_up(f'states are not plausible: {fault}')
            return False
        at, x = equipment.acting_state(self._node, *now)
        wanted = self.wanted
        fresh = time.monotonic() - wanted.since <= equipment.values['command_timeout']
        forward, turn = (wanted.forward, wanted.turn) if fresh else (0.0, 0.0)
        u = self._drive.command(at * 1e-9, x, forward, turn)
        if not np.isfinite(u).all():
            raise SimulationError('the law gave no finite control')
        u = equipment.watch.limited(u)
        if self._stopped:  # while this step was computed: the safe command is the last one
            return False
        equipment.predictor.note(at, u)
        equipment.machine.send(u, at)
        return True

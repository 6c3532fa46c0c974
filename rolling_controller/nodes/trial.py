"""
One run of an experiment: the loop from state to command, and every way in which it ends.

Whatever ends it, the last command brings the hand to rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading

import numpy as np
from rclpy.node import Node
from rolling_controller.laboratory.answers import Answers
from rolling_controller.laboratory.laws import ExperimentLaw
from rolling_controller.laboratory.run_log import NO_STATE, RunLog, SAFE, TOUCHING
from rolling_controller.nodes.execution import LoopEquipment
from rolling_controller.nodes.intake import Intake
from rolling_controller.nodes.machine import Array
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.periodic_loop import PeriodicLoop, Punctuality

HELD = 2  # answers after which plant and controller surely take turns, in simulated time


@dataclass
class TrialState:
    """
    How far a run is.

    Attributes
    ----------
    started
        Stamp of its first state [ns]; None before.
    time
        Since then [s].
    ended
        Why it ended; empty while it goes on.
    complete
        Whether it lasted as long as it was to.
    lost
        Times at which the contact was reported lost [s].
    last
        Punctuality of the loop since it was last read.

    """

    started: int | None = None
    time: float = 0.0
    ended: str = ''
    complete: bool = False
    lost: int = 0
    last: Punctuality | None = None


class Trial:
    """
    Runs a law in a thread of its own until something ends it.

    Attributes
    ----------
    contact_mode
        Mode of the contact as last reported.
    state
        How far it is.

    """

    def __init__(
        self,
        node: Node,
        equipment: LoopEquipment,
        law: ExperimentLaw,
        duration: float,
        on_change: Callable[[TrialState], None],
        log: RunLog,
    ) -> None:
        """
        Start to run.

        Parameters
        ----------
        node, equipment
            The node, and what its loops use.
        law
            The law, begun anew.
        duration
            After which it ends [s]; 0 for no end.
        on_change
            Told the state at its start and at its end.
        log
            Takes what a replay needs to know of each command.

        """
        self._node, self._equipment, self.law = node, equipment, law
        self._duration, self._on_change = duration, on_change
        self.contact_mode = ''
        self.state = TrialState()
        self._once, self._turn = threading.Lock(), threading.Lock()
        self._ended = False
        self._intake, self._held = Intake(equipment), 0
        self._answers, self._log = Answers(law, equipment.predictor), log
        self._restarts = equipment.machine.measured.restarts
        self.loop = PeriodicLoop(
            self._tick,
            equipment.period,
            name='control',
            on_fault=lambda e: self.end(str(e)),
            overruns=equipment.overruns,
            on_overrun=self.end,
        )
        self.loop.start()

    def end(self, reason: str, *, complete: bool = False) -> None:
        """End once: stop the loop, command the hand to rest, tell it."""
        with self._once:
            if self._ended:
                return
            self._ended = True
        self.loop.stop()
        rest = self._equipment.brought_to_rest(self._node)
        self._log.note(SAFE, NO_STATE if rest.seen is None else rest.seen, rest.stamp)
        self._log.flush()
        self.state.ended, self.state.complete = reason, complete
        self.state.last = self.loop.read_punctuality()
        self._on_change(self.state)

    def _tick(self) -> bool:
        measured = self._equipment.machine.measured
        with self._turn:
            if self._ended:
                return False
            now = self._intake.take()
            if self._intake.stale:
                self.end(self._intake.stale)
                return False
            if now is None:
                return True
            if measured.restarts != self._restarts:
                self._restarts = measured.restarts
                self._log.restarted()
            return self._answer(*now)

    def _answer(self, stamp: int, x: Array) -> bool:
        equipment = self._equipment
        machine = equipment.machine
        if self.state.started is None:
            if equipment.sim_time and self._held < HELD:
                self._held += 1
                machine.send(machine.safe(x), stamp)
                self._log.note(SAFE, stamp, stamp)
                return True
            self.state.started = stamp
            self._on_change(self.state)
        self.state.time = (stamp - self.state.started) * 1e-9
        if 0.0 < self._duration <= self.state.time:
            self.end('the time is over', complete=True)
            return False
        touching = self.contact_mode != RollingContact.MODE_SEPARATED
        acts = equipment.acts(self._node, stamp)
        at, u = self._answers.command(stamp, x, acts, touching=touching)
        if not np.all(np.isfinite(u)):
            self.end('the law gave no finite acceleration')
            return False
        if self._ended:  # while this step was computed: the safe command is the last one
            return False
        machine.send(u, at)
        self._log.note(TOUCHING if touching else 0, stamp, acts)
        return True

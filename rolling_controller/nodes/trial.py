"""
One run of an experiment: the loop from state to command, and every way in which it ends.

Whatever ends it, the last command brings the hand to rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
from typing import Any

import numpy as np
from rclpy.node import Node
from rolling_controller.balance.hand_over import balancing_since
from rolling_controller.laboratory.answers import Answers
from rolling_controller.laboratory.run_log import NO_STATE, RunLog, SAFE, TOUCHING
from rolling_controller.law import Law
from rolling_controller.motion_watch import HandBound
from rolling_controller.nodes.execution import HELD, LoopEquipment
from rolling_controller.nodes.intake import Intake
from rolling_dynamics.arrays import Array
from rolling_interfaces.action import RunExperiment
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.periodic_loop import Punctuality

CODES = RunExperiment.Result


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
    code
        Error code of the action, NONE where it lasted as long as it was to.
    last
        Punctuality of the loop since it was last read.

    """

    started: int | None = None
    time: float = 0.0
    ended: str = ''
    code: int = CODES.NONE
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
        law: Law[Any],
        duration: float,
        on_end: Callable[[TrialState], None],
        on_progress: Callable[[Array, Array], None],
        log: RunLog,
    ) -> None:
        """
        Prepare to run; :meth:`begin` begins.

        Parameters
        ----------
        node, equipment
            The node, and what its loops use.
        law
            The law, begun anew.
        duration
            After which it ends [s]; 0 for no end.
        on_end
            Told the state at its end.
        on_progress
            Told state and control, ``feedback_rate`` times a second.
        log
            Takes what a replay needs to know of each command.

        """
        self._node, self._equipment = node, equipment
        self._duration, self._on_end, self._on_progress = duration, on_end, on_progress
        self.contact_mode = ''
        self.state = TrialState()
        self._once, self._turn = threading.Lock(), threading.Lock()
        self._ended, self._next_progress = False, 0.0
        self._intake, self._held = Intake(equipment), 0
        self._answers = Answers(law, equipment.predictor, equipment.watch)
        self._log = log
        self._start: Array = equipment.start
        self._bound: HandBound | None = None  # on the distance from where the hand starts
        self._restarts = equipment.machine.measured.restarts
        self.loop = equipment.loop(self._tick, lambda text: self.end(CODES.INTERNAL, text))

    @property
    def fault(self) -> str:
        """Why states are no longer believed; empty while they are."""
        return self._answers.fault

    @property
    def balancing_since(self) -> float | None:
        """Time at which balance took over [s]; None before."""
        return balancing_since(self._answers.memory)

    def begin(self) -> None:
        """Start the thread."""
        self.loop.start()

    def end(self, code: int, reason: str) -> None:
        """End once: stop the loop, command the hand to rest, tell it."""
        with self._once:
            if self._ended:
                return
            self._ended = True
        self.loop.stop()
        rest = self._equipment.brought_to_rest(self._node)
        self._log.note(SAFE, NO_STATE if rest.seen is None else rest.seen, rest.stamp)
        self._log.flush()
        self.state.ended, self.state.code = reason, code
        self.state.last = self.loop.read_punctuality()
        self._on_end(self.state)

    def _tick(self) -> bool:
        measured = self._equipment.machine.measured
        with self._turn:
            if self._ended:
                return False
            now = self._intake.take()
            if self._intake.stale:
                self.end(CODES.STALE_STATE, self._intake.stale)
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
            self.state.started, self._start = stamp, x.copy()
            self._bound = machine.bound(np.array([x, x]))
        self.state.time = (stamp - self.state.started) * 1e-9
        if 0.0 < self._duration <= self.state.time:
            self.end(CODES.NONE, 'the time is over')
            return False
        touching = self.contact_mode != RollingContact.MODE_SEPARATED
        acts = equipment.acts(self._node, stamp)
        at, u = self._answers.command(stamp, x, acts, touching=touching)
        if not np.all(np.isfinite(u)) and not self._answers.fault:
            self.end(CODES.INTERNAL, 'the law gave no finite acceleration')
            return False
        if self._bound is not None and not self._answers.fault:
            self._answers.fault = self._bound.problem(self.state.time, x, self._start, u)
        if self._answers.fault:
            self.end(CODES.STALE_STATE, f'states are not plausible: {self._answers.fault}')
            return False
        if self._ended:  # while this step was computed: the safe command is the last one
            return False
        machine.send(u, at)
        self._log.note(TOUCHING if touching else 0, stamp, acts)
        self._tell(x, u)
        return True

    def _tell(self, x: Array, u: Array) -> None:
        """Tell state and control, if it is time to."""
        if self.state.time < self._next_progress:
            return
        self._next_progress = self.state.time + 1.0 / self._equipment.values['feedback_rate']
        self._on_progress(x, u)

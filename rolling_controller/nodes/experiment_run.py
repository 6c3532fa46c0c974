"""One run of an experiment: what it says, what it logs for a replay, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

import numpy as np
from rclpy.node import Node
from rolling_controller.balance.hand_over import balancing_since
from rolling_controller.laboratory.run_log import NO_STATE, RunLog, SAFE, TOUCHING
from rolling_controller.law import Law
from rolling_controller.motion_watch import HandBound
from rolling_controller.nodes.control_loop import ControlLoop, Task
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_dynamics.arrays import Array
from rolling_interfaces.action import RunExperiment
from rolling_node_kit.periodic_loop import Punctuality

CODES = RunExperiment.Result


class ExperimentRun:
    """
    Runs the law of an experiment until something ends it.

    Attributes
    ----------
    control
        The loop that does it.
    ended, code
        Why it ended, empty while it goes on; and the error code of the action, NONE where it
        lasted as long as it was to.
    last
        Punctuality of the loop at its end.

    """

    def __init__(
        self,
        node: Node,
        equipment: LoopEquipment,
        law: Law[Any],
        duration: float,
        on_end: Callable[[ExperimentRun], None],
        on_progress: Callable[[Array, Array], None],
        log: RunLog,
    ) -> None:
        """
        Prepare to run.

        Parameters
        ----------
        node, equipment
            The node, and what its loops use.
        law
            The law.
        duration
            After which it ends [s]; 0 for no end.
        on_end
            Called with the run at its end.
        on_progress
            Called with state and control, ``feedback_rate`` times per second.
        log
            Takes what a replay needs to know of each command.

        """
        self._node, self._equipment, self._log = node, equipment, log
        self._on_end, self._on_progress = on_end, on_progress
        self.ended, self.code, self._next_progress = '', CODES.NONE, 0.0
        self.last: Punctuality | None = None
        self._restarts = equipment.machine.measured.restarts
        self._bound: HandBound | None = None
        task = Task(
            law=law,
            finish=self._finish,
            lost_modes=(),
            duration=lambda: duration or math.inf,
            on_start=self._begin,
            conclude=lambda _: self.control.end(CODES.NONE, 'the time is over'),
            judge=self._judge,
            answered=self._note,
            failed=lambda text: self._report(CODES.INTERNAL, text),
        )
        self.control = ControlLoop(node, equipment, task)

    @property
    def balancing_since(self) -> float | None:
        """Time at which balance took over [s]; None before."""
        answers = self.control.answers
        return balancing_since(answers.law, answers.memory)

    def _finish(self, code: int, reason: str) -> None:
        """Bring the hand to rest, and report it."""
        rest = self._equipment.bring_to_rest(self._node)
        self._log.note(SAFE, NO_STATE if rest.answers is None else rest.answers, rest.stamp)
        self._log.flush()
        self._report(code, reason)

    def _report(self, code: int, reason: str) -> None:
        self.ended, self.code = reason, code
        self.last = self.control.loop.read_punctuality()
        self._on_end(self)

    def _begin(self, _stamp: int) -> None:
        """Bound how far the hand goes from where it starts, measured and commanded."""
        self._start = self.control.measured.copy()
        states = np.array([self._start, self._start])
        self._bound = self._equipment.machine.bound(states)

    def _judge(self, _t: float, _x: Array, u: Array) -> tuple[int, str, Array]:
        """End a run whose hand goes too far; report state and control, if it is time to."""
        x, limited = self.control.measured, self._equipment.watch.limited(u)
        problem = ''
        if self._bound is not None:
            problem = self._bound.problem(self.control.time, x, self._start, limited)
        if problem:
            self.control.distrust(problem)
        elif self.control.time >= self._next_progress:
            self._next_progress = self.control.time + 1.0 / self._equipment.values['feedback_rate']
            self._on_progress(x, limited)
        return CODES.NONE, '', u

    def _note(self, stamp: int, acts: int, touching: bool, u: Array | None) -> None:
        """Log what the command that answered a state depends on."""
        restarts = self._equipment.machine.measured.restarts
        if restarts != self._restarts:
            self._restarts = restarts
            self._log.restarted()
        self._log.note(SAFE if u is None else TOUCHING if touching else 0, stamp, acts)

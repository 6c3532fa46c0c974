"""A task of the control loop: a plan to follow, and what holds its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.task import Future
from rolling_controller.law import Following, GoingOn, Law
from rolling_controller.nodes.control_loop import CODES, ControlLoop, Task
from rolling_controller.nodes.equipment import Equipment
from rolling_controller.nodes.step_log import EXECUTION
from rolling_controller.tracker import TrackingStep
from rolling_dynamics.arrays import Array
from rolling_interfaces.action import ExecutePlan
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.single_goal_server import Goal, resolve
from rolling_planner.plan import Plan


@dataclass(slots=True)
class Ending:
    """End of an execution."""

    code: int
    text: str
    x: Array
    error: float


class Hold(NamedTuple):
    """Law that holds a machine, and values from which a replay creates it; see :class:`Task`."""

    law: Law[Any]
    about: Mapping[str, Any]


class Standing(NamedTuple):
    """
    Holds of a machine at rest before and after an execution.

    Attributes
    ----------
    before
        The present hold, which continues until the plan starts, or None.
    after
        ``code -> hold`` after an ending; None for the safe command.
    begin
        Holds it from now on.

    """

    before: Law[Any] | None = None
    after: Callable[[int], Hold | None] = lambda _: None
    begin: Callable[[Hold], None] = lambda _: None


class Execution:
    """
    Follows one plan until something ends it.

    Attributes
    ----------
    control
        The loop that does it.
    last
        The newest step, None before the first.

    """

    def __init__(
        self,
        node: Node,
        equipment: Equipment,
        goal: Goal,
        plan: Plan,
        following: Following,
        on_start: Callable[[int], None],
        standing: Standing | None = None,
    ) -> None:
        """
        Prepare to follow a plan; :meth:`run` does it.

        Parameters
        ----------
        node, equipment, goal, plan, following
            Who follows which plan, for whom, by which law.
        on_start
            Called with the time of the start [ns].
        standing
            How the machine is held before and after; None where it only gets the safe command.

        """
        self._node, self._equipment, self._goal = node, equipment, goal
        self._values, self._standing = equipment.values, standing or Standing()
        self._tracker, self._settle = equipment.tracker, self._values['settle_time']
        self._tracker.begin(plan, following, settle=self._settle)
        self._following, self._bound = following, equipment.machine.bound(following.states)
        self.last: TrackingStep | None = None
        self._finished, self._next_feedback = Future(), 0.0
        self._end: Array | None = None  # state at the very end of the plan
        task = Task(
            law=following.law,
            finish=self._finish,
            about={'task': EXECUTION},
            limits=self._tracker.limits,
            start=time_to_nanoseconds(goal.request.plan.header.stamp),
            before=self._standing.before,
            duration=lambda: self._tracker.end + self._settle,
            on_start=on_start,
            judge=self._judge,
            conclude=self._conclude,
            failed=self._fail,
        )
        self.control = ControlLoop(node, equipment, task)

    async def run(self) -> Ending:
        """Follow the plan; return how it ended."""
        self.control.loop.start()
        self._goal.on_stop(lambda: self.end(CODES.CANCELLED, 'asked to stop'))
        try:
            ending: Ending = await self._finished
        finally:
            self._log_punctuality()
        return ending

    def end(self, code: int, text: str) -> None:
        """End once: bring the machine to rest or hold it, and report the action."""
        self.control.end(code, text)

    def _finish(self, code: int, text: str) -> None:
        end, equipment = self._end, self._equipment
        hold = (None if end is None else self._after()) or self._standing.after(code)
        if hold is None:
            bound = self._bound if self.control.fault else None
            present = equipment.bring_to_rest(self._node, bound)
        else:
            present = equipment.present
            self._standing.begin(hold)
        x = present if end is None else end
        ending = Ending(code, text, x, self._tracker.goal_error(x))
        resolve(self._node, self._finished, ending)

    def _fail(self, text: str) -> None:
        ending = Ending(CODES.INTERNAL, text, self._equipment.present, math.nan)
        resolve(self._node, self._finished, ending)

    def _after(self) -> Hold | None:
        """Return the law after the end of the plan: its hold, or its own law; or None."""
        law, hold, holds = self._following.law, self._following.hold, self._following.holds
        if hold is not None:
            return Hold(hold, {})
        going_on = GoingOn(law, self.control.answers.memory, (self.control.started or 0) * 1e-9)
        return Hold(going_on, {'continues': True}) if holds else None

    def _log_punctuality(self) -> None:
        r = self.control.loop.read_punctuality()
        self._node.get_logger().info(
            f'last second of control: {r.ticks} steps, {r.misses} late, {r.skipped} skipped, '
            f'worst wake-up {r.worst_jitter * 1e3:.2f} ms late, '
            f'mean work {r.mean_work * 1e6:.0f} us; '
            f'oldest state used {self.control.intake.worst_age * 1e3:.1f} ms'
        )

    def _judge(self, t: float, x: Array, u: Array) -> tuple[int, str, Array]:
        """Return why a step of the plan ends it, with the code, and the control."""
        self.last = step = self._tracker.step(t, x, u)
        if step.lost:
            text = f'the contact was lost at {step.t:.3f} s: {step.lost}'
            return CODES.CONTACT_LOST, text, u
        if step.ended:
            hold = self._following.hold
            u = hold.step(None, x, t)[1] if hold else self._equipment.machine.safe(x)
        problem = ''
        if self._bound is not None:
            limited = self._equipment.watch.limited(u)
            problem = self._bound.problem(t, x, self._tracker.planned(t), limited)
        if problem:
            self.control.distrust(problem)
        else:
            self._send_feedback(step)
        return 0, '', u

    def _conclude(self, stamp: int) -> None:
        """Check the state at the very end of the plan [ns]."""
        x = self._equipment.machine.measured.state_near(stamp)
        if x is None:
            self.end(CODES.STALE_STATE, self._equipment.stale_text())
            return
        self._end, tolerance = x, self._values['goal_tolerance']
        error = self._tracker.goal_error(x)
        if error <= tolerance:
            code = CODES.INFEASIBLE if self._tracker.shortfall else CODES.NONE
            self.end(code, self._tracker.shortfall)
        else:
            self.end(
                CODES.NOT_CONVERGED,
                f'the goal was missed by {error:.4g}; goal_tolerance is {tolerance:g}',
            )

    def _send_feedback(self, step: TrackingStep) -> None:
        if step.t < self._next_feedback:
            return
        self._next_feedback = step.t + 1.0 / self._values['feedback_rate']
        self._goal.handle.publish_feedback(
            ExecutePlan.Feedback(
                time=step.t,
                state_error=step.error,
                margin_names=list(step.margins),
                margin_values=list(step.margins.values()),
            )
        )

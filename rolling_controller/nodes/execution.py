"""
One plan being followed: the loop from state to command, and every way in which it ends.

Whatever ends it, the last command is the safe one, and it is waited for until it has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.task import Future
from rolling_controller.law import check_inputs, Following, Law, STATE
from rolling_controller.motion_watch import MotionWatch
from rolling_controller.nodes.intake import Intake
from rolling_controller.nodes.machine import Machine
from rolling_controller.predictor import Predictor
from rolling_controller.tracker import Tracker, TrackingStep
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import SimulationError
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.overruns import Overruns
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.single_goal_server import Goal, resolve
from rolling_planner.plan import Plan

ACK_TIMEOUT = 0.1  # longest wait for the safe command to be acknowledged [s]
LOOK_PERIOD = 0.02  # longest time between two turns in simulated time [s]
GIVE_UP = 0.05  # lateness beyond which turns by the clock are skipped [s]
LATE_IN_SIM_TIME = 5.0  # least age, in wall-clock time, of a state that is too old [s]
HELD = 2  # answers after which plant and controller surely take turns
LOST_MODES = RollingContact.MODE_SEPARATED, RollingContact.MODE_SLIPPING
CODES = ExecutePlan.Result


@dataclass(slots=True)
class Ending:
    """How an execution ended."""

    code: int
    text: str
    x: Array
    error: float


class Standing(NamedTuple):
    """
    How a machine is held where it stands, before and after an execution.

    Attributes
    ----------
    before
        What held it up to now, and goes on until the plan starts; None if nothing did.
    after
        From the code of an ending to what holds it then; None for the safe command.
    begin
        Holds it from now on.

    """

    before: Law[Any] | None = None
    after: Callable[[int], Law[Any] | None] = lambda _: None
    begin: Callable[[Law[Any]], None] = lambda _: None


class Braked(NamedTuple):
    """The safe command: stamp of the state that it answers, None of none; the state; its stamp."""

    seen: int | None
    x: Array
    stamp: int


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class LoopEquipment:
    """
    What loops from state to command use, one after another.

    Attributes
    ----------
    machine
        Where states come from and commands go.
    predictor
        The state when a command will act.
    watch
        What judges whether states are plausible.
    start
        State that stands for one that never came.
    values
        Parameters of the node by name.
    sim_time
        Whether each state is answered once, in simulated time.
    warn
        Logs a warning.

    """

    machine: Machine
    predictor: Predictor
    watch: MotionWatch
    start: Array
    values: ParameterTable
    sim_time: bool
    warn: Callable[[str], object] = lambda _: None

    @property
    def timeout(self) -> float:
        """Age of states from which on they are too old [s]."""
        # in simulated time the plant waits for commands: a late state tells of a busy machine
        return max(self.values['state_timeout'], LATE_IN_SIM_TIME if self.sim_time else 0.0)

    @property
    def period(self) -> float:
        """Time between two turns of the loop [s], the longest in simulated time."""
        return LOOK_PERIOD if self.sim_time else 1.0 / self.values['rate']

    def loop(
        self, tick: Callable[[], bool], fail: Callable[[str], None], name: str = 'control'
    ) -> PeriodicLoop:
        """
        Return a loop, not yet started; in simulated time it knows no deadlines.

        Parameters
        ----------
        tick
            One turn; tells whether to go on.
        fail
            Told what ends the loop: a fault, or too many missed deadlines.
        name
            Name of its thread.

        """
        return PeriodicLoop(
            tick,
            self.period,
            name=name,
            give_up=0.0 if self.sim_time else GIVE_UP,  # looks for a state are not made up for
            on_fault=lambda error: fail(str(error)),
            overruns=None if self.sim_time else Overruns(self.values),
            on_overrun=fail,
            wait=self.machine.wait if self.sim_time else time.sleep,
        )

    def stale_text(self, looked: float = 0.0) -> str:
        """Return why there is no state to work with, looks for one being so far apart [s]."""
        measured = self.machine.measured
        trouble = f' ({measured.trouble})' if measured.trouble else ''
        if not np.isfinite(measured.age):
            return f'{self.machine.missing}{trouble}'
        latest = min(self.machine.polled, key=lambda topic: topic.received)
        why = trouble or f' ({latest.lateness(measured.age, looked)})'
        return f'the newest state is {measured.age:.3f} s old; {self._timeout_text()}{why}'

    def _timeout_text(self) -> str:
        given = self.values['state_timeout']
        rule = f', at least {LATE_IN_SIM_TIME:g} s in simulated time' if self.sim_time else ''
        return f'state_timeout is {given:g} s{rule}'

    @property
    def present(self) -> Array:
        """Newest usable state, that of the start where none ever came."""
        now = self.machine.measured.state()
        return self.start if now is None else now[1]

    def acts(self, node: Node, stamp: int) -> int:
        """Return when a command acts that is sent now [ns]; in simulated time with its state."""
        return (
            stamp if self.sim_time else node.get_clock().now().nanoseconds + self.predictor.delay
        )

    def acting_state(self, node: Node, stamp: int, x: Array) -> tuple[int, Array]:
        """Return time [ns] and state in which a command sent now will act."""
        return self.predictor.predict(stamp, x, self.acts(node, stamp))

    def send_safe_command(self, node: Node) -> Array:
        """Command the machine to rest; return the present state."""
        return self.brought_to_rest(node).x

    def brought_to_rest(self, node: Node) -> Braked:
        """Command the machine to rest."""
        now = self.machine.measured.state()
        seen, x = now if now is not None else (None, self.start)
        # in simulated time the plant waits for answers; one without a stamp is the last
        stamp = 0 if self.sim_time else node.get_clock().now().nanoseconds
        self.machine.send(self.machine.safe(x), stamp)
        self.machine.await_acknowledgement(ACK_TIMEOUT)
        return Braked(seen, x, stamp)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Equipment(LoopEquipment):
    """
    What executions use, one after another.

    Attributes
    ----------
    tracker
        Errors and margins.

    """

    tracker: Tracker


class Execution:
    """
    Follows one plan in a thread of its own until something ends it.

    Attributes
    ----------
    last
        The newest step, None before the first.
    contact_mode
        Mode of the contact as last reported.
    fault
        Why states are no longer believed; empty while they are.

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
            Told the time of the start [ns].
        standing
            How the machine is held before and after; None where it only gets the safe command.

        """
        self._node, self._equipment, self._goal = node, equipment, goal
        self._values, self._on_start = equipment.values, on_start
        self._settle = self._values['settle_time']
        check_inputs(following.law, (STATE,))
        self._law, self._memory = following.law, following.law.start()
        equipment.tracker.begin(plan, following, settle=self._settle)
        equipment.predictor.forget()
        equipment.watch.begin()
        self._standing, self._hold = standing or Standing(), following.hold
        self._bound, self.fault = equipment.machine.bound(following.states), ''
        self.last: TrackingStep | None = None
        self.contact_mode = ''
        self._finished = Future()
        self._turn, self._once = threading.Lock(), threading.Lock()
        self._ending = self._ended = False
        self._start_stamp: int | None = None
        # plant and controller take turns already where the machine was held
        self._held = HELD if self._standing.before else 0
        self._next_feedback, self._intake = 0.0, Intake(equipment)
        self.loop = equipment.loop(self._tick, lambda text: self.end(CODES.INTERNAL, text))

    async def run(self) -> Ending:
        """Follow the plan; return how it ended."""
        self.loop.start()
        self._goal.on_stop(lambda: self.end(CODES.CANCELLED, 'asked to stop'))
        try:
            ending: Ending = await self._finished
        finally:
            self._log_punctuality()
        return ending

    def end(
        self, code: int, text: str, x: Array | None = None, hold: Law[Any] | None = None
    ) -> None:
        """End once: stop the loop, bring the machine to rest or hold it, tell the action."""
        with self._once:
            if self._ending:
                return
            self._ending = True
        hold = hold or self._standing.after(code)  # the loop goes on meanwhile
        self._ended = True
        self.loop.stop()
        if hold is None:
            present = self._equipment.send_safe_command(self._node)
        else:
            present = self._equipment.present
            self._standing.begin(hold)
        if x is None:
            x = present
        error = self._equipment.tracker.goal_error(x)
        resolve(self._node, self._finished, Ending(code, text, x, error))

    def _distrust(self, reason: str) -> bool:
        """End for a state or a motion that is not plausible, if there is a reason."""
        if reason:
            self.fault = reason
            self.end(CODES.STALE_STATE, f'states are not plausible: {reason}')
        return bool(reason)

    def _off_plan(self, t: float, x: Array, u: Array) -> str:
        """Return why a hand is too far from its plan, or the empty string."""
        planned = self._equipment.tracker.planned(t)
        return '' if self._bound is None else self._bound.problem(t, x, planned, u)

    def _log_punctuality(self) -> None:
        r = self.loop.read_punctuality()
        self._node.get_logger().info(
            f'last second of control: {r.ticks} steps, {r.misses} late, {r.skipped} skipped, '
            f'worst wake-up {r.worst_jitter * 1e3:.2f} ms late, '
            f'mean work {r.mean_work * 1e6:.0f} us; '
            f'oldest state used {self._intake.worst_age * 1e3:.1f} ms'
        )

    def _tick(self) -> bool:
        """Answer the newest state; tell whether to go on."""
        with self._turn:
            if self._ended:
                return False
            now = self._intake.take()
            if self._intake.stale:
                self.end(CODES.STALE_STATE, self._intake.stale)
                return False
            if now is None:
                return True
            fault = self._equipment.watch.judge(*now).fault
            return not self._distrust(fault) and self._answer(*now)

    def _answer(self, stamp: int, x: Array) -> bool:
        if self._start_stamp is None:
            if self._equipment.sim_time and self._held < HELD:
                self._wait(stamp, x)
                return True
            self._start_stamp = time_to_nanoseconds(self._goal.request.plan.header.stamp) or stamp
            self._equipment.predictor.origin = self._start_stamp
            self._on_start(self._start_stamp)
        duration = self._equipment.tracker.end + self._settle
        if (stamp - self._start_stamp) * 1e-9 >= duration:
            self._conclude(self._start_stamp + round(duration * 1e9))
            return False
        at, x = self._equipment.acting_state(self._node, stamp, x)
        if at < self._start_stamp:
            if self._equipment.sim_time or self._standing.before:
                self._wait(at, x)
            return True
        t, tracker = (at - self._start_stamp) * 1e-9, self._equipment.tracker
        self._memory, u = self._law.step(self._memory, x, t)
        u = np.minimum(np.maximum(u, -tracker.limits), tracker.limits)
        if not np.isfinite(u).all():
            raise SimulationError(f'the law gave no finite control at {t:.3f} s of the plan')
        self.last = step = tracker.step(t, x, u)
        if step.lost or self.contact_mode in LOST_MODES:
            mode = f'it is {self.contact_mode}'
            self.end(
                CODES.CONTACT_LOST,
                f'the contact was lost at {step.t:.3f} s: {step.lost or mode}',
            )
            return False
        u = self._equipment.machine.safe(x) if step.ended else u
        u = self._equipment.watch.limited(u)
        # ended while this step was computed: the safe command is the last one
        if self._ended or self._distrust(self._off_plan(step.t, x, u)):
            return False
        self._equipment.predictor.note(at, u)
        self._equipment.machine.send(u, at)
        self._send_feedback(step)
        return True

    def _wait(self, stamp: int, x: Array) -> None:
        """Command the machine before the plan starts; in simulated time it waits from now on."""
        self._held += 1
        before, machine = self._standing.before, self._equipment.machine
        machine.send(before.step(None, x, stamp * 1e-9)[1] if before else machine.safe(x), stamp)

    def _conclude(self, stamp: int) -> None:
        """Judge the state at the very end of the plan [ns]."""
        x = self._equipment.machine.measured.state_near(stamp)
        if x is None:
            self.end(CODES.STALE_STATE, self._equipment.stale_text())
            return
        tracker, tolerance = self._equipment.tracker, self._values['goal_tolerance']
        error = tracker.goal_error(x)
        if error <= tolerance:
            code = CODES.INFEASIBLE if tracker.shortfall else CODES.NONE
            self.end(code, tracker.shortfall, x, self._hold)
        else:
            self.end(
                CODES.NOT_CONVERGED,
                f'the goal was missed by {error:.4g}; goal_tolerance is {tolerance:g}',
                x,
                self._hold,
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

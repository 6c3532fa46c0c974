"""
Controller: executes plans under time-varying feedback.

A goal is checked, its feedback designed in a thread, and then followed at 1 kHz in a thread of its
own (with simulated time: at each state). Whatever ends it, the hand gets a safe command.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys
import threading
import time
from typing import Any

from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.task import Future
from rolling_controller.nodes.controller_parameters import TABLE
from rolling_controller.nodes.design import check_plan_fits, design_law, WEIGHTS
from rolling_controller.nodes.predictor import Predictor
from rolling_controller.nodes.tracker import Law, Nominal, Tracker, TrackingStep
from rolling_dynamics.errors import RollingError
from rolling_dynamics.nodes.conversions import accel_command, nanoseconds_to_time
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.nodes.model import load_model
from rolling_dynamics.nodes.periodic_loop import PeriodicLoop
from rolling_dynamics.nodes.polled_subscription import PolledSubscription
from rolling_dynamics.nodes.process import run_node
from rolling_dynamics.nodes.qos import (
    COMMAND,
    EVENT,
    overridable,
    STREAM_POLLED,
)
from rolling_dynamics.nodes.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_dynamics.nodes.state_source import StateSource
from rolling_dynamics.nodes.suite_node import drop_priority, Health, OK, SuiteNode, WARN
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingContact
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import Plan

ACK_TIMEOUT = 0.1  # longest wait for the safe command to be acknowledged [s]
POLL_PERIOD = 2e-4  # between two looks for a state in simulated time [s]
LOST_MODES = (RollingContact.MODE_SEPARATED, RollingContact.MODE_SLIPPING)


@dataclass(slots=True)
class Ending:
    """How an execution ended."""

    code: int
    text: str
    x: NDArray[np.float64]
    error: float


class ControllerNode(SuiteNode):
    """Lifecycle node with the action server ``execute_plan``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)
        self._loop: PeriodicLoop | None = None
        self._server: SingleGoalServer | None = None
        self._measured: Measurements | None = None
        self._goal: Goal | None = None
        self._finished: Future | None = None
        self._ending: Future | None = None
        self._last: TrackingStep | None = None
        self._contact_mode = ''
        self._turn = threading.Lock()
        self._entities: list = []
        self._polled: list[tuple[PolledSubscription, bool]] = []

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario and create topics and the action server."""
        model = load_model(self.values['scenario_file'])
        self._model = model
        contact_h = model.start[model.system.state.slice('contact_h')]
        self._measured = Measurements(StateSource(model.system, model.params, contact_h))
        self._tracker = Tracker(
            model.system,
            model.params,
            limits=model.control_limits,
            patience=self.values['patience'],
        )
        self._predictor = Predictor(
            model.system,
            model.params,
            delay=self.values['command_delay'],
            horizon=self.values['prediction_horizon'],
        )
        self._velocity = np.r_[
            model.system.state.slice('w_WH_H'), model.system.state.slice('v_WH_H')
        ]
        self._frame = f'{self.values["frame_prefix"]}hand'
        self._sim_time = self.get_parameter('use_sim_time').value
        self._commands = self.create_publisher(
            AccelStamped, 'hand/accel_command', COMMAND, qos_overriding_options=overridable()
        )
        self._entities = [
            self._subscribe(RollingContact, 'contact/state', self._take_contact, EVENT)
        ]
        self._polled = [
            (PolledSubscription(self, Odometry, name, STREAM_POLLED, raw=True), is_hand)
            for name, is_hand in (('hand/odometry', True), ('object/odometry', False))
        ]
        self._server = SingleGoalServer(
            self,
            ExecutePlan,
            'execute_plan',
            self._execute,
            refusal=lambda: None if self.active else f'the node is {self.state_label}',
        )
        self.get_logger().info(f'{model.title}: {self.values["rate"]:g} steps a second')

    def _subscribe(self, kind: type, name: str, callback: Any, qos: Any, **options: Any) -> Any:
        return self.create_subscription(
            kind, name, callback, qos, qos_overriding_options=overridable(), **options
        )

    def deactivate(self) -> None:
        """End an execution, the hand safe."""
        if self._loop is not None:
            self._loop.stop()
        if self._goal is not None:
            self._end(ExecutePlan.Result.INACTIVE, 'the node was deactivated')
        if self._server is not None:
            self._server.stop(INACTIVE)

    def cleanup(self) -> None:
        """Forget the scenario."""
        if self._server is not None:
            self._server.destroy()
            self._server = None
            self.destroy_publisher(self._commands)
        for entity in self._entities:
            self.destroy_subscription(entity)
        for subscription, _ in self._polled:
            subscription.destroy()
        self._entities, self._polled = [], []
        self._measured = None

    # -- inputs -----------------------------------------------------------------------------

    def _poll(self) -> None:
        """Take what came, where the executor does not."""
        for subscription, is_hand in self._polled:
            for data in subscription.take():
                self._measured.take(data, is_hand=is_hand)

    def _take_contact(self, message: RollingContact) -> None:
        self._contact_mode = message.mode

    # -- execution --------------------------------------------------------------------------

    async def _execute(self, goal: Goal) -> ExecutePlan.Result:
        codes = ExecutePlan.Result
        try:
            plan = message_to_plan(goal.request.plan)
            check_plan_fits(plan, self._model)
        except RollingError as error:
            return _result(codes.INVALID_GOAL, str(error))
        now = await self._fresh_state(goal)
        if now is None:
            return _result(codes.STALE_STATE, self._stale_text())
        apart = self._tracker.start_error(plan, now[1])
        if apart > self.values['start_tolerance']:
            return _result(
                codes.INVALID_GOAL,
                f'the plan starts {apart:.3g} away from the present state; '
                f'start_tolerance allows {self.values["start_tolerance"]:g}',
            )
        design = await self._design(goal, plan)
        if isinstance(design, str):
            return _result(codes.INVALID_GOAL, design)
        if design is None:
            return _result(codes.CANCELLED, '')
        ending = await self._follow(goal, plan, *design)
        return self._report(ending)

    async def _fresh_state(self, goal: Goal) -> tuple[int, NDArray[np.float64]] | None:
        """Return a state that came after this call, or None if none comes in time."""
        self._poll()
        count, end = self._measured.count, time.monotonic() + self.values['state_timeout']
        came: Future = Future()

        def look() -> None:
            self._poll()
            if self._measured.count > count or time.monotonic() > end:
                resolve(self, came, self._measured.count > count)

        goal.on_stop(lambda: resolve(self, came, False))
        timer = self.create_timer(0.002, look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        try:
            return self._measured.state() if await came else None
        finally:
            self.destroy_timer(timer)

    async def _design(self, goal: Goal, plan: Plan) -> tuple[Law, Nominal] | str | None:
        """Return law and motion, the text of an error, or None if the goal had to end."""
        designed: Future = Future()
        weights = (
            None
            if self.values['open_loop']
            else {entry.name: self.values[entry.name] for entry in WEIGHTS}
        )

        def work() -> None:
            drop_priority()
            try:
                law, nominal, warning = design_law(self._model, plan, weights)
                if warning:
                    self.get_logger().warning(warning)
                resolve(self, designed, (law, nominal))
            except RollingError as error:
                resolve(self, designed, str(error))
            except Exception as error:  # noqa: BLE001 - told to the client
                resolve(self, designed, f'the feedback could not be designed: {error}')

        goal.on_stop(lambda: resolve(self, designed, None))
        threading.Thread(target=work, name='design', daemon=True).start()
        return await designed

    async def _follow(self, goal: Goal, plan: Plan, law: Law, nominal: Nominal) -> Ending:
        self._tracker.begin(plan, law, nominal)
        self._measured.wait_anew()
        self._predictor.forget()
        self._duration = float(plan.times[-1])
        self._contact_mode = ''
        self._goal, self._finished, self._last = goal, Future(), None
        finished = self._finished
        self._start_stamp: int | None = None
        self._next_feedback, self._worst_age, self._answered = 0.0, 0.0, -1
        period = POLL_PERIOD if self._sim_time else 1.0 / self.values['rate']
        self._loop = PeriodicLoop(
            self._tick,
            period,
            name='control',
            on_fault=lambda error: self._end(ExecutePlan.Result.INTERNAL, str(error)),
        )
        self._loop.start()
        goal.on_stop(lambda: self._end(ExecutePlan.Result.CANCELLED, 'asked to stop'))
        try:
            return await finished
        finally:
            self._log_punctuality()
            self._goal, self._finished, self._loop = None, None, None

    def _log_punctuality(self) -> None:
        if self._loop is None:
            return
        r = self._loop.read_punctuality()
        self.get_logger().info(
            f'last second of control: {r.ticks} steps, {r.misses} late, {r.skipped} skipped, '
            f'worst wake-up {r.worst_jitter * 1e3:.2f} ms late, '
            f'mean work {r.mean_work * 1e6:.0f} us; '
            f'oldest state used {self._worst_age * 1e3:.1f} ms'
        )

    def _tick(self) -> bool:  # noqa: PLR0911 - each reason to stop stands by itself
        with self._turn:
            if self._finished is None or self._finished.done() or self._goal is None:
                return False
            self._poll()
            if self._measured.age > self.values['state_timeout']:
                self._end(ExecutePlan.Result.STALE_STATE, self._stale_text())
                return False
            now = self._measured.state()
            if now is None or (self._sim_time and now[0] == self._answered):
                return True
            stamp, x = now
            self._answered = stamp
            self._worst_age = max(self._worst_age, self._measured.age)
            if self._start_stamp is None:
                due = self._goal.request.plan.header.stamp
                due_ns = due.sec * 1_000_000_000 + due.nanosec
                self._start_stamp = due_ns or stamp
            if (stamp - self._start_stamp) * 1e-9 >= self._duration:
                self._conclude()
                return False
            at = stamp
            if not self._sim_time:  # the state in which the command will act
                acts = self.get_clock().now().nanoseconds + self._predictor.delay
                at, x = self._predictor.predict(stamp, x, acts)
            if at < self._start_stamp:
                return True
            step = self._tracker.step((at - self._start_stamp) * 1e-9, x)
            self._last = step
            if step.lost or self._contact_mode in LOST_MODES:
                mode = f'it is {self._contact_mode}'
                self._end(
                    ExecutePlan.Result.CONTACT_LOST,
                    f'the contact was lost at {step.t:.3f} s: {step.lost or mode}',
                )
                return False
            u = self._braking(x) if step.ended else step.u
            self._predictor.note(at, u)
            self._commands.publish(accel_command(u.tolist(), nanoseconds_to_time(at), self._frame))
            self._send_feedback(step)
            return True

    def _conclude(self) -> None:
        """Judge the state at the very end of the plan."""
        codes = ExecutePlan.Result
        end = self._start_stamp + round(self._duration * 1e9)
        x = self._measured.state_near(end)
        error, tolerance = self._tracker.goal_error(x), self.values['goal_tolerance']
        if error <= tolerance:
            self._end(codes.NONE, '', x)
        else:
            self._end(
                codes.NOT_CONVERGED,
                f'the goal was missed by {error:.4g}; goal_tolerance is {tolerance:g}',
                x,
            )

    def _send_feedback(self, step: TrackingStep) -> None:
        if step.t < self._next_feedback:
            return
        self._next_feedback = step.t + 1.0 / self.values['feedback_rate']
        self._goal.handle.publish_feedback(
            ExecutePlan.Feedback(
                time=step.t,
                state_error=step.error,
                margin_names=list(step.margins),
                margin_values=list(step.margins.values()),
            )
        )

    def _end(self, code: int, text: str, x: NDArray[np.float64] | None = None) -> None:
        """End the execution once: stop the loop, command the hand to rest, tell the action."""
        finished, loop = self._finished, self._loop
        if finished is None or finished is self._ending:
            return
        self._ending = finished
        if loop is not None:
            loop.stop()
        now = self._measured.state()
        present = now[1] if now is not None else self._model.start
        self._publish_safe_command(present)
        if x is None:
            x = present
        resolve(self, finished, Ending(code, text, x, self._tracker.goal_error(x)))

    def _braking(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the control that brings the hand to rest."""
        u = -x[self._velocity] / self.values['brake_time']
        limits = self._model.control_limits
        return u if limits is None else np.clip(u, -limits, limits)

    def _publish_safe_command(self, x: NDArray[np.float64]) -> None:
        stamp = self.get_clock().now().to_msg()
        self._commands.publish(accel_command(self._braking(x).tolist(), stamp, self._frame))
        self._commands.wait_for_all_acked(Duration(seconds=ACK_TIMEOUT))

    def _report(self, ending: Ending) -> ExecutePlan.Result:
        result = _result(ending.code, ending.text)
        result.final_error = ending.error
        result.final_state_names = list(self._model.system.state.names)
        result.final_state_values = ending.x.tolist()
        return result

    def _stale_text(self) -> str:
        age = self._measured.age
        if not np.isfinite(age):
            return 'no pair of hand/odometry and object/odometry with equal stamps came yet'
        return (
            f'the newest state is {age:.3f} s old; state_timeout is '
            f'{self.values["state_timeout"]:g} s'
        )

    # -- health -----------------------------------------------------------------------------

    def health(self) -> Health:
        """Return progress and punctuality."""
        if self._measured is None:
            return OK, 'not running', {}
        values: dict[str, Any] = {
            'states taken': self._measured.count,
            'state age [s]': self._measured.age,
            'executing': self._goal is not None,
        }
        loop, last = self._loop, self._last
        if loop is not None:
            record = loop.read_punctuality()
            values |= {
                'ticks': record.ticks,
                'misses': record.misses,
                'skipped': record.skipped,
                'worst jitter [s]': record.worst_jitter,
                'mean work [s]': record.mean_work,
            }
        if last is not None:
            values |= {'time [s]': last.t, 'state error': last.error}
        if self._measured.refused:
            message, self._measured.refused = self._measured.refused, ''
            return WARN, message, values
        return OK, 'executing' if self._goal is not None else 'waiting', values


def _result(code: int, text: str) -> ExecutePlan.Result:
    return ExecutePlan.Result(error_code=code, error_string=text, final_error=float('nan'))


def main() -> int:
    """Run the node."""
    return run_node(ControllerNode)


if __name__ == '__main__':
    sys.exit(main())

"""A client that carries out trials: places what moves, has it driven, and reports how it ended."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import math
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Vector3
import numpy as np
from rclpy.action import ActionClient
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import printable
from rolling_interfaces.action import ExecutePlan, PlanRolling, RunExperiment
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.qos import EVENT, LATCHED
from rolling_node_kit.suite_node import MISSED_FRACTION
from rolling_planner.nodes.conversions import message_to_plan
from rolling_robotics.demo.clock import too_late
from rolling_robotics.experiments import RECORDER
from rolling_robotics.nodes.client import Client, ClientError
from rolling_robotics.trials.trial import PlanRequest, progress_text, Record, say, Trial

PLAN_TIMEOUT, EXECUTION_TIMEOUT = 300.0, 600.0  # s
SLOWEST, SPARE = 60.0, 60.0  # s by the clock for a second, and beyond them, in a run
TAKEN, REACHED = 60.0, 600.0  # s by the clock, for a set point to be taken, and for its time
PRINT_EVERY = 0.1  # s between two lines of feedback
AGREED, AGREED_FOR, PATIENCE = 0.02, 0.5, 30.0  # rad, s, s: estimate and truth before a trial
CODES = RunExperiment.Result
NEVER_STARTED = (CODES.INVALID_GOAL, CODES.INFEASIBLE, CODES.INACTIVE)
STATE = 'robot/state'


class TrialClient(Client):
    """
    Carries out trials, one after another.

    Attributes
    ----------
    pace
        Node of the plant, and simulated seconds in a second between trials and in them; None in
        wall-clock time.

    """

    def equip(self) -> None:
        """Create the action client and the topics of set points."""
        self.pace: tuple[str, float, float] | None = None
        self._experiment = ActionClient(self._node, RunExperiment, 'run_experiment')
        self._pushes = self._node.create_publisher(Vector3, 'simulator/push', EVENT)
        self._goals = self._node.create_publisher(PoseStamped, 'goal_pose', EVENT)
        self._node.create_subscription(PoseStamped, 'set_point', self._take, LATCHED)
        self._set_points: list[tuple[float, Array]] = []
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._note_missed, EVENT)
        self._worst = 0.0, ''  # fraction of missed deadlines in a trial, and the node
        self._plan: RollingPlan | None = None
        self._executed = 0

    def _take(self, message: PoseStamped) -> None:
        place = np.array([message.pose.position.x, message.pose.position.y])
        self._set_points.append((time_to_nanoseconds(message.header.stamp) * 1e-9, place))

    def _note_missed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = printable(status.name)
            if name.rpartition('/')[2] == RECORDER.name:  # no loop from state to command
                continue
            missed = next((v.value for v in status.values if v.key == MISSED_FRACTION), '0')
            with contextlib.suppress(ValueError):
                self._worst = max(self._worst, (float(missed), name))

    def _go(self, *, on: bool) -> None:
        """Let the plant simulate as fast as in a trial, or as between them."""
        if self.pace is not None:
            node, idle, pace = self.pace
            self.set_parameters(node, {'rate_factor': pace if on else idle})

    # -- plans ------------------------------------------------------------------------------

    def planned(self, request: PlanRequest) -> str:
        """Have the plan made that is executed from now on; return why there is none."""
        if self._plan is not None:
            return ''
        last = [0.0]

        def show(feedback: PlanRolling.Feedback) -> None:
            if time.monotonic() - last[0] > PRINT_EVERY:
                last[0] = time.monotonic()
                say(f'  planning: {progress_text(feedback)}')

        say(f'goal: {request.text}')
        self.wait_until_served(PLAN_TIMEOUT)
        self.reset((0.0, 0.0), (0.0, 0.0, 0.0))
        result = self.plan(request.goal, request.horizon, show, PLAN_TIMEOUT)
        if result.error_code:
            return f'no plan: {printable(result.error_string)}'
        self._plan = result.plan
        times = result.plan.times
        took = f'in {result.planning_time:.2f} s'
        say(f'planned {times[-1]:.4g} s of motion, {len(times)} samples, {took}')
        return ''

    def execute(self, trial: Trial, *, measured: bool = False) -> Record:
        """Have the plan executed, made before; an estimate starts again with the trial."""
        plan = self._plan
        if measured:
            self.activate('controller', on=False)
        self.reset(trial.position, trial.rotation, **trial.disturbances)
        if measured:
            self.activate('controller', on=True)
        self.set_parameters('controller', trial.settings)
        self._worst = 0.0, ''
        left, started = sorted(trial.pushes), False

        def push(feedback: ExecutePlan.Feedback) -> None:
            nonlocal started
            started = True
            while left and feedback.time >= left[0][0]:
                x, y, z = map(float, left.pop(0)[1])
                self._pushes.publish(Vector3(x=x, y=y, z=z))

        result = self.follow(plan, push, EXECUTION_TIMEOUT, on_start=lambda: self._go(on=True))
        self._go(on=False)
        started = started or not result.error_code
        self._executed += started
        why = printable(result.error_string) if result.error_code else ''
        stale = result.error_code == ExecutePlan.Result.STALE_STATE  # the plant runs to its end
        return Record(
            number=self._executed - 1 if started else -1,
            end=message_to_plan(plan).duration,
            ended=why,
            inconclusive=too_late(*self._worst) or (why if stale else ''),
            values={
                'error': result.final_error,
                'tolerance': self._number('controller', 'goal_tolerance'),
            },
        )

    # -- runs of the laboratory -------------------------------------------------------------

    def place(self, trial: Trial) -> None:
        """Let the arm go back to its start, and wait until the object is known there."""
        self.trigger('motor_bridge/stop')
        held = {'held': True, 'release_at_command': True}
        self.reset(trial.position, trial.rotation, 'emulated_motors', **trial.disturbances, **held)
        self.enable('estimator')
        self.enable('motor_bridge')
        since, end = time.monotonic(), time.monotonic() + PATIENCE
        while time.monotonic() - since < AGREED_FOR:
            self._check()
            topics = ('object/odometry', 'object/ground_truth')
            one, other = (np.array(self.newest(topic, 'attitude')[1]) for topic in topics)
            if 2 * np.arccos(min(abs(one @ other), 1.0)) > AGREED:
                since = time.monotonic()
            if time.monotonic() > end:
                raise ClientError(f'the object is not known {PATIENCE:g} s after its reset')
            time.sleep(0.02)

    def run(self, law: str, duration: float) -> Record:
        """Have a law of the laboratory run for some time [s] from where the object is."""
        self._wait('the controller did not come up', self._experiment.server_is_ready, SPARE)
        self._worst = 0.0, ''
        result = self._run(
            self._experiment,
            RunExperiment.Goal(law=law, duration=float(duration)),
            lambda _: None,
            (SLOWEST if self.pace else 1.0) * duration + SPARE,
            lambda: self._go(on=True),
        )
        self._go(on=False)
        why = printable(result.error_string)
        if result.error_code in NEVER_STARTED:
            raise ClientError(f'controller: {why}')
        stale = why if result.error_code == CODES.STALE_STATE else ''
        return Record(
            begin=time_to_nanoseconds(result.start) * 1e-9,
            end=result.duration,
            ended=f'ended early: {why}' if result.error_code else '',
            inconclusive=too_late(*self._worst) or stale,
            values={'balancing_since': result.balancing_since},
        )

    # -- set points -------------------------------------------------------------------------

    def go_through(self, legs: Sequence[Any]) -> Record:
        """
        Send set points in turn; the trial starts with the second one.

        Parameters
        ----------
        legs
            Set points with ``place`` (2) [m]; each is kept for ``seconds``, or for ``after`` [s]
            once the ball is ``within`` a distance [m] of it.

        """
        self._wait('no set point of the controller', lambda: bool(self._set_points), TAKEN)
        begin = math.nan
        for k, leg in enumerate(legs):
            self._go(on=True)
            if k == 1:
                self._worst = 0.0, ''
            self._send(leg.place)
            stamp = self._set_points[-1][0]
            begin = stamp if k == 1 else begin
            self._wait_near(leg, max(stamp, self.newest(STATE, 'joints')[0]))
        end = self.newest(STATE, 'joints')[0]
        self._go(on=False)
        return Record(begin=begin, end=end - begin, inconclusive=too_late(*self._worst))

    def _send(self, place: Array) -> None:
        """Publish a set point, and wait until the controller has taken it."""
        if np.array_equal(self._set_points[-1][1], place):
            return
        message = PoseStamped()
        message.pose.position.x, message.pose.position.y = place.tolist()
        self._goals.publish(message)

        def taken() -> bool:
            return np.array_equal(self._set_points[-1][1], place)

        self._wait(f'the controller did not take {place}', taken, TAKEN)

    def _wait_near(self, leg: Any, since: float) -> None:
        """Wait for the end of a leg that started at a stamp [s]."""
        until = since + leg.seconds

        def over() -> bool:
            nonlocal until
            stamp, state = self.newest(STATE, 'joints')
            if leg.within and float(np.hypot(*(np.array(state[:2]) - leg.place))) < leg.within:
                until = min(until, stamp + leg.after)
            return stamp > until

        self._wait(f'the plant did not come to {until:.3g} s', over, REACHED)

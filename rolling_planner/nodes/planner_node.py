"""
Planner: plans rolling motions on request and tells whether a hand trajectory is safe.

The work is done in a process of its own; this node only checks, waits, reports and publishes.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry, Path
import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.task import Future
from rolling_dynamics.errors import RollingError
from rolling_dynamics.layout import Entry
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.nodes.model import load_model, Model
from rolling_dynamics.nodes.parameters import Parameter
from rolling_dynamics.nodes.process import run_node
from rolling_dynamics.nodes.qos import LATCHED, overridable, STREAM_READER
from rolling_dynamics.nodes.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_dynamics.nodes.state_source import StateSource
from rolling_dynamics.nodes.suite_node import Health, OK, SuiteNode
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.srv import CheckPlan
from rolling_planner.collocation import METHODS
from rolling_planner.nodes.conversions import (
    named_values,
    path_message,
    plan_to_message,
    start_vector,
    trajectory_message,
    trajectory_to_arrays,
    whole_entries,
)
from rolling_planner.object_motion import OBJECT_ENTRIES
from rolling_planner.worker import Outcome, WorkerPool
from trajectory_msgs.msg import MultiDOFJointTrajectory

WORK = 'rolling_planner.nodes.planning_job:work'
CODES = {
    'ParameterError': 'INVALID_GOAL',
    'ScenarioError': 'INVALID_GOAL',
    'SurfaceError': 'INVALID_GOAL',
    'ExpressionError': 'INVALID_GOAL',
    'InfeasibleError': 'INFEASIBLE',
    'PlanningTimeoutError': 'TIMEOUT',
    'NotConvergedError': 'NOT_CONVERGED',
}

OBJECT_MOTION = tuple(
    Entry(
        name,
        tuple(f'{name}_{c}' for c in ('wxyz' if size == 4 else 'xyz')),
        '',
        kind='quaternion' if size == 4 else 'vector',
    )
    for name, size in OBJECT_ENTRIES.items()
)

TABLE = (
    Parameter(
        name='scenario_file',
        default='',
        read_only=True,
        text='scenario with bodies, surfaces and limits; a path, or a name in config/',
    ),
    Parameter(
        name='work',
        default=WORK,
        read_only=True,
        text='function that the worker process runs, package.module:name',
    ),
    Parameter(
        name='method',
        default='hermite_simpson',
        choices=tuple(METHODS),
        text='collocation, where a goal names no planner_id',
    ),
    Parameter(
        name='segments', default=25, low=2, high=1600, text='segments of the first, coarsest plan'
    ),
    Parameter(
        name='refinements',
        default=4,
        low=0,
        high=8,
        text='how often the number of segments may be doubled',
    ),
    Parameter(
        name='goal_tolerance',
        default=1e-3,
        low=1e-9,
        high=10.0,
        text='greatest goal error of a plan in simulation, where a goal names no tolerances',
    ),
    Parameter(
        name='normal_force_min',
        default=0.05,
        low=0.0,
        high=10.0,
        text='least normal force as a share of the weight of the object',
    ),
    Parameter(
        name='quiet_ends',
        default=True,
        text='whether controls are zero at start and end: a late last command then does little',
    ),
    Parameter(
        name='time_budget',
        default=30.0,
        low=0.01,
        high=3600.0,
        unit='s',
        text='planning time where a goal names none',
    ),
    Parameter(
        name='state_timeout',
        default=1.0,
        low=0.05,
        high=10.0,
        unit='s',
        text='how long to wait for a state where a goal names no start',
    ),
    Parameter(name='world_frame', default='world', read_only=True, text='name of the world frame'),
)


class PlannerNode(SuiteNode):
    """Lifecycle node with the action server ``plan_rolling`` and the service ``check_plan``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('planner', TABLE)
        self._pool: WorkerPool | None = None
        self._model: Model | None = None
        self._server: SingleGoalServer | None = None
        self._publishers: list = []
        self._check: Any = None
        self._turn: Future | None = None
        self._plans = 0
        self._last = ''

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario, start the workers, create action, service and topics."""
        self._model = load_model(self.values['scenario_file'])
        self._pool = WorkerPool(
            self.values['work'], {**self._job('plan'), 'horizon': 1.0, 'options': self._options()}
        )
        self._publishers = [
            self.create_publisher(kind, name, LATCHED, qos_overriding_options=overridable())
            for kind, name in (
                (MultiDOFJointTrajectory, 'plan/hand'),
                (MultiDOFJointTrajectory, 'plan/object'),
                (Path, 'plan/object_path'),
            )
        ]
        self._server = SingleGoalServer(
            self, PlanRolling, 'plan_rolling', self._execute, refusal=self._refusal
        )
        self._check = self.create_service(CheckPlan, 'check_plan', self._check_plan)
        self.get_logger().info(f'{self._model.title}: ready to plan')

    def _refusal(self) -> str | None:
        return None if self.active else f'the node is {self.state_label}'

    def deactivate(self) -> None:
        """Give up the plan at work."""
        if self._server is not None:
            self._server.stop(INACTIVE)

    def cleanup(self) -> None:
        """End the workers and forget the scenario."""
        if self._server is not None:
            self._server.destroy()
            self.destroy_service(self._check)
            self._server = None
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        for publisher in self._publishers:
            self.destroy_publisher(publisher)
        self._publishers = []

    # -- planning ---------------------------------------------------------------------------

    async def _execute(self, goal: Goal) -> PlanRolling.Result:
        begin = time.monotonic()
        try:
            job = self._goal_job(goal.request)
            start = await self._start(goal.request.start_names, goal.request.start_values, goal)
        except RollingError as error:
            return self._failure(PlanRolling.Result.INVALID_GOAL, str(error), begin)
        if start is None:
            return self._failure(PlanRolling.Result.STALE_STATE, self._no_state(), begin)
        job['start'] = start

        def feedback(progress: dict[str, Any]) -> None:
            goal.handle.publish_feedback(_feedback(progress))

        outcome = await self._solve(job, feedback, goal)
        result = self._result(outcome, begin)
        self._last = result.error_string or 'planned'
        if result.error_code == PlanRolling.Result.NONE and goal.stop_reason is None:
            self._plans += 1
            self._publish(outcome.value)
        return result

    def _job(self, kind: str) -> dict[str, Any]:
        return {'kind': kind, 'scenario_file': self.values['scenario_file']}

    def _options(self) -> dict[str, Any]:
        names = (
            'method',
            'segments',
            'refinements',
            'goal_tolerance',
            'normal_force_min',
            'quiet_ends',
            'time_budget',
        )
        return {name: self.values[name] for name in names}

    def _goal_job(self, request: PlanRolling.Goal) -> dict[str, Any]:
        """Return the job of a goal; raises ParameterError with what would do."""
        layout = self._model.system.state
        _check_request(request, self._model.system.name)
        values = named_values('goal', request.goal_names, request.goal_values)
        if not values:
            raise RollingError(
                f'goal_names is empty; name states of the goal: {", ".join(layout.names)}'
            )
        options = self._options()
        if request.planner_id:
            options['method'] = request.planner_id
        if request.time_budget > 0.0:
            options['time_budget'] = float(request.time_budget)
        if len(request.goal_tolerances):
            named_values('goal_tolerances', request.goal_names, request.goal_tolerances)
            options['goal_tolerance'] = float(min(request.goal_tolerances))
        return {
            **self._job('plan'),
            'goal': whole_entries('goal', values, layout, OBJECT_MOTION),
            'horizon': float(request.horizon),
            'options': options,
        }

    async def _start(
        self, names: list[str], values: list[float], goal: Goal | None
    ) -> NDArray[np.float64] | None:
        """Return the state to start from, or None if it is needed and does not come."""
        given = named_values('start', names, values)
        present = self._model.start
        if not given:
            present = await self._present_state(goal)
            if present is None:
                return None
        return start_vector(given, self._model.system.state, present)

    async def _present_state(self, goal: Goal | None) -> NDArray[np.float64] | None:
        """Listen to the state for as long as it takes to get one."""
        system = self._model.system
        measured = Measurements(
            StateSource(
                system, self._model.params, self._model.start[system.state.slice('contact_h')]
            )
        )
        came: Future = Future()

        def take(data: bytes, *, is_hand: bool) -> None:
            if measured.take(data, is_hand=is_hand) and not came.done():
                came.set_result(measured.state())

        subscriptions = [
            self.create_subscription(
                Odometry, topic, lambda m, h=is_hand: take(m, is_hand=h), STREAM_READER, raw=True
            )
            for topic, is_hand in (('hand/odometry', True), ('object/odometry', False))
        ]
        timer = self.create_timer(
            self.values['state_timeout'],
            lambda: resolve(self, came, None),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        if goal is not None:
            goal.on_stop(lambda: resolve(self, came, None))
        try:
            found = await came
        finally:
            self.destroy_timer(timer)
            for subscription in subscriptions:
                self.destroy_subscription(subscription)
        return None if found is None else found[1]

    def _no_state(self) -> str:
        return (
            f'no hand/odometry with object/odometry of equal stamp came within '
            f'{self.values["state_timeout"]:g} s; start the plant, or name the start'
        )

    async def _solve(self, job: dict[str, Any], feedback: Any, goal: Goal | None) -> Outcome:
        """Have a job done; jobs of several callers take turns."""
        while self._turn is not None and not self._turn.done():
            await self._turn
        self._turn = ended = Future()
        try:
            if goal is not None and goal.stop_reason is not None:
                return Outcome('cancelled')
            done: Future = Future()
            self._pool.begin(job, feedback, lambda outcome: resolve(self, done, outcome))
            if goal is not None:
                goal.on_stop(self._pool.cancel)
            return await done
        finally:
            ended.set_result(None)

    def _failure(self, code: int, text: str, begin: float) -> PlanRolling.Result:
        self._last = text
        return PlanRolling.Result(
            error_code=code, error_string=text, planning_time=time.monotonic() - begin
        )

    def _result(self, outcome: Outcome, begin: float) -> PlanRolling.Result:
        codes = PlanRolling.Result
        if outcome.kind == 'done':
            return PlanRolling.Result(
                planning_time=time.monotonic() - begin,
                plan=plan_to_message(outcome.value['plan'], Time(), self.values['world_frame']),
            )
        if outcome.kind == 'cancelled':
            return self._failure(codes.CANCELLED, 'cancelled on request', begin)
        if outcome.kind == 'fault':
            self.get_logger().error(f'the planner failed: {outcome.error} {outcome.text}')
            self.get_logger().debug(outcome.trace)
            return self._failure(codes.INTERNAL, f'the planner failed: {outcome.text}', begin)
        code = getattr(codes, CODES.get(outcome.error, 'INFEASIBLE'))
        return self._failure(code, outcome.text, begin)

    def _publish(self, value: dict[str, Any]) -> None:
        plan, bodies = value['plan'], value.get('bodies')
        if bodies is None or not self._publishers:
            return
        frame, stamp = self.values['world_frame'], self.get_clock().now().to_msg()
        alpha, a = np.split(plan.controls, 2, axis=1)
        for publisher, name in zip(self._publishers, ('hand', 'object'), strict=False):
            twist = bodies[f'{name}_twist']
            samples = [
                {'X': X, 'w': t[:3], 'v': t[3:]} for X, t in zip(bodies[name], twist, strict=True)
            ]
            if name == 'hand':
                for k, sample in enumerate(samples):
                    sample |= {'alpha': alpha[k], 'a': a[k]}
            publisher.publish(trajectory_message(name, plan.times.tolist(), samples, stamp, frame))
        self._publishers[2].publish(path_message(bodies['object'], stamp, frame))

    # -- checking ---------------------------------------------------------------------------

    async def _check_plan(
        self, request: CheckPlan.Request, response: CheckPlan.Response
    ) -> CheckPlan.Response:
        response.first_failure_time = float('nan')
        refusal = self._refusal()
        if refusal is not None:
            response.reason = refusal
            return response
        try:
            _check_system(request.system, self._model.system.name)
            trajectory = trajectory_to_arrays(request.hand_trajectory)
            start = await self._start(request.start_names, request.start_values, None)
        except RollingError as error:
            response.reason = str(error)
            return response
        if start is None:
            response.reason = self._no_state()
            return response
        job = {**self._job('check'), 'start': start, 'trajectory': trajectory}
        outcome = await self._solve(job, lambda _: None, None)
        if outcome.kind != 'done':
            response.reason = outcome.text or outcome.kind
            return response
        value = outcome.value
        response.ok, response.reason = value['ok'], value['reason']
        response.margin_names = list(value['margins'])
        response.margins = list(value['margins'].values())
        response.first_failure_time = value['first_failure_time']
        return response

    # -- health -----------------------------------------------------------------------------

    def health(self) -> Health:
        """Return what was planned."""
        busy = self._server is not None and self._server.busy
        return OK, 'planning' if busy else 'waiting', {'plans': self._plans, 'last': self._last}


def _check_system(given: str, wanted: str) -> None:
    if given not in ('', wanted):
        raise RollingError(f'system must be {wanted!r}, got {given!r}')


def _check_request(request: PlanRolling.Goal, system: str) -> None:
    """Raise RollingError for what this planner does not do."""
    _check_system(request.system, system)
    if request.waypoints or request.keep_out_centers or len(request.keep_out_radii):
        raise RollingError(
            'waypoints and keep_out regions are not for this planner; leave them empty'
        )
    if request.planner_id and request.planner_id not in METHODS:
        raise RollingError(
            f'planner_id must be empty or one of {", ".join(METHODS)}, got {request.planner_id!r}'
        )
    for name, least in (('horizon', 'positive'), ('time_budget', 'zero or positive')):
        value = getattr(request, name)
        fine = value > 0.0 if least == 'positive' else value >= 0.0
        if not (np.isfinite(value) and fine):
            raise RollingError(f'{name} must be {least} and finite [s], got {value!r}')


def _feedback(progress: dict[str, Any]) -> PlanRolling.Feedback:
    return PlanRolling.Feedback(
        iteration=int(progress.get('iteration', 0)),
        segments=int(progress.get('segments', 0)),
        cost=float(progress.get('cost', float('nan'))),
        violation=float(progress.get('violation', float('nan'))),
        goal_error=float(progress.get('goal_error', float('nan'))),
    )


def main() -> int:
    """Run the node."""
    return run_node(PlannerNode)


if __name__ == '__main__':
    sys.exit(main())

"""
Planner: plans rolling motions on request and checks whether a hand trajectory is safe.

A separate process does the work; this node only checks, waits, reports and publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import sys
import time
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.errors import RollingError
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.srv import CheckPlan
from rolling_node_kit.parameters import fixed, Parameter, SCENARIO
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import REQUESTS
from rolling_node_kit.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_node_kit.suite_node import Health, OK, SuiteNode
from rolling_planner.nodes.conversions import (
    failure,
    feedback_message,
    message_to_plan,
    named_values,
    PlanTopics,
    result_message,
    start_vector,
    trajectory_to_arrays,
)
from rolling_planner.nodes.goal_request import check_system, goal_job, split_start
from rolling_planner.nodes.present_state import present_state
from rolling_planner.plan import check_plan_fits, Plan
from rolling_planner.planners.job import planning_model, PlanningModel
from rolling_planner.planners.planner import bodies_named, DEFAULTS
from rolling_planner.transcription.transcription import METHODS
from rolling_planner.workers.worker import FAULT, Outcome
from rolling_planner.workers.worker_pool import WorkerPool

WORK = 'rolling_planner.planners.job:work'


def _option(name: str, text: str, **more: Any) -> Parameter:
    """Return the parameter that gives an option of planning, of those in DEFAULTS."""
    return Parameter(name, DEFAULTS[name], text, **more)


TABLE = (
    SCENARIO,
    fixed('work', WORK, 'function that the worker process runs, package.module:name'),
    _option('method', 'collocation scheme if a goal has no planner_id', choices=tuple(METHODS)),
    _option('segments', 'number of segments of the first, coarsest grid', limits=(2, 1600)),
    _option('refinements', 'maximum number of times that the segments are doubled', limits=(0, 8)),
    _option(
        'goal_tolerance',
        'maximum goal error of a simulated plan if a goal has no tolerances',
        limits=(1e-9, 10.0),
    ),
    _option(
        'normal_force_min',
        'minimum normal force as a fraction of the weight of the object',
        limits=(0.0, 10.0),
    ),
    _option(
        'quiet_ends',
        'whether controls are zero at start and end, so that a late last command does little',
    ),
    _option(
        'sample_rate',
        'minimum sample rate of the plan of a rolling robot',
        limits=(10.0, 2000.0),
        unit='Hz',
    ),
    _option(
        'time_budget',
        'planning time if a goal has no time_budget',
        limits=(0.01, 3600.0),
        unit='s',
    ),
    Parameter(
        'state_timeout',
        5.0,  # a new subscription finds its writers in a second or two on a busy machine
        'maximum wait for a state if a goal has no start',
        limits=(0.05, 60.0),
        unit='s',
    ),
    Parameter(
        'place_duration',
        2.0,
        'duration of the motion to a single waypoint, if neither goal nor planner has one',
        limits=(0.01, 120.0),
        unit='s',
    ),
    fixed('world_frame', 'world', 'name of the world frame'),
    fixed('frame_prefix', '', 'prefix of that frame, where it belongs to a robot'),
)

NEAR = 0.5  # of the newest plan: a motion that takes over from it starts there
GRACE = 3.0  # beyond its time budget in which a worker may still answer [s]

__all__ = ['TABLE', 'PlannerNode', 'main']


class PlannerNode(SuiteNode):
    """Lifecycle node with the action server ``plan_rolling`` and the service ``check_plan``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('planner', TABLE)
        self._pool: WorkerPool
        self._model: PlanningModel
        self._topics: PlanTopics
        self._server: SingleGoalServer | None = None
        self._turn: Future | None = None
        self._plans = 0
        self._last = ''
        self._newest: Plan | None = None

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario, start the workers, create action, service and topics."""
        self._model = planning_model(self.values['scenario_file'])
        idle = {'horizon': 1.0, 'method': '', 'options': self._options()}
        self._pool = WorkerPool(self.values['work'], {**self._job('plan'), **idle})
        self.at_cleanup(self._pool.close)
        scenario = self._model.scenario
        self._frame = self.values['world_frame']
        if offers(scenario.system, CarriedObject) is None:
            self._frame = f'{self.values["frame_prefix"]}{self._frame}'
        self._topics = PlanTopics(self, self._frame, bodies_named(scenario.system))
        self._server = SingleGoalServer(self, PlanRolling, 'plan_rolling', self._execute)
        self.at_cleanup(self._server.destroy)
        self.service(
            CheckPlan,
            'check_plan',
            self._check_plan,
            qos_profile=REQUESTS,
            callback_group=ReentrantCallbackGroup(),  # goals are answered during a check
        )
        self.get_logger().info(f'{scenario.name}: ready to plan')

    def deactivate(self) -> None:
        """Give up the plan at work."""
        if self._server is not None:
            self._server.stop(INACTIVE)

    def cleanup(self) -> None:
        """End the workers and forget the scenario."""
        self._server = self._newest = None

    # -- planning ---------------------------------------------------------------------------

    async def _execute(self, goal: Goal) -> PlanRolling.Result:
        begin = time.monotonic()
        result, bodies = await self._planned(goal)
        result.planning_time = time.monotonic() - begin
        self._last = result.error_string or 'planned'
        if result.error_code == PlanRolling.Result.NONE and goal.stop_reason is None:
            self._plans += 1
            if bodies is not None:
                self._topics.publish(result.plan, bodies, self.get_clock().now().to_msg())
        return result

    async def _planned(self, goal: Goal) -> tuple[PlanRolling.Result, dict[str, Any] | None]:
        """Return the result of a goal, and the motion of the bodies where there is a plan."""
        request, codes = goal.request, PlanRolling.Result
        frame, duration = self._frame, self.values['place_duration']
        try:
            job = self._job('plan') | goal_job(
                request, self._model, self._options(), frame, duration
            )
            state, job['start_controls'] = split_start(request, self._model)
            start, reason = await self._start(state, goal)
        except RollingError as error:
            return failure(codes.INVALID_GOAL, str(error)), None
        if start is None:
            return failure(codes.STALE_STATE, reason), None

        if job['start_controls'] and self._newest is not None:
            job['warm_start'] = self._newest.rest_from(start, NEAR)

        def feedback(progress: dict[str, Any]) -> None:
            goal.handle.publish_feedback(feedback_message(progress))

        budget = job['options']['time_budget']
        outcome = await self._solve({**job, 'start': start}, budget, feedback, goal)
        if outcome.kind == FAULT:
            self.get_logger().error(f'the planner failed: {outcome.error} {outcome.text}')
            self.get_logger().debug(outcome.trace)
        found = outcome.value or {}
        self._newest = found.get('plan', self._newest)
        return result_message(outcome, frame), found.get('bodies')

    def _job(self, kind: str) -> dict[str, Any]:
        return {'kind': kind, 'scenario_file': self.values['scenario_file']}

    def _options(self) -> dict[str, Any]:
        return {name: self.values[name] for name in DEFAULTS}

    async def _start(
        self, given: Mapping[str, float], goal: Goal | None
    ) -> tuple[Array | None, str]:
        """Return the state to start from; None, and why, if it is needed and does not come."""
        present, reason = self._model.scenario.x0, ''
        if not given:
            timeout = self.values['state_timeout']
            found, reason = await present_state(self, self._model.scenario, timeout, goal)
            if found is None:
                return None, reason
            present = found
        return start_vector(given, self._model.scenario.system.state, present), ''

    async def _solve(
        self,
        job: dict[str, Any],
        budget: float,
        feedback: Callable[[Any], None],
        goal: Goal | None,
    ) -> Outcome:
        """Have a job done within a budget [s] and some grace; several callers take turns."""
        while self._turn is not None and not self._turn.done():
            await self._turn
        self._turn = ended = Future()
        try:
            if goal is not None and goal.stop_reason is not None:
                return Outcome('cancelled')
            done: Future = Future()
            self._pool.begin(
                job, feedback, lambda outcome: resolve(self, done, outcome), budget + GRACE
            )
            if goal is not None:
                goal.on_stop(self._pool.cancel)
            outcome: Outcome = await done
            return outcome
        finally:
            ended.set_result(None)

    # -- checking ---------------------------------------------------------------------------

    async def _check_plan(
        self, request: CheckPlan.Request, response: CheckPlan.Response
    ) -> CheckPlan.Response:
        response.first_failure_time = float('nan')
        response.reason = self.refusal() or ''
        if response.reason:
            return response
        try:
            check_system(request.system, self._model)
            checked, start, reason = await self._to_be_checked(request)
        except RollingError as error:
            checked, reason = {}, str(error)
        if reason:
            response.reason = reason
            return response
        job = self._job('check') | {
            **checked,
            'start': start,
            'time_budget': self.values['time_budget'],
        }
        outcome = await self._solve(job, job['time_budget'], lambda _: None, None)
        if outcome.value is None:
            response.reason = outcome.text or outcome.kind
            return response
        value = outcome.value
        response.ok, response.reason = value['ok'], value['reason']
        response.margin_names = list(value['margins'])
        response.margins = list(value['margins'].values())
        response.first_failure_time = value['first_failure_time']
        return response

    async def _to_be_checked(
        self, request: CheckPlan.Request
    ) -> tuple[dict[str, Any], Array | None, str]:
        """Return plan or trajectory, the start, and why it is not known if it is needed."""
        given = named_values('start', request.start_names, request.start_values)
        if request.plan.times:
            plan = message_to_plan(request.plan)
            check_plan_fits(plan, self._model.scenario.system)
            start = start_vector(given, self._model.scenario.system.state, plan.states[0])
            return {'plan': plan}, start, ''
        start, reason = await self._start(given, None)
        return {'trajectory': trajectory_to_arrays(request.hand_trajectory)}, start, reason

    # -- health -----------------------------------------------------------------------------

    def health(self) -> Health:
        """Return the result of planning."""
        busy = self._server is not None and self._server.busy
        return OK, 'planning' if busy else 'waiting', {'plans': self._plans, 'last': self._last}


def main() -> int:
    """Run the node."""
    return run_node(PlannerNode)


if __name__ == '__main__':
    sys.exit(main())

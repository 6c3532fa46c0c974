"""Following of plans on a machine: the action ``execute_plan``, and holds between plans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
import threading
import time
from typing import Any, ClassVar

from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.task import Future
from rolling_controller.design import follow, laws_of, PREDICTIVE, Wanted
from rolling_controller.law import Following, Law
from rolling_controller.nodes.control_loop import CODES, Controlled, ControlLoop
from rolling_controller.nodes.controller_parameters import law_parameters
from rolling_controller.nodes.driving import BetweenPlans
from rolling_controller.nodes.equipment import Equipment, Machine
from rolling_controller.nodes.execution import Ending, Execution
from rolling_controller.nodes.intake import Intake
from rolling_controller.nodes.planner_client import GoalPoses, Replanner
from rolling_controller.nodes.prediction import Prediction, WORLD
from rolling_controller.nodes.step_log import DRIVE, EXECUTION
from rolling_controller.predictive.beside import NOT_AGAIN
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_controller.tracker import Tracker
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import BEHIND, settle, when
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import CancelledError, described, ParameterError, quoted, RollingError
from rolling_dynamics.scenario_model import check_limits, ScenarioModel
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.parameters import Parameter, ParameterTable
from rolling_node_kit.qos import LATCHED
from rolling_node_kit.signals import drop_priority
from rolling_node_kit.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import check_plan_fits, check_states_fit, Plan


def accepted_plan(
    message: RollingPlan,
    system: RollingSystem,
    values: ParameterTable | Mapping[str, Any],
    now: int,
) -> Plan:
    """
    Return the plan of a goal.

    Parameters
    ----------
    message
        The plan as it came.
    system
        The system that is to follow it.
    values
        Parameters ``max_plan_duration``, ``plan_stamp_tolerance`` and ``require_model_hash``.
    now
        Time of the node [ns].

    Raises
    ------
    ParameterError
        It is not a plan, one of another system, too long, or its stamp is far from now.

    """
    stamp = time_to_nanoseconds(message.header.stamp)
    tolerance = values['plan_stamp_tolerance']
    if stamp and not abs(stamp - now) <= tolerance * 1e9:
        raise ParameterError(
            f'plan.header.stamp is {stamp * 1e-9:.9g} s, the clock of this node {now * 1e-9:.9g} '
            f's; plan_stamp_tolerance allows {tolerance:g} s between them. A plan with stamp 0 '
            'starts when it is accepted'
        )
    plan = message_to_plan(message)
    if plan.times[0] != 0.0:
        raise ParameterError(
            f'plan.times must start at 0, got {plan.times[0]:.9g}: subtract the first time from '
            'all, and give the start of the motion as header.stamp'
        )
    longest = values['max_plan_duration']
    if not plan.duration <= longest:
        raise ParameterError(
            f'the plan lasts {plan.duration:.6g} s; max_plan_duration allows {longest:g} s'
        )
    check_plan_fits(plan, system, require_hash=values['require_model_hash'])
    return plan


COMPILE_LIMIT = 60.0  # maximum wait until the functions of a loop are compiled [s]
STATE_POLL = 0.002  # between two looks for the first state of an execution [s]


class PlanFollowing(Controlled):
    """
    Checks a goal, designs its feedback in a thread, and follows it in another.

    A plan ends in a hold where it ends at rest. Subclasses fill in :meth:`load` and
    :meth:`machine`.

    Attributes
    ----------
    driven
        Whether the machine takes velocities on ``cmd_vel``.
    replanned
        Whether its predictive law may request plans on the way, and publishes its predictions.
    model, system
        The loaded scenario, and its system.

    """

    settings = 'execution/settings'
    driven: ClassVar[bool] = False
    replanned: ClassVar[bool] = False
    equipment: Equipment
    model: ScenarioModel

    @staticmethod
    @abstractmethod
    def load(values: ParameterTable | Mapping[str, Any]) -> ScenarioModel:
        """Load the scenario that parameters name."""

    @classmethod
    def parameters(cls, system: str) -> list[Parameter]:
        """Return the parameters; the laws to choose from are also those of the kind of machine."""
        more = robot_kind(system).more
        return [
            replace(e, choices=(*e.choices, *more)) if e.name == 'law' else e for e in cls.table
        ]

    @abstractmethod
    def machine(self) -> Machine:
        """Create the topics of the machine."""

    @classmethod
    def law_of(cls, values: Mapping[str, Any], plan: Plan | None) -> tuple[Law[Any], Array | None]:
        """Return the law of a recorded run again; see :class:`Controlled`."""
        model = cls.load(values)
        laws, x, limits = laws_of(model, values), values.get('state'), model.control_limits
        law: Law[Any] | None
        if values['task'] == DRIVE:
            law = laws.drive(np.array(x), values['yaw'])
        elif x is not None:
            law = laws.stand(np.array(x))
        elif plan is None:
            raise ParameterError('the plan that it follows is not in the recording')
        elif values['task'] == EXECUTION:
            check_states_fit(plan, model.system)
            beside = not values.get('use_sim_time', True)
            predicts = values.get('law') == PREDICTIVE and not values['open_loop']
            if predicts and cls.replanned and not beside:
                raise ParameterError(NOT_AGAIN)
            law = follow(Wanted(model, plan, values, beside=beside)).law
        else:
            law = laws.end(plan)[0]
        if law is None:
            raise ParameterError('nothing can be held where it was held')
        return law, limits

    def __init__(self, node: SuiteNode) -> None:
        """Load the scenario and create topics and the action server."""
        super().__init__(node)
        self._execution: Execution | None = None
        self._distrusted = ''  # why the states of the last execution were not believed
        self._designs: set[Future] = set()  # under way; an interrupted one ends a little later
        self._planned: RollingPlan | None = None
        self._look: Callable[[], None] = lambda: None
        # one for all goals: a callback group keeps a reference to every timer that ever was
        self._looking = node.timer(STATE_POLL, self._look_again)
        self._looking.cancel()
        self.model = self.load(self.values)
        machine, self.system = self.machine(), self.model.system
        self.values.add(law_parameters(robot_kind(self.system.name)))
        self._laws = laws_of(self.model, self.values)
        self.equipment = self._equipment_of(machine)
        self._between = BetweenPlans(node, self.equipment, self._laws)
        if self.driven:
            self._between.listen(lambda: self.executing)
        given = self.system, self.model.params
        self._prediction, self._ask = Prediction(node, *given, shown=self.replanned), None
        if self.replanned:
            replanner = Replanner(node)
            self._ask = replanner.ask
            node.at_cleanup(replanner.destroy)
        node.reader(RollingPlan, 'plan/newest', self._take_planned, LATCHED)
        self._executed = node.writer(RollingPlan, 'execution/plan', LATCHED)
        self._server = SingleGoalServer(node, ExecutePlan, 'execute_plan', self._execute)
        node.at_cleanup(self._server.destroy)
        node.at_cleanup(GoalPoses(node, self._move_goal).destroy)

    @property
    def _log(self) -> RcutilsLogger:
        return self.node.get_logger()

    def _equipment_of(self, machine: Machine) -> Equipment:
        model, v = self.model, self.values
        if v['finite_limits']:
            check_limits(model)
        self._log.info(f'{model.title}: {v["rate"]:g} steps per second')
        tracker = Tracker(
            model.system,
            model.params,
            uncounted=self._laws.uncounted,
            limits=model.control_limits,
            patience=v['patience'],
        )
        given = model.system, model.params, model.start, model.control_limits, model.errors
        return Equipment.of(self.node, machine, *given, tracker=tracker, begin=self.begin)

    def prepare(self) -> None:
        """Compile the functions that the first plan needs."""
        try:
            self._laws.warm_up()
        except Exception as error:  # noqa: BLE001 - the first goal will report to the client
            self._log.warning(f'nothing was prepared for the first plan: {error}')

    def preparing(self, *, busy: bool) -> str:
        """Return whether the first plan is prepared for, in words."""
        return 'preparing' if busy and when() == BEHIND else ''

    def activate(self) -> None:
        """Start again with measurements from now on."""
        self.equipment.machine.measured.restart()
        if self.values['hold_at_start']:
            self._look = self._stand
            self._looking.reset()

    def _stand(self) -> None:
        """Hold the machine where its first state is, once one came."""
        if self.executing or self._between.stand():
            self._looking.cancel()

    def deactivate(self) -> None:
        """End the present task, the machine safe."""
        self._looking.cancel()
        self._between.stop()
        self._end(INACTIVE)

    def _end(self, reason: str) -> None:
        if self._execution is not None:
            self._execution.end(CODES.INACTIVE, reason)
        self._server.stop(reason)

    def stop(self) -> None:
        """End what moves or holds the machine, by its safe command."""
        self._end('stopped by ~/stop')
        self._between.stop()

    def _take_planned(self, message: RollingPlan) -> None:
        self._planned = message

    # -- execution --------------------------------------------------------------------------

    @property
    def executing(self) -> bool:
        """True while a goal is being executed."""
        return self._server.busy

    async def _execute(self, goal: Goal) -> ExecutePlan.Result:
        equipment = self.equipment
        if not goal.request.plan.times:
            if self._planned is None:
                text = 'plan: the goal has none, and no newest one came from plan_rolling'
                return _result(CODES.INVALID_GOAL, text)
            goal.request.plan = self._planned
            goal.request.plan.header.stamp = nanoseconds_to_time(0)  # it starts when accepted
        try:
            now_ns = self.node.get_clock().now().nanoseconds
            plan = accepted_plan(goal.request.plan, self.system, self.values, now_ns)
        except RollingError as error:
            return _result(CODES.INVALID_GOAL, str(error))
        self._between.make_way()
        now = await self._fresh_state(goal)
        if now is None:
            return _result(CODES.STALE_STATE, equipment.stale_text())
        apart = equipment.tracker.start_error(plan, now[1])
        if not apart <= self.values['start_tolerance']:  # rejects NaN, too
            text = (
                f'the plan starts {apart:.3g} away from the present state; '
                f'start_tolerance allows {self.values["start_tolerance"]:g}'
            )
            return _result(CODES.INVALID_GOAL, text)
        return await self._carry_out(goal, plan, now[1])

    async def _carry_out(self, goal: Goal, plan: Plan, x: Array) -> ExecutePlan.Result:
        following = await self._designed(goal, plan)
        if isinstance(following, str):
            return _result(CODES.INVALID_GOAL, following)
        if following is None:
            return _result(CODES.CANCELLED, '')
        given = x, self.equipment.tracker.norm, self.values['goal_tolerance']
        matters, notice = following.of_goal(*given)
        if matters:
            self._log.warning(notice)
        elif notice:
            self._log.info(notice)

        def on_start(stamp: int) -> None:
            message = goal.request.plan
            message.header.stamp = nanoseconds_to_time(stamp)
            self._executed.publish(message)

        standing = self._between.standing()
        execution = Execution(self.node, self.equipment, goal, plan, following, on_start, standing)
        self._execution, self._distrusted = execution, ''
        try:
            return self._report(await execution.run())
        finally:
            self._execution, self._distrusted = None, execution.control.fault

    def _look_again(self) -> None:
        self._look()

    async def _fresh_state(self, goal: Goal) -> tuple[int, Array] | None:
        """Return a usable state that came after this call, or None if none comes in time."""
        equipment, measured = self.equipment, self.equipment.machine.measured
        intake, end = Intake(equipment), time.monotonic() + equipment.timeout

        def usable() -> bool:
            if self._between.holding:  # its loop takes the states
                return measured.age <= equipment.timeout
            return intake.take() is not None

        usable()
        count = measured.count
        came: Future = Future()

        def look() -> None:
            fresh = usable() and measured.count > count
            if fresh or time.monotonic() > end:
                resolve(self.node, came, fresh)

        goal.on_stop(lambda: resolve(self.node, came, False))
        self._look = look
        self._looking.reset()
        try:
            return measured.newest if await came else None  # read by who takes the states
        finally:
            self._looking.cancel()

    async def _designed(self, goal: Goal, plan: Plan) -> Following | str | None:
        """Return the feedback, the text of an error, or None if the goal had to end."""
        designed: Future = Future()

        def work() -> None:
            drop_priority()
            self._designs.add(designed)
            try:
                following = self._follow(plan, lambda: goal.stop_reason is not None)
                settle(COMPILE_LIMIT, lambda: goal.stop_reason is not None)
                if following.warning:
                    self._log.warning(following.warning)
                resolve(self.node, designed, following)
            except CancelledError:
                self._log.info('the design of the feedback was interrupted')
                resolve(self.node, designed, None)
            except RollingError as error:
                resolve(self.node, designed, str(error))
            except Exception as error:  # noqa: BLE001 - reported to the client
                text = f'the feedback could not be designed: {described(error)}'
                resolve(self.node, designed, text)
            finally:
                self._designs.discard(designed)

        goal.on_stop(lambda: resolve(self.node, designed, None))
        threading.Thread(target=work, name='design', daemon=True).start()
        found: Following | str | None = await designed
        return found

    def _follow(self, plan: Plan, interrupted: Callable[[], bool]) -> Following:
        """Return the law along a plan that the parameters choose."""
        equipment, simulated = self.equipment, self.equipment.once
        wanted = Wanted(
            self.model,
            plan,
            self.values,
            interrupted,
            beside=not simulated,
            ask=self._ask,
            patience=equipment.timeout if simulated else 0.0,
            safe=equipment.machine.safe,
        )
        following = follow(wanted)
        self._prediction.show(following.law)
        return following

    def _move_goal(self, pose: PoseStamped) -> str | None:
        """Move the goal of a predictive law; None without such an execution."""
        pursuit, place = self._prediction.pursuit, pose.pose.position
        if pursuit is None or self._execution is None:
            return None
        if pose.header.frame_id not in ('', WORLD):
            return f'rejected: frame_id must be {WORLD!r}, got {quoted(pose.header.frame_id)}'
        try:
            pursuit.pursue({'p_WO_x': place.x, 'p_WO_y': place.y}, alone=True)
        except RollingError as error:
            return f'rejected: {error}'
        return f'the present motion now ends at ({place.x:.4g}, {place.y:.4g}) m'

    def _report(self, ending: Ending) -> ExecutePlan.Result:
        self.node.alarm = ending.text if ending.code == CODES.INTERNAL else ''
        result = _result(ending.code, ending.text)
        result.final_error = ending.error
        result.final_state_names = list(self.system.state.names)
        result.final_state_values = ending.x.tolist()
        return result

    # -- health -----------------------------------------------------------------------------

    @property
    def control(self) -> ControlLoop | None:
        """The loop of the execution, of a hold, or of driving."""
        driving = self._between.driving
        task = self._execution if driving is None or driving.ended else driving
        return None if task is None else task.control

    def health(self) -> Health:
        """Return progress."""
        execution = self._execution
        values: dict[str, Any] = {'executing': execution is not None}
        if execution is not None and execution.last is not None:
            values |= {'time [s]': execution.last.t, 'state error': execution.last.error}
        idle = 'designing the feedback' if self._designs else 'waiting'
        level, text = OK, 'executing' if execution is not None else idle
        if self._distrusted:
            level, text = ERROR, f'states are not plausible: {self._distrusted}'
        level, text, values = self._between.health(level, text, values)
        return self._prediction.health(level, text, values)


def _result(code: int, text: str) -> ExecutePlan.Result:
    return ExecutePlan.Result(error_code=code, error_string=text, final_error=float('nan'))

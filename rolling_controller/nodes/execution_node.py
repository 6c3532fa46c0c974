"""Controller of plans: a lifecycle node with the action ``execute_plan``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.clock import Clock, ClockType
from rclpy.task import Future
from rolling_controller.design import follow, laws_of
from rolling_controller.law import Following
from rolling_controller.nodes.control_loop import CODES
from rolling_controller.nodes.controller_parameters import law_parameters
from rolling_controller.nodes.driving import BetweenPlans
from rolling_controller.nodes.equipment import Equipment
from rolling_controller.nodes.execution import Ending, Execution
from rolling_controller.nodes.intake import Intake
from rolling_controller.nodes.machine import Controlled, Equipped
from rolling_controller.nodes.planner_client import GoalPoses, Replanner
from rolling_controller.nodes.prediction import Prediction, WORLD
from rolling_controller.robot_laws import robot_kind
from rolling_controller.tracker import Tracker
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import BEHIND, settle, when
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import CancelledError, described, ParameterError, quoted, RollingError
from rolling_dynamics.nodes.compiling_node import CompilingNode
from rolling_dynamics.scenario_model import check_limits
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingContact, RollingPlan
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.priority import drop_priority
from rolling_node_kit.qos import EVENT, LATCHED
from rolling_node_kit.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import check_plan_fits, Plan
from std_srvs.srv import Trigger


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
            f'plan.times must begin at 0, got {plan.times[0]:.9g}: subtract the first time from '
            'all, and give the start of the motion as header.stamp'
        )
    longest = values['max_plan_duration']
    if not plan.duration <= longest:
        raise ParameterError(
            f'the plan lasts {plan.duration:.6g} s; max_plan_duration allows {longest:g} s'
        )
    check_plan_fits(plan, system, require_hash=values['require_model_hash'])
    return plan


COMPILE_LIMIT = 60.0  # longest wait for what a loop evaluates to be compiled [s]
STATE_POLL = 0.002  # between two looks for the first state of an execution [s]


class ExecutionNode(CompilingNode):
    """
    Checks a goal, designs its feedback in a thread, and follows it in another.

    A plan ends in a hold where it ends at rest. A machine that is driven takes ``cmd_vel``.

    Attributes
    ----------
    system
        The system of the scenario.

    """

    system: RollingSystem

    def __init__(self, kind: Controlled) -> None:
        """Declare the parameters of a kind of machine; everything else happens in configure."""
        super().__init__('controller', kind.table)
        self._kind, self._prediction = kind, Prediction(self)
        self._replanner: Replanner | None = None
        self._server: SingleGoalServer | None = None
        self._equipment: Equipment | None = None
        self._execution: Execution | None = None
        self._distrusted = ''  # why the states of the last execution were not believed
        self._designs: set[Future] = set()  # under way; an interrupted one ends a little later
        self._planned: RollingPlan | None = None
        self._preparation: threading.Thread | None = None
        self._look: Callable[[], None] = lambda: None
        # one for all goals: a callback group keeps a reference to every timer that ever was
        self._looking = self.create_timer(
            STATE_POLL, self._look_again, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._looking.cancel()

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario and create topics and the action server."""
        equipped = self._kind.equip(self)
        self.system = equipped.model.system
        self._model, kind = equipped.model, robot_kind(self.system.name)
        self.values.add(law_parameters(kind))
        self._laws = laws_of(self._model, self.values)
        self._equipment = self._equipment_of(equipped)
        self._between = BetweenPlans(self, self._equipment, equipped, self._laws)
        if self._kind.driven:
            self._between.listen(lambda: self.executing)
        if self._kind.replanned:
            self._prediction.create(self.system, self._model.params)
            self.at_cleanup(self._prediction.destroy)
            self._replanner = Replanner(self)
            self.at_cleanup(self._replanner.destroy)
        self.service(Trigger, '~/stop', self._stop)
        self.reader(RollingContact, 'contact/state', self._take_contact, EVENT)
        self.reader(RollingPlan, 'plan/newest', self._take_planned, LATCHED)
        self._executed = self.writer(RollingPlan, 'execution/plan', LATCHED)
        self._settings = self.writer(ParameterEvent, 'execution/settings', LATCHED)
        self._server = SingleGoalServer(
            self,
            ExecutePlan,
            'execute_plan',
            self._execute,
        )
        self.at_cleanup(self._server.destroy)
        self.at_cleanup(GoalPoses(self, self._move_goal).destroy)
        self._preparation = threading.Thread(target=self._warm_up, name='warm-up', daemon=True)
        self._preparation.start()

    def _equipment_of(self, equipped: Equipped) -> Equipment:
        model, v = equipped.model, self.values
        if v['finite_limits']:
            check_limits(model)
        self.get_logger().info(f'{model.title}: {v["rate"]:g} steps per second')
        tracker = Tracker(
            model.system,
            model.params,
            uncounted=self._laws.uncounted,
            limits=model.control_limits,
            patience=v['patience'],
        )
        given = model.system, model.params, model.start, model.control_limits
        more: dict[str, Any] = {} if equipped.watch is None else {'watch': equipped.watch}
        return Equipment.of(self, equipped.machine, *given, tracker=tracker, **more)

    @property
    def preparing(self) -> str:
        """What the loop needs and is still being written out or compiled, in words."""
        busy = self._preparation is not None and self._preparation.is_alive()
        return super().preparing or ('preparing' if busy and when() == BEHIND else '')

    def _warm_up(self) -> None:
        drop_priority()
        try:
            self._laws.warm_up()
        except Exception as error:  # noqa: BLE001 - the first goal will report to the client
            self.get_logger().warning(f'nothing was prepared for the first plan: {error}')

    def activate(self) -> None:
        """Start again with what is measured from now on."""
        assert self._equipment is not None  # noqa: S101  (configured before)
        self._equipment.machine.measured.restart()
        if self.values['hold_at_start']:
            self._look = self._stand
            self._looking.reset()

    def _stand(self) -> None:
        """Hold the machine where its first state is, once one came."""
        if self.executing or self._between.stand():
            self._looking.cancel()

    def deactivate(self) -> None:
        """End what is at work, the machine safe."""
        self._looking.cancel()
        if self._equipment is not None:
            self._between.stop()
        self._end(INACTIVE)

    def _end(self, reason: str) -> None:
        if self._execution is not None:
            self._execution.end(CODES.INACTIVE, reason)
        if self._server is not None:
            self._server.stop(reason)

    def stop(self) -> None:
        """End what moves the machine, by its safe command."""
        self._end('stopped by ~/stop')
        if self._equipment is not None:
            self._between.stop()

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.stop()
        response.success, response.message = True, 'the machine got its safe command'
        return response

    def cleanup(self) -> None:
        """Forget the scenario."""
        self._server = self._planned = self._equipment = None

    def _take_contact(self, message: RollingContact) -> None:
        for task in (self._execution, self._between.driving):
            if task is not None:
                task.control.contact_mode = message.mode

    def _take_planned(self, message: RollingPlan) -> None:
        self._planned = message

    # -- execution --------------------------------------------------------------------------

    @property
    def executing(self) -> bool:
        """Whether a goal is being worked on."""
        return self._server is not None and self._server.busy

    async def _execute(self, goal: Goal) -> ExecutePlan.Result:
        equipment = self._equipment
        if equipment is None:
            return _result(CODES.INACTIVE, 'the node is not configured')
        if not goal.request.plan.times:
            if self._planned is None:
                text = 'plan: the goal has none, and no newest one came from plan_rolling'
                return _result(CODES.INVALID_GOAL, text)
            goal.request.plan = self._planned
            goal.request.plan.header.stamp = nanoseconds_to_time(0)  # it starts when accepted
        try:
            now_ns = self.get_clock().now().nanoseconds
            plan = accepted_plan(goal.request.plan, self.system, self.values, now_ns)
        except RollingError as error:
            return _result(CODES.INVALID_GOAL, str(error))
        self._between.make_way()
        now = await self._fresh_state(goal, equipment)
        if now is None:
            return _result(CODES.STALE_STATE, equipment.stale_text())
        apart = equipment.tracker.start_error(plan, now[1])
        if not apart <= self.values['start_tolerance']:  # refuses what is not a number, too
            text = (
                f'the plan starts {apart:.3g} away from the present state; '
                f'start_tolerance allows {self.values["start_tolerance"]:g}'
            )
            return _result(CODES.INVALID_GOAL, text)
        return await self._carry_out(goal, plan, equipment, now[1])

    async def _carry_out(
        self, goal: Goal, plan: Plan, equipment: Equipment, x: Array
    ) -> ExecutePlan.Result:
        following = await self._designed(goal, plan)
        if isinstance(following, str):
            return _result(CODES.INVALID_GOAL, following)
        if following is None:
            return _result(CODES.CANCELLED, '')
        self._settings.publish(self.values.in_force())
        given = x, equipment.tracker.norm, self.values['goal_tolerance']
        matters, notice = following.of_goal(*given)
        if matters:
            self.get_logger().warning(notice)
        elif notice:
            self.get_logger().info(notice)

        def on_start(stamp: int) -> None:
            message = goal.request.plan
            message.header.stamp = nanoseconds_to_time(stamp)
            self._executed.publish(message)

        execution = Execution(
            self, equipment, goal, plan, following, on_start, self._between.standing()
        )
        self._execution, self._distrusted = execution, ''
        try:
            return self._report(await execution.run())
        finally:
            self._execution, self._distrusted = None, execution.control.fault

    def _look_again(self) -> None:
        self._look()

    async def _fresh_state(self, goal: Goal, equipment: Equipment) -> tuple[int, Array] | None:
        """Return a usable state that came after this call, or None if none comes in time."""
        intake, end = Intake(equipment), time.monotonic() + equipment.timeout
        measured = equipment.machine.measured

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
                resolve(self, came, fresh)

        goal.on_stop(lambda: resolve(self, came, False))
        self._look = look
        self._looking.reset()
        try:
            return measured.state() if await came else None
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
                    self.get_logger().warning(following.warning)
                resolve(self, designed, following)
            except CancelledError:
                self.get_logger().info('the design of the feedback was interrupted')
                resolve(self, designed, None)
            except RollingError as error:
                resolve(self, designed, str(error))
            except Exception as error:  # noqa: BLE001 - reported to the client
                resolve(self, designed, f'the feedback could not be designed: {described(error)}')
            finally:
                self._designs.discard(designed)

        goal.on_stop(lambda: resolve(self, designed, None))
        threading.Thread(target=work, name='design', daemon=True).start()
        found: Following | str | None = await designed
        return found

    def _follow(self, plan: Plan, interrupted: Callable[[], bool]) -> Following:
        """Return the law along a plan that the parameters choose."""
        equipment, simulated = self._equipment, self.get_parameter('use_sim_time').value
        if equipment is None:
            raise CancelledError('the node was cleaned up')
        following = follow(
            self._model,
            plan,
            self.values,
            interrupted,
            beside=not simulated,
            ask=None if self._replanner is None else self._replanner.ask,
            patience=equipment.timeout if simulated else 0.0,
            safe=equipment.machine.safe,
        )
        self._prediction.show(following.law)
        return following

    def _move_goal(self, pose: PoseStamped) -> str | None:
        """Lead what a predictive law moves elsewhere; None where no such execution goes on."""
        pursuit, place = self._prediction.pursuit, pose.pose.position
        if pursuit is None or self._execution is None:
            return None
        if pose.header.frame_id not in ('', WORLD):
            return f'refused: frame_id must be {WORLD!r}, got {quoted(pose.header.frame_id)}'
        try:
            pursuit.pursue({'p_WO_x': place.x, 'p_WO_y': place.y}, alone=True)
        except RollingError as error:
            return f'refused: {error}'
        return f'the motion that goes on is led to ({place.x:.4g}, {place.y:.4g}) m'

    def _report(self, ending: Ending) -> ExecutePlan.Result:
        self.alarm = ending.text if ending.code == CODES.INTERNAL else ''
        result = _result(ending.code, ending.text)
        result.final_error = ending.error
        result.final_state_names = list(self.system.state.names)
        result.final_state_values = ending.x.tolist()
        return result

    # -- health -----------------------------------------------------------------------------

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop of the execution, of a hold, or of driving."""
        if self._equipment is None:
            return None
        driving = self._between.driving
        task = self._execution if driving is None or driving.ended else driving
        return None if task is None else task.control.loop

    def health(self) -> Health:
        """Return progress."""
        if self._equipment is None:
            return OK, 'not running', {}
        measured, execution = self._equipment.machine.measured, self._execution
        values: dict[str, Any] = {
            'states accepted': measured.count,
            'state age [s]': measured.age,
            'executing': execution is not None,
        }
        if execution is not None and execution.last is not None:
            values |= {'time [s]': execution.last.t, 'state error': execution.last.error}
        idle = 'designing the feedback' if self._designs else 'waiting'
        level, text = OK, 'executing' if execution is not None else idle
        if self._distrusted:
            level, text = ERROR, f'states are not plausible: {self._distrusted}'
        elif measured.refused:
            level, text, measured.refused = WARN, measured.refused, ''
        level, text, values = self._between.health(level, text, values)
        return self._prediction.health(level, text, values)


def _result(code: int, text: str) -> ExecutePlan.Result:
    return ExecutePlan.Result(error_code=code, error_string=text, final_error=float('nan'))

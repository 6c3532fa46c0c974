"""
An action server for several clients that works on one goal at a time.

A newer goal supersedes the previous one: that one is stopped, aborts, and returns before the newer
one starts. Execution is a coroutine, so that the node continues to answer.

A client's queue gets the answers to all clients and holds ten by default. Of many simultaneous
goals, the first are answered at once and the others one by one, so that each client can read its
own. Of the waiting goals only the newest is accepted, and it is answered first; the oldest are
rejected at once where too many wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
import threading
import time
from typing import Any

from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from rolling_dynamics.errors import described, printable
from rolling_node_kit.qos import REQUESTS
from rolling_node_kit.suite_node import SuiteNode

CANCELLED = 'cancelled'
SUPERSEDED = 'superseded'
INACTIVE = 'the node is not active any more'
AT_ONCE = 3  # goals that are answered without a pause
PAUSE = 0.05  # between the answers after that [s]
WAITING = 100  # goals that may wait for their answer


def resolve(node: Node, future: Future, value: Any) -> None:
    """Set the result of a future from any thread and wake the executor that awaits it."""

    def set_once() -> None:
        if not future.done():
            future.set_result(value)

    executor = node.executor
    if executor is None:
        set_once()
        return
    try:
        executor.create_task(set_once)
    except (AttributeError, RuntimeError):
        set_once()  # the executor has been shut down: nobody awaits any more


def send_goal(node: Node, client: ActionClient, goal: Any, give: Callable[[Any], None]) -> None:
    """
    Send a goal in the thread of the executor, so that the answer cannot come too early.

    Parameters
    ----------
    node, client, goal
        The node, the client of an action, and the goal.
    give
        Called with the result, or None if the goal was rejected.

    """

    def accepted(future: Future) -> None:
        handle = future.result()
        if handle.accepted:
            handle.get_result_async().add_done_callback(lambda done: give(done.result().result))
        else:
            give(None)

    if node.executor is not None:
        node.executor.create_task(lambda: client.send_goal_async(goal).add_done_callback(accepted))


class Goal:
    """
    One accepted goal.

    Attributes
    ----------
    handle
        Handle of the action server.
    stop_reason
        None, or why it must end: ``CANCELLED``, ``SUPERSEDED``, or else in words for the client.

    """

    def __init__(self, handle: Any, predecessor: Goal | None) -> None:
        """Wrap a handle; the predecessor must have ended before this goal starts."""
        self.handle = handle
        self.predecessor = predecessor
        self.stop_reason: str | None = None
        self.ended = Future()
        self._lock = threading.Lock()
        self._on_stop: Callable[[], None] | None = None

    @property
    def request(self) -> Any:
        """Goal as the client sent it."""
        return self.handle.request

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Have the callback called once the goal must stop; at once if it must already."""
        with self._lock:
            self._on_stop = callback
            stopped = self.stop_reason is not None
        if stopped:
            callback()

    def stop(self, reason: str) -> None:
        """Ask the goal to end; the first reason counts."""
        with self._lock:
            if self.stop_reason is not None or self.ended.done():
                return
            self.stop_reason = reason
            callback = self._on_stop
        if callback is not None:
            callback()


class SingleGoalServer:
    """Action server that runs one goal at a time and lets a newer one supersede an older one."""

    def __init__(
        self,
        node: SuiteNode,
        action_type: Any,
        name: str,
        execute: Callable[[Goal], Awaitable[Any]],
    ) -> None:
        """
        Create the server.

        Parameters
        ----------
        node
            Node that serves; goals that come while it prepares wait until it is active.
        action_type
            Type of the action; its result has ``error_code`` and ``error_string``.
        name
            Name of the action.
        execute
            Coroutine that works on a goal and returns the result; it must return soon after
            ``stop_reason`` is set.

        """
        self._node = node
        self._type = action_type
        self._execute = execute
        self._latest: Goal | None = None
        self._goals: dict[bytes, Goal] = {}
        self._name = name
        self._answered = 0.0  # when the last answer was due, by the pauses
        self._asked = 0
        self._waiting: deque[Future] = deque()
        # one for all goals: a callback group keeps a reference to every timer that ever was
        self._pacer = node.create_timer(
            PAUSE, self._answer_newest, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._pacer.cancel()
        self._server = ActionServer(
            node,
            action_type,
            name,
            self._run,
            callback_group=ReentrantCallbackGroup(),  # who waits there holds up nothing else
            goal_callback=self._judge,
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
            goal_service_qos_profile=REQUESTS,
            result_service_qos_profile=REQUESTS,
            cancel_service_qos_profile=REQUESTS,
            result_timeout=60,
        )

    @property
    def busy(self) -> bool:
        """True while a goal is being executed."""
        return bool(self._goals)

    def stop(self, reason: str) -> None:
        """Ask every goal to end, and answer those that wait."""
        for goal in list(self._goals.values()):
            goal.stop(reason)
        while self._waiting:
            self._answer_newest()

    def destroy(self) -> None:
        """Remove the server from its node."""
        self._node.destroy_timer(self._pacer)
        self._server.destroy()

    async def _judge(self, _request: Any) -> GoalResponse:
        self._asked = number = self._asked + 1
        due = max(self._answered, time.monotonic() - AT_ONCE * PAUSE) + PAUSE
        if not self._waiting and due <= time.monotonic():
            self._answered = due
        else:
            await self._turn()
        reason = self._node.refusal()
        if reason is None and number != self._asked:
            reason = 'a newer goal came before it was accepted; send one goal after another'
        if reason is None:
            return GoalResponse.ACCEPT
        self._node.get_logger().warning(f'{self._name}: goal refused: {printable(reason)}')
        return GoalResponse.REJECT

    async def _turn(self) -> None:
        """Wait for the turn to be answered."""
        mine = Future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            self._pacer.reset()
        elif len(self._waiting) > WAITING:
            self._waiting.popleft().set_result(None)
        await mine

    def _answer_newest(self) -> None:
        """Let the newest goal that waits have its answer."""
        self._waiting.pop().set_result(None)
        self._answered = time.monotonic()
        if not self._waiting:
            self._pacer.cancel()

    def _accept(self, handle: Any) -> None:
        predecessor = self._latest
        if predecessor is not None and not predecessor.ended.done():
            predecessor.stop(SUPERSEDED)
        else:
            predecessor = None
        goal = Goal(handle, predecessor)
        self._latest = goal
        self._goals[bytes(handle.goal_id.uuid)] = goal
        handle.execute()

    def _cancel(self, handle: Any) -> CancelResponse:
        goal = self._goals.get(bytes(handle.goal_id.uuid))
        if goal is None:
            return CancelResponse.REJECT
        goal.stop(CANCELLED)
        return CancelResponse.ACCEPT

    async def _run(self, handle: Any) -> Any:
        key = bytes(handle.goal_id.uuid)
        goal = self._goals[key]
        try:
            if goal.predecessor is not None:
                await goal.predecessor.ended
                goal.predecessor = None
            await self._until_active(goal)
            if goal.stop_reason is None and (reason := self._node.refusal()) is not None:
                codes = self._type.Result
                result = codes(error_code=codes.INACTIVE, error_string=reason)
            elif goal.stop_reason is None:
                result = await self._guarded(goal)
            else:
                result = self._type.Result()
            self._finish(goal, result)
        finally:
            self._goals.pop(key, None)
            goal.ended.set_result(None)
            _forget(goal.request)
        return result

    async def _until_active(self, goal: Goal) -> None:
        """Wait, while the node prepares, until it is active or the goal must stop."""
        starting = self._node.starting
        if starting is None:
            return
        over, text = Future(), printable(self._node.preparing) or 'activating'
        self._node.get_logger().info(
            f'{self._name}: the goal waits until the node is ready: {text}'
        )
        starting.add_done_callback(lambda _: resolve(self._node, over, None))
        goal.on_stop(lambda: resolve(self._node, over, None))
        await over

    async def _guarded(self, goal: Goal) -> Any:
        try:
            return await self._execute(goal)
        except Exception as error:  # noqa: BLE001 - the client gets a result, the node lives on
            text = printable(described(error))
            self._node.get_logger().error(f'{self._name}: {text}')
            result = self._type.Result()
            result.error_code = self._type.Result.INTERNAL
            result.error_string = f'fault of the server: {text}'
            return result

    def _finish(self, goal: Goal, result: Any) -> None:
        codes = self._type.Result
        if goal.stop_reason is not None:
            result.error_code, result.error_string = {
                CANCELLED: (codes.CANCELLED, 'cancelled on request'),
                SUPERSEDED: (codes.PREEMPTED, 'a newer goal took over'),
            }.get(goal.stop_reason, (codes.INACTIVE, goal.stop_reason))
        if goal.stop_reason == CANCELLED:
            goal.handle.canceled()
        elif result.error_code == codes.NONE:
            goal.handle.succeed()
        else:
            goal.handle.abort()


def _forget(request: Any) -> None:
    """Empty a request: the middleware keeps it as long as its result, and a plan may be large."""
    empty = type(request)()
    for name in request.get_fields_and_field_types():
        setattr(request, name, getattr(empty, name))

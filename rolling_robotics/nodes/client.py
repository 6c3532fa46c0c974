"""A client of nodes: parameters, actions, and watched topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import contextlib
import threading
import time
from typing import Any, TYPE_CHECKING

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import GetParameters, SetParameters
import rclpy
from rclpy.action import ActionClient
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rolling_dynamics.errors import RollingError
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.conversions import quaternion_to_wxyz, time_to_nanoseconds
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import STREAM_READER
from rolling_robotics.console import InterruptFlag
from rolling_robotics.experiments import RECORDER
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from typing_extensions import Self

# topics to watch: type of the messages, and the part of each that is kept
WATCHABLE: Mapping[str, tuple[type, Callable[[Any], Sequence[float]]]] = {
    'joints': (JointState, lambda message: list(message.position)),
    'attitude': (Odometry, lambda message: quaternion_to_wxyz(message.pose.pose.orientation)),
}
SHORT = 30.0  # longest wait for an answer that needs no work [s]
AGAIN = 10.0  # after which a request without an answer is sent again [s]
STATE_PERIOD = 0.2  # between two looks whether a node is active [s]
POLL = 0.005  # maximum time between two checks of a condition [s]


class ClientError(RollingError):
    """A node did not answer, or not as it should."""


class LateAnswerError(ClientError):
    """Raised where an answer did not come in time."""


class Client:
    """
    Speaks to the nodes of one namespace; a context manager.

    In the main thread it looks for Ctrl-C while it waits: an exception raised by the signal in the
    midst of the middleware's callbacks could be lost.
    """

    def __init__(
        self,
        *,
        namespace: str = '',
        domain: int | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Start a node.

        Parameters
        ----------
        namespace
            Namespace of the nodes.
        domain
            ROS domain; the environment's if None.
        check
            Called while waiting; raises if waiting is in vain.

        """
        self._in_vain, self._interrupt = check, InterruptFlag()
        self._signals = contextlib.ExitStack()
        self._context = rclpy.Context()
        rclpy.init(
            context=self._context,
            domain_id=domain,
            args=[],
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._node = rclpy.create_node(
            'client', context=self._context, namespace=namespace, use_global_arguments=False
        )
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._planner = ActionClient(self._node, PlanRolling, 'plan_rolling')
        self._controller = ActionClient(self._node, ExecutePlan, 'execute_plan')
        # kept to the end: this executor may crash where a client is destroyed while it spins
        self._services: dict[str, Any] = {}
        self._watches: dict[str, PolledSubscription] = {}
        self._newest: dict[str, tuple[float, Sequence[float]]] = {}  # stamp [s] and values
        self._goal: Any = None
        self.equip()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, name='client', daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the client."""
        if threading.current_thread() is threading.main_thread():
            self._signals.enter_context(self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Cancel what still runs, and leave."""
        self._signals.close()
        if self._goal is not None and kind is not None:
            self._goal.cancel_goal_async()
        self._stop.set()
        self._thread.join(1.0)
        for watch in self._watches.values():
            watch.destroy()
        self._executor.shutdown(timeout_sec=0.0)
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)
        if kind is None:
            self._interrupt.check()

    def equip(self) -> None:
        """Create the members of a subclass, before the node is spun."""

    def _check(self) -> None:
        """Raise if waiting is in vain, or no longer wanted."""
        self._interrupt.check()
        self._in_vain()

    def _spin(self) -> None:
        while not self._stop.is_set():
            self._executor.spin_once(timeout_sec=POLL)

    # -- waiting ----------------------------------------------------------------------------

    def _wait(self, what: str, done: Callable[[], bool], timeout: float) -> None:
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise LateAnswerError(f'{what} within {timeout:g} s')
            self._check()
            time.sleep(POLL)

    def _result(self, what: str, future: Future, timeout: float) -> Any:
        self._wait(what, future.done, timeout)
        return future.result()

    def wait_until_served(self, timeout: float, *, planner: bool = True) -> None:
        """Wait until the controller takes goals, and the planner too unless it is not needed."""
        end = time.monotonic() + timeout
        servers = {'planner': self._planner, 'controller': self._controller}
        for node in ('planner', 'controller') if planner else ('controller',):
            ready = servers[node].server_is_ready
            self._wait(f'the {node} did not come up', ready, end - time.monotonic())
            self.wait_until_active([node], end - time.monotonic())

    def wait_until_active(self, nodes: Iterable[str], timeout: float) -> None:
        """Wait until the life cycle of every one of some nodes is in the state ``active``."""
        end = time.monotonic() + timeout
        for node in nodes:
            # served once all is imported, active once it is compiled
            while self._state(node, end - time.monotonic()) != State.PRIMARY_STATE_ACTIVE:
                if time.monotonic() > end:
                    raise LateAnswerError(f'the {node} was not active within {timeout:g} s')
                self._check()
                time.sleep(STATE_PERIOD)

    def wait_until_recorded(self, topics: Iterable[str], timeout: float) -> None:
        """Wait until a recorder, if there is one, listens to those topics that are published."""
        if RECORDER.name in self._node.get_node_names():
            self._wait(
                'the recorder did not come up',
                lambda: all(map(self._is_recorded, topics)),
                timeout,
            )

    def _is_recorded(self, topic: str) -> bool:
        readers = self._node.get_subscriptions_info_by_topic(topic)
        return not self._node.count_publishers(topic) or any(
            reader.node_name == RECORDER.name for reader in readers
        )

    def newest(self, topic: str, kind: str) -> tuple[float, Sequence[float]]:
        """
        Wait for a first message of a topic; return stamp [s] and values of its newest.

        Parameters
        ----------
        topic
            Name of the topic, which is watched from now on.
        kind
            Type and kept part of its messages, see :data:`WATCHABLE`.

        """
        type_, read = WATCHABLE[kind]
        watch = self._watches.get(topic)
        if watch is None:
            given = self._node, type_, topic, STREAM_READER
            watch = self._watches[topic] = self._in_turn(PolledSubscription, *given)

        def arrived() -> bool:
            for message in watch.take():
                stamp = time_to_nanoseconds(message.header.stamp) * 1e-9
                self._newest[topic] = stamp, read(message)
            return topic in self._newest

        self._wait(f'no message on {topic}', arrived, SHORT)
        return self._newest[topic]

    def _state(self, node: str, timeout: float) -> int:
        """Return the state of a node's life cycle."""
        answer = self._call(GetState, f'{node}/get_state', GetState.Request(), timeout)
        return int(answer.current_state.id)

    def _call(self, kind: Any, name: str, request: Any, timeout: float = SHORT) -> Any:
        client = self._services.get(name)
        if client is None:
            client = self._services[name] = self._node.create_client(kind, name)
        end = time.monotonic() + timeout
        self._wait(f'no service {name}', client.service_is_ready, timeout)
        left = max(SHORT, end - time.monotonic())
        return self._answered(f'no answer of {name}', client.call_async, request, timeout=left)

    def set_parameters(self, node: str, values: Mapping[str, Any]) -> None:
        """Set parameters of a node, or raise ClientError with the node's reason."""
        request = SetParameters.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
            ]
        )
        answer = self._call(SetParameters, f'{node}/set_parameters', request)
        for result in answer.results:
            if not result.successful:
                raise ClientError(f'{node}: {result.reason}')

    def _number(self, node: str, parameter: str) -> float:
        """Return a parameter of a node."""
        request = GetParameters.Request(names=[parameter])
        answer = self._call(GetParameters, f'{node}/get_parameters', request)
        return float(answer.values[0].double_value)

    def trigger(self, name: str) -> str:
        """Call a service without arguments; return its message, or raise ClientError with it."""
        answer = self._call(Trigger, name, Trigger.Request())
        if not answer.success:
            raise ClientError(f'{name}: {answer.message}')
        return str(answer.message)

    def activate(self, node: str, *, on: bool) -> None:
        """Activate a node, which clears its measurements, or deactivate it."""
        to = Transition.TRANSITION_ACTIVATE if on else Transition.TRANSITION_DEACTIVATE
        request = ChangeState.Request(transition=Transition(id=to))
        self._call(ChangeState, f'{node}/change_state', request)
        if on:
            self.wait_until_active([node], SHORT)

    def enable(self, node: str) -> None:
        """Enable a node that was stopped."""
        self._call(SetBool, f'{node}/enable', SetBool.Request(data=True))

    def reset(
        self,
        position: Sequence[float],
        rotation: Sequence[float],
        plant: str = 'simulator',
        **values: Any,
    ) -> None:
        """Put a plant at its start, shifted [m] and turned [rad]; set its other parameters."""
        off = {'perturbation_position': list(position), 'perturbation_rotation': list(rotation)}
        self.set_parameters(plant, {**off, **values})
        self.trigger(f'{plant}/reset')

    # -- actions ----------------------------------------------------------------------------

    def _in_turn(self, call: Callable[..., Any], *args: Any) -> Any:
        """
        Make a call in the spinning thread and return its result.

        An action client registers a request after sending it; an answer that another thread takes
        in between is lost.
        """
        return self._result('the client is stuck', self._executor.create_task(call, *args), SHORT)

    def _answered(
        self, what: str, send: Callable[..., Future], *args: Any, timeout: float | None = None
    ) -> Any:
        """
        Return the answer to a request, which is sent again while none comes.

        A server that knows the request of a client and not yet where its answers go drops the
        answer.
        """
        end = time.monotonic() + (timeout or SHORT)
        while True:
            future = self._in_turn(send, *args)
            try:
                return self._result(what, future, AGAIN)
            except LateAnswerError:
                if time.monotonic() > end:
                    raise LateAnswerError(f'{what} within {timeout or SHORT:.3g} s') from None

    def _run(
        self,
        client: ActionClient,
        goal: Any,
        on_feedback: Callable[[Any], None],
        timeout: float,
        on_start: Callable[[], None] = lambda: None,
    ) -> Any:
        answered = threading.Event()

        def take(message: Any) -> None:
            on_feedback(message.feedback)
            answered.set()

        handle = self._answered('no answer to the goal', client.send_goal_async, goal, take)
        if not handle.accepted:
            raise ClientError('the goal was rejected; the log of the node has the reason')
        self._goal = handle
        coming = self._in_turn(handle.get_result_async)
        self._wait('no feedback', lambda: answered.is_set() or coming.done(), timeout)
        on_start()
        answer = self._result('no result', coming, timeout)
        self._goal = None
        return answer.result

    def plan(
        self,
        goal: Mapping[str, float],
        horizon: float,
        on_feedback: Callable[[PlanRolling.Feedback], None],
        timeout: float,
    ) -> PlanRolling.Result:
        """Have a plan made from the present state."""
        request = PlanRolling.Goal(
            goal_names=list(goal),
            goal_values=[float(v) for v in goal.values()],
            horizon=float(horizon),
        )
        return self._run(self._planner, request, on_feedback, timeout)

    def follow(
        self,
        plan: RollingPlan,
        on_feedback: Callable[[ExecutePlan.Feedback], None],
        timeout: float,
        on_start: Callable[[], None] = lambda: None,
    ) -> ExecutePlan.Result:
        """Have a plan executed, an empty one being the newest of the planner."""
        goal = ExecutePlan.Goal(plan=plan)
        return self._run(self._controller, goal, on_feedback, timeout, on_start)

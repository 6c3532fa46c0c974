"""Base of lifecycle nodes: parameters, autostart, diagnostics, safe stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import time
import traceback
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.msg import State as StateMessage
from rclpy.clock import Clock, ClockType
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import LifecycleNode, State, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.task import Future
from rclpy.timer import Timer
from rolling_dynamics.errors import described, printable, RollingError, SimulationError
from rolling_node_kit.parameters import COMMON, Parameter, ParameterTable
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import EVENT, overridable
from rolling_node_kit.signals import take_priority
from std_srvs.srv import SetBool, Trigger

READY_LIMIT = 120.0  # maximum wait for preparation in a transition requested by others [s]
READY_PERIOD = 0.1  # between two looks whether everything is ready [s]
PROGRESS_PERIOD = 5.0  # between two lines of the log while a node prepares [s]
MISSED_FRACTION = 'fraction of missed deadlines'  # key of the diagnostics
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
Health = tuple[bytes, str, dict[str, Any]]


class SuiteNode(LifecycleNode):
    """
    A lifecycle node that reports its faults as text and survives them.

    Subclasses override :meth:`configure`, :meth:`activate`, :meth:`deactivate`, :meth:`cleanup`,
    :meth:`health` and, with :meth:`serve_switch`, :meth:`switch`; each may raise, a
    :class:`RollingError` for errors that the user can fix. Objects created by :meth:`writer`,
    :meth:`reader`, :meth:`polled` and :meth:`service`, and those given to :meth:`at_cleanup`, are
    destroyed after :meth:`cleanup`, the last first.

    Attributes
    ----------
    alarm
        An error that is reported until it is cleared, or the empty string.
    enabled
        Whether it is enabled.

    """

    def __init__(
        self,
        name: str,
        table: Sequence[Parameter],
        *,
        cross_check: Callable[[dict[str, Any]], str | None] | None = None,
        **options: Any,
    ) -> None:
        """
        Declare the parameters and start reporting.

        Parameters
        ----------
        name
            Name of the node.
        table
            Its parameters, besides the common ones.
        cross_check
            See :class:`ParameterTable`.
        options
            Passed to the lifecycle node.

        Raises
        ------
        ParameterError
            A parameter given at start-up is not allowed.

        """
        super().__init__(name, **options)
        self._activation: Any = None
        self._started, self._reported, self._ends = Future(), math.inf, False
        self._undo: list[Callable[[], object]] = []
        self.values = ParameterTable(self, (*COMMON, *table), cross_check)
        self.alarm, self.enabled = '', True
        self._service_change_state.callback = _never_raise(
            self._service_change_state.callback, self.get_logger()
        )
        self._diagnostics = self.create_publisher(
            DiagnosticArray, '/diagnostics', EVENT, qos_overriding_options=overridable()
        )
        self.create_timer(
            self.values['diagnostics_period'],
            self.report_health,
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )

    # -- for subclasses ---------------------------------------------------------------------

    def configure(self) -> None:
        """Load and check everything."""

    def activate(self) -> None:
        """Start to work."""

    def deactivate(self) -> None:
        """Stop to work and leave everything safe; must be callable twice."""

    def cleanup(self) -> None:
        """Undo :meth:`configure`; must be callable twice."""

    def health(self) -> Health:
        """Return level, message and values for the diagnostics."""
        return OK, 'ok', {}

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop that is at work, whose punctuality is reported."""
        return None

    @property
    def preparing(self) -> str:
        """Preparations for :meth:`activate` under way, in words; empty once all are done."""
        return ''

    def switch(self, *, on: bool) -> str:
        """Take work up, or stop, because somebody asked; return what to answer."""
        return 'enabled' if on else 'stopped; ~/enable resumes'

    def renew(self) -> None:
        """Take over the preparation, before :meth:`activate`."""

    # -- life cycle -------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """True while the node is in the state ``active``."""
        return self._state_machine.current_state[0] == StateMessage.PRIMARY_STATE_ACTIVE

    @property
    def state_label(self) -> str:
        """Name of the state of the life cycle."""
        return str(self._state_machine.current_state[1])

    def refusal(self) -> str | None:
        """Return why no goal is accepted, or None if one is."""
        return None if self.active or self._activation else f'the node is {self.state_label}'

    @property
    def starting(self) -> Future | None:
        """Future of the activation at the start; None where none is under way."""
        return self._started if self._activation else None

    def start(self) -> None:
        """Configure and activate if ``autostart`` is set."""
        priority = self.values['realtime_priority']
        in_real_time = not self.get_parameter('use_sim_time').value
        if priority and in_real_time and not take_priority(priority):
            self.get_logger().info(
                'real-time priority is not permitted here; expect jitter under load'
            )
        if self.values['autostart'] and self._succeeds(self.trigger_configure):
            self._activation = self.create_timer(
                READY_PERIOD,
                self._activate_if_ready,
                clock=Clock(clock_type=ClockType.STEADY_TIME),
            )
            self._reported = time.monotonic()
            self._activate_if_ready()

    def _activate_if_ready(self) -> None:
        """Activate once everything is ready, unless somebody else did."""
        text = self.preparing
        if text and self.state_label == 'inactive':
            if time.monotonic() - self._reported > PROGRESS_PERIOD:
                self._reported = time.monotonic()
                self.get_logger().info(f'not active yet: {text}')
            return
        if self._activation is not None:
            self.destroy_timer(self._activation)
            self._activation = None
            if self.state_label == 'inactive':
                self._succeeds(self.trigger_activate)
            self._started.set_result(None)

    def _get_ready(self) -> None:
        """Wait, saying so, until the loop can keep its time."""
        end = time.monotonic() + READY_LIMIT
        while text := self.preparing:
            if time.monotonic() > end:
                raise SimulationError(f'after {READY_LIMIT:g} s it is still {text}')
            self.report_health()
            time.sleep(READY_PERIOD)
        self.renew()

    def make_safe(self) -> None:
        """Stop whatever runs, before the process ends; an activation under way undoes itself."""
        self._ends = True
        if self.active:
            self._succeeds(self.trigger_deactivate)
        else:
            self._attempt('deactivate', self.deactivate)

    def destroy_node(self) -> None:
        """Destroy the node and its state machine, which keeps a handle of the node."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def release(self) -> bool:
        """Release the configuration, after which there are no callbacks; return success."""
        return self._attempt('cleanup', self._clean_up)

    def on_configure(self, _state: State) -> TransitionCallbackReturn:
        """Configure; on failure clean up and stay unconfigured."""
        if self._attempt('configure', self.configure):
            return TransitionCallbackReturn.SUCCESS
        self._attempt('cleanup', self._clean_up)
        return TransitionCallbackReturn.FAILURE

    def on_activate(self, _state: State) -> TransitionCallbackReturn:
        """Activate; on failure stay inactive."""
        ready = not self._ends and self._attempt('activate', self._get_ready)
        if ready and self._attempt('activate', self.activate) and not self._ends:
            return TransitionCallbackReturn.SUCCESS
        self._attempt('deactivate', self.deactivate)
        return TransitionCallbackReturn.FAILURE

    def on_deactivate(self, _state: State) -> TransitionCallbackReturn:
        """Deactivate."""
        self._attempt('deactivate', self.deactivate)
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, _state: State) -> TransitionCallbackReturn:
        """Clean up."""
        self._attempt('cleanup', self._clean_up)
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, _state: State) -> TransitionCallbackReturn:
        """Deactivate and clean up."""
        self._attempt('deactivate', self.deactivate)
        self._attempt('cleanup', self._clean_up)
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, _state: State) -> TransitionCallbackReturn:
        """Leave everything safe and unconfigured."""
        return self.on_shutdown(_state)

    def _attempt(self, what: str, step: Callable[[], None]) -> bool:
        try:
            step()
        except RollingError as error:
            self.get_logger().error(f'cannot {what}: {printable(error)}')
            return False
        except Exception as error:  # noqa: BLE001 - the node continues and reports why
            self.get_logger().error(f'cannot {what}: {printable(described(error))}')
            self.get_logger().debug(traceback.format_exc())
            return False
        return True

    def _succeeds(self, trigger: Callable[[], TransitionCallbackReturn]) -> bool:
        try:
            return trigger() == TransitionCallbackReturn.SUCCESS
        except Exception as error:  # noqa: BLE001 - a transition asked for twice
            self.get_logger().warning(f'{trigger.__name__}: {printable(error)}')
            return False

    def _clean_up(self) -> None:
        self.cleanup()
        while self._undo:
            self._undo.pop()()

    # -- undone at cleanup ------------------------------------------------------------------

    def at_cleanup(self, undo: Callable[[], object]) -> None:
        """Have something undone at the next cleanup."""
        self._undo.append(undo)

    def writer(self, kind: type, name: str, qos: QoSProfile) -> Any:
        """Create a publisher."""
        made = self.create_publisher(kind, name, qos, qos_overriding_options=overridable())
        self.at_cleanup(lambda: self.destroy_publisher(made))
        return made

    def reader(
        self, kind: type, name: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> None:
        """Create a subscription."""
        made = self.create_subscription(
            kind, name, callback, qos, qos_overriding_options=overridable()
        )
        self.at_cleanup(lambda: self.destroy_subscription(made))

    def timer(self, period: float, call: Callable[[], None]) -> Timer:
        """Create a timer by a steady clock, of a period [s]."""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        made = self.create_timer(period, call, clock=steady)
        self.at_cleanup(lambda: self.destroy_timer(made))
        return made

    def polled(
        self, kind: type, name: str, qos: QoSProfile, *, raw: bool = False
    ) -> PolledSubscription:
        """Create a subscription that a loop reads."""
        made = PolledSubscription(self, kind, name, qos, raw=raw)
        self.at_cleanup(made.destroy)
        return made

    def service(
        self, kind: type, name: str, callback: Callable[[Any, Any], Any], **options: Any
    ) -> None:
        """Create a service."""
        made = self.create_service(kind, name, callback, **options)
        self.at_cleanup(lambda: self.destroy_service(made))

    def serve_switch(self) -> None:
        """Create the services ``~/enable`` and ``~/stop``, which call :meth:`switch`."""
        self.service(SetBool, '~/enable', self._enable)
        self.service(Trigger, '~/stop', self._switch_off)

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.enabled = request.data
        if request.data:
            self.alarm = ''
        response.message = self.switch(on=request.data)
        response.success = True
        return response

    def _switch_off(
        self, _request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        return self._enable(SetBool.Request(data=False), response)

    # -- diagnostics ------------------------------------------------------------------------

    def report_health(self) -> None:
        """Publish one diagnostic message."""
        level, message, values = self.health()
        if self.loop is not None:
            level, message, values = _with_punctuality(self.loop, level, message, values)
        if self.alarm:
            level, message = ERROR, f'{self.alarm}; {message}'
        if not self.active:
            doing = self.preparing or message
            level, message = max(level, WARN), f'{self.state_label}; {doing}'
        status = DiagnosticStatus(
            level=level,
            name=self.get_fully_qualified_name().lstrip('/'),
            message=printable(message),
            hardware_id='rolling_robotics',
            values=[KeyValue(key=printable(k), value=_as_text(v)) for k, v in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)


def _with_punctuality(
    loop: PeriodicLoop, level: bytes, message: str, values: dict[str, Any]
) -> Health:
    """Add the figures of a loop, and the alarm that they give."""
    record, fraction = loop.read_punctuality(), loop.overrun_fraction()
    values = values | {
        'ticks': record.ticks,
        'misses': record.misses,
        'skipped': record.skipped,
        'worst jitter [s]': record.worst_jitter,
        'mean work [s]': record.mean_work,
    }
    if loop.overruns is None:
        return level, message, values
    values[MISSED_FRACTION] = fraction
    for grade, name in ((ERROR, 'error'), (WARN, 'warn')):
        text = loop.overruns.exceeds(name, fraction)
        if text:
            return max(level, grade), f'{message}; {text}', values
    return level, message, values


def _as_text(value: Any) -> str:
    return f'{value:.6g}' if isinstance(value, float) else printable(value)


def _never_raise(
    callback: Callable[[Any, Any], Any], logger: RcutilsLogger
) -> Callable[[Any, Any], Any]:
    """Wrap the service of transitions: one that is not possible answers success = False."""

    def guarded(request: Any, response: Any) -> Any:
        try:
            return callback(request, response)
        except Exception as error:  # noqa: BLE001 - a client must not end the node
            logger.warning(f'transition refused: {printable(error)}')  # noqa: G004  rclpy has no other
            response.success = False
            return response

    return guarded

"""A node around a plant: its loop, parameters and compiler."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
import threading
import time
from typing import Any, NamedTuple, Protocol

from builtin_interfaces.msg import Time
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics import compiled
from rolling_dynamics.errors import RollingError
from rolling_dynamics.simulation.emulation import EmulatedMachine
from rolling_node_kit.common_parameters import (
    LOCKSTEP_TIMEOUT,
    OVERRUN,
    RATE_FACTOR,
    TF_RATE,
)
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.loop_node import CLOCK_PERIOD, LoopNode
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.qos import COMMAND, STREAM_WRITER
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode, WARN
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger


class CompilingNode(SuiteNode):
    """A lifecycle node that becomes active once what its loop evaluates is machine code."""

    @property
    def preparing(self) -> str:
        """What is being compiled, in words; empty if everything is there."""
        names = compiled.pending(awaited=True)
        return f'compiling {", ".join(names)}' if names else ''

    def renew(self) -> None:
        """Evaluate machine code from now on."""
        compiled.renew()


class PublishedTopics(Protocol):
    """What the node asks of the topics that show a plant."""

    def state(self, seen: Any, stamp: int) -> None:
        """Publish the state at a time [ns]; the fast part."""

    def contact(self, seen: Any, stamp: Time) -> None:
        """Publish what comes at ``contact_rate``."""

    def frames(self, seen: Any, stamp: Time) -> None:
        """Publish the frames."""

    def markers(self, seen: Any, stamp: Time) -> None:
        """Publish the markers that move."""

    def contact_state(self, seen: Any, stamp: Time, fault: str) -> None:
        """Publish mode and margins of the contact."""

    def forget(self) -> None:
        """Start a new path."""


class Loaded(NamedTuple):
    """What ``load`` returns: a title for the log, the plant, and the topics that show it."""

    title: str
    plant: EmulatedMachine[Any]
    topics: PublishedTopics


class PlantNode(CompilingNode, LoopNode):
    """
    Lifecycle node that steps a plant.

    Attributes
    ----------
    command_type, command_topic
        Type and name of the commands.
    body
        What a command moves, for messages to people.

    """

    command_type: type
    command_topic: str
    body: str

    @abstractmethod
    def load(self) -> Loaded:
        """Load the scenario; make the plant, at its start, and its topics."""

    @abstractmethod
    def read_command(self, message: Any) -> NDArray[np.float64]:
        """Return the control of a command, or raise RollingError telling why it is refused."""

    def __init__(self, table: Sequence[Parameter]) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('simulator', table)
        self._lock = threading.Lock()
        self._topics: PublishedTopics | None = None
        self._plant: EmulatedMachine[Any] | None = None
        self._refused = self._told = ''
        self._command: tuple[float, NDArray[np.float64]] | None = None
        self._stale = 0

    # -- life cycle -------------------------------------------------------------------------

    def set_up(self) -> None:
        """Load the scenario and create topics and services."""
        title, self._plant, self._topics = self.load()
        self._dt = 1.0 / self.values['rate']
        self._clock_writer = self.writer(Clock, '/clock', STREAM_WRITER) if self.sim_time else None
        self._commands = self.polled(self.command_type, self.command_topic, COMMAND)
        self.service(Trigger, '~/reset', self._reset)
        self.get_logger().info(f'{title}: {self.values["rate"]:g} steps a second')

    def begin(self, now: int) -> None:
        """Start to step, at zero in simulated time."""
        self._ticks, self._epoch, self._command = 0, now, None
        self._clock_every = max(1, round(CLOCK_PERIOD / self._dt))

    def period(self) -> float:
        """Return the time between two steps [s]; the factor may change while they go on."""
        return self._dt / (self.values['rate_factor'] if self.sim_time else 1.0)

    def switch(self, *, on: bool) -> str:
        """Take commands again, or brake."""
        if on:
            return 'commands are accepted'
        self._command = None
        return f'the {self.body} is braked; ~/enable accepts commands again'

    def clean_up(self) -> None:
        """Forget the scenario."""
        self._topics = self._plant = None

    # -- stepping ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Step, and publish what is seen."""
        with self._lock:
            self._plant.step(self._control(), self._dt)
            seen, fault = self._plant.observe(), self._plant.fault
        self._ticks += 1
        now = self.stamp
        if self._ticks % self._clock_every == 1 % self._clock_every:
            self._tell_time()
        self._topics.state(seen, now)
        self.take_turns(seen, now)
        if self.sim_time:
            self._loop.period = self.period()
        self._publish_slowly(seen, now, fault)

    @property
    def stamp(self) -> int:
        """Time of the plant [ns]."""
        return self._epoch + round(self._ticks * self._dt * 1e9)

    def _tell_time(self) -> None:
        """Publish the time, where it is simulated."""
        if self._clock_writer is not None:
            self._clock_writer.publish(Clock(clock=nanoseconds_to_time(self.stamp)))

    def take_turns(self, seen: Any, now: int) -> None:
        """In simulated time wait until the state of this time [ns] is answered."""
        self.wait_for_answer(now, lambda: self._topics.state(seen, now))

    def wait_for_answer(self, stamp: int, repeat: Callable[[], None]) -> None:
        """In simulated time wait for the answer to what has a stamp [ns], sent again by a call."""
        if self.sim_time:

            def again() -> None:
                self._tell_time()  # a state ahead of the clock is not answered
                repeat()

            timeout = self.values['lockstep_timeout']
            self.turns.wait(stamp, self._poll, self._commands.wait, again, timeout=timeout)

    def _publish_slowly(self, seen: Any, now: int, fault: str) -> None:
        """Publish what is due at a lower rate, each kind in a tick of its own."""
        topics, ticks = self._topics, self._ticks
        if self.due(ticks, 'contact_rate'):
            topics.contact(seen, nanoseconds_to_time(now))
        if self.due(ticks, 'tf_rate', 1):
            topics.frames(seen, nanoseconds_to_time(now))
        if self.due(ticks, 'marker_rate', 2):
            stamp = nanoseconds_to_time(now)
            topics.markers(seen, stamp)
            topics.contact_state(seen, stamp, fault)
            self._tell(fault)

    def _tell(self, fault: str) -> None:
        """Log what has happened, a fault once."""
        for line in self._plant.read_news():
            self.get_logger().info(line)
        if fault and fault != self._told:
            self.get_logger().warning(f'nothing moves until ~/reset: {fault}')
        self._told = fault

    def _poll(self) -> None:
        for message in self._commands.take():
            self._take_command(message)

    def _control(self) -> NDArray[np.float64]:
        self._poll()
        command = self._command
        if command is not None and self.enabled:
            taken, u = command
            answers = self.sim_time and self.turns.answered  # this step: fresh by definition
            if answers or time.monotonic() - taken <= self.values['command_timeout']:
                return u
            self._stale += 1
            self._command = None
        return self._plant.brake()

    def skip(self, seconds: float) -> None:
        """Let the stamps go on with the clock."""
        self._epoch += 0 if self.sim_time else round(seconds * 1e9)

    # -- inputs -----------------------------------------------------------------------------

    def _take_command(self, message: Any) -> None:
        try:
            u = self.read_command(message)
        except RollingError as error:
            self._refused = f'command refused: {error}'
            return
        self._command = (time.monotonic(), u)
        self.turns.note(time_to_nanoseconds(message.header.stamp))

    def _reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        position = list(self.values['perturbation_position'])
        rotation = list(self.values['perturbation_rotation'])
        try:
            with self._lock:
                self._plant.reset(position=position, rotation=rotation)
                self._command = None
        except RollingError as error:
            response.success, response.message = False, str(error)
            return response
        self._topics.forget()
        self._stale, self._refused = 0, ''
        response.success = True
        response.message = f'at the start, shifted by {position} m and turned by {rotation} rad'
        return response

    # -- health -----------------------------------------------------------------------------

    def health(self) -> Health:
        """Return contact and commands."""
        if self._plant is None or self._loop is None:
            return OK, 'not running', {}
        values = {
            'time [s]': self._plant.time,
            'enabled': self.enabled,
            'stale commands': self._stale,
        }
        values |= {f'margin {k}': float(v) for k, v in self._plant.observe().margins.items()}
        fault = self._fault or self._plant.fault
        if fault:
            return ERROR, fault, values
        if self._refused:
            message, self._refused = self._refused, ''
            return WARN, message, values
        if not self.enabled:
            return WARN, 'stopped: commands are ignored', values
        return OK, 'rolling', values


SLIP_SHARE = Parameter(
    'slip_share', 0.8, 'ratio of kinetic to static friction', limits=(0.0, 1.0), read_only=True
)
ROLLING_RESISTANCE = Parameter(
    'rolling_resistance',
    0.0,
    'rolling resistance: torque per normal force and rate of rolling',
    limits=(0.0, 1.0),
    unit='m s/rad',
    read_only=True,
)


# long: a table
def plant_parameters(body: str, rate: float) -> tuple[Parameter, ...]:
    """Return the parameters of every simulator; ``body`` is what a command moves."""
    return (
        Parameter(
            'scenario_file',
            '',
            'scenario with bodies, surfaces, friction, start; a path, or a name in config/',
            read_only=True,
        ),
        Parameter(
            'rate',
            rate,
            'simulation rate and publication rate of the states',
            limits=(50.0, 2000.0),
            unit='Hz',
            read_only=True,
        ),
        Parameter(
            'contact_rate',
            100.0,
            'publication rate of contact wrench, joints and other contact topics',
            limits=(1.0, 1000.0),
            unit='Hz',
            read_only=True,
        ),
        TF_RATE,
        Parameter(
            'marker_rate',
            20.0,
            'publication rate of markers and contact state',
            limits=(1.0, 60.0),
            unit='Hz',
            read_only=True,
        ),
        RATE_FACTOR,
        Parameter(
            'command_timeout',
            0.05,
            f'age of a command beyond which the {body} is braked',
            limits=(0.002, 5.0),
            unit='s',
        ),
        LOCKSTEP_TIMEOUT,
        *OVERRUN,
        Parameter(
            'brake_time',
            0.1,
            f'time constant of braking while the {body} has no command',
            limits=(0.01, 5.0),
            unit='s',
            read_only=True,
        ),
        Parameter(
            'frame_prefix',
            '',
            'prefix of the frames, so that those of two robots differ; not of `world`',
            read_only=True,
        ),
    )


def perturbation_parameters(shift: str, turn: str) -> tuple[Parameter, Parameter]:
    """Return how far off the start ``~/reset`` puts the plant; both texts tell what is moved."""
    return (
        Parameter(
            'perturbation_position', [0.0, 0.0], shift, limits=(-10.0, 10.0), length=2, unit='m'
        ),
        Parameter(
            'perturbation_rotation',
            [0.0, 0.0, 0.0],
            turn,
            limits=(-3.2, 3.2),
            length=3,
            unit='rad',
        ),
    )

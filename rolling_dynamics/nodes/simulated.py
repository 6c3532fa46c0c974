"""Machines with their topics, commands and parameters, and the node that steps one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
import threading
import time
from typing import Any, ClassVar, Protocol

from builtin_interfaces.msg import Time
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.errors import RollingError
from rolling_dynamics.nodes.chosen import CompilingNode
from rolling_dynamics.nodes.topics import SensorTopic
from rolling_dynamics.simulation.emulation import EmulatedMachine
from rolling_dynamics.simulation.sensing import Measurement
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.loop_node import CLOCK_PERIOD, LoopNode
from rolling_node_kit.parameters import (
    CONTACT_RATE,
    fixed,
    LOCKSTEP_TIMEOUT,
    MARKER_RATE,
    OVERRUN,
    Parameter,
    RATE_FACTOR,
    SCENARIO,
    TF_RATE,
)
from rolling_node_kit.qos import COMMAND, STREAM_WRITER
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

Slow = Sequence[tuple[str, Callable[[Any, Time], None]]]


class PublishedTopics(Protocol):
    """
    The topics that show a machine.

    Attributes
    ----------
    slow
        Topics at a lower rate: the parameter of the rate, and a function of the observation and
        the stamp. Each has its own tick.

    """

    slow: Slow

    def state(self, observed: Any, stamp: int) -> None:
        """Publish the state at a time [ns]; the fast part."""

    def contact_state(self, observed: Any, stamp: Time) -> None:
        """Publish mode and margins of the contact, which has changed."""

    def forget(self) -> None:
        """Start a new path."""


class Simulated(Protocol):
    """
    A machine that a simulator runs; created when the node is configured.

    Attributes
    ----------
    table, body
        Parameters of its node, and the name of the commanded body, for messages to people.
    title
        Title of its scenario.
    plant, topics
        The emulated machine at its start, and the topics that show it.
    sensors
        Sensors whose measurements are published.
    command, raw
        Type and name of the commands; whether they are read as bytes.

    """

    table: ClassVar[Sequence[Parameter]]
    body: ClassVar[str]
    raw: ClassVar[bool] = False
    title: str
    plant: EmulatedMachine[Any]
    topics: PublishedTopics
    sensors: Sequence[Sensor] = ()
    command: tuple[type, str]

    @abstractmethod
    def __init__(self, node: SimulatorNode) -> None:
        """Load the scenario; make the machine and its topics."""

    @abstractmethod
    def read(self, message: Any) -> tuple[int, Any]:
        """Return stamp [ns] and content of a command, or raise RollingError with a reason."""

    def obey(self, stamp: int, command: Any) -> Array | None:  # noqa: ARG002
        """Return the control of a command; None where a drive has taken it."""
        return command

    def prepare(self) -> None:
        """Get ready for a step."""

    def place(self, stamp: int) -> None:
        """Get ready for a reset at a time [ns]."""

    def health(self) -> Health:
        """Return level, message and values of a machine that runs."""
        return OK, 'rolling', {}


# long: a table
def plant_parameters(body: str, rate: float) -> tuple[Parameter, ...]:
    """Return the parameters of every simulator; ``body`` is the commanded body."""
    return (
        SCENARIO,
        fixed(
            'rate',
            rate,
            'simulation rate and publication rate of the states',
            limits=(50.0, 2000.0),
            unit='Hz',
        ),
        CONTACT_RATE,
        TF_RATE,
        MARKER_RATE,
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
        fixed(
            'brake_time',
            0.1,
            f'time constant of braking while the {body} has no command',
            limits=(0.01, 5.0),
            unit='s',
        ),
        fixed(
            'frame_prefix',
            '',
            'prefix of the frames, so that the frames of two robots differ; not of `world`',
        ),
    )


def perturbation_parameters(shift: str, turn: str) -> tuple[Parameter, Parameter]:
    """Return the offsets of the start by ``~/reset``; both texts name the moved body."""
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


SIM_START = 100 * 10**9  # of simulated time [ns], where the clock of a sensor may lie behind


class SimulatorNode(CompilingNode, LoopNode):
    """
    Lifecycle node that steps a machine.

    Attributes
    ----------
    lock
        Held while the machine is stepped or put elsewhere.

    """

    def __init__(self, kind: type[Simulated]) -> None:
        """Declare the parameters of a machine; everything else happens in configure."""
        super().__init__('simulator', kind.table)
        self._kind, self.lock = kind, threading.Lock()
        self._machine: Simulated | None = None
        self._refused = self._logged = self._shown = ''
        self._command: tuple[float, Array] | None = None
        self._stale = 0

    # -- life cycle -------------------------------------------------------------------------

    def set_up(self) -> None:
        """Load the scenario and create topics and services."""
        self._machine = machine = self._kind(self)
        self._dt = 1.0 / self.values['rate']
        self._sensors = {
            s.name: SensorTopic(self, s, self.values['frame_prefix']) for s in machine.sensors
        }
        self._clock_writer = self.writer(Clock, '/clock', STREAM_WRITER) if self.sim_time else None
        self._commands = self.polled(*machine.command, COMMAND, raw=machine.raw)
        self.service(Trigger, '~/reset', self._reset)
        self.get_logger().info(f'{machine.title}: {self.values["rate"]:g} steps per second')

    def begin(self, now: int) -> None:
        """Start to step, in simulated time at its start."""
        behind = any(s.clock is not None for s in self._machine.sensors)
        self._epoch = SIM_START * behind if self.sim_time else now
        self._ticks, self._command = 0, None
        self._clock_every = max(1, round(CLOCK_PERIOD / self._dt))

    def period(self) -> float:
        """Return the time between two steps [s]; the factor may change at run time."""
        return self._dt / (self.values['rate_factor'] if self.sim_time else 1.0)

    def switch(self, *, on: bool) -> str:
        """Take commands again, or brake."""
        if on:
            return 'commands are accepted'
        self._command = None
        return f'the {self._kind.body} is braked; ~/enable accepts commands again'

    def clean_up(self) -> None:
        """Forget the scenario."""
        self._machine = None

    # -- stepping ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Step, and publish the observation and the measurements."""
        machine, plant = self._machine, self._machine.plant
        with self.lock:
            u = self._control()
            machine.prepare()
            plant.step(u, self._dt)
            observed, measured, time = plant.observe(), plant.read_measurements(), plant.time
        self._ticks += 1
        now = self.stamp
        if self._ticks % self._clock_every == 1 % self._clock_every:
            self._publish_time()
        machine.topics.state(observed, now)
        sent = [(m, now - round((time - m.stamp) * 1e9)) for m in measured]
        self._send(sent)
        answered = [(m, stamp) for m, stamp in sent if m.sensor.clock is None]
        if not self._sensors:
            self._wait_for_answer(now, lambda: machine.topics.state(observed, now))
        elif answered:
            self._wait_for_answer(answered[-1][1], lambda: self._send(answered))
        if self.sim_time:
            self._loop.period = self.period()
        self._publish_slowly(observed, now)

    @property
    def stamp(self) -> int:
        """Time of the plant [ns]."""
        return self._epoch + round(self._ticks * self._dt * 1e9)

    def _publish_time(self) -> None:
        """Publish the time, where it is simulated."""
        if self._clock_writer is not None:
            self._clock_writer.publish(Clock(clock=nanoseconds_to_time(self.stamp)))

    def _send(self, measured: Sequence[tuple[Measurement, int]]) -> None:
        """Publish measurements with their stamps [ns]."""
        for measurement, stamp in measured:
            self._sensors[measurement.sensor.name].publish(measurement.value, stamp)

    def _wait_for_answer(self, stamp: int, repeat: Callable[[], None]) -> None:
        """In simulated time wait for the answer to a stamp [ns]; ``repeat`` sends it again."""
        if self.sim_time:

            def again() -> None:
                self._publish_time()  # a state ahead of the clock is not answered
                repeat()

            timeout = self.values['lockstep_timeout']
            self.turns.wait(stamp, self._poll, self._commands.wait, again, timeout=timeout)

    def _publish_slowly(self, observed: Any, now: int) -> None:
        """Publish the topics of a lower rate that are due, and a changed mode of the contact."""
        topics, mode = self._machine.topics, self._machine.plant.contact_mode
        for offset, (rate, publish) in enumerate(topics.slow):
            if self.due(self._ticks, rate, offset):
                publish(observed, nanoseconds_to_time(now))
        if mode != self._shown:
            self._shown = mode
            topics.contact_state(observed, nanoseconds_to_time(now))
        self._log_news(self._machine.plant.fault)

    def _log_news(self, fault: str) -> None:
        """Log events, a fault once."""
        for line in self._machine.plant.read_news():
            self.get_logger().info(line)
        if fault and fault != self._logged:
            self.get_logger().warning(f'nothing moves until ~/reset: {fault}')
        self._logged = fault

    def _poll(self) -> None:
        for message in self._commands.take():
            self._take_command(message)

    def _control(self) -> Array | None:
        self._poll()
        command = self._command
        if command is not None and self.enabled:
            taken, u = command
            answers = self.sim_time and self.turns.answered  # this step: fresh by definition
            if answers or time.monotonic() - taken <= self.values['command_timeout']:
                return u
            self._stale += 1
            self._command = None
        return self._machine.plant.brake()

    def skip(self, seconds: float) -> None:
        """Let the stamps follow the clock."""
        self._epoch += 0 if self.sim_time else round(seconds * 1e9)

    # -- inputs -----------------------------------------------------------------------------

    def _take_command(self, message: Any) -> None:
        try:
            stamp, command = self._machine.read(message)
        except RollingError as error:
            self._refused = f'command refused: {error}'
            return
        self.turns.note(stamp)
        if self.enabled:
            u = self._machine.obey(stamp, command)
            self._command = None if u is None else (time.monotonic(), u)

    def _reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        position = list(self.values['perturbation_position'])
        rotation = list(self.values['perturbation_rotation'])
        try:
            with self.lock:
                self._machine.place(self.stamp if self.sim_time else self.now())
                self._machine.plant.reset(position=position, rotation=rotation)
                self._command = None
        except RollingError as error:
            response.success, response.message = False, str(error)
            return response
        self._machine.topics.forget()
        self._stale, self._refused = 0, ''
        response.success = True
        response.message = f'at the start, shifted by {position} m and turned by {rotation} rad'
        return response

    # -- health -----------------------------------------------------------------------------

    def health(self) -> Health:
        """Return contact and commands."""
        if self._machine is None or self._loop is None:
            return OK, 'not running', {}
        plant = self._machine.plant
        level, message, values = self._machine.health()
        values |= {
            'time [s]': plant.time,
            'enabled': self.enabled,
            'stale commands': self._stale,
        }
        values |= {f'margin {k}': float(v) for k, v in plant.observe().margins.items()}
        fault = self._fault or plant.fault
        if fault:
            return ERROR, fault, values
        if level == OK and self._refused:
            message, self._refused = self._refused, ''
            return WARN, message, values
        if level == OK and not self.enabled:
            return WARN, 'stopped: commands are ignored', values
        return level, message, values

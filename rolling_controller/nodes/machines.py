"""Machines on topics: a hand with an object on it, and a rolling robot; what controls them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import math
from typing import Any

from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import numpy as np
from numpy.typing import NDArray
from rolling_controller.design import LQR, PREDICTIVE
from rolling_controller.measured_state import LIMITED, sensor_source, SensorFilter
from rolling_controller.motion_watch import HandBound, Unwatched
from rolling_controller.nodes.control_loop import ControlLoop
from rolling_controller.nodes.controller_parameters import EXECUTION, HAND_TABLE, HOLD
from rolling_controller.nodes.equipment import Machine, stamp_check
from rolling_controller.nodes.plan_following import PlanFollowing
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_view import Source, StateSource
from rolling_dynamics.contract.rolling_system import Layout, MotionState
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.measurements import Measurements, RobotStates
from rolling_dynamics.nodes.robot_topics import RobotTopics, SHOWN
from rolling_dynamics.nodes.topics import CommandTopic, SensorReader, TYPES
from rolling_dynamics.robots.observed_robot import ObservedRobot
from rolling_dynamics.robots.view import Observer
from rolling_dynamics.scenario_model import load_model, load_robot, Model, RobotModel
from rolling_dynamics.simulation.guards import in_mode
from rolling_node_kit.cdr import ACCEL, accel_values, decode_odometry, StampedEncoder
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.newest_state import NewestState, StampCheck
from rolling_node_kit.parameters import fixed, Parameter, ParameterTable
from rolling_node_kit.qos import COMMAND, SENSOR_DATA, STREAM_READER
from rolling_node_kit.suite_node import SuiteNode


class Hand(Machine):
    """Topics of a hand; a machine as executions use it."""

    missing = 'no pair of hand/odometry and object/odometry with equal stamps came yet'
    measured: Measurements

    def __init__(
        self,
        node: SuiteNode,
        values: ParameterTable,
        source: Source,
        state: Layout,
        limits: Array | None,
        widened: Callable[[Array], Array] = np.array,
    ) -> None:
        """
        Create the topics.

        Parameters
        ----------
        node, values
            The node and its parameters ``frame_prefix`` and ``brake_time``.
        source
            From poses and twists to states.
        state
            Layout of those states; velocities of the hand in the order of its accelerations.
        limits
            Maximum magnitude of each acceleration; None for no limit.
        widened
            From the controls of a law to all accelerations of the hand.

        """
        self._widened = widened
        self._values, self._limits, self._state = values, limits, state
        self.measured = Measurements(source, stamp_check(node, values))
        self._velocity = hand_velocity(state)
        self._encode = StampedEncoder(f'{values["frame_prefix"]}hand', ACCEL).encode
        self.commands = node.writer(AccelStamped, 'hand/accel_command', COMMAND)
        self.polled = self.measured.listen(node)

    def poll(self) -> None:
        """Take what came, where the executor does not."""
        self.measured.poll()

    def send(self, u: Array, stamp: int) -> None:
        """Send the acceleration of the hand that is to act at a time [ns]."""
        self.commands.publish(self._encode(stamp, accel_values(self._widened(u).tolist())))

    def bound(self, states: Array) -> HandBound:
        """Return the bound on the deviation from planned states."""
        v = self._values
        most = np.inf if self._limits is None else self._limits
        return HandBound(self._state, v['tracking_bound'], states, v['brake_time'], most)

    def safe(self, x: Array) -> Array:
        """Return the control that brings the hand to rest."""
        return braking(x[self._velocity], self._values['brake_time'], self._limits)


def hand_velocity(state: Layout) -> NDArray[np.intp]:
    """Return where a state has the velocities of the hand, in the order of its accelerations."""
    return np.r_[state.slice('w_WH_H'), state.slice('v_WH_H')]


def braking(velocity: Array, brake_time: float, limits: Array | None) -> Array:
    """Return the accelerations that bring velocities to rest in a time constant [s]."""
    u = -velocity / brake_time
    return u if limits is None else np.clip(u, -limits, limits)


class ControlledHand(PlanFollowing):
    """An object on a hand, moved along plans."""

    table = HAND_TABLE
    replanned = True
    model: Model

    @staticmethod
    def load(values: ParameterTable | Mapping[str, Any]) -> Model:
        """Load the scenario that parameters name."""
        model = load_model(values['scenario_file'])
        # with finite_limits the scenario has to name them
        return model if values['finite_limits'] else model.limited()

    def machine(self) -> Machine:
        """Create the topics of the hand."""
        model = self.model
        contact_h = model.start[model.system.state.slice('contact_h')]
        source = StateSource(model.system, model.params, contact_h)
        limits = model.control_limits
        return Hand(self.node, self.values, source, model.system.state, limits)


SILENT = 20.0  # periods of a sensor, after which it counts as silent
SAME_TURN = 0.99  # of a period of a sensor, within which it has measured


class SensedStates(NewestState[Array]):
    """
    States of a robot that a filter estimates from its sensors.

    It starts at the start of the scenario with the first measurement, and with the first one after
    :meth:`restart`. A sensor that is silent, frozen or too fast is ignored from then on, which is
    a fault. States stop where the others cannot replace it.

    Attributes
    ----------
    polled
        Topics of the sensors.
    lost
        Ignored sensors, and why.

    """

    def __init__(
        self,
        node: SuiteNode,
        model: RobotModel,
        check: StampCheck,
        replaceable: Collection[str],
        prefix: str = '',
    ) -> None:
        """Listen to the sensors of a scenario; the robot is at its start."""
        super().__init__(check)
        scenario = model.scenario
        if not scenario.sensors:
            raise ParameterError(
                f'{model.title}: estimate_state needs sensors; its scenario lists none'
            )
        self._sources = {s.name: sensor_source(s) for s in scenario.sensors}
        self._filter = SensorFilter(
            scenario.system, scenario.p, scenario.sensors, scenario.x0, sources=self._sources
        )
        self._named = {
            s.name: node.polled(TYPES[s.message], s.topic, SENSOR_DATA, raw=True)
            for s in scenario.sensors
        }
        self._readers = {s.name: SensorReader(s, prefix) for s in scenario.sensors}
        self.polled, self._can_replace = list(self._named.values()), replaceable
        self._dead_time = max((a.dead_time for a in scenario.actuators), default=0.0)
        self.restart()

    def _forget(self) -> None:
        super()._forget()
        for topic in self.polled:  # what waits is from before
            topic.take()
        self._first, self._last = 0, dict.fromkeys(self._named, 0)  # stamps [ns]
        self._belief, self.fault = self._filter.start(), ''
        self.lost: dict[str, str] = {}
        self._replaceable: Collection[str] = self._can_replace

    def poll(self) -> None:
        """Take what came; a state is new once all sensors have measured that were to."""
        came = []
        for name, topic in self._named.items():
            for data in topic.take() if name not in self.lost else ():
                try:
                    came.append((*self._readers[name].read(data), name))
                except ParameterError as error:
                    self.refuse(f'{topic.topic}: {error}')
        for stamp, value, name in sorted(came, key=lambda one: one[0]):
            if stamp <= self._last[name]:
                continue
            self._first, self._last[name] = self._first or stamp, stamp
            y = self._filter.of(name, value)
            self._belief, _ = self._filter.step(self._belief, y, self._time(stamp))
        if not came or not all(self._last.values()):
            return
        newest = max(self._last.values())
        late = {
            name: (newest - self._last[name]) * 1e-9 * sensor.rate
            for name, sensor in self._filter.sensors.items()
            if name not in self.lost
        }
        for name, periods in late.items():
            reason = self._belief.memories[name].fault
            if reason or periods > SILENT:
                self._lose(
                    name, reason or f'sensor {name}: {periods:.0f} measurements are missing'
                )
        kept = [periods for name, periods in late.items() if name not in self.lost]
        if all(name in self._replaceable for name in self.lost) and max(kept) < SAME_TURN:
            self.offer(newest, self._belief.x)
            self.state()

    def _lose(self, name: str, reason: str) -> None:
        """Leave a sensor out, unless it is the last one: without any there are no states."""
        self.lost[name] = self.fault = reason
        if len(self.lost) == len(self._named) or name not in self._replaceable:
            self._replaceable = ()
            self.refuse(f'{reason}; the state is not known without it')

    @property
    def replaced(self) -> bool:
        """True if the fault is one of a sensor that others replace."""
        return bool(self.fault and self._replaceable)

    @property
    def open(self) -> bool:
        """True if the supervisor of a sensor has just reopened the estimate."""
        belief = self._belief
        return any(
            belief.t - memory.reopened <= self._sources[name].window
            for name, memory in belief.memories.items()
        )

    def note(self, u: Array, stamp: int) -> None:
        """Take a control that acts from a time [ns] on."""
        if self._first:
            at = self._time(stamp) + self._dead_time
            self._belief = self._filter.acting(self._belief, u, at)

    def _time(self, stamp: int) -> float:
        return (stamp - self._first) * 1e-9


class SensedWatch(Unwatched):
    """Limits on the control by the supervisors of sensors, which check the states."""

    def __init__(self, states: SensedStates, limits: Array) -> None:
        """Take the states, and the maximum magnitude of each control."""
        self._states, self._most = states, LIMITED * limits

    def limited(self, u: Array) -> Array:
        """Return a control, limited while the estimate is open, in the units of the control."""
        return np.clip(u, -self._most, self._most) if self._states.open else u


class RobotMachine(Machine):
    """
    See :class:`Machine`; it also knows where the robot heads.

    Attributes
    ----------
    holds_at
        Faults at which the robot is held where it is, see :class:`RobotView`.
    watch
        Supervisor of states that a filter makes; None where they come as they are.
    sensors
        The sensors of its scenario.
    sent
        The control that was sent last; zero before.
    shown
        Publishes the state that a filter makes; None where a simulator publishes the true one.

    """

    shown: ShownState | None = None

    def __init__(self, node: SuiteNode, model: RobotModel, values: ParameterTable) -> None:
        """Create the topics."""
        self._node, self._values = node, values
        self._limits, self.sensors = model.scenario.control_limits, model.scenario.sensors
        self.holds_at = model.view.holds_at or frozenset[str]()
        self._observer = Observer(model.view, model.params, next(iter(model.system.modes)))
        self._view, self._params, self._yaw = model.view, model.params, 0.0
        self.sent = np.zeros(model.system.control.size)
        self._command = CommandTopic(model.system, model.scenario.actuators)
        self.commands = node.writer(self._command.kind, self._command.name, COMMAND)
        check = stamp_check(node, values)
        self.measured: RobotStates | SensedStates
        self.watch: SensedWatch | None = None
        if values['estimate_state']:
            prefix = values['frame_prefix']
            self.measured = SensedStates(node, model, check, self.holds_at, prefix)
            self.watch = SensedWatch(self.measured, self._limits)
        else:
            self.measured = RobotStates(model.system.state, check)
            self.measured.listen(node)
        self.polled = self.measured.polled
        self.missing = f'nothing came yet on {" or ".join(t.topic for t in self.polled)}'
        self._odometry = node.polled(Odometry, 'odom', STREAM_READER, raw=True)

    def yaw(self, x: Array) -> float:
        """Angle of base_link about the normal [rad]: in a state, else as reported last, or 0."""
        if (own := self._view.yaw_in(x, self._params)) is not None:
            return own
        if self.shown is not None:
            return self.shown.yaw
        for data in self._odometry.take():
            try:
                _, pose, _ = decode_odometry(data)
            except ParameterError as error:
                self.measured.refuse(str(error))
            else:
                w, _, _, z = pose[:4].tolist()
                if math.isfinite(w + z):
                    self._yaw = 2 * math.atan2(z, w)
        return self._yaw

    def poll(self) -> None:
        """Take what came, where the executor does not."""
        self.measured.poll()

    def send(self, u: Array, stamp: int) -> None:
        """Send the control that is to act at a time [ns]."""
        self.measured.note(u, stamp)
        self.sent = u
        self.commands.publish(self._command.message(u, stamp))

    def safe(self, x: Array) -> Array:
        """Return the control that brings the robot to rest, as the simulator's own."""
        now = self._node.get_clock().now().nanoseconds * 1e-9
        u = self._observer.safe_control(x, now, self._values['brake_time'])
        return np.array(np.clip(u, -self._limits, self._limits))


class ShownState:
    """
    Publishes an estimated state as a simulator publishes the true one.

    While no loop answers states, it takes the measurements, so that the estimate continues.
    """

    def __init__(
        self,
        node: SuiteNode,
        model: RobotModel,
        machine: RobotMachine,
        control: Callable[[], ControlLoop | None],
    ) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        model, machine
            The robot, and its topics of sensors and commands.
        control
            Returns the loop that is at work, if there is one.

        """
        self._node, self._machine, self._control = node, machine, control
        self._mode, self._params = next(iter(model.system.modes)), model.params
        self._stamp, v = 0, node.values  # of the newest state that was published [ns]
        system = in_mode(model.system, self._mode)
        self._robot = ObservedRobot(model.view, system, model.params)
        self._robot.look(self._state(0, model.start), machine.sent, 0.0)
        self._topics = RobotTopics(
            node, self._robot, world=v['world_frame'], prefix=v['frame_prefix']
        )
        node.timer(1.0 / v['contact_rate'], self._publish)

    @property
    def yaw(self) -> float:
        """Angle of base_link about the normal [rad]."""
        return self._robot.newest.yaw

    def _state(self, stamp: int, x: Array) -> MotionState:
        return MotionState(t=stamp * 1e-9, x=x, mode=self._mode, p=self._params)

    def _publish(self) -> None:
        """Publish the newest state, unless it is published already."""
        measured, control = self._machine.measured, self._control()
        if self._node.active and (control is None or not control.loop.running):
            self._machine.poll()
        now = measured.newest
        if now is None or now[0] == self._stamp:
            return
        stamp, state, u = now[0], self._state(*now), self._machine.sent
        before = self._stamp if self._stamp < stamp else 0  # the clock may be set back
        if not before:
            self._robot.restart(state, u)
            self._topics.forget()
        observed = self._robot.look(state, u, (stamp - before) * 1e-9 if before else 0.0)
        self._stamp = stamp
        self._topics.state(observed, stamp)
        for name, publish in self._topics.slow:
            rate = self._node.values[name] * 1e-9
            if math.floor(stamp * rate) > math.floor(before * rate):
                publish(observed, nanoseconds_to_time(stamp))


ROBOT_TABLE = (
    *EXECUTION,
    Parameter(
        'command_timeout',
        0.5,
        'age of a cmd_vel beyond which the robot is stopped',
        limits=(0.01, 60.0),
        unit='s',
    ),
    Parameter(
        'law',
        LQR,
        'feedback along a plan: that of the kind of robot, or predictive control within the '
        'limits of controls and contact, which needs daqp; from the next goal on',
        choices=(LQR, PREDICTIVE),
    ),
    fixed(
        'estimate_state',
        False,
        'whether the state is estimated from the sensors of the scenario; else that of '
        'robot/state',
    ),
    fixed(
        'publish_state',
        False,
        'whether the estimated state is published at contact_rate as a simulator publishes the '
        'true one, where there is no simulator; goes with estimate_state',
    ),
    *SHOWN,
    HOLD,
    fixed('frame_prefix', '', 'prefix of the frames'),
    fixed('enable_stamped_cmd_vel', True, 'whether cmd_vel is a TwistStamped; else a Twist'),
)


class ControlledRobot(PlanFollowing):
    """A rolling robot, moved along plans and driven by velocities."""

    table = ROBOT_TABLE
    driven = True

    model: RobotModel

    @staticmethod
    def load(values: ParameterTable | Mapping[str, Any]) -> RobotModel:
        """Load the scenario that parameters name."""
        return load_robot(values['scenario_file'])

    def machine(self) -> Machine:
        """Create the topics of the robot."""
        machine = RobotMachine(self.node, self.model, self.values)
        if self.values['publish_state']:
            if not self.values['estimate_state']:
                raise ParameterError(
                    'publish_state goes with estimate_state: else the state comes from the topic '
                    'where it would be published'
                )
            machine.shown = ShownState(self.node, self.model, machine, lambda: self.control)
        return machine

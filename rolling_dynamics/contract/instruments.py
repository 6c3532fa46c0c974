"""Sensors and actuators: how a system is measured and driven, as data next to its equations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
import math
import re
from typing import Protocol

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import (
    check_positive,
    described,
    ParameterError,
    printable,
    suggestion,
)

# Standard messages: the entries that a layout may have for each, their units, their components.
SENSOR_MESSAGES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    'pose': {'position': ('m', 'xyz'), 'orientation': ('', 'wxyz')},
    'odometry': {
        'position': ('m', 'xyz'),
        'orientation': ('', 'wxyz'),
        'linear': ('m/s', 'xyz'),
        'angular': ('rad/s', 'xyz'),
    },
    'imu': {
        'orientation': ('', 'wxyz'),
        'angular_velocity': ('rad/s', 'xyz'),
        'linear_acceleration': ('m/s^2', 'xyz'),
    },
    'wrench': {'force': ('N', 'xyz'), 'torque': ('N m', 'xyz')},
    'joint_states': {  # components: JOINT_position, ...
        'position': ('rad or m', ''),
        'velocity': ('rad/s or m/s', ''),
        'effort': ('N m or N', ''),
    },
    'points': {},  # any entries of three components in m, a point each
}
# Fields of a command, as a point of a trajectory names them, and their units.
ACTUATOR_MESSAGES: Mapping[str, str] = {
    'positions': 'rad or m',
    'velocities': 'rad/s or m/s',
    'accelerations': 'rad/s^2 or m/s^2',
    'effort': 'N m or N',
}
# Messages that carry a command to controllers of ros2_control, and the fields that each may have.
CARRIERS: Mapping[str, Collection[str]] = {
    'trajectory': ACTUATOR_MESSAGES,
    'array': ACTUATOR_MESSAGES,
    'joint_state': ('positions', 'velocities', 'effort'),
}
# Topics that the nodes of a machine use for its state and its commands; none of an instrument.
OWN_TOPICS = frozenset(
    (
        *('robot/state', 'robot/control', 'robot_description', 'odom', 'cmd_vel', 'goal_pose'),
        *('tf', 'tf_static', 'clock', 'diagnostics', 'rosout', 'parameter_events'),
        *('contact/state', 'contact/wrench', 'plan/newest', 'plan/object_path', 'execution/plan'),
        *('~/push', '~/markers', '~/surfaces'),
    )
)
FRAMES = ('odom', 'base_footprint', 'base_link', 'map', 'world')  # next to bodies
TOPIC = re.compile(r'(~?/)?[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
FASTEST = 1e5  # Hz
ROUNDING = 1e-9  # of a covariance, relative
FRACTIONS = ('loss', 'hidden', 'swap', 'outlier')  # of the measurements of a sensor


@dataclass(frozen=True, eq=False, kw_only=True)
class MotionExpressions:
    """
    Expressions for the output of a sensor, by names of bodies and entries.

    Attributes
    ----------
    state, control, params
        Entries of x, u and p by name.
    pose
        Pose of each body in W by its name (4x4), from ``RollingSystem.pose``.
    wrench
        Contact wrench of the active mode (6) [N m, N]; None for a kinematic model.
    symbols, rate
        The symbols x, u, t, p, and xdot in the active mode.
    drive
        Entries of the state of the drive by name; empty if there is no drive.

    """

    state: Mapping[str, ca.SX]
    control: Mapping[str, ca.SX]
    params: Mapping[str, ca.SX]
    pose: Mapping[str, ca.SX]
    wrench: ca.SX | None
    symbols: tuple[ca.SX, ca.SX, ca.SX, ca.SX]
    rate: ca.SX
    drive: Mapping[str, ca.SX] = field(default_factory=dict)

    @classmethod
    def of(
        cls, system: RollingSystem, mode: str, drive: Mapping[str, ca.SX] | None = None
    ) -> MotionExpressions:
        """Return the expressions of a system in a mode, and of the state of its drive."""
        x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
        t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
        motion = system.modes[mode]
        return cls(
            state=system.state.split(x),
            control=system.control.split(u),
            params=system.parameters.split(p),
            pose=dict(zip(system.pose.name_out(), system.pose.call([x, p]), strict=True)),
            wrench=None if motion.wrench is None else motion.wrench(x, u, t, p),
            symbols=(x, u, t, p),
            rate=motion.dynamics(x, u, t, p),
            drive=drive or {},
        )

    def in_frame(self, body: str, frame: str) -> ca.SX:
        """Return the position of a body's origin in the frame of another (3) [m]."""
        X_WF, X_WB = self.body(frame), self.body(body)
        return X_WF[:3, :3].T @ (X_WB[:3, 3] - X_WF[:3, 3])

    def body(self, name: str) -> ca.SX:
        """Return the pose of a body in W (4x4), or raise ParameterError that lists the bodies."""
        if name not in self.pose:
            raise ParameterError(f'no body {name!r}{suggestion(name, list(self.pose))}')
        return self.pose[name]

    def derivative(self, expression: ca.SX) -> ca.SX:
        """Return the time derivative of an expression in the state, in the active mode."""
        return ca.jtimes(expression, self.symbols[0], self.rate)


@dataclass(frozen=True, kw_only=True)
class SensorClock:
    """
    Clock of a sensor that does not use the clock of the host for its stamps.

    Attributes
    ----------
    offset, spread
        Time by which it is ahead: fixed, and half the width of a uniform draw at each start [s].
    drift
        Seconds that it gains per second.

    """

    offset: float = 0.0
    spread: float = 0.0
    drift: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensor:
    """
    A sensor of a system.

    Attributes
    ----------
    name
        Name of the sensor, for errors and logs.
    output
        Layout of the measurement y.
    measure
        :class:`MotionExpressions` -> y (output.size), in the units of the layout.
    covariance
        Covariance of the noise of y, shape (output.size, output.size).
    rate
        Measurements per second [Hz].
    exposure
        Time over which a measurement averages, up to its stamp [s].
    delay, jitter
        Time from the end of a measurement until it arrives, and half the width of its uniform
        spread [s]; measurements arrive in order.
    loss, blackout
        Fraction of measurements without a reading, which are NaN, and mean length of the intervals
        without one [s]; 0 for single measurements.
    hidden
        Fraction of the entries of y that are missing, independently of each other.
    swap
        Fraction of measurements with two entries exchanged.
    outlier, outlier_size
        Fraction of measurements with an outlier in one entry, and length of its error [unit of y].
    bias
        Standard deviation of a constant error of each component, drawn at each start [unit of y].
    clock
        Clock that stamps a measurement; None for the host's, at the end of the exposure.
    free_running
        Whether it starts at a random time within its first period, instead of with the motion.
    message
        Standard message for y: one of ``SENSOR_MESSAGES``; ``output`` has its entries.
    topic
        Name of its topic, relative to the namespace of the robot.
    frame
        Frame of the message, without a prefix.

    """

    name: str
    output: Layout
    measure: Callable[[MotionExpressions], ca.SX]
    covariance: Array
    rate: float
    exposure: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    blackout: float = 0.0
    hidden: float = 0.0
    swap: float = 0.0
    outlier: float = 0.0
    outlier_size: float = 0.0
    bias: float = 0.0
    clock: SensorClock | None = None
    free_running: bool = False
    message: str
    topic: str
    frame: str = ''

    def __post_init__(self) -> None:
        """Raise ParameterError if an entry is out of range."""
        n, C = self.output.size, self.covariance
        _known(self.name, 'message', self.message, SENSOR_MESSAGES)
        for block in self.output.entries:
            if self.message != 'points':
                _known(self.name, 'entry', block.name, SENSOR_MESSAGES[self.message])
            elif block.size != 3:
                raise ParameterError(
                    f'sensor {self.name!r}: a point has 3 numbers, {block.name!r} has {block.size}'
                )
        if not 0 < self.rate <= FASTEST:
            raise ParameterError(
                f'sensor {self.name!r}: rate must be positive, at most {FASTEST:g} Hz, '
                f'got {self.rate!r}'
            )
        self._check_numbers()
        sound = np.shape(C) == (n, n) and n > 0 and bool(np.isfinite(C).all())
        if sound:
            off = ROUNDING * np.abs(C).max()
            sound = bool(np.abs(C - C.T).max() <= off and np.linalg.eigvalsh(C).min() >= -off)
        if not sound:
            raise ParameterError(
                f'sensor {self.name!r}: covariance must be a symmetric, positive semidefinite '
                f'matrix of {n} rows, at least one, got {np.asarray(C).tolist()}'
            )

    def _check_numbers(self) -> None:
        """Raise ParameterError if a time, a fraction or a size is out of range."""
        for entry in (*FRACTIONS, 'exposure', 'delay', 'jitter', 'blackout', 'bias'):
            value = getattr(self, entry)
            check_positive(f'sensor {self.name!r}: {entry}', value, zero=True)
            if entry in FRACTIONS and not value < 1:
                raise ParameterError(
                    f'sensor {self.name!r}: {entry} must be less than 1, got {value!r}'
                )
        if self.jitter > self.delay:
            raise ParameterError(
                f'sensor {self.name!r}: jitter must not exceed the delay of {self.delay:g} s, '
                f'got {self.jitter:g} s'
            )
        if self.swap and len(self.output.entries) < 2:
            raise ParameterError(
                f'sensor {self.name!r}: swap needs two entries of the layout, '
                f'there is only {self.output.entries[0].name!r}'
            )

    def check(self, system: RollingSystem) -> None:
        """Raise ParameterError if its message, topic or frame does not match."""
        of, known = f'sensor {self.name!r} of {system.name!r}', SENSOR_MESSAGES[self.message]
        for entry in self.output.entries:
            units, axes = known.get(entry.name, ('m', ''))
            _check_unit(of, entry, self.message, units)
            if not axes:
                continue
            endings = [c[-2:] for c in entry.components]
            if endings != [f'_{axis}' for axis in axes]:
                raise ParameterError(
                    f'{of}: {entry.name} of {self.message!r} takes {len(axes)} numbers, '
                    f'{", ".join(f"{entry.name}_{axis}" for axis in axes)}; '
                    f'got {list(entry.components)}'
                )
        if self.message == 'joint_states':
            self._check_joints(of)
        if not self.name:
            raise ParameterError(f'{of}: its name is empty; give it one, as {self.message!r}')
        check_topic(of, self.topic)
        frames = ['', *(f'{body}_link' for body in system.pose.name_out()), *FRAMES]
        if self.frame not in frames:
            raise ParameterError(f'{of}: no frame {self.frame!r}{suggestion(self.frame, frames)}')

    def _check_joints(self, of: str) -> None:
        """Raise ParameterError unless entries have one component for each of the same joints."""
        joints: list[list[str]] = []
        for entry in self.output.entries:
            ending = f'_{entry.name}'
            joints.append([c.removesuffix(ending) for c in entry.components])
            ends = all(c.endswith(ending) for c in entry.components)
            if not ends or '' in joints[-1] or joints[-1] != joints[0]:
                raise ParameterError(
                    f'{of}: components of {entry.name} of {self.message!r} are '
                    f'JOINT{ending} for the same joints in each entry, got '
                    f'{list(entry.components)}'
                )

    def function(
        self, system: RollingSystem, mode: str, drive: Layout | None = None
    ) -> ca.Function:
        """
        Return ``(x, u, t, p) -> y`` in a mode, with the state of a drive as the last input.

        Raises
        ------
        ParameterError
            The output does not have the size of the layout, or cannot be computed, for example
            because it uses a name that the system does not have.

        """
        d = ca.SX.sym('d', 0 if drive is None else drive.size)
        at = MotionExpressions.of(system, mode, {} if drive is None else drive.split(d))
        of = f'sensor {self.name!r} of {system.name!r}'
        if len(system.modes) > 1:
            of = f'{of}, mode {mode!r}'
        inputs = [*at.symbols] if drive is None else [*at.symbols, d]
        try:
            y = ca.densify(ca.vec(ca.SX(self.measure(at))))
            f = ca.Function(ca.Function.fix_name(f'{self.name}_{mode}'), inputs, [y])
        except (KeyError, ParameterError) as error:
            known = [*at.state, *at.pose, *at.drive]
            raise ParameterError(f'{of}: {error}; there are {known}') from None
        except Exception as error:  # user code may raise anything
            none = isinstance(error, TypeError) and at.wrench is None
            hint = '; wrench is None where no contact force is known' if none else ''
            raise ParameterError(f'{of}: measure: {printable(described(error))}{hint}') from error
        if y.numel() != self.output.size:
            raise ParameterError(
                f'{of}: its layout has {self.output.size} numbers, its output {y.numel()}'
            )
        return f


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuator:
    """
    An actuator of a system: how a command becomes a control.

    Attributes
    ----------
    name
        Name of the actuator, for people and logs.
    control
        Entry of the control layout that it drives.
    joints
        Names of its joints in the message, one for each component of the entry.
    limits
        Maximum magnitude of each command, shape (size of the entry,), in its unit.
    dead_time
        Time from a command until it takes effect [s]; it is held until the next one does.
    rate
        Rate at which it takes the latest command [Hz]; 0 to take each when it arrives.
    slew
        Maximum rate of change of each control [unit of the control / s]; may be infinite.
    dead_band
        Maximum change of a control that is ignored [unit of the control].
    message
        Field that carries a command: one of ``ACTUATOR_MESSAGES``.
    carrier
        Message that has it, one of ``CARRIERS``: the last point of a JointTrajectory, JointState,
        or a Float64MultiArray of the numbers alone, as `<controller>/commands` takes.
    topic
        Name of its topic, relative to the namespace of the robot, one for all actuators. If empty,
        commands arrive on `robot/control` under the names of the controls.

    """

    name: str
    control: str
    joints: tuple[str, ...]
    limits: Array
    dead_time: float = 0.0
    rate: float = 0.0
    slew: float = math.inf
    dead_band: float = 0.0
    message: str = 'effort'
    carrier: str = 'trajectory'
    topic: str = ''

    def __post_init__(self) -> None:
        """Raise ParameterError if an entry is out of range."""
        _known(self.name, 'carrier', self.carrier, CARRIERS)
        _known(self.name, 'message', self.message, CARRIERS[self.carrier])
        for entry in ('dead_time', 'rate', 'dead_band'):
            check_positive(f'actuator {self.name!r}: {entry}', getattr(self, entry), zero=True)
        if self.rate > FASTEST:
            raise ParameterError(
                f'actuator {self.name!r}: rate must be at most {FASTEST:g} Hz, got {self.rate!r}'
            )
        check_positive(f'actuator {self.name!r}: slew', self.slew, most=math.inf)

    def check(self, system: RollingSystem) -> None:
        """Raise ParameterError if the actuator does not fit a system."""
        of = f'actuator {self.name!r} of {system.name!r}'
        try:
            entry = system.control.entry(self.control)
        except ParameterError as error:
            raise ParameterError(f'{of}: control: {error}') from None
        if len(set(self.joints)) != entry.size or len(self.joints) != entry.size:
            raise ParameterError(
                f'{of}: joints takes {entry.size} names, each once, got {list(self.joints)}'
            )
        if np.shape(self.limits) != (entry.size,) or not np.all(np.asarray(self.limits) > 0):
            raise ParameterError(
                f'{of}: limits takes {entry.size} positive numbers, '
                f'got {np.asarray(self.limits).tolist()}'
            )
        if not self.topic:
            return  # its commands use the names of the controls, in any unit
        check_topic(of, self.topic)
        fitting = [m for m, units in ACTUATOR_MESSAGES.items() if entry.unit in _either(units)]
        if fitting and self.message not in fitting:
            units = ACTUATOR_MESSAGES[self.message]
            raise ParameterError(
                f'{of}: {self.message!r} carries {units}, and the control {self.control!r} is in '
                f'{entry.unit}; use message {fitting[0]!r}'
            )


def check_instruments(
    system: RollingSystem, sensors: Sequence[Sensor], actuators: Sequence[Actuator]
) -> dict[str, Mapping[str, ca.Function]]:
    """
    Return ``(x, u, t, p) -> y`` of each sensor by its name, in each mode.

    Raises
    ------
    ParameterError
        A sensor or an actuator does not fit the system, its message, or another one. The text
        names it and what would be accepted.

    """
    functions: dict[str, Mapping[str, ca.Function]] = {}
    for sensor in sensors:
        sensor.check(system)
        functions[sensor.name] = {mode: sensor.function(system, mode) for mode in system.modes}
    for actuator in actuators:
        actuator.check(system)
    topics = [s.topic for s in sensors]
    taken = {a.topic for a in actuators if a.topic}
    joints = [joint for a in actuators for joint in a.joints]
    for what, names in (
        ('sensors: name', [s.name for s in sensors]),
        ('sensors and actuators: topic', [*topics, *taken]),
        ('actuators: control', [a.control for a in actuators]),
        ('actuators: joint', joints),
    ):
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(
                    f'{what} {name!r} of {system.name!r} is given twice; each needs its own'
                )
    on_one_topic(system, actuators)
    return functions


def _either(units: str) -> list[str]:
    return units.split(' or ')


def _check_unit(of: str, entry: Entry, message: str, units: str) -> None:
    """Raise ParameterError if an entry does not have the unit of its message."""
    if entry.unit not in _either(units):
        given, needed = entry.unit or 'no unit', units or 'no unit'
        raise ParameterError(
            f'{of}: {entry.name} of {message!r} has {needed}, got {given}; '
            'convert it in `measure`, and its covariance'
        )


def check_topic(of: str, topic: str, own: Collection[str] = OWN_TOPICS) -> None:
    """Raise ParameterError for an invalid topic name, or one of the nodes' own."""
    if not TOPIC.fullmatch(topic):
        raise ParameterError(
            f'{of}: topic takes letters, digits, _ and /, and no part starts with a digit, as '
            f"'arm/camera'; got {topic!r}"
        )
    if (relative := topic.removeprefix('/')) in own:
        raise ParameterError(
            f'{of}: topic {topic!r} is one that the nodes use themselves; give it one of its own, '
            f'as {f"measured/{relative}".replace("~/", "")!r}'
        )


def on_one_topic(system: RollingSystem, actuators: Sequence[Actuator]) -> list[Actuator]:
    """
    Return the actuators that take commands from a topic, in the order of the controls.

    Raises
    ------
    ParameterError
        They do not cover all controls, or do not use one topic and one field of one message.

    """
    given = {a.control: a for a in actuators if a.topic}
    names = [entry.name for entry in system.control.entries]
    ways = {(a.topic, a.message, a.carrier) for a in given.values()}
    if given and ({*names} != {*given} or len(ways) > 1):
        raise ParameterError(
            f'{system.name}: actuators with a topic take all of {names} together, on one topic, '
            f'in one field of one message; got {sorted(given)} on {sorted(ways)}'
        )
    return [given[name] for name in names] if given else []


class PlantDrive(Protocol):
    """
    An actuator with a state and a load from the plant, such as motors that carry the hand.

    Attributes
    ----------
    period
        Time for which the plant holds its control [s].
    state, values
        Layout of the state that sensors measure, and its values, shape (state.size,).
    carried
        Names of the components of the plant's state that it moves.

    """

    period: float
    state: Layout
    carried: tuple[str, ...]

    @property
    def values(self) -> Array:
        """Values of its state, shape (state.size,), in the units of the layout."""

    def load(self, at: MotionExpressions) -> ca.SX:
        """Return the load from the plant."""

    def restart(self) -> None:
        """Reset it to its start, at rest."""

    def turn(self, load: Array, t: float, dt: float) -> Array:
        """Advance from t by dt [s] under a load; return the mean control, shape (m,)."""

    def carry(self) -> Array:
        """Return the components of the plant's state named by ``carried``."""


def _known(name: str, what: str, given: str, known: Collection[str]) -> None:
    if given not in known:
        raise ParameterError(f'{name!r}: no {what} {given!r}{suggestion(given, list(known))}')

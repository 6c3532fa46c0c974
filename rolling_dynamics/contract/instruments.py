"""Sensors and actuators: how a system is measured and driven, as data beside its equations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Protocol

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Layout, RollingSystem
from rolling_dynamics.errors import ParameterError, suggestion

# Standard messages, and the entries that a layout may have for each; components end in _x, _y, ...
SENSOR_MESSAGES: Mapping[str, tuple[str, ...]] = {
    'pose': ('position', 'orientation'),
    'odometry': ('position', 'orientation', 'linear', 'angular'),
    'imu': ('orientation', 'angular_velocity', 'linear_acceleration'),
    'wrench': ('force', 'torque'),
    'joint_states': ('position', 'velocity', 'effort'),  # components: JOINT_position, ...
    'points': (),  # any entries of three numbers, a point each
}
# Fields of a point of a trajectory.
ACTUATOR_MESSAGES = 'positions', 'velocities', 'accelerations', 'effort'
FRACTIONS = ('loss', 'hidden', 'swap', 'outlier')  # of the measurements of a sensor


@dataclass(frozen=True, eq=False, kw_only=True)
class MotionExpressions:
    """
    Expressions from which the output of a sensor is written, by names of bodies and entries.

    Attributes
    ----------
    state, control, params
        Entries of x, u and p by name.
    pose
        Pose of each body in W by its name (4x4), as ``RollingSystem.pose`` has them.
    wrench
        Contact wrench of the active mode (6) [N m, N]; None for a kinematic model.
    symbols, rate
        The symbols x, u, t, p, and xdot in the active mode.
    drive
        Entries of the state of the drive by name; empty where there is no drive.

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
        """Return the pose of a body in W (4x4), or raise ParameterError naming those there are."""
        if name not in self.pose:
            raise ParameterError(f'no body {name!r}{suggestion(name, list(self.pose))}')
        return self.pose[name]

    def derivative(self, expression: ca.SX) -> ca.SX:
        """Return the time derivative of an expression in the state, in the active mode."""
        return ca.jtimes(expression, self.symbols[0], self.rate)


@dataclass(frozen=True, kw_only=True)
class SensorClock:
    """
    Clock of a sensor that does not stamp by the clock of the host.

    Attributes
    ----------
    offset, spread
        Time by which it is ahead: fixed, and half the width of an even draw at each start [s].
    drift
        Seconds that it gains in a second.

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
        Name of the sensor, for people and logs.
    output
        Layout of the measurement y.
    measure
        :class:`MotionExpressions` -> y (output.size), in the units of the layout.
    covariance
        Of the noise of y, shape (output.size, output.size).
    rate
        Measurements a second [Hz].
    exposure
        Time over which a measurement averages, up to its stamp [s].
    delay, jitter
        From the end of a measurement until it is known, and half the width of its even spread
        [s]; measurements arrive in their order.
    loss, blackout
        Fraction of measurements that do not see what they measure, which are not a number, and
        mean length of the times in which it does not [s]; 0 for single measurements.
    hidden
        Fraction of the entries of y that are missing, each by itself.
    swap
        Fraction of measurements with two entries exchanged.
    outlier, outlier_size
        Fraction of measurements with one entry in error, by a vector of this length [unit of y].
    bias
        Standard deviation of a constant error of each number, drawn at each start [unit of y].
    clock
        Clock that stamps a measurement; None for the host's, at the end of the exposure.
    free_running
        Whether it starts at a random time within its first period, and not with the motion.
    message
        Standard message that carries y: one of ``SENSOR_MESSAGES``, whose entries ``output`` has.
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
        """Raise ParameterError for an entry out of its range."""
        n = self.output.size
        _known(self.name, 'message', self.message, SENSOR_MESSAGES)
        for block in self.output.entries:
            if self.message != 'points':
                _known(self.name, 'entry', block.name, SENSOR_MESSAGES[self.message])
            elif block.size != 3:
                raise ParameterError(
                    f'sensor {self.name!r}: a point has 3 numbers, {block.name!r} has {block.size}'
                )
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise ParameterError(f'sensor {self.name!r}: rate must be positive, got {self.rate!r}')
        self._check_numbers()
        if self.covariance.shape != (n, n) or np.linalg.eigvalsh(self.covariance).min() < 0:
            raise ParameterError(
                f'sensor {self.name!r}: covariance must be a positive semidefinite matrix of '
                f'{n} rows, got {self.covariance.tolist()}'
            )

    def _check_numbers(self) -> None:
        """Raise ParameterError for a time, a fraction or a size out of its range."""
        for entry in (*FRACTIONS, 'exposure', 'delay', 'jitter', 'blackout', 'bias'):
            value = getattr(self, entry)
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(
                    f'sensor {self.name!r}: {entry} must be zero or positive, got {value!r}'
                )
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

    def function(
        self, system: RollingSystem, mode: str, drive: Layout | None = None
    ) -> ca.Function:
        """
        Return ``(x, u, t, p) -> y`` in a mode, with the state of a drive as the last input.

        Raises
        ------
        ParameterError
            The output has another size than the layout, or names what the system does not have.

        """
        d = ca.SX.sym('d', 0 if drive is None else drive.size)
        at = MotionExpressions.of(system, mode, {} if drive is None else drive.split(d))
        try:
            y = ca.SX(self.measure(at))
        except (KeyError, ParameterError) as error:
            known = [*at.state, *at.pose, *at.drive]
            raise ParameterError(
                f'sensor {self.name!r} of {system.name!r}: {error}; there are {known}'
            ) from None
        if y.numel() != self.output.size:
            raise ParameterError(
                f'sensor {self.name!r} of {system.name!r}: its layout has {self.output.size} '
                f'numbers, its output {y.numel()}'
            )
        inputs = [*at.symbols] if drive is None else [*at.symbols, d]
        return ca.Function(f'{self.name}_{mode}', inputs, [ca.densify(ca.vec(y))])


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
        Names of its joints in the message, one for each number of the entry.
    limits
        Greatest magnitude of each command, shape (size of the entry,), in its unit.
    dead_time
        From a command until it takes effect [s]; it is held until the next does.
    rate
        Commands that it takes a second, the newest at each [Hz]; 0 for each as it comes.
    slew
        Greatest change of each control a second [unit of the control / s]; infinite for any.
    dead_band
        Greatest change of a control that is not carried out [unit of the control].
    message
        Field of the JointTrajectory that carries a command: one of ``ACTUATOR_MESSAGES``.
    topic
        Name of its topic, relative to the namespace of the robot, one for all actuators; empty
        where commands come on `robot/control`, by the names of the controls.

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
    topic: str = ''

    def __post_init__(self) -> None:
        """Raise ParameterError for an entry out of its range."""
        _known(self.name, 'message', self.message, ACTUATOR_MESSAGES)
        for entry in ('dead_time', 'rate', 'dead_band'):
            value = getattr(self, entry)
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(
                    f'actuator {self.name!r}: {entry} must be zero or positive, got {value!r}'
                )
        if not self.slew > 0:
            raise ParameterError(
                f'actuator {self.name!r}: slew must be positive, got {self.slew!r}'
            )

    def check(self, system: RollingSystem) -> None:
        """Raise ParameterError where the actuator does not fit a system."""
        size = system.control.entry(self.control).size
        if len(self.joints) != size:
            raise ParameterError(
                f'actuator {self.name!r} of {system.name!r}: joints takes {size} names, '
                f'got {list(self.joints)}'
            )
        if np.shape(self.limits) != (size,) or not np.all(np.asarray(self.limits) > 0):
            raise ParameterError(
                f'actuator {self.name!r} of {system.name!r}: limits takes {size} positive '
                f'numbers, got {np.asarray(self.limits).tolist()}'
            )


def on_one_topic(system: RollingSystem, actuators: Sequence[Actuator]) -> list[Actuator]:
    """
    Return the actuators that take commands by a topic, in the order of the controls.

    Raises
    ------
    ParameterError
        They do not take all controls, or not on one topic and in one field of its message.

    """
    given = {a.control: a for a in actuators if a.topic}
    names = [entry.name for entry in system.control.entries]
    ways = {(a.topic, a.message) for a in given.values()}
    if given and ({*names} != {*given} or len(ways) > 1):
        raise ParameterError(
            f'{system.name}: actuators with a topic take all of {names} together, on one topic, '
            f'in one field of its message; got {sorted(given)} on {sorted(ways)}'
        )
    return [given[name] for name in names] if given else []


class PlantDrive(Protocol):
    """
    An actuator with a state that feels the plant, such as motors that carry the hand.

    Attributes
    ----------
    period
        Time for which the plant keeps the control that it gives [s].
    state, values
        Layout of what sensors measure of it, and the numbers, shape (state.size,).
    carried
        Names of the numbers of the plant's state that it moves.

    """

    period: float
    state: Layout
    carried: tuple[str, ...]

    @property
    def values(self) -> Array:
        """Numbers of its state, shape (state.size,), in the units of the layout."""

    def load(self, at: MotionExpressions) -> ca.SX:
        """Return what it feels of the plant."""

    def restart(self) -> None:
        """Return to its start, at rest."""

    def turn(self, load: Array, t: float, dt: float) -> Array:
        """Advance from t by dt [s] under a load; return the mean control, shape (m,)."""

    def carry(self) -> Array:
        """Return the numbers of the plant's state named by ``carried``."""


def _known(name: str, what: str, given: str, known: Collection[str]) -> None:
    if given not in known:
        raise ParameterError(f'{name!r}: no {what} {given!r}{suggestion(given, list(known))}')

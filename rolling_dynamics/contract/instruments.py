"""Sensors and actuators: how a system is measured and driven, as data beside its equations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, suggestion

# Standard messages, and the entries that a layout may have for each; components end in _x, _y, ...
SENSOR_MESSAGES: Mapping[str, tuple[str, ...]] = {
    'pose': ('position', 'orientation'),
    'odometry': ('position', 'orientation', 'linear', 'angular'),
    'imu': ('orientation', 'angular_velocity', 'linear_acceleration'),
    'wrench': ('force', 'torque'),
    'joint_states': ('position', 'velocity', 'effort'),  # components: JOINT_position, ...
}
ACTUATOR_MESSAGES = ('positions', 'velocities', 'effort')  # of a trajectory's point


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

    """

    state: Mapping[str, ca.SX]
    control: Mapping[str, ca.SX]
    params: Mapping[str, ca.SX]
    pose: Mapping[str, ca.SX]
    wrench: ca.SX | None
    symbols: tuple[ca.SX, ca.SX, ca.SX, ca.SX]
    rate: ca.SX

    @classmethod
    def of(cls, system: RollingSystem, mode: str) -> MotionExpressions:
        """Return the expressions of a system in a mode."""
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
    delay
        From the stamp of a measurement until it is known [s].
    loss
        Fraction of measurements that do not see what they measure; they are not a number.
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
    loss: float = 0.0
    message: str
    topic: str
    frame: str = ''

    def __post_init__(self) -> None:
        """Raise ParameterError for an entry out of its range."""
        n = self.output.size
        _known(self.name, 'message', self.message, SENSOR_MESSAGES)
        for block in self.output.entries:
            _known(self.name, 'entry', block.name, SENSOR_MESSAGES[self.message])
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise ParameterError(f'sensor {self.name!r}: rate must be positive, got {self.rate!r}')
        for entry in ('exposure', 'delay', 'loss'):
            value = getattr(self, entry)
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(
                    f'sensor {self.name!r}: {entry} must be zero or positive, got {value!r}'
                )
        if self.covariance.shape != (n, n) or np.linalg.eigvalsh(self.covariance).min() < 0:
            raise ParameterError(
                f'sensor {self.name!r}: covariance must be a positive semidefinite matrix of '
                f'{n} rows, got {self.covariance.tolist()}'
            )

    def function(self, system: RollingSystem, mode: str) -> ca.Function:
        """
        Return ``(x, u, t, p) -> y`` in a mode.

        Raises
        ------
        ParameterError
            The output has another size than the layout, or names what the system does not have.

        """
        at = MotionExpressions.of(system, mode)
        try:
            y = ca.SX(self.measure(at))
        except (KeyError, ParameterError) as error:
            known = [*at.state, *at.pose]
            raise ParameterError(
                f'sensor {self.name!r} of {system.name!r}: {error}; there are {known}'
            ) from None
        if y.numel() != self.output.size:
            raise ParameterError(
                f'sensor {self.name!r} of {system.name!r}: its layout has {self.output.size} '
                f'numbers, its output {y.numel()}'
            )
        return ca.Function(self.name, [*at.symbols], [ca.densify(ca.vec(y))])


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
    message
        Field of the JointTrajectory that carries a command: one of ``ACTUATOR_MESSAGES``.
    topic
        Name of its topic, relative to the namespace of the robot.

    """

    name: str
    control: str
    joints: tuple[str, ...]
    limits: Array
    dead_time: float = 0.0
    message: str
    topic: str

    def __post_init__(self) -> None:
        """Raise ParameterError for an entry out of its range."""
        _known(self.name, 'message', self.message, ACTUATOR_MESSAGES)
        if not (math.isfinite(self.dead_time) and self.dead_time >= 0):
            raise ParameterError(
                f'actuator {self.name!r}: dead_time must be zero or positive, '
                f'got {self.dead_time!r}'
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


def _known(name: str, what: str, given: str, known: Collection[str]) -> None:
    if given not in known:
        raise ParameterError(f'{name!r}: no {what} {given!r}{suggestion(given, list(known))}')

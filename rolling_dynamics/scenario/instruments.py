"""Sensors and actuators of a scenario file, of any system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.contract.instruments import (
    Actuator,
    ACTUATOR_MESSAGES,
    MotionExpressions,
    Sensor,
)
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    quaternion_entry,
    RollingSystem,
    vector_entry,
)
from rolling_dynamics.errors import ParameterError, suggestion
from rolling_dynamics.rotations import matrix_quaternion
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import Kinds, note, quantity, refused, Section

GROUND = 'ground'

SENSORS = Kinds('sensor')
Expression = Callable[[MotionExpressions], ca.SX]


class SensorSection(Section):
    """A sensor; it measures each quantity for which a standard deviation is given."""

    message: ClassVar[str]
    quantities: ClassVar[tuple[str, ...]]

    rate: float = quantity('measurements a second', 'Hz', positive=True)
    delay: float = quantity('until a measurement is known', 's', least=0, default=0.0)
    jitter: float = quantity('half the spread of the delay', 's', least=0, default=0.0)
    exposure: float = quantity('over which a measurement averages', 's', least=0, default=0.0)
    loss: float = quantity('fraction of measurements that are lost', least=0, default=0.0)
    blackout: float = quantity(
        'mean length of the intervals that are lost; 0 for single measurements',
        's',
        least=0,
        default=0.0,
    )
    outlier: float = quantity('fraction of measurements with an outlier', least=0, default=0.0)
    outlier_size: float = quantity('error of an outlier, in its unit', least=0, default=0.0)
    bias: float = quantity(
        'standard deviation of a constant error of each number, in its unit', least=0, default=0.0
    )
    topic: str | None = note('its topic; the name of the sensor if left out', default=None)

    @model_validator(mode='after')
    def _some(self) -> SensorSection:
        if not self.noise:
            raise refused(f'give the noise of one of {", ".join(self.quantities)}, to measure it')
        return self

    @property
    def noise(self) -> dict[str, float]:
        """Standard deviation of what is measured, by quantity."""
        given = {name: getattr(self, name) for name in self.quantities}
        return {name: spread for name, spread in given.items() if spread is not None}

    def outputs(self, system: RollingSystem) -> dict[str, tuple[Entry, Expression]]:
        """Return the entry of each quantity, and its expression; reject unknown ones."""
        raise NotImplementedError

    def make(self, system: RollingSystem, name: str) -> Sensor:
        """Return the sensor."""
        outputs, noise, topic = self.outputs(system), self.noise, self.topic or name
        entries = [outputs[q][0] for q in noise]
        spread = [
            s / 2 if e.kind == 'quaternion' else s  # half of an angle is in each number
            for e, s in zip(entries, noise.values(), strict=True)
            for _ in e.components
        ]
        return Sensor(
            name=name,
            output=Layout(tuple(entries)),
            measure=lambda at: ca.vertcat(*(ca.vec(outputs[q][1](at)) for q in noise)),
            covariance=np.diag(np.square(spread)),
            message=self.message,
            frame=self.frame,
            **{n: getattr(self, n) for n in SensorSection.model_fields} | {'topic': topic},
        )

    @property
    def frame(self) -> str:
        """Frame of the message; empty where it has none."""
        return ''


def sensors_of(
    system: RollingSystem, given: Mapping[str, SensorSection], path: str
) -> tuple[Sensor, ...]:
    """Return sensors by their sections, whose errors start with a path in the file."""
    sensors = []
    for name, section in given.items():
        with located(f'{path}.{name}', inner=True):
            sensors.append(section.make(system, name))
    return tuple(sensors)


def _deviation(text: str, unit: str) -> Any:  # noqa: ANN401  a field of a section
    return quantity(f'{text}: standard deviation of its noise', unit, least=0, default=None)


def _body(system: RollingSystem, name: str, entry: str) -> str:
    """Return the name of a body, or raise ParameterError with those that the system has."""
    if name not in (known := system.pose.name_out()):
        raise ParameterError(f'{entry}: got {name!r}{suggestion(name, known)}')
    return name


def turned(at: MotionExpressions, body: str) -> ca.SX:
    """Return the attitude of a body in W, a rotation matrix."""
    return at.body(body)[:3, :3]


@SENSORS.add
class ImuSection(SensorSection):
    """An IMU at the origin of a body, in its axes."""

    kind: Literal['imu']
    message = 'imu'
    quantities = ('orientation', 'angular_velocity', 'linear_acceleration')
    body: str = note('body that carries it')
    orientation: float | None = _deviation('attitude in W', 'rad')
    angular_velocity: float | None = _deviation('angular velocity', 'rad/s')
    linear_acceleration: float | None = _deviation('acceleration less gravity', 'm/s^2')

    @property
    def frame(self) -> str:
        """Frame of the message."""
        return f'{self.body}_link'

    def outputs(self, system: RollingSystem) -> dict[str, tuple[Entry, Expression]]:
        """Return the measured quantities."""
        body = _body(system, self.body, 'body')

        def rate(at: MotionExpressions) -> ca.SX:
            return ca.inv_skew(turned(at, body).T @ at.derivative(turned(at, body)))

        def force(at: MotionExpressions) -> ca.SX:
            gravity = ca.vertcat(*(at.params.get(f'gravity_{c}', 0) for c in 'xyz'))
            velocity = at.derivative(at.body(body)[:3, 3])
            return turned(at, body).T @ (at.derivative(velocity) - gravity)

        return {
            'orientation': (
                quaternion_entry('orientation'),
                lambda at: matrix_quaternion(turned(at, body)),
            ),
            'angular_velocity': (vector_entry('angular_velocity', 'rad/s', body), rate),
            'linear_acceleration': (vector_entry('linear_acceleration', 'm/s^2', body), force),
        }


class TrackedSection(SensorSection):
    """A sensor of where a body is."""

    body: str = note('body that is tracked')
    frame_of: str = note('body in whose frame it is, or `ground`', default=GROUND)
    position: float | None = _deviation('position of its origin', 'm')
    orientation: float | None = _deviation('attitude', 'rad')

    @property
    def frame(self) -> str:
        """Frame of the message."""
        return 'odom' if self.frame_of == GROUND else f'{self.frame_of}_link'

    def outputs(self, system: RollingSystem) -> dict[str, tuple[Entry, Expression]]:
        """Return the measured quantities."""
        body, frame = _body(system, self.body, 'body'), ''
        if self.frame_of != GROUND:
            frame = _body(system, self.frame_of, 'frame_of')

        def attitude(at: MotionExpressions) -> ca.SX:
            R = turned(at, body)
            return turned(at, frame).T @ R if frame else R

        def place(at: MotionExpressions) -> ca.SX:
            return at.in_frame(body, frame) if frame else at.body(body)[:3, 3]

        def velocity(at: MotionExpressions) -> ca.SX:
            return attitude(at).T @ at.derivative(place(at))

        def rate(at: MotionExpressions) -> ca.SX:
            return ca.inv_skew(attitude(at).T @ at.derivative(attitude(at)))

        return {
            'position': (vector_entry('position', 'm', frame or 'W'), place),
            'orientation': (
                quaternion_entry('orientation'),
                lambda at: matrix_quaternion(attitude(at)),
            ),
            'linear': (vector_entry('linear', 'm/s', body), velocity),
            'angular': (vector_entry('angular', 'rad/s', body), rate),
        }


@SENSORS.add
class PoseSection(TrackedSection):
    """A camera or a tracker of a body."""

    kind: Literal['pose']
    message = 'pose'
    quantities = ('position', 'orientation')


@SENSORS.add
class OdometrySection(TrackedSection):
    """Odometry of a body: where it is, and its velocity in its own axes."""

    kind: Literal['odometry']
    message = 'odometry'
    quantities = ('position', 'orientation', 'linear', 'angular')
    linear: float | None = _deviation('velocity of its origin', 'm/s')
    angular: float | None = _deviation('angular velocity', 'rad/s')


@SENSORS.add
class EncodersSection(SensorSection):
    """Encoders of hinges, or of slides."""

    kind: Literal['encoders']
    message = 'joint_states'
    quantities = ('position', 'velocity')
    of: list[str] = note('bodies whose hinges or slides are measured', min_length=1)
    position: float | None = _deviation('angle or travel', 'rad or m')
    velocity: float | None = _deviation('its rate', 'rad/s or m/s')

    def outputs(self, system: RollingSystem) -> dict[str, tuple[Entry, Expression]]:
        """Return the measured quantities."""
        state = system.state
        axes = {
            e.name: e
            for e in state.entries
            if e.unit in ('rad', 'm') and f'{e.name}_rate' in state
        }
        for name in self.of:
            if name not in axes:
                known = suggestion(name, list(axes))
                raise ParameterError(f'of: {name!r} has no hinge or slide{known}')
        unit = axes[self.of[0]].unit
        if any(axes[name].unit != unit for name in self.of):
            raise ParameterError('of: name hinges or slides, each kind has a sensor of its own')
        joints = [c for name in self.of for c in axes[name].components]

        def read(suffix: str) -> Expression:
            return lambda at: ca.vertcat(*(at.state[f'{name}{suffix}'] for name in self.of))

        return {
            q: (Entry(q, tuple(f'{joint}_{q}' for joint in joints), u), read(suffix))
            for q, suffix, u in (('position', '', unit), ('velocity', '_rate', f'{unit}/s'))
        }


class ActuatorSection(Section):
    """An actuator: what becomes of commands for a control."""

    dead_time: float = quantity('from a command until it takes effect', 's', least=0, default=0.0)
    rate: float = quantity(
        'commands that it takes a second, the newest each; 0 for each as it comes',
        'Hz',
        least=0,
        default=0.0,
    )
    slew: float = quantity('greatest change a second', positive=True, default=math.inf)
    dead_band: float = quantity('greatest change that is not carried out', least=0, default=0.0)
    topic: str = note('topic of its commands, one for all drives', default='')
    carrier: Literal['trajectory', 'array', 'joint_state'] = note(
        'message of its commands on `topic`: a JointTrajectory, a Float64MultiArray as '
        '`<controller>/commands` takes, or a JointState; one for all drives',
        default='trajectory',
    )

    def make(self, system: RollingSystem, name: str, limit: float = math.inf) -> Actuator:
        """Return the actuator of an entry of the control, with a maximum magnitude."""
        entry, known = system.control.entry(name), ACTUATOR_MESSAGES.items()
        fitting = (field for field, units in known if entry.unit in units.split(' or '))
        return Actuator(
            name=name,
            control=name,
            joints=entry.components,
            limits=np.full(entry.size, limit),
            message=next(fitting, 'effort'),
            **{n: getattr(self, n) for n in ActuatorSection.model_fields},
        )

"""Model of a scenario file with ``system: machine``: parts, sensors, and the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import (
    Actuator,
    MotionExpressions,
    on_one_topic,
    Sensor,
)
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError, ScenarioError, suggestion
from rolling_dynamics.mechanism.hand_over import on_rollers
from rolling_dynamics.mechanism.joints import Free
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.transitions import HybridMachine
from rolling_dynamics.rotations import exponential, matrix_quaternion
from rolling_dynamics.scenario.control import check_finite, Control
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import (
    array,
    by_name,
    either,
    entry,
    Formula,
    Kinds,
    note,
    Number,
    Positive,
    quantity,
    refused,
    Section,
    several,
    TIME,
    vector,
)
from rolling_dynamics.scenario.machine_joints import (
    AxisSection,
    ContactSection,
    DRIVES,
    DriveSection,
    IMPERFECT,
    JOINTS,
    JointSection,
    MotionDrive,
    RevoluteSection,
)
from rolling_dynamics.scenario.machine_parts import (
    Builder,
    GROUND,
    Part,
    PARTS,
    PlatePart,
    RingSection,
)
from rolling_dynamics.scenario.scenario import Scenario, ScenarioFile

TAKEN = {'x', 'p', 'hand', 'contact', GROUND}  # names of other things
NORM = 1e-3  # by which a quaternion may be off one
Numbers = either(scalar=Number, several=array())
Formulas = either(scalar=Formula, several=several(Formula))


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

    def outputs(
        self, builder: Builder, joints: dict[str, JointSection]
    ) -> dict[str, tuple[Entry, Expression]]:
        """Return the entry of each quantity, and its expression; reject what is not there."""
        raise NotImplementedError

    def make(self, builder: Builder, name: str, joints: dict[str, JointSection]) -> Sensor:
        """Return the sensor."""
        outputs, noise = self.outputs(builder, joints), self.noise
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
            rate=self.rate,
            exposure=self.exposure,
            delay=self.delay,
            jitter=self.jitter,
            loss=self.loss,
            message=self.message,
            topic=self.topic or name,
            frame=self.frame,
        )

    @property
    def frame(self) -> str:
        """Frame of the message; empty where it has none."""
        return ''


def _deviation(text: str, unit: str) -> Any:  # noqa: ANN401  a field of a section
    return quantity(f'{text}: standard deviation of its noise', unit, least=0, default=None)


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

    def outputs(
        self,
        builder: Builder,
        joints: dict[str, JointSection],  # noqa: ARG002
    ) -> dict[str, tuple[Entry, Expression]]:
        """Return what it measures."""
        body = builder.body(self.body, 'body')

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


@SENSORS.add
class PoseSection(SensorSection):
    """A camera or a tracker of a body."""

    kind: Literal['pose']
    message = 'pose'
    quantities = ('position', 'orientation')
    body: str = note('body that is tracked')
    frame_of: str = note('body in whose frame it is, or `ground`', default=GROUND)
    position: float | None = _deviation('position of its origin', 'm')
    orientation: float | None = _deviation('attitude', 'rad')

    @property
    def frame(self) -> str:
        """Frame of the message."""
        return 'odom' if self.frame_of == GROUND else f'{self.frame_of}_link'

    def outputs(
        self,
        builder: Builder,
        joints: dict[str, JointSection],  # noqa: ARG002
    ) -> dict[str, tuple[Entry, Expression]]:
        """Return what it measures."""
        body, frame = builder.body(self.body, 'body'), builder.body(self.frame_of, 'frame_of')

        def attitude(at: MotionExpressions) -> ca.SX:
            R = turned(at, body)
            return matrix_quaternion(turned(at, frame).T @ R if frame else R)

        def place(at: MotionExpressions) -> ca.SX:
            return at.in_frame(body, frame) if frame else at.body(body)[:3, 3]

        return {
            'position': (vector_entry('position', 'm', frame or 'W'), place),
            'orientation': (quaternion_entry('orientation'), attitude),
        }


@SENSORS.add
class EncodersSection(SensorSection):
    """Encoders of hinges, or of slides."""

    kind: Literal['encoders']
    message = 'joint_states'
    quantities = ('position', 'velocity')
    of: list[str] = note('bodies whose hinges or slides are measured', min_length=1)
    position: float | None = _deviation('angle or travel', 'rad or m')
    velocity: float | None = _deviation('its rate', 'rad/s or m/s')

    def outputs(
        self, builder: Builder, joints: dict[str, JointSection]
    ) -> dict[str, tuple[Entry, Expression]]:
        """Return what they measure."""
        for name in self.of:
            if not isinstance(joints.get(builder.body(name, 'of')), AxisSection):
                raise ParameterError(f'of: {name!r} has no hinge or slide')
        turns = {isinstance(joints[name], RevoluteSection) for name in self.of}
        if len(turns) != 1:
            raise ParameterError('of: name hinges or slides, each kind has a sensor of its own')
        unit = 'rad' if turns.pop() else 'm'

        def read(suffix: str) -> Expression:
            return lambda at: ca.vertcat(*(at.state[f'{name}{suffix}'] for name in self.of))

        return {
            q: (Entry(q, tuple(f'{name}_{q}' for name in self.of), u), read(suffix))
            for q, suffix, u in (('position', '', unit), ('velocity', '_rate', f'{unit}/s'))
        }


class MachineSection(Section):
    """Bodies, how each moves on its parent, what they roll on beside that, what drives them."""

    bodies: dict[str, Part | PlatePart] = entry(
        by_name(PARTS),
        'bodies by name; a kind of part is a shipped one',
    )
    joints: dict[str, JointSection] = entry(
        by_name(JOINTS),
        'how each body moves on its parent, by its name',
    )
    contacts: dict[str, ContactSection] = note('contacts beside the joints, by name', default={})
    rings: dict[str, RingSection] = note('barrel rollers on a wheel, by name', default={})
    drives: dict[str, DriveSection] = entry(
        by_name(DRIVES),
        'drives by name',
        default={},
    )
    sensors: dict[str, SensorSection] = entry(
        by_name(SENSORS),
        'sensors by name',
        default={},
    )
    scales: dict[str, float] = entry(
        by_name(Positive),
        'deviation of an entry of state or control that counts as one in a regulator, by its name',
        default={},
    )
    gravity: Array = vector('in W', 'm/s^2', default=np.array([0.0, 0.0, -9.81]))

    @model_validator(mode='after')
    def _tree(self) -> MachineSection:
        for name in self.bodies:
            if name in TAKEN or not name.isidentifier():
                rule = 'use letters, digits and _, and none of ' + ', '.join(sorted(TAKEN))
                raise refused(f'cannot be the name of a body: {rule}', 'bodies', name)
        for name in self.bodies.keys() - self.joints.keys():
            raise refused('has no joint; a body that nothing carries is `free`', 'bodies', name)
        for name in self.joints:
            if name not in self.bodies:
                known = suggestion(name, list(self.bodies))
                raise refused(f'there is no body of this name{known}', 'joints', name)
        self.ordered()
        return self

    def ordered(self) -> list[str]:
        """Return the bodies, parents first; reject joints that make a loop."""
        out: list[str] = []
        for name in self.bodies:
            way = [name]
            while way[-1] not in out:
                parent = self.joints[way[-1]].parent
                path = 'joints', way[-1], 'parent'
                if parent == GROUND:
                    break
                if parent not in self.bodies:
                    known = suggestion(parent, [*self.bodies, GROUND])
                    raise refused(f'got {parent!r}{known}', *path)
                if parent in way:
                    loop = ' on '.join([*way[way.index(parent) :], parent])
                    raise refused(
                        f'the joints make a loop: {loop}; let one of these bodies be on the '
                        'ground or `free`, and give the other way an entry of `contacts`',
                        *path,
                    )
                way.append(parent)
            out += [n for n in reversed(way) if n not in out]
        return out

    def described(self) -> Builder:
        """Return the machine with the values of its parameters."""
        builder = Builder(machine=Machine('machine'))
        machine = builder.machine
        machine.scales.update(self.scales)
        machine.gravity_W = builder.vector('gravity', self.gravity, 'm/s^2', 'gravity in W')
        moved = {d.of: name for name, d in self.drives.items() if isinstance(d, MotionDrive)}
        for name in moved.keys() - self.bodies.keys():
            with located(f'machine.drives.{moved[name]}', inner=True):
                builder.body(name, 'of')
        for name in self.ordered():
            with located(f'machine.bodies.{name}', inner=True):
                builder.made[name] = made = self.bodies[name].make(builder, name)
            with located(f'machine.joints.{name}', inner=True):
                joint = self.joints[name].make(builder, name)
                if name in moved:
                    joint = self.drives[moved[name]].drive(builder, moved[name], joint)
                parent = builder.body(self.joints[name].parent, 'parent')
                machine.body(name, joint, made.mass, on='' if isinstance(joint, Free) else parent)
                self.joints[name].touch(builder, name)
            machine.drawn += made.drawn
        for name, contact in self.contacts.items():
            with located(f'machine.contacts.{name}', inner=True):
                contact.add(builder, name)
        for name, ring in self.rings.items():
            with located(f'machine.rings.{name}', inner=True):
                ring.add(builder, name)
        for name, drive in self.drives.items():
            with located(f'machine.drives.{name}', inner=True):
                drive.act(builder, name, self.joints)
        for kind, limited in (('joints', self.joints), ('contacts', self.contacts)):
            for name, section in limited.items():
                with located(f'machine.{kind}.{name}', inner=True):
                    section.limit(builder, name)
        return builder

    def measured(self, builder: Builder) -> tuple[Sensor, ...]:
        """Return the sensors of the machine."""
        sensors = []
        for name, sensor in self.sensors.items():
            with located(f'machine.sensors.{name}', inner=True):
                sensors.append(sensor.make(builder, name, self.joints))
        return tuple(sensors)


class MachineFile(ScenarioFile):
    """A machine from parts: bodies, joints of which rolling is one, contacts, drives."""

    machine: MachineSection = note()
    initial: dict[str, Any] = entry(
        by_name(Numbers),
        'state at the start by its entries; an attitude is a unit quaternion, or a rotation '
        'vector of three numbers. What is left out is at the origin and at rest, or as the '
        'contacts need it',
        default={},
    )
    control: dict[str, Any] = entry(
        by_name(Formulas), 'controls by name; the others are zero', default={}
    )

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario."""
        builder = self.machine.described()
        hybrid = any(c.mu_kinetic is not None for c in builder.machine.contacts)
        try:  # an error begins with the name of the machine, which is the entry
            kind = HybridMachine if hybrid else MachineSystem
            make = on_rollers if self.machine.rings else kind
            system: MachineSystem = make(builder.machine)
        except ParameterError as e:
            raise ScenarioError(str(e)) from None
        for named in self.machine.scales:
            with located(f'machine.scales.{named}'):
                (system.control if named in system.control else system.state).entry(named)
        p = system.parameters.pack(**builder.values)
        x0 = self._start(system, p)
        if isinstance(system, HybridMachine):
            system = system.starting(p, x0)
        joined = sum(c.closed for c in builder.machine.contacts)
        for k, (contact, given) in enumerate(self.machine.contacts.items(), joined):
            with located(f'machine.contacts.{contact}'):
                given.elastic(contact, k, system, p, x0)
        limits = np.full(system.control.size, np.inf)
        actuators: list[Actuator] = []
        for drive, section in self.machine.drives.items():
            driven = section.actuators(system.control, drive)
            for actuator in driven:
                limits[system.control.slice(actuator.control)] = actuator.limits
            actuators += driven if section.given & {*IMPERFECT} else []
        with located('machine.drives'):
            on_one_topic(system, actuators)
        with located('machine'):
            return Scenario(
                p=p,
                x0=x0,
                control=self._control(system),
                control_limits=limits,
                sensors=self.machine.measured(builder),
                actuators=tuple(actuators),
                **self.common(name, raw, system, {}),
            )

    def _start(self, system: MachineSystem, p: Array) -> Array:
        given: dict[str, Array] = {}
        for name, value in self.initial.items():
            with located(f'initial.{name}'):
                given[name] = _entry_values(system.state, name, value)
        with located('initial'):
            return system.placed(p, system.state.pack(**given), kept=given)

    def _control(self, system: MachineSystem) -> Control:
        u = ca.SX.zeros(system.control.size)
        for name, value in self.control.items():
            parts = value if isinstance(value, list) else [value]
            with located(f'control.{name}'):
                _fits(system.control.entry(name), parts)
            terms = {f'control.{name}[{k}]': term for k, term in enumerate(parts)}
            check_finite(terms, TIME, self.duration)
            u[system.control.slice(name)] = ca.vertcat(*parts)
        x = ca.SX.sym('x', system.state.size)
        return Control(ca.Function('control', [x, TIME], [ca.densify(u)]), system.control)


def _entry_values(layout: Layout, name: str, value: float | Array) -> Array:
    """Return what is given of an entry, or raise ParameterError where it does not fit."""
    e, values = layout.entry(name), np.atleast_1d(value)
    if e.kind != 'quaternion':
        _fits(e, values)
        return values
    if len(values) == 3:
        return np.array(ca.DM(exponential(ca.SX(ca.DM(values))))).ravel()
    norm = float(np.linalg.norm(values))
    if len(values) != e.size or abs(norm - 1) > NORM:
        raise ParameterError(
            'a rotation vector of 3 numbers or a unit quaternion w, x, y, z is needed, got '
            f'{values.tolist()}'
        )
    return np.asarray(values / norm)


def _fits(e: Entry, values: Sized) -> None:
    if len(values) != e.size:
        raise ParameterError(f'takes {e.size} entries [{e.unit}], got {len(values)}')

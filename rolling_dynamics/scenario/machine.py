"""Model of a scenario file with ``system: machine``: parts, sensors, and the start."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Actuator, on_one_topic
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError, ScenarioError, suggestion
from rolling_dynamics.mechanism.hand_over import on_rollers
from rolling_dynamics.mechanism.joints import Free
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.transitions import HybridMachine
from rolling_dynamics.rotations import exponential
from rolling_dynamics.scenario.control import check_finite, Control
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import (
    array,
    by_name,
    either,
    entry,
    Formula,
    note,
    Number,
    Positive,
    refused,
    Section,
    several,
    TIME,
    vector,
)
from rolling_dynamics.scenario.instruments import (
    ActuatorSection,
    GROUND,
    SENSORS,
    sensors_of,
    SensorSection,
)
from rolling_dynamics.scenario.machine_joints import (
    ContactSection,
    DRIVES,
    DriveSection,
    JOINTS,
    JointSection,
    MotionDrive,
)
from rolling_dynamics.scenario.machine_parts import Builder, Part, PARTS, PlatePart, RingSection
from rolling_dynamics.scenario.scenario import Scenario, ScenarioFile

TAKEN = {'x', 'p', 'hand', 'contact', GROUND}  # names of other things
NORM = 1e-3  # by which a quaternion may be off one
Numbers = either(scalar=Number, several=array())
Formulas = either(scalar=Formula, several=several(Formula))


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
        try:  # an error starts with the name of the machine, which is the entry
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
            driven = section.actuators(system, drive)
            for actuator in driven:
                limits[system.control.slice(actuator.control)] = actuator.limits
            actuators += driven if section.given & {*ActuatorSection.model_fields} else []
        with located('machine.drives'):
            on_one_topic(system, actuators)
        measured = sensors_of(system, self.machine.sensors, 'machine.sensors')
        with located('machine'):
            return Scenario(
                p=p,
                x0=x0,
                control=self._control(system),
                control_limits=limits,
                **self.common(name, raw, system, {}, driven=actuators, measured=measured),
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
    """Return the value of an entry, or raise ParameterError where it does not fit."""
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

"""Description of a machine: parameters, controls, bodies on joints, torques."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
from rolling_dynamics.contract.rolling_system import Entry, Layout, number_entry, Symbols
from rolling_dynamics.errors import ParameterError, suggestion
from rolling_dynamics.mechanism.dynamics import Dynamics, Law, Wrench
from rolling_dynamics.mechanism.joints import Driven, Flying, Joint
from rolling_dynamics.mechanism.link import (
    accelerations,
    Distribution,
    ground,
    Link,
    Motion,
    Revolution,
)
from rolling_dynamics.mechanism.loops import Contact
from rolling_dynamics.mechanism.rolling import PureRolling, REST_RATE, Rolling, SurfaceRolling
from rolling_dynamics.mechanism.shapes import Charted, Cylinder, Hollow, Plane, Sphere, Wheel
from rolling_dynamics.robots.view import Shape


@dataclass(frozen=True, eq=False)
class Body:
    """
    A body of a machine.

    Attributes
    ----------
    name
        Name, as in the outputs of ``pose``.
    joint
        Joint on its parent.
    mass
        Mass distribution; None for a body without mass.
    parent
        Name of the body that carries it; the empty string for the ground.

    """

    name: str
    joint: Joint
    mass: Distribution | None
    parent: str


class Machine:
    """
    Description of a machine: bodies, joints and their drives.

    ``parameter`` and ``control`` return symbols for masses, lengths and torques; the entries of
    the layouts are in the order of their declaration. The state has the entries that ``variable``
    declares, then all other configurations, in the order of the bodies, then all other speeds, and
    then displacements of contacts.

    Attributes
    ----------
    name
        Name of the type of machine.
    bodies
        The bodies by name, parents first.
    contacts
        Contacts in addition to the joints.
    guards
        Margins by name that end the motion, in addition to those of contacts.
    bounds
        Minimum and maximum position of joints, by their scalar name.
    rates
        Rates by name of variables that belong to no joint, such as a lagged command.
    scales
        Deviation of an entry of state or control that counts as one in a regulator, by its name,
        in its unit.
    drawn
        Shapes of bodies on their links ``<body>_link``, in addition to the surfaces that roll.
    inert
        Weights of entries of configuration and speeds by name, 1 by default, in the projection of
        a state onto its contacts; entries with large weights move less.
    creep, clear
        Speed [m/s] below which a contact that slips sticks, and gap [m] between bodies after a
        rebound.

    """

    def __init__(self, name: str) -> None:
        """Create a machine without bodies."""
        self.name = name
        self.bodies: dict[str, Body] = {}
        self.contacts: list[Contact] = []
        self._parameters: dict[Entry, ca.SX] = {}
        self._defaults: dict[str, tuple[float, ...]] = {}
        self._controls: dict[Entry, ca.SX] = {}
        self._variables: dict[Entry, ca.SX] = {}
        self._wrenches: list[tuple[str, Wrench, str]] = []
        self.guards: dict[str, ca.SX] = {}
        self.bounds: dict[str, tuple[float, float]] = {}
        self.rates: dict[str, ca.SX] = {}
        self.scales: dict[str, float] = {}
        self.drawn: list[Shape] = []
        self.inert: dict[str, float] = {}
        self.creep, self.clear = 1e-6, 1e-11
        self.gravity_W = ca.SX(ca.DM([0, 0, -9.81]))
        self.t = ca.SX.sym('t')

    def parameter(
        self,
        name: str | Entry,
        unit: str = '',
        text: str = '',
        default: Sequence[float] | None = None,
        sign: str = '',
    ) -> ca.SX:
        """Declare a parameter and return its symbol, scalar unless an entry is given."""
        self._still_described()
        if isinstance(name, str):
            name = number_entry(name, unit, text, sign)
        if default is not None:
            self._defaults[name.name] = tuple(default)
        return self._declare(self._parameters, name)

    def control(self, entry: Entry) -> ca.SX:
        """Declare an entry of the control and return its symbol."""
        self._still_described()
        return self._declare(self._controls, entry)

    def variable(self, entry: Entry) -> ca.SX:
        """Declare an entry of the state, of a joint or in ``rates``, and return its symbol."""
        self._still_described()
        return self._declare(self._variables, entry)

    def _declare(self, declared: dict[Entry, ca.SX], entry: Entry) -> ca.SX:
        if entry.name in {known.name for known in declared}:
            raise ParameterError(
                f'{self.name}: {entry.name!r} is declared twice; give one of both another name'
            )
        declared[entry] = ca.SX.sym(entry.name, entry.size)
        return declared[entry]

    def body(
        self, name: str, joint: Joint, mass: Distribution | None = None, *, on: str = ''
    ) -> None:
        """
        Add a body.

        Parameters
        ----------
        name
            Name of the body.
        joint
            Joint on its parent.
        mass
            Mass distribution; None for a body without mass.
        on
            Name of the parent; the empty string for the ground.

        Raises
        ------
        ParameterError
            The name is taken, there is no such parent, or the mass depends on an attitude that
            the joint leaves out.

        """
        self._still_described()
        if name in self.bodies:
            raise ParameterError(f'{self.name}: there are two bodies {name!r}')
        if on and on not in self.bodies:
            raise ParameterError(
                f'{self.name}: {name!r} is carried by {on!r}, which is not a body '
                f'declared before it{suggestion(on, list(self.bodies))}'
            )
        carrier = self.bodies[on].joint if on else None
        if isinstance(carrier, PureRolling) and carrier.attitude is None:
            raise ParameterError(f'{self.name}: {on!r} carries {name!r} and needs an attitude')
        if isinstance(joint, PureRolling) and joint.attitude is None:
            uneven = [mass.excess, mass.offset] if isinstance(mass, Revolution) else [1.0]
            if not all(ca.SX(number).is_zero() for number in uneven):
                raise ParameterError(
                    f'{self.name}: the mass of {name!r} is not the same about every axis; '
                    'give its PureRolling joint an attitude'
                )
        self.bodies[name] = Body(name, joint, mass, on)

    def with_parameter(self, entry: Entry, default: float) -> tuple[Machine, ca.SX]:
        """Return the machine with one more parameter, for contacts and guards, and its symbol."""
        s, _ = self.symbols, self.dynamics  # the same for both
        out, symbol = copy(self), ca.SX.sym(entry.name)
        out._parameters = {**self._parameters, entry: symbol}  # noqa: SLF001  its own
        out._defaults = {**self._defaults, entry.name: (default,)}  # noqa: SLF001  its own
        vars(out).pop('parameters', None)
        params = {**s.params, entry.name: symbol}
        vars(out)['symbols'] = replace(s, p=ca.vertcat(s.p, symbol), params=params)
        return out, symbol

    def contact(self, contact: Contact) -> None:
        """Add a contact; raise ParameterError if it is invalid."""
        surface, shape = contact.surface, contact.shape
        sphere = isinstance(surface, Sphere) or (isinstance(surface, Hollow) and surface.axes == 3)
        edge = isinstance(shape, Wheel) and ca.SX(shape.tyre).is_zero()
        flat = isinstance(surface, Plane) and not isinstance(shape, Cylinder)  # else along a line
        charted = isinstance(surface, Charted) and not isinstance(shape, Cylinder)
        if not (flat or charted or isinstance(shape, Sphere) or (sphere and edge)):
            raise ParameterError(
                f'the contact of {contact.body!r}: a {type(shape).__name__} does not '
                f'roll on a {type(surface).__name__}; a Sphere does, a Wheel without a '
                'tyre on a Sphere and in a Hollow sphere, both on a Plane, and all on a '
                'Charted surface'
            )
        if contact.normal_force is not None and contact.stiffness is not None:
            raise ParameterError(
                f'the contact of {contact.body!r}: either normal_force or stiffness'
            )
        for last in ('side_stiffness', 'mu_kinetic'):
            ways = ('side_force', 'rollers', last)
            if len(two := [way for way in ways if getattr(contact, way) is not None]) > 1:
                raise ParameterError(
                    f'the contact of {contact.body!r} has {" and ".join(two)}: only one of '
                    f'{", ".join(ways)} determines its motion along the surfaces'
                )
        if (contact.side_stiffness is None) != (not contact.displacement):
            raise ParameterError(
                f'the contact of {contact.body!r}: side_stiffness and displacement, the name of '
                'the entry of the state for it, come together'
            )
        if {e.name for e in contact.entries} - {e.name for e in self._variables}:
            self._still_described()
        if contact.rollers is not None and not isinstance(shape, Wheel):
            raise ParameterError(
                f'the contact of {contact.body!r}: rollers are on the rim of a '
                f'Wheel, not on a {type(shape).__name__}'
            )
        for name in (contact.body, contact.on):
            if name and name not in self.bodies:
                raise ParameterError(
                    f'a contact has no body {name!r}{suggestion(name, list(self.bodies))}'
                )
        self.contacts.append(contact)

    def torque(self, torque: ca.SX, on: str, *, reaction: str = '', frame: str = '') -> None:
        """Apply a torque (3) [N m], in W or a body's frame, and its reaction on another body."""
        self._still_described()
        zero = ca.SX(3, 1)
        self._wrenches.append((on, Wrench(torque, zero), frame))
        if reaction:
            self._wrenches.append((reaction, Wrench(-torque, zero), frame))

    def force(self, force: ca.SX, on: str, *, frame: str = '') -> None:
        """Apply a force (3) [N], in W or a body's frame, at the origin of a body."""
        self._still_described()
        self._wrenches.append((on, Wrench(ca.SX(3, 1), force), frame))

    def guard(self, name: str, margin: ca.SX) -> None:
        """End the motion where an expression in the links and parameters becomes negative."""
        self.guards[name] = margin

    def _still_described(self) -> None:
        """Raise ParameterError if the equations have been built already."""
        if 'symbols' in vars(self):
            raise ParameterError(
                f'{self.name}: what is added after `links` or `symbols` were used has no effect; '
                'declare parameters, controls, bodies and torques first'
            )

    @cached_property
    def state(self) -> Layout:
        """Layout of x; by default at rest at the origin."""
        joints = [b.joint for b in self.bodies.values()]
        every = (
            *self._variables,
            *(e for j in joints for e in j.configuration),
            *(e for j in joints for e in j.speeds),
            *(e for c in self.contacts for e in c.entries),
        )
        declared: dict[str, Entry] = {}
        for entry in every:
            declared.setdefault(entry.name, entry)
        entries = self._scaled(declared.values())
        rest = {'quaternion': (1.0, 0.0, 0.0, 0.0)}
        return Layout(tuple(entries), {e.name: rest.get(e.kind, (0.0,) * e.size) for e in entries})

    @cached_property
    def control_layout(self) -> Layout:
        """Layout of u."""
        return Layout(tuple(self._scaled(self._controls)))

    def _scaled(self, entries: Iterable[Entry]) -> list[Entry]:
        return [replace(e, scale=self.scales.get(e.name, e.scale)) for e in entries]

    @cached_property
    def parameters(self) -> Layout:
        """Layout of p."""
        return Layout(tuple(self._parameters), self._defaults)

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of the equations."""
        x = ca.SX.sym('x', self.state.size)
        for entry, symbol in self._variables.items():
            x[self.state.slice(entry.name)] = symbol
        u, p = (ca.vertcat(*declared.values()) for declared in (self._controls, self._parameters))
        params = {e.name: symbol for e, symbol in self._parameters.items()}
        return Symbols(x, u, self.t, p, self.state.split(x), params)

    @cached_property
    def links(self) -> dict[str, Link]:
        """The bodies with their motion, by name."""
        out: dict[str, Link] = {}
        for body in self.bodies.values():
            parent = out[body.parent] if body.parent else ground()
            link = body.joint.link(parent, self.symbols.values)
            if isinstance(body.joint, Flying):
                matrix, bias = link.solved[link.falls]
                bias += (parent.R_WF.T @ self.gravity_W)[body.joint.plane]
                link = replace(link, solved={**link.solved, link.falls: (matrix, bias)})
            if body.mass is not None:
                link = replace(link, moments=body.mass.moments(link.R_FB, link.pivot))
            carries = any(other.parent == body.name for other in self.bodies.values())
            if isinstance(body.joint, Flying) and link.moments.first.is_zero() and not carries:
                link = body.joint.about_centre(parent, link)
            out[body.name] = link
        return out

    @cached_property
    def _parents(self) -> list[int]:
        """Index of the parent of each body; -1 for the ground, and for a body in free fall."""
        names = list(self.bodies)
        of = ((b.parent, self.links[b.name].falls) for b in self.bodies.values())
        return [names.index(parent) if parent and not falls else -1 for parent, falls in of]

    @cached_property
    def motions(self) -> dict[str, Motion]:
        """The motion of the bodies in W, by name."""
        links, out = self.links, dict[str, Motion]()
        free = accelerations(list(links.values()), self._parents, self.gravity_W)
        for (name, link), (turn, move) in zip(links.items(), free, strict=True):
            R, w, r = link.R_WF, link.w, link.pivot
            at_origin = move - ca.cross(turn, r) - ca.cross(w, ca.cross(w, r))
            moving = (R @ vector for vector in (w, link.v_origin, turn, at_origin))
            out[name] = Motion(link.R_WB, link.p_WB, *moving)
        return out

    @cached_property
    def dynamics(self) -> Dynamics:
        """Equations of motion."""
        names = list(self.bodies)
        applied: dict[int, Wrench] = {}
        for name, given, frame in self._wrenches:
            b, R_WF = names.index(name), self.links[name].R_WF
            R_WG = self.links[frame].R_WB if frame else ca.SX.eye(3)
            before = applied.get(b, Wrench(ca.SX(3, 1), ca.SX(3, 1)))
            torque, force = given if R_WG is R_WF else (R_WF.T @ (R_WG @ part) for part in given)
            torque -= ca.cross(self.links[name].pivot, force)
            applied[b] = Wrench(before.torque + torque, before.force + force)
        return Dynamics(
            list(self.links.values()),
            self._parents,
            self.gravity_W,
            applied,
            list(self._laws(names)),
        )

    def _laws(self, names: Sequence[str]) -> list[Law]:
        out = []
        for b, body in enumerate(self.bodies.values()):
            joint = body.joint
            if isinstance(joint, SurfaceRolling) and joint.resisting is not None:
                out.append(Law(b, ca.SX(3, 1), joint.resisting))
            if not isinstance(joint, Rolling):
                continue
            if ca.SX(joint.resistance).is_zero() and ca.SX(joint.damping).is_zero():
                continue
            above, link = body.parent, self.links[names[b]]
            if not self.is_prescribed(above):
                raise ParameterError(
                    f'{self.name}.bodies.{body.name}: resistance and damping of a Rolling joint '
                    f'on {above!r}, which moves freely, would not push it back; roll by a Contact '
                    'with a resistance'
                )
            reach, normal, *_ = link.contact
            w = link.w - link.C @ self.links[above].w if above else link.w
            rolling = w - ca.dot(normal, w) * normal
            slow = REST_RATE**2 * ca.norm_2(self.gravity_W) / ca.norm_2(reach)
            direction = rolling / ca.sqrt(ca.sumsqr(rolling) + slow)
            out.append(Law(b, -joint.damping * w, -joint.resistance * direction))
        return out

    def is_prescribed(self, name: str) -> bool:
        """Return whether the motion of a body, or of the ground, is prescribed."""
        while name and isinstance(self.bodies[name].joint, Driven):
            name = self.bodies[name].parent
        return not name

"""The interface of a rolling system, and the layouts of its vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
import hashlib
import math
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import (
    check_choice,
    check_positive,
    ParameterError,
    quoted,
    suggestion,
)
from rolling_dynamics.rotations import conjugate, exponential, logarithm, product

TINY = 5e-324  # the smallest positive number
KINDS = ('vector', 'angle', 'quaternion', 'turn')
# Larger measured values are rejected: their squares would overflow. An angle counts turns, ten
# years of them at 3 rad/s.
GREATEST, GREATEST_ANGLE = 1e6, 1e9
UNIT = 0.01  # tolerance of the norm of a measured quaternion or turn


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A named block of a vector.

    Attributes
    ----------
    name
        Name in monogram notation, for example ``w_WH_H``.
    components
        Scalar names, as used in messages and files.
    unit
        SI unit of every component; the empty string if dimensionless.
    frame
        Frame in which the components are expressed, or the empty string.
    kind
        ``vector``, ``angle`` (each component may be shifted by whole turns), ``quaternion``
        (four components w, x, y, z of a unit quaternion) or ``turn`` (two components of one,
        cosine and sine of half the angle about an axis).
    text
        Description, in one line.
    scale
        A significant deviation, in the unit; for a quaternion, of its rotation [rad]. Default
        weights of a regulator follow from it.
    sign
        ``positive`` or ``zero or positive`` if other values are meaningless; else empty.
    relative
        True for a displacement, which a shift of everything does not change, unlike a position.

    Examples
    --------
    >>> from rolling_dynamics.contract import Entry
    >>> entry = Entry('angle', ('tilt', 'lean'), 'rad', kind='angle')
    >>> entry.size, entry.unit
    (2, 'rad')

    """

    name: str
    components: tuple[str, ...]
    unit: str
    frame: str = ''
    kind: str = 'vector'
    text: str = ''
    scale: float = 1.0
    sign: str = ''
    relative: bool = False

    def __post_init__(self) -> None:
        """Reject an invalid entry."""
        check_choice(f'{self.name}: kind', self.kind, KINDS)
        if self.kind == 'quaternion' and len(self.components) != 4:
            raise ParameterError(f'{self.name}: a quaternion has 4 components w, x, y, z')
        if self.kind == 'turn' and len(self.components) != 2:
            raise ParameterError(f'{self.name}: a turn has 2 components')
        check_positive(f'{self.name}: scale', self.scale)

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.components)

    def check(self, given: ArrayLike) -> None:
        """Raise ParameterError for values (size) in its unit that do not have its sign."""
        values, low = np.array(given, dtype=float), 0.0 if 'zero' in self.sign else TINY
        if self.sign and not (np.isfinite(values) & (values >= low)).all():
            unit, found = f' [{self.unit}]' if self.unit else '', values.squeeze().tolist()
            raise ParameterError(f'{self.name} must be {self.sign} and finite{unit}, got {found}')

    @property
    def is_in_world(self) -> bool:
        """True if it is a vector whose first two components are along x and y of W."""
        return self.kind == 'vector' and self.frame == 'W' and self.size >= 2

    @property
    def is_position(self) -> bool:
        """True if it is a position [m] along x and y of W."""
        return self.is_in_world and self.unit == 'm' and not self.relative

    @property
    def turns_in_world(self) -> bool:
        """True if it is the attitude of a body in W, by its frame or its name."""
        in_world = self.frame == 'W' or self.name.startswith('q_W')
        return self.kind == 'quaternion' and in_world

    @property
    def has_unit_norm(self) -> bool:
        """True if its components make a vector of norm 1."""
        return self.kind in {'quaternion', 'turn'}


def number_entry(name: str, unit: str, text: str = '', sign: str = '') -> Entry:
    """Return an entry with one component."""
    return Entry(name, (name,), unit, text=text, sign=sign)


def vector_entry(
    name: str, unit: str, frame: str = '', text: str = '', suffixes: Sequence[str] = 'xyz'
) -> Entry:
    """
    Return an entry whose components are the name with a suffix each.

    Examples
    --------
    >>> from rolling_dynamics.contract import vector_entry
    >>> vector_entry('v_WB', 'm/s', 'W').components
    ('v_WB_x', 'v_WB_y', 'v_WB_z')

    """
    return Entry(name, tuple(f'{name}_{s}' for s in suffixes), unit, frame, 'vector', text)


def quaternion_entry(name: str, text: str = '', frame: str = '') -> Entry:
    """
    Return the entry of a unit quaternion, order w, x, y, z; of a body in a frame, if given.

    Examples
    --------
    >>> from rolling_dynamics.contract import quaternion_entry
    >>> quaternion_entry('q_WB').components
    ('q_WB_w', 'q_WB_x', 'q_WB_y', 'q_WB_z')

    """
    return Entry(name, tuple(f'{name}_{s}' for s in 'wxyz'), '', frame, 'quaternion', text)


@dataclass(frozen=True)
class Layout:
    """
    Ordered entries of a vector.

    Attributes
    ----------
    entries
        The blocks, in order; names are unique.
    defaults
        Values of entries that :meth:`pack` may leave out.

    Examples
    --------
    >>> from rolling_dynamics.contract import Layout, quaternion_entry, vector_entry
    >>> layout = Layout((vector_entry('p_WB', 'm', 'W'), quaternion_entry('q_WB')))
    >>> layout.pack(p_WB=[0, 0, 0.1], q_WB=[1, 0, 0, 0])
    array([0. , 0. , 0.1, 1. , 0. , 0. , 0. ])
    >>> layout.slice('q_WB'), layout.names[:3]
    (slice(3, 7, None), ['p_WB_x', 'p_WB_y', 'p_WB_z'])

    """

    entries: tuple[Entry, ...]
    defaults: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject duplicate names."""
        for names in ([e.name for e in self.entries], self.names):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ParameterError(f'layout: {twice} named twice')

    @cached_property
    def names(self) -> list[str]:
        """Scalar names, in order."""
        return [c for e in self.entries for c in e.components]

    @cached_property
    def size(self) -> int:
        """Length of the vector."""
        return len(self.names)

    @cached_property
    def _slices(self) -> dict[str, slice]:
        start, out = 0, {}
        for e in self.entries:
            out[e.name] = slice(start, start + e.size)
            start += e.size
        return out

    @cached_property
    def _unit(self) -> list[tuple[str, slice]]:
        return [(e.kind, self._slices[e.name]) for e in self.entries if e.has_unit_norm]

    @cached_property
    def position(self) -> Entry | None:
        """First entry that is a position [m] along x and y of W, or None."""
        return next((e for e in self.entries if e.is_position), None)

    def __contains__(self, name: object) -> bool:
        """Return whether an entry has this name."""
        return name in self._slices

    def entry(self, name: str) -> Entry:
        """Return the entry of this name, or raise ParameterError that lists the names."""
        self.slice(name)
        return next(e for e in self.entries if e.name == name)

    def slice(self, name: str) -> slice:
        """Return the slice of an entry, or raise ParameterError that lists the names."""
        try:
            return self._slices[name]
        except KeyError:
            known = list(self._slices)
            raise ParameterError(f'no entry {quoted(name)}{suggestion(name, known)}') from None

    def index(self, name: str, what: str = 'no entry') -> NDArray[np.int_]:
        """
        Return the slice of an entry, or of one component, in the vector.

        Parameters
        ----------
        name
            Name of an entry or of one of its components.
        what
            Start of the error for a name that does not exist.

        Raises
        ------
        ParameterError
            There is no such name; the text gives the most similar one and all names.

        """
        where = self._indices.get(name)
        if where is None:
            raise ParameterError(f'{what} {quoted(name)}{suggestion(name, list(self._indices))}')
        return where

    @cached_property
    def _indices(self) -> dict[str, NDArray[np.int_]]:
        numbers = np.arange(self.size)
        entries = {e.name: numbers[self._slices[e.name]] for e in self.entries}
        return entries | {c: numbers[k : k + 1] for k, c in enumerate(self.names)}

    def pack(self, **values: ArrayLike) -> Array:
        """
        Return the vector made of one array for each entry.

        Parameters
        ----------
        values
            One array for each entry; entries with a default may be left out.

        Returns
        -------
        NDArray
            Shape (size,).

        Raises
        ------
        ParameterError
            An entry is unknown, missing, of the wrong length or sign, or not finite.

        """
        for name in values:
            self.slice(name)
        out = np.empty(self.size)
        for e in self.entries:
            if e.name in values:
                given = np.asarray(values[e.name], dtype=float).reshape(-1)
            elif e.name in self.defaults:
                given = np.asarray(self.defaults[e.name], dtype=float)
            else:
                raise ParameterError(f'{e.name} is missing ({e.size} numbers: {e.text})')
            if given.size != e.size:
                raise ParameterError(f'{e.name} takes {e.size} numbers, got {given.size}')
            e.check(given)
            out[self._slices[e.name]] = given
        if not np.isfinite(out).all():
            for name, given in self.unpack(out).items():
                if not np.isfinite(given).all():
                    raise ParameterError(f'{name} must be finite, got {given.tolist()}')
        return out

    @cached_property
    def _greatest(self) -> Array:
        of = [GREATEST_ANGLE if e.kind == 'angle' else GREATEST for e in self.entries]
        return np.repeat(of, [e.size for e in self.entries])

    def problem(self, x: Array) -> str:
        """Return why measured values, shape (size,), are invalid, or the empty string."""
        if not (abs(x) <= self._greatest).all():
            if not np.isfinite(x).all():
                return 'is not finite'
            k = int(np.argmax(abs(x) / self._greatest))
            most = f'{x[k]:.3g}; at most {self._greatest[k]:g} is believed'
            return f'has {self.names[k]} of {most}'
        for kind, where in self._unit:
            norm = math.sqrt(float(x[where] @ x[where]))
            if abs(norm - 1.0) > UNIT:
                return f'has a {kind} of norm {norm:.3g}; a unit {kind} is needed'
        return ''

    def split(self, x: ca.SX) -> dict[str, ca.SX]:
        """Return the entries of an expression, by name."""
        return {name: x[s] for name, s in self._slices.items()}

    def unpack(self, x: ArrayLike) -> dict[str, Array]:
        """Return the entries of vectors x, shape (..., size), as views by name."""
        array = np.asarray(x, dtype=float)
        if array.shape[-1:] != (self.size,):
            raise ParameterError(f'a vector of {self.size} numbers is needed, got {array.shape}')
        return {name: array[..., s] for name, s in self._slices.items()}


@dataclass(frozen=True, eq=False)
class Symbols:
    """
    Symbols of the equations.

    Attributes
    ----------
    x, u, t, p
        State, control, time and parameters.
    values, params
        Entries of x and of p by name.

    """

    x: ca.SX
    u: ca.SX
    t: ca.SX
    p: ca.SX
    values: Mapping[str, ca.SX]
    params: Mapping[str, ca.SX]

    @classmethod
    def of(cls, state: Layout, control: Layout, parameters: Layout) -> Symbols:
        """Return the symbols of a state, a control and parameters."""
        x, u = ca.SX.sym('x', state.size), ca.SX.sym('u', control.size)
        t, p = ca.SX.sym('t'), ca.SX.sym('p', parameters.size)
        return Symbols(x, u, t, p, state.split(x), parameters.split(p))

    def __iter__(self) -> Iterator[ca.SX]:
        """Yield x, u, t and p."""
        return iter((self.x, self.u, self.t, self.p))

    def function(self, name: str, output: ca.SX) -> ca.Function:
        """Return ``(x, u, t, p) -> output`` of an expression in these symbols."""
        return ca.Function(name, [*self], [ca.densify(output)], ['x', 'u', 't', 'p'], [name])


def tangent_steps(system: RollingSystem | WrittenSystem, x: ca.SX) -> ca.SX:
    """Return the derivatives (n, m) of a state moved by a tangent vector, at zero."""
    d = ca.SX.sym('d', system.tangent.size)
    return ca.substitute(ca.jacobian(system.retract(x, d), d), d, ca.DM.zeros(d.numel()))


def tangent_layout(state: Layout) -> Layout:
    """
    Return the layout of d: three components for a quaternion, one for a turn, else as in x.

    Examples
    --------
    >>> from rolling_dynamics.contract import Layout, quaternion_entry, tangent_layout
    >>> tangent_layout(Layout((quaternion_entry('q_WB'),))).size
    3

    """
    return Layout(
        tuple(_turn(e) if e.has_unit_norm else replace(e, kind='vector') for e in state.entries)
    )


def _turn(e: Entry) -> Entry:
    axes = [c[-1] for c in e.components[1:]]
    turn = vector_entry(f'd{e.name[1:]}', 'rad', 'body', f'turn of {e.name}', axes)
    return replace(turn, scale=e.scale)


def turned(q: ca.SX, angle: ca.SX) -> ca.SX:
    """Return a turn, cosine and sine of half an angle, rotated further by an angle [rad]."""
    c, s = ca.cos(angle / 2), ca.sin(angle / 2)
    return ca.vertcat(q[0] * c - q[1] * s, q[1] * c + q[0] * s)


def turn_between(q: ca.SX, start: ca.SX | ca.DM) -> ca.SX:
    """Return the angle from one turn to another, within half a turn [rad]."""
    sine, cosine = start[0] * q[1] - start[1] * q[0], start[0] * q[0] + start[1] * q[1]
    return 2 * ca.atan(sine / cosine)


def retraction(state: Layout, tangent: Layout) -> ca.Function:
    """
    Return ``(x, d) -> x`` moved by d, attitudes on the body's side.

    Examples
    --------
    >>> from rolling_dynamics.contract import Layout, quaternion_entry, retraction, tangent_layout
    >>> state = Layout((quaternion_entry('q_WB'),))
    >>> retraction(state, tangent_layout(state))([1, 0, 0, 0], [0, 0, 0.2])
    DM([0.995004, 0, 0, 0.0998334])

    """
    x, d = ca.SX.sym('x', state.size), ca.SX.sym('d', tangent.size)
    parts = []
    for e, te in zip(state.entries, tangent.entries, strict=True):
        xe, de = x[state.slice(e.name)], d[tangent.slice(te.name)]
        if e.kind == 'quaternion':
            parts.append(product(xe, exponential(de)))
        elif e.kind == 'turn':
            parts.append(turned(xe, de))
        else:
            parts.append(xe + de)
    return ca.Function('retract', [x, d], [ca.vertcat(*parts)], ['x', 'd'], ['y'])


def difference(state: Layout) -> ca.Function:
    """
    Return ``(x, y) -> d`` with ``retract(y, d) = x``; angles to the nearest turn.

    Examples
    --------
    >>> from rolling_dynamics.contract import difference, Layout, vector_entry
    >>> difference(Layout((vector_entry('p', 'm'),)))([1, 2, 3], [1, 1, 1])
    DM([0, 1, 2])

    """
    x, y = ca.SX.sym('x', state.size), ca.SX.sym('y', state.size)
    parts = []
    for e in state.entries:
        s = state.slice(e.name)
        if e.kind == 'quaternion':
            parts.append(logarithm(product(conjugate(y[s]), x[s])))
        elif e.kind == 'turn':
            parts.append(turn_between(x[s], y[s]))
        elif e.kind == 'angle':
            parts.append(ca.atan2(ca.sin(x[s] - y[s]), ca.cos(x[s] - y[s])))
        else:
            parts.append(x[s] - y[s])
    return ca.Function('difference', [x, y], [ca.vertcat(*parts)], ['x', 'y'], ['d'])


TERMINAL = 1e3  # weight at the end over the weight per second
CONTROL = 0.1  # weight of a control as large as its scale, over the weight of such a deviation


@dataclass(frozen=True, kw_only=True)
class RegulatorWeights:
    """
    Weights of a regulator by tangent name.

    Attributes
    ----------
    tracking
        Weight per second of a squared deviation, by name of an entry or component of the tangent
        layout [1/(unit^2 s)]; zero if not named.
    terminal
        Weight at the end, by the same names [1/unit^2].
    control
        Weight per second of the square of each control, a scalar or shape (control.size,).

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.contract import default_weights
    >>> weights = default_weights(load_scenario('two_wheeler').system)
    >>> sorted(weights.tracking)[:2]
    ['d_body', 'left']

    """

    tracking: Mapping[str, float]
    terminal: Mapping[str, float]
    control: float | Array

    @classmethod
    def from_scales(cls, tangent: Layout, control: Layout) -> RegulatorWeights:
        """
        Return weights for which a deviation as large as its scale counts as one.

        Parameters
        ----------
        tangent, control
            Layouts with the scales of their entries.

        """
        tracking = {e.name: 1 / e.scale**2 for e in tangent.entries}
        scales = [e.scale for e in control.entries for _ in e.components]
        return cls(
            tracking=tracking,
            terminal={name: TERMINAL * weight for name, weight in tracking.items()},
            control=CONTROL / np.array(scales, dtype=float) ** 2,
        )

    def of(self, tangent: Layout) -> RegulatorWeights:
        """Return the weights of the entries and components of a layout."""
        named = {*tangent.names, *(e.name for e in tangent.entries)}
        tracking, terminal = (
            {name: weight for name, weight in given.items() if name in named}
            for given in (self.tracking, self.terminal)
        )
        return RegulatorWeights(tracking=tracking, terminal=terminal, control=self.control)


@dataclass(frozen=True, eq=False, kw_only=True)
class Event:
    """
    Event of a motion, and its time.

    Attributes
    ----------
    name
        Name of the guard, or of the change of chart.
    time
        Time [s].
    state
        State at that time; after the event if it changes the state or its charts.
    terminal
        Whether the simulation stopped there.
    text
        Description, in one line.

    """

    name: str
    time: float
    state: Array
    terminal: bool
    text: str = ''


# Of two contacts, the one whose phase is listed first here is reported.
PHASES = 'slipping', 'rolling', 'separated'
CONTACT = {f'{a}_{b}': min(a, b, key=PHASES.index) for a in PHASES for b in PHASES}
CONTACT['off_hand'] = 'separated'


@dataclass(frozen=True, eq=False, kw_only=True)
class MotionState:
    """
    A state with its mode.

    Attributes
    ----------
    t
        Time [s].
    x
        State vector, shape (state.size,); not to be written to.
    mode
        Name of the mode.
    p
        Present parameters, shape (parameters.size,). A mode may store values in them, such as the
        direction of spin that friction opposes.
    events
        Events in the step to this state.
    ended
        Event that ended the motion; None while it continues.
    changes, changed
        Number of changes of mode in the instant of the last one, and its time [s].

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.simulation import Stepper
    >>> s = load_scenario('two_wheeler')
    >>> stepper, u = Stepper(s.system, s.p), [0.0] * s.system.control.size
    >>> stepper.step(stepper.begin(s.x0, u), u, 0.1).mode
    'rolling'

    """

    t: float
    x: Array
    mode: str
    p: Array
    events: tuple[Event, ...] = ()
    ended: Event | None = None
    changes: int = 0
    changed: float = -math.inf

    @property
    def published_mode(self) -> str:
        """The mode by the names of RollingContact: rolling, pure_rolling, slipping, separated."""
        return CONTACT.get(self.mode, self.mode)

    @property
    def stopped(self) -> str:
        """Name of the event that ended the motion, or the empty string."""
        return '' if self.ended is None else self.ended.name

    def noted(self, name: str, text: str, *, ends: bool = False) -> MotionState:
        """Return the state with one more event, which may end the motion."""
        event = Event(name=name, time=self.t, state=self.x, terminal=ends, text=text)
        return replace(self, events=(*self.events, event), ended=event if ends else self.ended)


Transition = Callable[[MotionState, Array], MotionState]


class Outcome(NamedTuple):
    """
    A possible outcome of an event.

    Attributes
    ----------
    mode
        Mode that follows; the empty string if the motion ends.
    name, text
        Name and text of the event to record; no event if the name is empty.

    """

    mode: str
    name: str = ''
    text: str = ''


@dataclass(frozen=True, eq=False, kw_only=True)
class Jump:
    """
    A transition as an expression, which can be exported; called, it is a ``Transition``.

    Attributes
    ----------
    function
        ``(x, u, t, p) -> (x, index of the outcome)``, with a third result if the text of an
        outcome has a placeholder. None if x does not change and there is one outcome.
    outcomes
        Possible outcomes.

    """

    function: ca.Function | None
    outcomes: tuple[Outcome, ...]

    def __call__(self, s: MotionState, u: Array) -> MotionState:
        """Return the state after the event."""
        x, k, *more = (s.x, 0) if self.function is None else self.function(s.x, u, s.t, s.p)
        mode, name, text = self.outcomes[int(k)]
        text = text.format(*map(float, more))
        after = replace(s, x=np.array(x, dtype=float).ravel(), mode=mode or s.mode)
        return after.noted(name, text, ends=not mode) if name else after


@dataclass(frozen=True, kw_only=True)
class Mode:
    """
    One mode of motion: equations that hold while its guards stay positive.

    Attributes
    ----------
    dynamics
        ``(x, u, t, p) -> xdot``: the single source of the equations.
    wrench
        ``(x, u, t, p) -> (tau, f)``, shape (6,) [N m, N]: contact wrench on the object at the
        contact point, expressed in the contact frame of the hand on its first chart (Ch);
        None for a kinematic model.
    guards
        Name -> ``(x, u, t, p) -> scalar``: positive inside the mode; zero is an event.
    resets
        Name of a guard -> reset at its event: a function ``(x, u, t, p) -> x`` within the mode, or
        a Python function ``(MotionState, u) -> MotionState``, which chooses the next mode or ends
        the motion. An event of a guard without a reset ends the motion.
    projection
        ``(x, p) -> x`` on the constraints of this mode; None for the system's.
    slip
        ``(x, p) -> velocity of slip`` that Coulomb friction opposes in this mode; None for none.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> mode = load_scenario('two_wheeler').system.modes['rolling']
    >>> mode.dynamics.name_in(), 'friction_left' in mode.guards
    (['x', 'u', 't', 'p'], True)

    """

    dynamics: ca.Function
    wrench: ca.Function | None = None
    guards: Mapping[str, ca.Function] = field(default_factory=dict)
    resets: Mapping[str, ca.Function | Transition] = field(default_factory=dict)
    projection: ca.Function | None = None
    slip: ca.Function | None = None


class RollingSystem(Protocol):
    """
    Interface of a system to simulator, planner, controller, estimator, nodes and plots.

    Attributes
    ----------
    name
        Name of the type of system, for example ``contact``.
    state, control, parameters
        Layouts of x, u and p.
    modes
        Modes of motion by name; plans are made in the first one.
    independent_variable
        ``time`` or ``arc length``.
    retract
        ``(x, d) -> x``: moves x by a tangent vector d.
    difference
        ``(x, y) -> d`` with ``retract(y, d) = x``; linear methods use both in place of sums.
    tangent
        Layout of d.
    invariants
        Named functions ``(x, u, t, p) -> scalar``: energy and the like.
    pose
        ``(x, p) -> (4x4, ...)``: poses of the bodies to draw, in W; output names are the bodies.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> x, u = s.x0, [0.1] * s.system.control.size
    >>> s.system.modes['rolling'].dynamics(x, u, 0.0, s.p).shape
    (17, 1)

    """

    @property
    def name(self) -> str:
        """Name of the type of system."""

    @property
    def state(self) -> Layout:
        """Layout of x."""

    @property
    def control(self) -> Layout:
        """Layout of u."""

    @property
    def parameters(self) -> Layout:
        """Layout of p."""

    @property
    def tangent(self) -> Layout:
        """Layout of d."""

    @property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""

    @property
    def independent_variable(self) -> str:
        """``time`` or ``arc length``."""

    @property
    def retract(self) -> ca.Function:
        """``(x, d) -> x``."""

    @property
    def difference(self) -> ca.Function:
        """``(x, y) -> d``."""

    @property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Named functions ``(x, u, t, p) -> scalar``."""

    @property
    def pose(self) -> ca.Function:
        """``(x, p) -> poses``."""

    @property
    def model_hash(self) -> str:
        """Content hash of the equations; two systems with one hash are the same model."""


class WrittenSystem(ABC):
    """
    A rolling system whose functions are expressions in one set of symbols.

    Subclasses set the attributes and fill in :attr:`modes`; plans use the first mode.

    Attributes
    ----------
    state, control, parameters
        Layouts of x, u and p.

    Examples
    --------
    >>> from rolling_dynamics.contract import WrittenSystem
    >>> from rolling_dynamics import load_scenario
    >>> system = load_scenario('two_wheeler').system
    >>> isinstance(system, WrittenSystem), list(system.invariants)
    (True, ['energy'])

    """

    state: Layout
    control: Layout
    parameters: Layout
    independent_variable = 'time'

    @property
    @abstractmethod
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""

    @property
    def mode(self) -> Mode:
        """The first mode."""
        return next(iter(self.modes.values()))

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of state, control, time and parameters."""
        return Symbols.of(self.state, self.control, self.parameters)

    def function(self, name: str, output: ca.SX) -> ca.Function:
        """Return ``(x, u, t, p) -> output`` of an expression in ``symbols``."""
        return self.symbols.function(name, output)

    def of_state(self, name: str, *outputs: ca.SX, names: Sequence[str] = ()) -> ca.Function:
        """Return ``(x, p) -> outputs`` of expressions in ``symbols``, under names if given."""
        s, dense = self.symbols, [ca.densify(output) for output in outputs]
        names = names or [f'o{k}' for k in range(len(dense))]
        return ca.Function(name, [s.x, s.p], dense, ['x', 'p'], list(names))

    def functions(self, outputs: Mapping[str, ca.SX]) -> dict[str, ca.Function]:
        """Return functions ``(x, u, t, p)`` of expressions, by name."""
        return {name: self.function(name, output) for name, output in outputs.items()}

    @cached_property
    def tangent(self) -> Layout:
        """Layout of d."""
        return tangent_layout(self.state)

    @cached_property
    def retract(self) -> ca.Function:
        """``(x, d) -> x`` moved by a tangent vector; attitudes by d on the body's side."""
        return retraction(self.state, self.tangent)

    @cached_property
    def difference(self) -> ca.Function:
        """``(x, y) -> d`` with ``retract(y, d) = x``; angles to the nearest turn."""
        return difference(self.state)

    @cached_property
    def model_hash(self) -> str:
        """Content hash of the equations."""
        modes = [m for name, m in self.modes.items() if name != 'off_hand']  # as `separated`
        parts = [f.serialize() for m in modes for f in (m.dynamics, m.wrench) if f is not None]
        return hashlib.sha256(''.join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, eq=False)
class RigidBody:
    """
    Mass, centre and inertia of a body.

    Attributes
    ----------
    mass
        Mass [kg].
    centre
        Centre of mass in the frame of the body, shape (3,) [m].
    inertia
        About the centre of mass, in the frame of the body, shape (3, 3) [kg m^2].

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> body = s.system.rigid_bodies(s.p)['body']
    >>> body.mass, body.inertia.shape
    (3.0, (3, 3))

    """

    mass: float
    centre: Array
    inertia: Array


class Follower(Protocol):
    """
    Tracks quantities that depend on the path, such as angles that count whole turns.

    It is called with each segment of the motion once, in order of time.
    """

    def along(
        self,
        system: RollingSystem,
        borders: Array,
        interpolate: Callable[[Array], Array],
        times: Array,
    ) -> Array:
        """
        Return the quantities at output times of a segment.

        Parameters
        ----------
        system
            The system on the charts in use.
        borders
            Borders of the integration's steps [s]; the last one is the end of the segment.
        interpolate
            ``times (N,) -> states (N, n)`` within the segment.
        times
            Output times within it [s], shape (M,), M >= 0.

        Returns
        -------
        Array
            Shape (M, k).

        """

    def at(self, system: RollingSystem, x: Array) -> Array:
        """Return the quantities at the end of the motion so far, shape (k,), in their units."""

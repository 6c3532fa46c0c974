"""The contract of a rolling system and of its modes: equations, guards, resets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
import hashlib
import math
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import (
    difference,
    Layout,
    retraction,
    Symbols,
    tangent_layout,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Event:
    """
    What happened, and when.

    Attributes
    ----------
    name
        Name of the guard, or of the change of chart.
    time
        Time [s].
    state
        State at that time; after it where the event changes the state or its charts.
    terminal
        Whether the simulation stopped there.
    text
        What it means, in one line.

    """

    name: str
    time: float
    state: NDArray[np.float64]
    terminal: bool
    text: str = ''


CONTACT = {'pure_slipping': 'slipping', 'off_hand': 'separated'}


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
        Parameters in force, shape (parameters.size,): those of the motion, and what a mode keeps
        in them, such as the direction of spin that friction opposes.
    events
        What happened in the step that led here.
    ended
        What ended the motion; None while it goes on.
    changes, changed
        Number of changes of mode in the instant of the last one, and its time [s].

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
        """Return the state with one event more, which may end the motion."""
        event = Event(name=name, time=self.t, state=self.x, terminal=ends, text=text)
        return replace(self, events=(*self.events, event), ended=event if ends else self.ended)


Transition = Callable[[MotionState, Array], MotionState]


class Outcome(NamedTuple):
    """
    One of the ways in which a motion goes on after an event.

    Attributes
    ----------
    mode
        Mode that follows; the empty string where the motion ends.
    name, text
        Of the event that is noted; none where the name is empty.

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
        ``(x, u, t, p) -> (x, number of the outcome)``, with a third result where the text of an
        outcome has a place for one; None where x stays, with one outcome.
    outcomes
        What may follow.

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
        ``(x, u, t, p) -> (tau, f)``, 6 numbers [N m, N]: contact wrench on the object at the
        contact point, expressed in the contact frame of the hand (Ch, that of its first chart);
        None for a kinematic model.
    guards
        Name -> ``(x, u, t, p) -> scalar``: positive inside the mode; zero is an event.
    resets
        Name of a guard -> what follows its event: a function ``(x, u, t, p) -> x`` within the
        mode, or a Python function ``(MotionState, u) -> MotionState`` that decides which mode
        follows, or that the motion ends. An event of a guard without a reset ends the motion.
    projection
        ``(x, p) -> x`` on the constraints of this mode; None for those of the system.
    slip
        ``(x, p) -> velocity of slip`` that Coulomb friction opposes in this mode; None for none.

    """

    dynamics: ca.Function
    wrench: ca.Function | None = None
    guards: Mapping[str, ca.Function] = field(default_factory=dict)
    resets: Mapping[str, ca.Function | Transition] = field(default_factory=dict)
    projection: ca.Function | None = None
    slip: ca.Function | None = None


class RollingSystem(Protocol):
    """
    What simulator, planner, controller, estimator, nodes and plots know of a system.

    Attributes
    ----------
    name
        Name of the kind of system, for example ``contact``.
    state, control, parameters
        Layouts of x, u and p.
    modes
        Modes of motion by name; the first is the one in which a plan is made.
    independent_variable
        ``time`` or ``arc length``.
    retract
        ``(x, d) -> x``: moves x by a tangent vector d.
    difference
        ``(x, y) -> d`` with ``retract(y, d) = x``: what is added and subtracted by linear methods.
    tangent
        Layout of d.
    invariants
        Named functions ``(x, u, t, p) -> scalar``: energy and the like.
    pose
        ``(x, p) -> (4x4, ...)``: poses of the bodies to draw, in W; output names are the bodies.

    """

    @property
    def name(self) -> str:
        """Name of the kind of system."""
        ...

    @property
    def state(self) -> Layout:
        """Layout of x."""
        ...

    @property
    def control(self) -> Layout:
        """Layout of u."""
        ...

    @property
    def parameters(self) -> Layout:
        """Layout of p."""
        ...

    @property
    def tangent(self) -> Layout:
        """Layout of d."""
        ...

    @property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""
        ...

    @property
    def independent_variable(self) -> str:
        """``time`` or ``arc length``."""
        ...

    @property
    def retract(self) -> ca.Function:
        """``(x, d) -> x``."""
        ...

    @property
    def difference(self) -> ca.Function:
        """``(x, y) -> d``."""
        ...

    @property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Named functions ``(x, u, t, p) -> scalar``."""
        ...

    @property
    def pose(self) -> ca.Function:
        """``(x, p) -> poses``."""
        ...

    @property
    def model_hash(self) -> str:
        """Content hash of the equations; two systems with one hash are the same model."""
        ...


class WrittenSystem(ABC):
    """
    A rolling system whose functions are expressions in one set of symbols.

    Subclasses set the attributes and fill in :attr:`modes`; the first mode is that of plans.

    Attributes
    ----------
    state, control, parameters
        Layouts of x, u and p.

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
        """The mode in which a plan is made: rolling."""
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

    """

    mass: float
    centre: NDArray[np.float64]
    inertia: NDArray[np.float64]

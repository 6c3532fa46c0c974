"""Modes of a motion: equations, guards, transitions, events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array


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

"""How a rolling robot looks from outside: the part of it that topics, frames and markers need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.robots.shapes import Shape
from rolling_dynamics.suggestion import check_names

FAULTS = ('cancelled', 'missed')  # an execution was cancelled, or missed its goal


@dataclass(frozen=True, eq=False)
class ViewSymbols:
    """
    Symbols of a view.

    Attributes
    ----------
    x, u, t, p
        State, control, time and parameters of the system.
    yaw
        Heading of ``base_link`` [rad].
    brake_time
        Time constant with which an uncommanded robot comes to rest [s].

    """

    x: ca.SX
    u: ca.SX
    t: ca.SX
    p: ca.SX
    yaw: ca.SX
    brake_time: ca.SX


def view_symbols(x: ca.SX, u: ca.SX, t: ca.SX, p: ca.SX) -> ViewSymbols:
    """Return the symbols of a system with those that a view adds."""
    return ViewSymbols(x, u, t, p, ca.SX.sym('yaw'), ca.SX.sym('brake_time'))


@dataclass(frozen=True, eq=False)
class Link:
    """
    A body or frame of the robot.

    Attributes
    ----------
    name
        Name of its frame.
    X_W
        Its pose in W, 4x4, an expression.
    parent
        Name of the frame that it hangs from.

    """

    name: str
    X_W: ca.SX
    parent: str = 'base_link'


@dataclass(frozen=True, eq=False)
class AllModes:
    """
    The motion of a robot through every mode that it has.

    Attributes
    ----------
    system
        System of that motion, whose parameters are those of the robot's own.
    view
        View of a system with the same state; links and joints are those of the robot's own.
    lift
        ``(x) -> x``: state of that motion from one of the robot's own system.
    project
        ``(x) -> x``: what the robot's own system holds of a state of that motion.

    """

    system: RollingSystem
    view: RobotView
    lift: Callable[[Array], Array]
    project: Callable[[Array], Array]


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotView:
    """
    What one kind of robot shows; expressions in ``symbols``.

    W is the frame of the floor, z its normal; a robot heads along x of ``base_link``.

    Attributes
    ----------
    system
        The system.
    symbols
        Symbols of the expressions.
    radius
        Radius of what rolls [m].
    on_floor
        Whether it rolls on the plane z = 0; of what rolls elsewhere no gap is known.
    centre, velocity
        Geometric centre in W [m] and its velocity [m/s], 3 numbers each.
    spin
        Rate of turning about the normal [rad/s] of a robot that heads where its spin takes it;
        None if it heads where it travels.
    links
        Its bodies, the shell first.
    joints
        Name -> position of a joint [rad or m].
    safe_control
        Control that brings it to rest.
    holds_at
        Faults at which a controller holds it where it is, of ``FAULTS``; at the others it gives
        the safe control. Empty of a robot that stands by itself; any other is held at its start
        by a simulator until the first command. None where the equations decide: all faults of a
        robot that leaves the equilibrium nearest its start.
    shift
        What moves the robot on the floor by (x, y): tangent vectors, shape (tangent.size, 2).
    turn
        What turns it about its own axes [rad]: shape (tangent.size, 3).
    shapes
        What is drawn.
    all_modes
        ``sliding -> motion`` through all modes, which ends where slip begins unless ``sliding``;
        None of a robot that has the mode rolling alone.

    """

    system: RollingSystem
    symbols: ViewSymbols
    radius: float
    on_floor: bool = True
    centre: ca.SX
    velocity: ca.SX
    spin: ca.SX | None = None
    links: Sequence[Link]
    joints: Mapping[str, ca.SX] = field(default_factory=dict)
    safe_control: ca.SX
    holds_at: frozenset[str] | None = frozenset()
    shift: Array
    turn: Array
    shapes: Sequence[Shape] = ()
    all_modes: Callable[[bool], AllModes] | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError for an unknown fault."""
        check_names(self.holds_at or (), FAULTS, 'holds_at: no fault')


def tangent_columns(
    system: RollingSystem, entry: str, which: Sequence[int], columns: int
) -> Array:
    """
    Return unit tangent vectors of one entry.

    Parameters
    ----------
    system
        The system.
    entry
        Entry of its tangent layout.
    which
        Column in which each component of the entry stands.
    columns
        Number of columns; one in which nothing stands is zero.

    Returns
    -------
    NDArray
        Shape (tangent.size, columns).

    """
    out = np.zeros((system.tangent.size, columns))
    where = range(system.tangent.size)[system.tangent.slice(entry)]
    for row, column in zip(where, which, strict=True):
        out[row, column] = 1.0
    return out

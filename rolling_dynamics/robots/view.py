"""What a robot shows of itself: shapes, colours, poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import role_of

Colour = tuple[float, float, float]
Chequer = tuple[Colour, Colour]

OBJECT: Chequer = ((0.90, 0.62, 0.0), (0.98, 0.90, 0.70))  # a chequer shows rolling
HAND: Chequer = ((0.68, 0.74, 0.80), (0.80, 0.84, 0.88))
SHELL: Chequer = ((0.34, 0.71, 0.91), (0.75, 0.88, 0.96))
INNER: Chequer = ((0.84, 0.37, 0.0), (0.84, 0.37, 0.0))
GHOST: Chequer = ((0.0, 0.50, 0.36), (0.55, 0.85, 0.72))
OBSTACLE: Chequer = ((0.45, 0.45, 0.45), (0.45, 0.45, 0.45))
CONE: Colour = (0.8, 0.47, 0.65)
FORCE: Colour = (0.0, 0.35, 0.25)
PREDICTED: Colour = (0.84, 0.37, 0.0)  # path that a law foresees
GLASS = 0.3  # opacity of a shell that shows what is in it, of a ghost, and of an obstacle

# Curves. Okabe & Ito (2008): distinguishable with every kind of colour blindness.
CURVES = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9')


def with_opacity(colours: Chequer, opacity: float) -> tuple[tuple[float, ...], ...]:
    """Return both colours as r, g, b, a."""
    return tuple((*colour, opacity) for colour in colours)


PART_COLOURS = {  # r, g, b, a of parts by name; what is inside a shell is seen
    'shell': (*SHELL[1], 0.15),
    'ball': (*OBJECT[0], 1.0),
    'rail': (0.35, 0.45, 0.60, 1.0),
    'mass': (0.75, 0.20, 0.15, 1.0),
    'pendulum': (0.20, 0.35, 0.60, 1.0),
    'link': (0.55, 0.58, 0.62, 1.0),
    'plate': (0.55, 0.58, 0.62, 1.0),
    'board': (0.82, 0.72, 0.55, 1.0),
    'wall': (0.48, 0.29, 0.12, 1.0),
    'hole': (0.15, 0.13, 0.12, 1.0),
}
OTHER_COLOUR = (0.5, 0.5, 0.5, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """
    A part that can be drawn.

    Attributes
    ----------
    name
        What it is: ``shell`` (seen through), ``ball``, ``rail``, ``mass``, ``pendulum``,
        ``floor``, ``obstacle``, ``board`` (drawn under everything that lies on it), ``wall``,
        ``hole``.
    link
        Name of the link that it is fixed to.

    """

    name: str
    link: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Ball(Shape):
    """A sphere about the origin of its link, of a radius [m]."""

    radius: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Disk(Shape):
    """
    A flat disk.

    Attributes
    ----------
    radius, thickness
        Its size [m].
    centre, axis
        Its middle [m] and the direction of its axis, in the link.

    """

    radius: float
    thickness: float
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block(Shape):
    """A box with edges along the axes of its link: middle and lengths of its sides [m]."""

    centre: tuple[float, float, float]
    sides: tuple[float, float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rod(Shape):
    """A straight rod of a radius [m] from one point of the link to another [m]."""

    radius: float
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    end: tuple[float, float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Shape):
    """A line through points, shape (N, 3) [m], of a width [m]."""

    points: NDArray[np.float64]
    width: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Floor(Shape):
    """The plane z = 0 of a link, drawn as a square with sides of a length [m]."""

    side: float


def pose_along(axis: Sequence[float], middle: Sequence[float]) -> NDArray[np.float64]:
    """Return a pose at a point [m] whose z axis points along a direction, shape (4, 4)."""
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = np.column_stack([x, np.cross(z, x), z]), middle
    return X


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
    fixed
        Whether its base stands still: it has no odometry.
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
        Faults at which a controller holds it where it is: of ``FAULTS``, or names of sensors,
        whose loss the others make up for. At all others it gives the safe control, which cuts the
        drive. Empty of a robot that stands by itself; any other is held at its start by a
        simulator until the first command. None where the equations decide: of a robot that leaves
        the equilibrium nearest its start all, but for sensors without which the others do not
        observe how it leaves.
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
    fixed: bool = False
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


SIZE = 0.1  # m, of what is drawn, where no size is known


class Outlined(Protocol):
    """Knows how it looks."""

    def outlines(self, p: ArrayLike) -> Sequence[Shape]:
        """Return the shapes of its bodies, on links ``<body>_link`` and ``odom``."""
        ...

    @property
    def joint_entries(self) -> Sequence[str]:
        """Entries of its state that are positions of joints."""
        ...


def general_view(system: RollingSystem, p: ArrayLike) -> RobotView:
    """
    Return the view of a system that has none of its own.

    Its first body in ``pose`` is the one that rolls; without control it is left alone. Nothing
    is known of where it could be moved by hand. Shapes and joints are those that it offers.
    """
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, params = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    poses = [ca.densify(X) for X in system.pose.call([x, params])]
    centre = poses[0][:3, 3]
    outlined = offers(system, Outlined)
    shapes = () if outlined is None else outlined.outlines(p)
    joints = () if outlined is None else outlined.joint_entries
    size = max((s.radius for s in shapes if isinstance(s, Ball | Disk)), default=SIZE)
    if 'radius' in system.parameters:
        size = float(np.asarray(p, dtype=float)[system.parameters.slice('radius')][0])
    rate = next(iter(system.modes.values())).dynamics(x, u, t, params)
    return RobotView(
        system=system,
        symbols=view_symbols(x, u, t, params),
        radius=size,
        on_floor=False,
        centre=centre,
        velocity=ca.jtimes(centre, x, rate),
        links=[
            Link(f'{name}_link', X, 'odom')
            for name, X in zip(system.pose.name_out(), poses, strict=True)
        ],
        joints={name: x[system.state.slice(name)] for name in joints},
        shapes=shapes,
        safe_control=ca.SX.zeros(system.control.size),
        holds_at=None,
        shift=np.zeros((system.tangent.size, 2)),
        turn=np.zeros((system.tangent.size, 3)),
    )


def robot_view(system: RollingSystem, p: ArrayLike) -> RobotView:
    """
    Return the view of a robot: its own, or one from its contract alone.

    Parameters
    ----------
    system
        The system.
    p
        Its parameters; lengths of what is drawn are taken from them.

    Raises
    ------
    ParameterError
        The system is not a robot, or cannot be driven over time.

    """
    view_of = role_of(system.name, 'robot_view')
    if view_of is None and 'hand' in system.pose.name_out():
        raise ParameterError(f'system {system.name!r} is an object on a hand, not a rolling robot')
    if system.independent_variable != 'time':
        raise ParameterError(
            f'system {system.name!r} is driven over the {system.independent_variable}; a robot '
            "needs the rolling rate too: give the input 'delta', or 'angular_velocity'"
        )
    view: RobotView = (view_of or general_view)(system, p)
    return view

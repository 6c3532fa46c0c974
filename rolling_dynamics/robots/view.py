"""Views of robots: shapes, colours and poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import RollingSystem, Symbols
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import role_of

Colour = tuple[float, float, float]
Chequer = tuple[Colour, Colour]

OBJECT: Chequer = ((0.90, 0.62, 0.0), (0.98, 0.90, 0.70))  # a chequer pattern shows rolling
HAND: Chequer = ((0.68, 0.74, 0.80), (0.80, 0.84, 0.88))
SHELL: Chequer = ((0.34, 0.71, 0.91), (0.75, 0.88, 0.96))
GHOST: Chequer = ((0.0, 0.50, 0.36), (0.55, 0.85, 0.72))
OBSTACLE: Chequer = ((0.45, 0.45, 0.45), (0.45, 0.45, 0.45))
CONE: Colour = (0.8, 0.47, 0.65)
FORCE: Colour = (0.0, 0.35, 0.25)
PREDICTED: Colour = (0.84, 0.37, 0.0)  # path predicted by a controller
GLASS = 0.3  # opacity of a transparent shell, of a ghost, and of an obstacle

# Curves. Okabe & Ito (2008): distinguishable with every type of colour blindness.
CURVES = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9')


def with_opacity(colours: Chequer, opacity: float) -> tuple[tuple[float, ...], ...]:
    """Return both colours as r, g, b, a."""
    return tuple((*colour, opacity) for colour in colours)


PART_COLOURS = {  # r, g, b, a of parts by name; parts inside a shell are visible
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
BOARDS = ('board', 'plate')  # parts on which others roll


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """
    A part that can be drawn.

    Attributes
    ----------
    name
        Role of the part: ``shell`` (transparent), ``ball``, ``rail``, ``mass``, ``pendulum``,
        ``floor``, ``obstacle``, ``board`` (drawn under the parts that lie on it), ``wall``,
        ``hole``.
    link
        Name of the link to which it is fixed.

    """

    name: str
    link: str

    @property
    def solid(self) -> Solid | None:
        """The solid for drawing; None for a line or a plane."""
        return None


class Solid(NamedTuple):
    """
    A sphere, box or cylinder; the axis of a cylinder is z.

    Attributes
    ----------
    kind
        ``sphere``, ``box`` or ``cylinder``.
    X
        Its pose in the link, shape (4, 4), position in [m].
    sides
        Lengths along its axes [m].

    """

    kind: str
    X: Array
    sides: tuple[float, float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ball(Shape):
    """A sphere about the origin of its link, of a radius [m]."""

    radius: float

    @property
    def solid(self) -> Solid:
        """A sphere."""
        return Solid('sphere', np.eye(4), (2 * self.radius,) * 3)


@dataclass(frozen=True, eq=False, kw_only=True)
class Disk(Shape):
    """
    A flat disk.

    Attributes
    ----------
    radius, thickness
        Its size [m].
    centre, axis
        Its centre [m] and the direction of its axis, in the link.

    """

    radius: float
    thickness: float
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    @property
    def solid(self) -> Solid:
        """A cylinder."""
        return _cylinder(self.axis, self.centre, self.radius, self.thickness)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block(Shape):
    """A box with edges along the axes of its link: centre and lengths of its sides [m]."""

    centre: tuple[float, float, float]
    sides: tuple[float, float, float]

    @property
    def solid(self) -> Solid:
        """A box."""
        X = np.eye(4)
        X[:3, 3] = self.centre
        return Solid('box', X, self.sides)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rod(Shape):
    """A straight rod of a radius [m] from one point of the link to another [m]."""

    radius: float
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    end: tuple[float, float, float]

    @property
    def solid(self) -> Solid:
        """A cylinder."""
        start, end = np.asarray(self.start), np.asarray(self.end)
        length = math.dist(self.start, self.end)
        return _cylinder(end - start, (start + end) / 2, self.radius, length)


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Shape):
    """A line through points, shape (N, 3) [m], of a width [m]."""

    points: Array
    width: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Floor(Shape):
    """The plane z = 0 of a link, drawn as a square with sides of a length [m]."""

    side: float


def _cylinder(axis: ArrayLike, middle: ArrayLike, radius: float, length: float) -> Solid:
    return Solid('cylinder', pose_along(axis, middle), (2 * radius, 2 * radius, length))


def pose_along(axis: ArrayLike, middle: ArrayLike) -> Array:
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
        Name of its parent frame.

    """

    name: str
    X_W: ca.SX
    parent: str = 'base_link'


@dataclass(frozen=True, eq=False)
class AllModes:
    """
    The motion of a robot through all modes.

    Attributes
    ----------
    system
        System of that motion; its parameters are those of the robot's own system.
    view
        View of a system with the same state; links and joints are the robot's own.
    lift
        ``(x) -> x``: state of that motion from one of the robot's own system.
    project
        ``(x) -> x``: state of the robot's own system from one of that motion.

    """

    system: RollingSystem
    view: RobotView
    lift: Callable[[Array], Array]
    project: Callable[[Array], Array]


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotView:
    """
    View of one type of robot; expressions in ``symbols``.

    W is the frame of the floor, z its normal; a robot heads along x of ``base_link``.

    Attributes
    ----------
    system
        The system.
    symbols
        Symbols of the expressions.
    radius
        Radius of the rolling body [m].
    on_floor
        Whether it rolls on the plane z = 0; otherwise no gap is known.
    fixed
        Whether its base is fixed, so that it has no odometry.
    centre, velocity
        Geometric centre in W [m] and its velocity [m/s], 3 components each.
    spin, yaw
        Rate of rotation about the normal [rad/s], if the heading follows the spin; heading [rad]
        as a function of x and p, if the robot has a front. None if it heads in its direction of
        travel.
    links
        Its bodies, the shell first.
    joints
        Name -> position of a joint [rad or m].
    safe_control
        Control that brings it to rest.
    holds_at
        Faults at which a controller holds its position: items of ``FAULTS``, or names of sensors
        whose loss the others compensate. At all other faults it applies the safe control, which
        cuts the drive. Empty for a robot that is stable by itself; a simulator holds any other
        robot at its start until the first command. None to derive them from the equations: for a
        robot with an unstable equilibrium near its start they are all faults, except losses of
        sensors without which the others do not observe the instability.
    shift
        Displacement of the robot on the floor along (x, y): tangent vectors, shape (tangent.size,
        2).
    turn
        Rotation about its own axes [rad]: tangent vectors, shape (tangent.size, 3).
    shapes
        Shapes to draw.
    all_modes
        ``sliding -> motion`` through all modes, which ends where slip starts unless ``sliding``;
        None for a robot with the mode rolling alone.

    """

    system: RollingSystem
    symbols: ViewSymbols
    radius: float
    on_floor: bool = True
    fixed: bool = False
    centre: ca.SX
    velocity: ca.SX
    spin: ca.SX | None = None
    yaw: ca.SX | None = None
    links: Sequence[Link]
    joints: Mapping[str, ca.SX] = field(default_factory=dict)
    safe_control: ca.SX
    holds_at: frozenset[str] | None = frozenset()
    shift: Array
    turn: Array
    shapes: Sequence[Shape] = ()
    all_modes: Callable[[bool], AllModes] | None = None

    @property
    def contact(self) -> str:
        """Name of the frame in which the contact force acts; without one, below the robot."""
        names = [link.name for link in self.links]
        return 'contact_link' if 'contact_link' in names else 'base_footprint'

    @property
    def path(self) -> str:
        """Name of the frame on which the contact moves: the board, the plate or the floor."""
        return next((s.link for s in self.shapes if s.name in BOARDS), 'odom')

    def yaw_in(self, x: ArrayLike, p: ArrayLike) -> float | None:
        """Return the heading [rad] in a state x; None if there is no front."""
        given = [self.symbols.x, self.symbols.p]
        return None if self.yaw is None else float(ca.Function('yaw', given, [self.yaw])(x, p))


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
        Column of each component of the entry.
    columns
        Number of columns; unused ones are zero.

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


SIZE = 0.1  # m, of drawn shapes of unknown size


class Outlined(Protocol):
    """Has shapes for drawing."""

    def outlines(self, p: ArrayLike) -> Sequence[Shape]:
        """Return the shapes of its bodies, on links ``<body>_link`` and ``odom``."""
        ...

    @property
    def joint_entries(self) -> Sequence[str]:
        """Entries of its state that are positions of joints."""
        ...

    @property
    def has_front(self) -> bool:
        """True if x of its first body points ahead; a body that rolls itself has no front."""
        ...


def general_view(
    system: RollingSystem, p: ArrayLike, symbols: Symbols | None = None, parent: str = 'odom'
) -> RobotView:
    """
    Return the default view of a system.

    Its first body in ``pose`` is the rolling one. The safe control brings accelerated entries to
    rest and applies no force. Manual shifts move all positions in W. Shapes and joints are those
    that the system offers; if no shape is in W, its base is fixed.

    Parameters
    ----------
    system, p
        The system and its parameters.
    symbols
        Symbols of the view; new ones if None.
    parent
        Parent frame of its links.

    """
    layouts = system.state, system.control, system.parameters
    x, u, t, params = symbols or Symbols.of(*layouts)
    poses = [ca.densify(X) for X in system.pose.call([x, params])]
    centre = poses[0][:3, 3]
    outlined = offers(system, Outlined)
    shapes = () if outlined is None else outlined.outlines(p)
    joints = () if outlined is None else outlined.joint_entries
    size = max((s.radius for s in shapes if isinstance(s, Ball | Disk)), default=SIZE)
    if 'radius' in system.parameters:
        size = float(np.asarray(p, dtype=float)[system.parameters.slice('radius')][0])
    rate = next(iter(system.modes.values())).dynamics(x, u, t, params)
    brake_time, safe = ca.SX.sym('brake_time'), ca.SX.zeros(system.control.size)
    for k in range(system.control.size):
        moved = (i for i in range(rate.numel()) if ca.is_equal(rate[i], u[k]))
        safe[k] = sum((-x[i] / brake_time for i in moved), ca.SX(0))
    yaw = spin = None
    if outlined is not None and outlined.has_front:
        yaw, level = ca.atan2(poses[0][1, 0], poses[0][0, 0]), ca.sumsqr(poses[0][:2, 0])
        spin = ca.if_else(level > 0, ca.jtimes(yaw, x, rate), 0)  # no heading where it points up
    shift = np.zeros((system.tangent.size, 2))
    for entry in system.state.entries:
        if entry.is_position:
            shift[system.tangent.slice(entry.name)][:2] = np.eye(2)
    return RobotView(
        system=system,
        symbols=ViewSymbols(x, u, t, params, ca.SX.sym('yaw'), brake_time),
        radius=size,
        on_floor=False,
        fixed=bool(shapes) and all(s.link != 'odom' for s in shapes),
        centre=centre,
        velocity=ca.jtimes(centre, x, rate),
        spin=spin,
        yaw=yaw,
        links=[
            Link(f'{name}_link', X, parent)
            for name, X in zip(system.pose.name_out(), poses, strict=True)
        ],
        joints={name: x[system.state.slice(name)] for name in joints},
        shapes=shapes,
        safe_control=safe,
        holds_at=None,
        shift=shift,
        turn=np.zeros((system.tangent.size, 3)),
    )


def robot_view(system: RollingSystem, p: ArrayLike) -> RobotView:
    """
    Return the view of a robot: its own, or the default one.

    Parameters
    ----------
    system
        The system.
    p
        Its parameters, which give lengths of shapes.

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
            "also needs the rolling rate: give the input 'delta', or 'angular_velocity'"
        )
    view: RobotView = (view_of or general_view)(system, p)
    return view


@dataclass(slots=True)
class Observation:
    """
    Observation of a robot at one instant.

    Attributes
    ----------
    x
        State.
    centre, velocity, acceleration
        Motion of the geometric centre, in W [m, m/s, m/s^2].
    yaw, yaw_rate
        Heading of ``base_link`` [rad, rad/s].
    links
        Poses of the links in W, in order, shape (n, 4, 4).
    wrench
        Torque [N m] and force [N] of the floor on the robot, in W; zeros for a kinematic model.
    margins
        Guards of the mode by name: positive inside the envelope.
    mode
        Mode as published.

    """

    x: Array
    centre: Array
    velocity: Array
    acceleration: Array
    yaw: float
    yaw_rate: float
    links: Array
    wrench: Array
    margins: dict[str, float]
    mode: str = ''


class MotionObserver:
    """Observes the motion of a robot in one mode. Not for use from two threads at once."""

    def __init__(self, view: RobotView, p: ArrayLike, mode: str) -> None:
        """Compile the observation of a robot with parameters p in a mode."""
        self._p = np.asarray(p, dtype=float)
        self._names = list(view.system.modes[mode].guards)
        self._links = len(view.links)
        self._motion = FastFunction(compiled(_motion(view, mode))[0])

    def look(self, x: Array, u: Array, t: float) -> Observation:
        """Return the observation, with the robot's own heading only, and the spin as its rate."""
        out = self._motion(x, u, t, self._p)
        links = out[17 : 17 + 16 * self._links].reshape(-1, 4, 4)
        return Observation(
            x=x,
            centre=out[0:3],
            velocity=out[3:6],
            acceleration=out[6:9],
            yaw=float(out[9]),
            yaw_rate=float(out[10]),
            links=links.transpose(0, 2, 1),
            wrench=out[11:17],
            margins=dict(zip(self._names, out[17 + 16 * self._links :].tolist(), strict=True)),
        )


class Observer(MotionObserver):
    """Also observes the joints, and computes the control that brings the robot to rest."""

    def __init__(self, view: RobotView, p: ArrayLike, mode: str) -> None:
        """Compile the observation of a robot with parameters p in a mode."""
        super().__init__(view, p, mode)
        joints, brake = compiled(_joints(view, mode), _brake(view))
        self._joints, self._brake = FastFunction(joints), FastFunction(brake)

    def joints(self, observation: Observation, u: Array, t: float) -> tuple[Array, Array]:
        """Return positions and rates of the joints, shape (joints,) [rad or m, and per s]."""
        out = self._joints(observation.x, u, t, self._p, observation.yaw, observation.yaw_rate)
        return out[: out.size // 2], out[out.size // 2 :]

    def safe_control(self, x: Array, t: float, brake_time: float) -> Array:
        """Return the control that brings the robot to rest."""
        return self._brake(x, t, self._p, brake_time)


def _motion(view: RobotView, mode: str) -> ca.Function:
    """Return ``(x, u, t, p) ->`` observation, in the order of :meth:`MotionObserver.look`."""
    s, laws = view.symbols, view.system.modes[mode]
    given = (s.x, s.u, s.t, s.p)
    xdot = laws.dynamics(*given)
    wrench = ca.SX.zeros(6) if laws.wrench is None else laws.wrench(*given)
    out = ca.vertcat(
        view.centre,
        view.velocity,
        ca.jtimes(view.velocity, s.x, xdot),
        *(0 if known is None else known for known in (view.yaw, view.spin)),
        wrench,
        *(ca.vec(link.X_W) for link in view.links),
        *(guard(*given) for guard in laws.guards.values()),
    )
    return ca.Function('robot_motion', list(given), [ca.densify(out)])


def _joints(view: RobotView, mode: str) -> ca.Function:
    """Return ``(x, u, t, p, yaw, yaw rate) -> positions and rates``."""
    s, rate = view.symbols, ca.SX.sym('yaw_rate')
    given = (s.x, s.u, s.t, s.p)
    xdot = view.system.modes[mode].dynamics(*given)
    joints = ca.vertcat(*view.joints.values()) if view.joints else ca.SX(0, 1)
    rates = ca.jtimes(joints, s.x, xdot) + ca.jtimes(joints, s.yaw, rate)
    out = ca.densify(ca.vertcat(joints, rates))
    return ca.Function('robot_joints', [*given, s.yaw, rate], [out])


def _brake(view: RobotView) -> ca.Function:
    """Return ``(x, t, p, brake time) -> u``."""
    s = view.symbols
    return ca.Function(
        'robot_brake', [s.x, s.t, s.p, s.brake_time], [ca.densify(view.safe_control)]
    )


STARTS = 4.0  # times the speed at which a robot stops, at which it starts to travel


class Heading:
    """
    The yaw of ``base_link`` about the normal of the floor, for a robot without a front.

    A robot whose spin about the normal is driven turns with its spin. Any other heads in its
    direction of travel: along its velocity or, when it runs backwards, against it. The direction
    closer to the previous heading is chosen, so that reversing does not turn it. At rest it keeps
    its heading; from rest it starts to travel at ``STARTS`` times the speed at which it stops, so
    that noise of an estimate at rest does not turn it.

    Attributes
    ----------
    yaw
        Angle from x of the odometry frame [rad], without jumps of a whole turn.
    rate
        Its rate [rad/s]; zero at a jump of the direction of travel at rest.

    """

    def __init__(self, slow: float) -> None:
        """
        Head along x.

        Parameters
        ----------
        slow
            Speed below which a travelling robot counts as at rest [m/s].

        """
        self._slow, self._travels = slow, False
        self.yaw, self.rate = 0.0, 0.0

    def restart(self, velocity: ArrayLike) -> None:
        """Head along a velocity (x, y) [m/s]; along x if at rest."""
        vx, vy = np.asarray(velocity, dtype=float)[:2].tolist()
        self._travels = math.hypot(vx, vy) > STARTS * self._slow
        self.yaw = math.atan2(vy, vx) if self._travels else 0.0
        self.rate = 0.0

    def travel(self, velocity: ArrayLike, acceleration: ArrayLike) -> None:
        """
        Update the heading from the direction of travel.

        Parameters
        ----------
        velocity, acceleration
            Velocity and acceleration of its centre, x and y [m/s, m/s^2].

        """
        vx, vy = np.asarray(velocity, dtype=float)[:2].tolist()
        square = vx * vx + vy * vy
        slowest = self._slow if self._travels else STARTS * self._slow
        self._travels = square > slowest * slowest
        if not self._travels:
            self.rate = 0.0
            return
        ax, ay = np.asarray(acceleration, dtype=float)[:2].tolist()
        turn = math.atan2(vy, vx) - self.yaw
        self.yaw += turn - math.pi * round(turn / math.pi)
        self.rate = (vx * ay - vy * ax) / square

    def spin(self, rate: float, dt: float) -> None:
        """Turn at a rate [rad/s] for a time [s]."""
        self.yaw += rate * dt
        self.rate = rate

"""What is observed of a robot: poses, twists, heading."""

from __future__ import annotations

from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.robots.view import RobotView


@dataclass(slots=True)
class Observation:
    """
    What can be seen of a robot at one instant.

    Attributes
    ----------
    x
        State.
    centre, velocity, acceleration
        Of the geometric centre, in W [m, m/s, m/s^2].
    spin
        Rate of turning about the normal [rad/s]; 0 of a robot that heads where it travels.
    yaw, yaw_rate
        Heading of ``base_link`` [rad, rad/s].
    links
        Poses of the links in W, in order, shape (n, 4, 4).
    wrench
        Torque [N m] and force [N] of the floor on the robot, in W; zeros of a kinematic model.
    margins
        Guards of the mode by name: positive inside the envelope.

    """

    x: Array
    centre: Array
    velocity: Array
    acceleration: Array
    spin: float
    yaw: float
    yaw_rate: float
    links: Array
    wrench: Array
    margins: dict[str, float]


class MotionObserver:
    """Sees how a robot moves in one mode. Not for use from two threads at once."""

    def __init__(self, view: RobotView, p: ArrayLike, mode: str) -> None:
        """Compile what is seen of a robot with parameters p in a mode."""
        self._p = np.asarray(p, dtype=float)
        self._names = list(view.system.modes[mode].guards)
        self._links = len(view.links)
        self._motion = FastFunction(compiled(_motion(view, mode))[0])

    def look(self, x: Array, u: Array, t: float) -> Observation:
        """Return what is seen; the heading is not known here."""
        out = self._motion(x, u, t, self._p)
        links = out[16 : 16 + 16 * self._links].reshape(-1, 4, 4)
        return Observation(
            x=x,
            centre=out[0:3],
            velocity=out[3:6],
            acceleration=out[6:9],
            spin=float(out[9]),
            yaw=0.0,
            yaw_rate=0.0,
            links=links.transpose(0, 2, 1),
            wrench=out[10:16],
            margins=dict(zip(self._names, out[16 + 16 * self._links :].tolist(), strict=True)),
        )


class Observer(MotionObserver):
    """Sees the joints too, and knows how the robot is brought to rest."""

    def __init__(self, view: RobotView, p: ArrayLike, mode: str) -> None:
        """Compile what is seen of a robot with parameters p in a mode."""
        super().__init__(view, p, mode)
        joints, brake = compiled(_joints(view, mode), _brake(view))
        self._joints, self._brake = FastFunction(joints), FastFunction(brake)

    def joints(self, seen: Observation, u: Array, t: float) -> tuple[Array, Array]:
        """Return positions and rates of the joints, shape (joints,) [rad or m, and per s]."""
        out = self._joints(seen.x, u, t, self._p, seen.yaw, seen.yaw_rate)
        return out[: out.size // 2], out[out.size // 2 :]

    def safe_control(self, x: Array, t: float, brake_time: float) -> Array:
        """Return the control that brings the robot to rest."""
        return self._brake(x, t, self._p, brake_time)


def _motion(view: RobotView, mode: str) -> ca.Function:
    """Return ``(x, u, t, p) -> centre, velocity, acceleration, spin, wrench, links, guards``."""
    s, laws = view.symbols, view.system.modes[mode]
    given = (s.x, s.u, s.t, s.p)
    xdot = laws.dynamics(*given)
    wrench = ca.SX.zeros(6) if laws.wrench is None else laws.wrench(*given)
    out = ca.vertcat(
        view.centre,
        view.velocity,
        ca.jtimes(view.velocity, s.x, xdot),
        0 if view.spin is None else view.spin,
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


class Heading:
    """
    The yaw of ``base_link`` about the normal of the floor.

    A robot whose spin about the normal is driven turns with its spin. Any other heads where it
    travels: along its velocity or, when it runs backwards, against it, whichever is nearer to
    where it headed before, so that reversing does not turn it; at rest it keeps its heading.

    Attributes
    ----------
    yaw
        Angle from x of the odometry frame [rad], without jumps of a whole turn.
    rate
        Its rate [rad/s]; a jump of the direction of travel at rest has none.

    """

    def __init__(self, slow: float) -> None:
        """
        Head along x.

        Parameters
        ----------
        slow
            Speed below which a robot counts as at rest [m/s].

        """
        self._slow = slow
        self.yaw, self.rate = 0.0, 0.0

    def restart(self, velocity: ArrayLike) -> None:
        """Head along a velocity (x, y) [m/s]; along x if at rest."""
        vx, vy = np.asarray(velocity, dtype=float)[:2].tolist()
        self.yaw = math.atan2(vy, vx) if math.hypot(vx, vy) > self._slow else 0.0
        self.rate = 0.0

    def travel(self, velocity: ArrayLike, acceleration: ArrayLike) -> None:
        """
        Head where the robot travels.

        Parameters
        ----------
        velocity, acceleration
            Of its centre, x and y [m/s, m/s^2].

        """
        vx, vy = np.asarray(velocity, dtype=float)[:2].tolist()
        square = vx * vx + vy * vy
        if square <= self._slow * self._slow:
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

"""
An arm in space: a chain of revolute joints, from joints to the hand and back, and its torques.

The chain is given by Denavit-Hartenberg numbers. Velocities, accelerations, and torques by Newton
and Euler follow from the poses of its links by differentiation.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from transforms3d.quaternions import mat2quat

Array = NDArray[np.float64]
SIX = 6
SINGULAR = 1e3  # greatest condition number of the Jacobian


@dataclass(frozen=True, kw_only=True)
class Link:
    """
    A link and the joint that moves it, about z of the link before.

    Attributes
    ----------
    a, alpha, d
        Of Denavit and Hartenberg: length [m], twist [rad], offset [m].
    mass
        Mass [kg].
    centre
        Centre of mass in the frame of the link [m].
    inertia
        xx, yy, zz, xy, xz, yz about the centre of mass, along the axes of the link [kg m^2].
    low, high, speed, acceleration, torque
        Limits of the joint [rad], [rad/s], [rad/s^2], [N m].

    """

    a: float
    alpha: float
    d: float
    mass: float
    centre: tuple[float, ...]
    inertia: tuple[float, ...]
    low: float = -2 * math.pi
    high: float = 2 * math.pi
    speed: float = math.pi
    acceleration: float = 40.0  # not published by Universal Robots
    torque: float = 150.0


# Universal Robots, "DH parameters for calculations of kinematics and dynamics"; inertia, limits:
# config/ur5e of Universal_Robots_ROS2_Description
UR5E = (
    Link(a=0, alpha=math.pi / 2, d=0.1625, mass=3.761, centre=(0, -0.02561, 0.00193),
         inertia=(7.0021e-3, 6.48091e-3, 6.57286e-3, 7.3e-7, -1.053e-5, 4.9994e-4)),
    Link(a=-0.425, alpha=0, d=0, mass=8.058, centre=(0.2125, 0, 0.11336),
         inertia=(1.505885e-2, 0.33388086, 0.33247207, -5.4e-5, 5.63e-6, -1.81e-6)),
    Link(a=-0.3922, alpha=0, d=0, mass=2.846, centre=(0.15, 0, 0.0265), low=-math.pi,
         high=math.pi, inertia=(3.99632e-3, 7.879254e-2, 7.84851e-2, -1.365e-5, 1.37272e-3,
                                -6.6e-6)),
    Link(a=0, alpha=math.pi / 2, d=0.1333, mass=1.37, centre=(0, -0.0018, 0.01634), torque=28.0,
         inertia=(1.65491e-3, 1.35962e-3, 1.26279e-3, -2.82e-6, -4.38e-6, 1.0157e-4)),
    Link(a=0, alpha=-math.pi / 2, d=0.0997, mass=1.3, centre=(0, 0.0018, 0.01634), torque=28.0,
         inertia=(1.35617e-3, 1.27827e-3, 9.6614e-4, -2.74e-6, 4.44e-6, -5.048e-5)),
    Link(a=0, alpha=0, d=0.0996, mass=0.365, centre=(0, 0, -0.001159), torque=28.0,
         inertia=(1.8694e-4, 1.8908e-4, 2.5756e-4, 6e-8, -1.7e-7, -9.2e-7)),
)  # fmt: skip


UPWARD = tuple(
    math.radians(q) for q in (0, -110, 110, -90, 90, 0)
)  # of a UR5e: the hand points up


@dataclass(frozen=True, kw_only=True)
class SpatialArmModel:
    """
    The chain, what it carries, and gravity.

    Attributes
    ----------
    links
        From the base on; six of them.
    payload
        Mass [kg] and moments of inertia about x, y, z [kg m^2] of the hand at the last frame.
    gravity
        In the world [m/s^2].
    home
        Joint angles [rad] at which the frame of the hand is the world.

    """

    links: tuple[Link, ...] = UR5E
    payload: tuple[float, ...] = (0.3, 1.8e-3, 1.8e-3, 3.5e-3)
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    home: tuple[float, ...] = UPWARD

    def __post_init__(self) -> None:
        """Refuse a chain that does not fix the pose of the hand."""
        if len(self.links) != SIX:
            raise ParameterError(f'arm: links must be {SIX}, got {len(self.links)}')

    def limit(self, name: str) -> Array:
        """Return a limit of all joints by its name in :class:`Link`, in its unit, shape (k,)."""
        return np.array([getattr(link, name) for link in self.links])


def _turned(angle: ca.SX | float, axis: str) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    rows = {'x': [[1, 0, 0], [0, c, -s], [0, s, c]], 'z': [[c, -s, 0], [s, c, 0], [0, 0, 1]]}
    return ca.vertcat(*(ca.horzcat(*row) for row in rows[axis]))


def _chain(
    links: tuple[Link, ...], q: ca.SX, R: ca.SX, p: ca.SX
) -> tuple[list[tuple[ca.SX, ca.SX]], list[ca.SX]]:
    """Return attitude and place of each link and axis of its joint, from a base at R, p."""
    frames, axes = [], []
    for k, link in enumerate(links):
        axes.append(R[:, 2])
        R = R @ _turned(q[k], 'z')
        p = p + R @ ca.DM([link.a, 0, 0]) + R[:, 2] * link.d
        R = R @ _turned(link.alpha, 'x')
        frames.append((R, p))
    return frames, axes


def _bodies(model: SpatialArmModel) -> list[tuple[int, float, ca.SX, ca.SX]]:
    """Return link, mass, centre and inertia of all that has mass."""
    found = []
    for k, link in enumerate(model.links):
        xx, yy, zz, xy, xz, yz = link.inertia
        J = ca.DM([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found.append((k, link.mass, ca.DM(link.centre), J))
    mass, *moments = model.payload
    return [*found, (SIX - 1, mass, ca.DM.zeros(3), ca.diag(ca.DM(moments)))]


class SpatialArm:
    """
    Numbers of one arm. Not for use from two threads at once.

    Attributes
    ----------
    model
        The chain.

    """

    def __init__(self, model: SpatialArmModel | None = None) -> None:
        """Write the equations of a chain; of a UR5e if None."""
        self.model = model = model or SpatialArmModel()
        q, qd, qdd = (ca.SX.sym(n, SIX) for n in ('q', 'qd', 'qdd'))
        R_BH, p_BH = _chain(model.links, ca.SX(model.home), ca.SX.eye(3), ca.SX.zeros(3))[0][-1]
        frames, axes = _chain(model.links, q, R_BH.T, -R_BH.T @ p_BH)
        (R, p), turning = frames[-1], ca.horzcat(*axes)

        def rate(value: ca.SX) -> ca.SX:
            return ca.jtimes(value, q, qd)

        J = ca.vertcat(ca.jacobian(p, q), turning)
        known = ca.vertcat(ca.vec(R), p, ca.vec(J), rate(J @ qd))
        self._kinematics = FastFunction(ca.Function('kinematics', [q, qd], [ca.densify(known)]))
        torque = ca.SX.zeros(SIX)
        for k, mass, centre, inertia in _bodies(model):
            R_k, p_k = frames[k]
            at = p_k + R_k @ centre
            J_v, J_w = ca.jacobian(at, q), ca.horzcat(turning[:, : k + 1], ca.SX(3, SIX - 1 - k))
            w, I_W = J_w @ qd, R_k @ inertia @ R_k.T
            force = mass * (J_v @ qdd + rate(J_v @ qd) - ca.DM(model.gravity))
            moment = I_W @ (J_w @ qdd + rate(w)) + ca.cross(w, I_W @ w)
            torque += J_v.T @ force + J_w.T @ moment
        M = ca.jacobian(torque, qdd)
        out = ca.vertcat(ca.vec(ca.densify(M)), ca.substitute(torque, qdd, ca.SX.zeros(SIX)))
        self._dynamics = FastFunction(ca.Function('dynamics', [q, qd], [ca.densify(out)]))

    def _known(self, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return attitude and place of the hand, its Jacobian, and its acceleration at qdd = 0."""
        self._kinematics.inputs[0][:], self._kinematics.inputs[1][:] = q, qd
        out = self._kinematics.evaluate().copy()
        J = out[12:48].reshape(SIX, SIX).T
        return out[:9].reshape(3, 3).T, out[9:12], J, out[48:]

    def hand_state(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """
        Return pose and twist of the hand.

        Parameters
        ----------
        q, qd
            Joint angles [rad] and rates [rad/s].

        Returns
        -------
        NDArray
            q_WH (w, x, y, z), p_WH [m], w_WH_H [rad/s], v_WH_H [m/s]; shape (13,).

        """
        R, p, J, _ = self._known(q, qd)
        twist = J @ np.asarray(qd, dtype=float)
        return np.concatenate([mat2quat(R), p, R.T @ twist[3:], R.T @ twist[:3]])

    def joint_acceleration(self, q: ArrayLike, qd: ArrayLike, control: ArrayLike) -> Array:
        """
        Return the joint accelerations that give the hand its acceleration.

        Parameters
        ----------
        q, qd
            Joint angles [rad] and rates [rad/s].
        control
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers.

        Raises
        ------
        ParameterError
            The arm is singular there.

        """
        R, _, J, rest = self._known(q, qd)
        condition = float(np.linalg.cond(J))
        if not condition < SINGULAR:
            raise ParameterError(
                f'the arm is singular: the condition number of its Jacobian is {condition:.3g}, '
                f'below {SINGULAR:g} is needed'
            )
        u = np.asarray(control, dtype=float)
        wanted = np.concatenate([R @ u[3:], R @ u[:3]]) - rest
        return np.asarray(np.linalg.solve(J, wanted), dtype=float)

    def hand_acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return alpha_WH_H [rad/s^2] and a_WH_H [m/s^2] of joint accelerations; shape (6,)."""
        R, _, J, rest = self._known(q, qd)
        a = J @ np.asarray(qdd, dtype=float) + rest
        return np.concatenate([R.T @ a[3:], R.T @ a[:3]])

    def joint_torque(self, q: ArrayLike, wrench: ArrayLike) -> Array:
        """Return the torques [N m] of a wrench on the hand, vector of force and torque in W."""
        _, _, J, _ = self._known(q, np.zeros(SIX))
        found: Array = J.T @ np.asarray(wrench, dtype=float)
        return found

    def dynamics(self, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
        """Return the matrix M [kg m^2] and h [N m] of ``tau = M qdd + h``, gravity in h."""
        self._dynamics.inputs[0][:], self._dynamics.inputs[1][:] = q, qd
        out = self._dynamics.evaluate().copy()
        return out[:36].reshape(SIX, SIX).T, out[36:]

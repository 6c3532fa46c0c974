"""
An arm: from joints to the hand and back, for positions, velocities, accelerations and torques.

The equations of a chain are CasADi expressions of joint angles, rates and the numbers of the
chain. Velocities, accelerations, and torques by Newton and Euler follow from the poses of its
links by differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_dynamics.rotations import product
from rolling_hw_interface.arm_chain import ALL, Chain, Structure
from transforms3d.quaternions import qconjugate, qmult

STEPS, LONGEST, REACHED = 60, 0.5, 1e-9  # of Newton's method: number, maximum step [rad], error


def _frames(
    structure: Structure, q: ca.SX, c: ca.SX
) -> tuple[list[tuple[ca.SX, ca.SX]], list[ca.SX], ca.SX]:
    """Return attitude and place of each link and of the hand, axes of the joints, q_WH."""
    *links, hand = structure.frames(c)
    R, p, turned = ca.SX.eye(3), ca.SX.zeros(3), ca.SX([1, 0, 0, 0])
    found, axes = [], []
    for k, (link, axis) in enumerate(zip(links, structure.axes, strict=True)):
        p, R = p + R @ link.p, R @ link.R
        axes.append(R[:, axis])
        R = R @ _turn(q[k], axis)
        half = ca.SX.zeros(3)
        half[axis] = ca.sin(q[k] / 2)
        turned = product(product(turned, link.q), ca.vertcat(ca.cos(q[k] / 2), half))
        found.append((R, p))
    return [*found, (R @ hand.R, p + R @ hand.p)], axes, product(turned, hand.q)


def _turn(angle: ca.SX, axis: int) -> ca.SX:
    """Return the matrix of a turn about x, y or z."""
    R, (one, other) = ca.SX.eye(3), ((axis + 1) % 3, (axis + 2) % 3)
    R[one, one] = R[other, other] = ca.cos(angle)
    R[other, one], R[one, other] = ca.sin(angle), -ca.sin(angle)
    return R


class Kinematics:
    """
    Expressions of the hand.

    Attributes
    ----------
    q_WH, R, p
        Its attitude, as a quaternion and as a matrix, and its place in W.
    J, rest
        Velocity and angular velocity of the hand in W are ``J qd``, their rates
        ``J qdd + rest``; shapes (6, n) and (6,).

    """

    def __init__(self, structure: Structure, q: ca.SX, qd: ca.SX, c: ca.SX) -> None:
        """Write them for an arm of numbers c."""
        frames, axes, self.q_WH = _frames(structure, q, c)
        self._moved = structure.moved
        self.R, self.p = frames[-1]
        self.J = ca.densify(ca.vertcat(ca.jacobian(self.p, q), ca.horzcat(*axes)))
        self.rest = ca.jtimes(self.J @ qd, q, qd)

    def joint_acceleration(self, control: ca.SX) -> ca.SX:
        """Return the accelerations of the joints that give the hand its alpha_WH_H, a_WH_H."""
        wanted = ca.vertcat(self.R @ control[3:6], self.R @ control[0:3]) - self.rest
        Q, U = ca.qr(self.J[self._moved, :])
        return ca.solve(U, Q.T @ wanted[self._moved])

    def determinant(self) -> ca.SX:
        """Return that of the Jacobian of what the arm moves; zero where it is singular."""
        _, U = ca.qr(self.J[self._moved, :])
        found = ca.SX(1)
        for k in range(U.shape[0]):
            found *= U[k, k]
        return found


def dynamics(structure: Structure, q: ca.SX, qd: ca.SX, c: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the matrix M and the vector h of ``tau = M qdd + h``, gravity in h."""
    n, qdd = len(structure.axes), ca.SX.sym('qdd', len(structure.axes))
    frames, axes, _ = _frames(structure, q, c)
    turning, torque = ca.horzcat(*axes), ca.SX.zeros(n)
    for k, body in structure.bodies(c):
        R, p = frames[k]
        at, moving = p + R @ body.centre, min(k + 1, n)
        J_v = ca.jacobian(at, q)
        J_w = ca.horzcat(turning[:, :moving], ca.SX(3, n - moving))
        w, I_W = J_w @ qd, R @ body.inertia @ R.T
        force = body.mass * (J_v @ qdd + ca.jtimes(J_v @ qd, q, qd) - structure.gravity(c))
        moment = I_W @ (J_w @ qdd + ca.jtimes(w, q, qd)) + ca.cross(w, I_W @ w)
        torque += J_v.T @ force + J_w.T @ moment
    M = ca.densify(ca.jacobian(torque, qdd))
    return M, ca.substitute(torque, qdd, ca.SX.zeros(n))


@cache
def hand_equations(structure: Structure) -> ca.Function:
    """
    Return ``(q, qd, qdd, control, c) -> hand (13), acceleration (6), qdd (n), J (6n), det``.

    Pose and twist of the hand, q_WH (w, x, y, z), p_WH, w_WH_H, v_WH_H; its accelerations
    alpha_WH_H and a_WH_H of the joints' accelerations; the accelerations of the joints that give
    it those of a control; the Jacobian by columns, and its determinant.
    """
    n = len(structure.axes)
    q, qd, qdd = (ca.SX.sym(name, n) for name in ('q', 'qd', 'qdd'))
    control, c = ca.SX.sym('control', 6), ca.SX.sym('c', structure.size)
    known = Kinematics(structure, q, qd, c)
    twist, a, R = known.J @ qd, known.J @ qdd + known.rest, known.R
    hand = ca.vertcat(known.q_WH, known.p, R.T @ twist[3:6], R.T @ twist[0:3])
    out = (
        hand, R.T @ a[3:6], R.T @ a[0:3], known.joint_acceleration(control), ca.vec(known.J),
        known.determinant(),
    )  # fmt: skip
    inputs = [q, qd, qdd, control, c]
    return ca.Function('arm_hand', inputs, [ca.densify(ca.vertcat(*out))])


@cache
def hand_function(structure: Structure) -> ca.Function:
    """Return :func:`hand_equations`, compiled."""
    return compiled(hand_equations(structure))[0]


@cache
def _dynamics_function(structure: Structure) -> ca.Function:
    n = len(structure.axes)
    q, qd, c = ca.SX.sym('q', n), ca.SX.sym('qd', n), ca.SX.sym('c', structure.size)
    M, h = dynamics(structure, q, qd, c)
    out = ca.densify(ca.vertcat(ca.vec(M), h))
    return compiled(ca.Function('arm_dynamics', [q, qd, c], [out]))[0]


class Arm:
    """
    Numbers of one arm. Not for use from two threads at once.

    Attributes
    ----------
    chain
        Its links and limits.
    structure, numbers
        What its equations are written for, and the numbers that they take.
    joints
        Number of its joints.

    """

    def __init__(self, chain: Chain) -> None:
        """Write the equations of a chain, once for all that differ in numbers alone."""
        self.chain, self.joints = chain, len(chain.links)
        self.structure, self.numbers = chain.split()
        self._idle = sorted(set(ALL) - set(chain.moves))
        self._hand = FastFunction(hand_function(self.structure))
        self._dynamics = FastFunction(_dynamics_function(self.structure))
        self._hand.inputs[4][:] = self._dynamics.inputs[2][:] = self.numbers

    def _known(
        self, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0, control: ArrayLike = 0.0
    ) -> Array:
        """Return what :func:`hand_function` gives; overwritten by the next call."""
        inputs = self._hand.inputs
        inputs[0][:], inputs[1][:], inputs[2][:], inputs[3][:] = q, qd, qdd, control
        return self._hand.evaluate()

    def hand_state(self, q: ArrayLike, qd: ArrayLike = 0.0) -> Array:
        """
        Return pose and twist of the hand.

        Parameters
        ----------
        q, qd
            Joint angles [rad] and rates [rad/s].

        Returns
        -------
        NDArray
            q_WH (w, x, y, z) with w >= 0, p_WH [m] in W, w_WH_H [rad/s], v_WH_H [m/s];
            shape (13,).

        """
        found = self._known(q, qd)[:13].copy()
        if found[0] < 0:
            found[:4] *= -1
        return found

    def joint_acceleration(self, q: ArrayLike, qd: ArrayLike, control: ArrayLike) -> Array:
        """
        Return the joint accelerations that give the hand its acceleration.

        Parameters
        ----------
        q, qd
            Joint angles [rad] and rates [rad/s].
        control
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers; what a planar arm cannot give is
            left out, see :meth:`left_out`.

        Returns
        -------
        NDArray
            [rad/s^2], shape (n,).

        Raises
        ------
        ParameterError
            The arm is singular there.

        """
        found = self._known(q, qd, 0.0, control)
        self.check_regular(float(found[-1]))
        return found[19 : 19 + self.joints].copy()

    def determinant(self, q: ArrayLike) -> float:
        """Return that of the Jacobian at joint angles [rad], shape (n,), without its sign."""
        return abs(float(self._known(q)[-1]))

    def check_regular(self, determinant: float) -> None:
        """Raise ParameterError if a determinant of the Jacobian is that of a singular arm."""
        if not abs(determinant) >= self.chain.determinant:
            raise ParameterError(
                f'the arm is singular: the determinant of its Jacobian is {determinant:.3g}, at '
                f'least {self.chain.determinant:.3g} is needed'
            )

    def left_out(self, control: Sequence[float] | Array) -> float:
        """Return the maximum component of a hand control that the arm cannot give."""
        return max((abs(float(control[k])) for k in self._idle), default=0.0)

    def hand_acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return alpha_WH_H [rad/s^2] and a_WH_H [m/s^2] of joint accelerations; shape (6,)."""
        return self._known(q, qd, qdd)[13:19].copy()

    def jacobian(self, q: ArrayLike) -> Array:
        """
        Return the Jacobian: v_WH_W and w_WH_W of the hand are ``J qd``, shape (6, n).

        The torques of the joints that a force [N] and a torque [N m] on the hand need, about its
        origin and in W, are ``-J.T @ wrench``.
        """
        return self._known(q)[19 + self.joints : -1].reshape(self.joints, 6).T.copy()

    def dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike = 0.0
    ) -> tuple[Array, Array, Array]:
        """
        Return mass matrix, bias and torque.

        Parameters
        ----------
        q, qd, qdd
            Joint angles [rad], rates [rad/s] and accelerations [rad/s^2].

        Returns
        -------
        M, h, tau
            Of ``tau = M qdd + h`` [kg m^2], [N m], [N m]; without rotors and without load.

        """
        self._dynamics.inputs[0][:], self._dynamics.inputs[1][:] = q, qd
        out, n = self._dynamics.evaluate().copy(), self.joints
        M, h = out[: n * n].reshape(n, n).T, out[n * n :]
        return M, h, M @ np.broadcast_to(np.asarray(qdd, dtype=float), n) + h

    def joints_at(self, pose: ArrayLike, near: ArrayLike | None = None) -> Array:
        """
        Return the joint angles of a pose of the hand, by Newton's method.

        Parameters
        ----------
        pose
            q_WH (w, x, y, z) and p_WH [m], 7 numbers.
        near
            Angles from which to search [rad]; ``chain.home`` if None.

        Returns
        -------
        NDArray
            [rad], shape (n,).

        Raises
        ------
        ParameterError
            The arm does not reach there, or only outside its limits.

        """
        wanted = np.asarray(pose, dtype=float)
        rows, chain = self.structure.moved, self.chain
        q = np.array(chain.home if near is None else near, dtype=float)
        for _ in range(STEPS):
            hand, J = self.hand_state(q), self.jacobian(q)
            turn = rotation_vector(qmult(wanted[:4], qconjugate(hand[:4])))
            off = np.concatenate([wanted[4:] - hand[4:7], turn])
            if np.abs(off).max() < REACHED:
                break
            step = np.linalg.lstsq(J[rows], off[rows], rcond=1e-6)[0]
            q += step * min(1.0, LONGEST / np.abs(step).max())
        turned = np.remainder(q + math.pi, math.tau) - math.pi
        q = np.where((q < chain.low) | (q > chain.high), turned, q)
        place = f'p = {wanted[4:].round(4).tolist()} m, q = {wanted[:4].round(4).tolist()}'
        if not np.abs(off).max() < REACHED:
            raise ParameterError(f'the arm does not reach {place}')
        if not (np.all(q >= chain.low) and np.all(q <= chain.high)):
            raise ParameterError(
                f'the arm reaches {place} only with joints at {q.round(3).tolist()} rad; allowed '
                f'are {chain.low.tolist()} to {chain.high.tolist()}'
            )
        return q

"""
The planar arm: from joints to the hand and back, for positions, velocities and accelerations.

The equations are CasADi expressions of joint angles, rates and parameters; Jacobian, its rate and
the dynamics follow from the position and from the energy by differentiation.
"""

from __future__ import annotations

from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm_model import ArmModel, JOINTS

MOUNT = math.pi / 2  # pitch of the hand where link 3 points along x


def hand_expression(q: ca.SX, geometry: ca.SX) -> ca.SX:
    """Return x, z [m] and pitch about y [rad] of the hand in the world."""
    angles = [q[0], q[0] + q[1], q[0] + q[1] + q[2]]
    x = geometry[3] + sum(geometry[k] * ca.cos(angles[k]) for k in range(JOINTS))
    z = geometry[4] - sum(geometry[k] * ca.sin(angles[k]) for k in range(JOINTS))
    return ca.vertcat(x, z, angles[2] + MOUNT)


def _energies(
    q: ca.SX, qd: ca.SX, geometry: ca.SX, inertial: ca.SX, gravity: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Return kinetic and potential energy, linear in the inertial parameters."""
    kinetic, potential = ca.SX(0), ca.SX(0)
    joint, angle = geometry[3:5], ca.SX(0)
    for k in range(JOINTS):
        mass, moment, inertia = inertial[3 * k], inertial[3 * k + 1], inertial[3 * k + 2]
        angle = angle + q[k]
        direction = ca.vertcat(ca.cos(angle), -ca.sin(angle))
        v_joint, v_direction = ca.jtimes(joint, q, qd), ca.jtimes(direction, q, qd)
        rate = ca.jtimes(angle, q, qd)
        kinetic += mass / 2 * ca.sumsqr(v_joint) + moment * ca.dot(v_joint, v_direction)
        kinetic += inertia / 2 * rate**2
        potential -= ca.dot(gravity, mass * joint + moment * direction)
        joint = joint + geometry[k] * direction
    return kinetic, potential


@cache
def kinematics_function() -> ca.Function:
    """Return ``(q, qd, geometry) -> hand (3), its rate (3), J (9, by columns), dJ/dt qd (3)``."""
    q, qd, geometry = ca.SX.sym('q', JOINTS), ca.SX.sym('qd', JOINTS), ca.SX.sym('g', 5)
    hand = hand_expression(q, geometry)
    J = ca.densify(ca.jacobian(hand, q))
    rate = J @ qd
    out = ca.vertcat(hand, rate, ca.vec(J), ca.jtimes(rate, q, qd))
    return ca.Function('arm_kinematics', [q, qd, geometry], [ca.densify(out)])


@cache
def hand_function() -> ca.Function:
    """
    Return ``(q, qd, qdd, control, geometry) -> hand (13), acceleration (6), qdd (3)``, compiled.

    Pose and twist of the hand, q_WH (w, x, y, z), p_WH, w_WH_H, v_WH_H; its accelerations
    alpha_WH_H and a_WH_H of the joints' accelerations; and the accelerations of the joints that
    give it those of a control.
    """
    q, qd, qdd = (ca.SX.sym(n, JOINTS) for n in ('q', 'qd', 'qdd'))
    control, geometry = ca.SX.sym('control', 6), ca.SX.sym('geometry', 5)
    known = kinematics_function()(q, qd, geometry)
    x, z, pitch, vx, vz, w = (known[k] for k in range(6))
    J, rest = ca.reshape(known[6:15], 3, 3), known[15:18]
    c, s = ca.cos(pitch), ca.sin(pitch)
    pose = (ca.cos(pitch / 2), 0, ca.sin(pitch / 2), 0, x, 0, z)
    hand = ca.vertcat(*pose, 0, w, 0, c * vx - s * vz, 0, s * vx + c * vz)
    a = J @ qdd + rest
    acceleration = ca.vertcat(0, a[2], 0, c * a[0] - s * a[1], 0, s * a[0] + c * a[1])
    wanted = joint_acceleration_expression(known, control)
    out = ca.densify(ca.vertcat(hand, acceleration, wanted))
    return compiled(ca.Function('arm_hand', [q, qd, qdd, control, geometry], [out]))[0]


def joint_acceleration_expression(known: ca.SX, control: ca.SX) -> ca.SX:
    """Return the joint accelerations of a control of the hand, from what the kinematics tell."""
    c, s = ca.cos(known[2]), ca.sin(known[2])
    a_x, a_z = (
        c * control[3] + s * control[5],
        -s * control[3] + c * control[5],
    )
    J = ca.reshape(known[6:15], 3, 3)
    return ca.inv_minor(J) @ (ca.vertcat(a_x, a_z, control[1]) - known[15:18])


@cache
def dynamics_function() -> ca.Function:
    """
    Return ``(q, qd, qdd, geometry, inertial, gravity) -> M (9), h (3), tau (3)``.

    ``M qdd + h = tau``: mass matrix by columns, Coriolis and gravity terms, joint torques.
    """
    q, qd, qdd = (ca.SX.sym(n, JOINTS) for n in ('q', 'qd', 'qdd'))
    geometry, inertial, g = ca.SX.sym('geo', 5), ca.SX.sym('inertial', 9), ca.SX.sym('g', 2)
    kinetic, potential = _energies(q, qd, geometry, inertial, g)
    momentum = ca.gradient(kinetic, qd)
    M = ca.jacobian(momentum, qd)
    h = ca.jtimes(momentum, q, qd) - ca.gradient(kinetic, q) + ca.gradient(potential, q)
    out = ca.vertcat(ca.vec(ca.densify(M)), h, M @ qdd + h)
    return ca.Function('arm_dynamics', [q, qd, qdd, geometry, inertial, g], [ca.densify(out)])


class PlanarArm:
    """Numbers of one arm. Not for use from two threads at once."""

    def __init__(self, model: ArmModel) -> None:
        """Bind the equations to an arm."""
        self.model = model
        self._kinematics = FastFunction(kinematics_function())
        self._dynamics = FastFunction(dynamics_function())
        self._hand = FastFunction(hand_function())
        self._kinematics.inputs[2][:] = self._hand.inputs[4][:] = model.geometry
        for buffer, value in zip(
            self._dynamics.inputs[3:],
            (model.geometry, model.inertial, model.gravity),
            strict=True,
        ):
            buffer[:] = np.asarray(value, dtype=float)

    def _evaluate(self, q: ArrayLike, qd: ArrayLike) -> NDArray[np.float64]:
        self._kinematics.inputs[0][:] = q
        self._kinematics.inputs[1][:] = qd
        return self._kinematics.evaluate()

    def hand(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return x, z [m] and pitch [rad] of the hand at joint angles q [rad]; shape (3,)."""
        return self._evaluate(q, np.zeros(JOINTS))[:3].copy()

    def jacobian(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return d(x, z, pitch)/dq, shape (3, 3)."""
        return self._evaluate(q, np.zeros(JOINTS))[6:15].reshape(3, 3).T.copy()

    def hand_state(self, q: ArrayLike, qd: ArrayLike) -> NDArray[np.float64]:
        """
        Return pose and twist of the hand.

        Parameters
        ----------
        q, qd
            Joint angles [rad] and rates [rad/s].

        Returns
        -------
        NDArray
            q_WH (w, x, y, z), p_WH [m] in W, w_WH_H [rad/s], v_WH_H [m/s]; shape (13,).

        """
        self._hand.inputs[0][:], self._hand.inputs[1][:] = q, qd
        return self._hand.evaluate()[:13].copy()

    def joint_acceleration(
        self, q: ArrayLike, qd: ArrayLike, control: ArrayLike
    ) -> NDArray[np.float64]:
        """
        Return the joint accelerations that give the hand its acceleration.

        Parameters
        ----------
        q, qd
            Joint angles [rad] and rates [rad/s].
        control
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers; what does not lie in the plane of
            the arm is left out, see :func:`out_of_plane`.

        Returns
        -------
        NDArray
            [rad/s^2], shape (3,).

        Raises
        ------
        ParameterError
            The arm is singular there.

        """
        inputs = self._hand.inputs
        inputs[0][:], inputs[1][:], inputs[3][:] = q, qd, control
        check_regular(self.model, float(inputs[0][1]))
        return self._hand.evaluate()[19:22].copy()

    def hand_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
    ) -> NDArray[np.float64]:
        """Return alpha_WH_H [rad/s^2] and a_WH_H [m/s^2] of joint accelerations; shape (6,)."""
        inputs = self._hand.inputs
        inputs[0][:], inputs[1][:], inputs[2][:] = q, qd, qdd
        return self._hand.evaluate()[13:19].copy()

    def dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike = (0.0, 0.0, 0.0)
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
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
        f = self._dynamics
        for buffer, value in zip(f.inputs, (q, qd, qdd), strict=False):
            buffer[:] = np.asarray(value, dtype=float)
        out = f.evaluate()
        return out[:9].reshape(3, 3).T.copy(), out[9:12].copy(), out[12:15].copy()

    def joints_at(
        self, x: float, z: float, pitch: float, *, elbow: int = 1
    ) -> NDArray[np.float64]:
        """
        Return the joint angles of a pose of the hand.

        Parameters
        ----------
        x, z, pitch
            Of the hand in the world [m], [rad].
        elbow
            Sign of q2.

        Returns
        -------
        NDArray
            [rad], each within half a turn of zero; shape (3,).

        Raises
        ------
        ParameterError
            The arm does not reach there, or only outside its limits.

        """
        a, b, c, x0, z0 = self.model.geometry.tolist()
        end = pitch - MOUNT
        dx, dz = x - c * math.cos(end) - x0, -(z + c * math.sin(end) - z0)
        cosine = (dx * dx + dz * dz - a * a - b * b) / (2 * a * b)
        if not abs(cosine) <= 1.0:
            raise ParameterError(
                f'the arm does not reach x = {x:.4g} m, z = {z:.4g} m '
                f'at a pitch of {pitch:.4g} rad'
            )
        q2 = math.copysign(math.acos(cosine), elbow)
        q1 = math.atan2(dz, dx) - math.atan2(b * math.sin(q2), a + b * math.cos(q2))
        q = np.array((q1, q2, end - q1 - q2))
        q = (q + math.pi) % (2 * math.pi) - math.pi
        if not (np.all(q >= self.model.low) and np.all(q <= self.model.high)):
            raise ParameterError(
                f'the arm reaches x = {x:.4g} m, z = {z:.4g} m only with joints at '
                f'{q.round(3).tolist()} rad; allowed are {self.model.low} to {self.model.high}'
            )
        return q


def check_regular(model: ArmModel, q2: float) -> None:
    """Raise ParameterError if the arm is singular at an angle of its second joint [rad]."""
    sine = abs(math.sin(q2))
    if sine < model.singular_sine:
        raise ParameterError(
            f'the arm is singular: |sin q2| is {sine:.3g}, at least {model.singular_sine:g} is '
            'needed'
        )


def out_of_plane(control: NDArray[np.float64]) -> float:
    """Return the greatest component of a hand control that a planar arm cannot give."""
    return max(abs(float(control[0])), abs(float(control[2])), abs(float(control[4])))


def planar_wrench(
    hand: ArrayLike, p_WC: ArrayLike, force_W: ArrayLike, torque_W: ArrayLike
) -> NDArray[np.float64]:
    """
    Return generalised forces on (x, z, pitch) of the hand.

    Parameters
    ----------
    hand
        x, z [m] and pitch [rad].
    p_WC
        Point where the force acts, in the world [m].
    force_W, torque_W
        On the hand, in the world [N], [N m].

    Returns
    -------
    NDArray
        Force along x and z, torque about y at the origin of the hand; shape (3,).

    """
    x, z = np.asarray(hand, dtype=float)[:2]
    (cx, _, cz), (fx, _, fz) = np.asarray(p_WC, dtype=float), np.asarray(force_W, dtype=float)
    return np.array((fx, fz, float(np.asarray(torque_W)[1]) + (cz - z) * fx - (cx - x) * fz))

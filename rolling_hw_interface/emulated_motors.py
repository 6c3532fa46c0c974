"""
Motors, harmonic drives and encoders of the arm, with their imperfections, in lockstep.

The amplifier turns at its own rate. Within each turn the current follows its set point as a first
order lag, and Coulomb friction is an impulse that is only as large as stopping a joint needs, so
that a joint at rest stays there.
"""

from __future__ import annotations

from functools import cache
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import dynamics_function, kinematics_function, PlanarArm
from rolling_hw_interface.arm_model import JOINTS
from rolling_hw_interface.faults import checked_fault, MOTOR_FAULTS
from rolling_hw_interface.motor_model import MODES, MotorModel

SWEEPS = 6  # over the joints, for the friction impulses
LOCKED = 1e6  # friction of a stuck joint [N m]


class JointStates(NamedTuple):
    """What the amplifiers report: angles [rad], rates [rad/s], torques [N m], shape (3,) each."""

    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]


@cache
def _turn_function() -> ca.Function:
    """Return one turn, ``(state, torque, force, friction, dt, arm, motors, brake) -> state``."""
    state, wanted = ca.SX.sym('state', 9), ca.SX.sym('wanted', 3)
    force, coulomb, dt = ca.SX.sym('force', 3), ca.SX.sym('coulomb', 3), ca.SX.sym('dt')
    arm, motors, brake = ca.SX.sym('arm', 16), ca.SX.sym('motors', 16), ca.SX.sym('brake', 3)
    q, qd, torque = state[0:3], state[3:6], state[6:9]
    rotor, viscous, ripple, gear = (motors[3 * k : 3 * k + 3] for k in range(4))
    phase, lag, viscous = motors[12:15], motors[15], viscous + brake
    torque = wanted + (torque - wanted) * ca.exp(-lag * dt)
    out = dynamics_function()(q, qd, ca.SX(3, 1), arm[:5], arm[5:14], arm[14:])
    A = ca.reshape(out[:9], 3, 3) + ca.diag(rotor) + dt * ca.diag(viscous)
    J = ca.reshape(kinematics_function()(q, qd, arm[:5])[6:15], 3, 3)
    drive = torque + ripple * ca.sin(2 * gear * q + phase) - viscous * qd
    B = ca.inv(A)
    free = qd + dt * (B @ (drive - out[9:12] + J.T @ force))
    impulse = ca.SX(3, 1)
    for _ in range(SWEEPS):  # projected Gauss-Seidel
        for k in range(JOINTS):
            speed = free[k] + B[k, :] @ impulse
            bound = coulomb[k] * dt
            impulse[k] = ca.fmin(ca.fmax(impulse[k] - speed / B[k, k], -bound), bound)
    rate = free + B @ impulse
    new = ca.vertcat(q + dt * (qd + rate) / 2, rate, torque)
    inputs = [state, wanted, force, coulomb, dt, arm, motors, brake]
    return compiled(ca.Function('motor_turn', inputs, [ca.densify(new)]))[0]


class EmulatedMotors:
    """
    The arm with its motors. Not for use from two threads at once.

    Attributes
    ----------
    arm, motors
        What it is made of.
    q, qd
        True joint angles [rad] and rates [rad/s].
    braking
        Whether the amplifiers brake by themselves because no command came.
    fault, joint
        The fault at work and the joint that has it.

    """

    def __init__(self, arm: PlanarArm, motors: MotorModel, q: ArrayLike, *, seed: int = 0) -> None:
        """
        Put the arm at rest.

        Parameters
        ----------
        arm, motors
            The arm and its motors.
        q
            Joint angles [rad].
        seed
            Of the phases of the ripple and of lost messages.

        """
        self.arm, self.motors = arm, motors
        self._rng = np.random.default_rng(seed)
        self._turn = FastFunction(_turn_function())
        model = arm.model
        self._turn.inputs[5][:] = [*model.geometry, *model.inertial, *model.gravity]
        self._turn.inputs[6][:] = [
            *motors.reflected_inertia, *motors.viscous, *motors.ripple, *motors.gear,
            *self._rng.uniform(0, 2 * math.pi, JOINTS), 2 * math.pi * motors.current_bandwidth,
        ]  # fmt: skip
        self.fault, self.joint = 'none', 0
        self.reset(q)

    def reset(self, q: ArrayLike) -> None:
        """Put the arm at rest at joint angles q [rad]; no torque, no command."""
        self.q = np.array(q, dtype=float)
        self.qd, self._torque = np.zeros(JOINTS), np.zeros(JOINTS)
        self._mode, self._wanted, self._commanded = 'velocity', np.zeros(JOINTS), -math.inf
        self.braking = False
        self._counted = self._count()
        self._reported = np.zeros(JOINTS)
        self._time = 0.0

    def inject(self, kind: str, joint: int = 0) -> None:
        """Start a fault, or end it with ``none``."""
        if not 0 <= joint < JOINTS:
            raise ParameterError(f'joint must be one of 0, 1, 2, got {joint}')
        self.fault, self.joint = checked_fault(kind, MOTOR_FAULTS), joint

    def command(self, mode: str, values: ArrayLike, t: float) -> None:
        """
        Take a command.

        Parameters
        ----------
        mode
            ``effort``, ``velocity`` or ``position``.
        values
            Joint torques [N m], rates [rad/s] or angles [rad]; shape (3,).
        t
            Time of its arrival [s].

        Raises
        ------
        ParameterError
            The mode is unknown or the numbers are not finite.

        """
        wanted = np.asarray(values, dtype=float)
        if mode not in MODES:
            raise ParameterError(f'mode must be one of {", ".join(MODES)}, got {mode!r}')
        if wanted.shape != (JOINTS,) or not np.all(np.isfinite(wanted)):
            raise ParameterError(f'a command takes 3 finite numbers, got {wanted.tolist()}')
        if self._lost():
            return
        self._mode, self._wanted, self._commanded = mode, wanted.copy(), t

    def step(self, force: ArrayLike, t: float, dt: float) -> NDArray[np.float64]:
        """
        Advance from t to t + dt.

        Parameters
        ----------
        force
            Generalised forces on x, z and pitch of the hand [N], [N], [N m].
        t, dt
            Time and duration [s].

        Returns
        -------
        NDArray
            Mean joint accelerations [rad/s^2], shape (3,).

        """
        turns = max(1, round(dt * self.motors.rate))
        before, h = self.qd, dt / turns
        coulomb = np.array(self.motors.coulomb)
        if self.fault == 'motor_stuck':
            coulomb[self.joint] = LOCKED
        f = self._turn
        f.inputs[2][:], f.inputs[3][:], f.inputs[4][:] = np.asarray(force), coulomb, h
        for k in range(turns):
            f.inputs[0][:] = (*self.q, *self.qd, *self._torque)
            f.inputs[1][:] = self._set_point(t + k * h)
            f.inputs[7][:] = self.motors.brake if self.braking else 0.0
            out = f.evaluate()
            self.q, self.qd, self._torque = out[0:3].copy(), out[3:6].copy(), out[6:9].copy()
            self._read_encoders(h)
        self._time = t + dt
        return (self.qd - before) / dt

    def _set_point(self, t: float) -> NDArray[np.float64]:
        """Return the torque that the amplifier asks of the current loop, within the limit."""
        m = self.motors
        gain = np.asarray(m.velocity_gain)
        self.braking = t - self._commanded > m.command_timeout
        if self.braking:
            wanted = -gain * self._reported
        elif self._mode == 'effort':
            wanted = self._wanted
        else:
            rate = self._wanted
            if self._mode == 'position':
                rate = np.asarray(m.position_gain) * (self._wanted - self._counted)
            wanted = gain * (rate - self._reported)
        limit = m.torque_limit
        wanted = np.minimum(np.maximum(wanted, -limit), limit)
        if self.fault == 'motor_off':
            wanted = wanted.copy()
            wanted[self.joint] = 0.0
        return wanted

    def _count(self) -> NDArray[np.float64]:
        resolution = self.motors.resolution
        return np.floor(self.q / resolution) * resolution

    def _read_encoders(self, h: float) -> None:
        counted = self._count()
        if self.fault in {'encoder_frozen', 'encoder_lost'}:
            counted[self.joint] = self._counted[self.joint]
        share = 1.0 - math.exp(-2 * math.pi * self.motors.velocity_bandwidth * h)
        rate = (counted - self._counted) / h
        self._reported = self._reported + share * (rate - self._reported)
        self._counted = counted

    def _lost(self) -> bool:
        return self.fault == 'messages_dropped' and bool(self._rng.random() < 0.5)

    def read(self) -> JointStates | None:
        """Return what the amplifiers report, or None if the message is lost."""
        if self.fault == 'silent' or self._lost():
            return None
        position, velocity = self._counted.copy(), self._reported.copy()
        if self.fault == 'encoder_lost':
            position[self.joint] = velocity[self.joint] = math.nan
        return JointStates(position, velocity, self._torque.copy())

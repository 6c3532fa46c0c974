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
    """
    What the amplifiers report, shape (3,) each.

    Angles [rad] and filtered rates [rad/s] at the time of the report, torques [N m] as their mean
    since the last one.
    """

    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]


@cache
def _turn_function() -> ca.Function:
    """
    Return one turn of the amplifiers' loop.

    ``(state, law, force, coulomb, brake, read, dt, arm, motors) -> state``: angle, rate, torque,
    counted angle and reported rate (15); the law is that of the torque, ``constant + of the
    counted angle + of the reported rate`` (9); ``read`` is 1 for an encoder that works.
    """
    state, law = ca.SX.sym('state', 15), ca.SX.sym('law', 9)
    force, coulomb, brake = (ca.SX.sym(n, 3) for n in ('force', 'coulomb', 'brake'))
    read, dt = ca.SX.sym('read', 3), ca.SX.sym('dt')
    arm, motors = ca.SX.sym('arm', 16), ca.SX.sym('motors', 23)
    q, qd, torque, counted, reported = (state[3 * k : 3 * k + 3] for k in range(5))
    rotor, viscous, ripple, gear, phase, limit, resolution = (
        motors[3 * k : 3 * k + 3] for k in range(7)
    )
    wanted = law[0:3] + law[3:6] * counted + law[6:9] * reported
    wanted = ca.fmin(ca.fmax(wanted, -limit), limit)
    torque = wanted + (torque - wanted) * ca.exp(-motors[21] * dt)
    out = dynamics_function()(q, qd, ca.SX(3, 1), arm[:5], arm[5:14], arm[14:])
    A = ca.reshape(out[:9], 3, 3) + ca.diag(rotor) + dt * ca.diag(viscous + brake)
    J = ca.reshape(kinematics_function()(q, qd, arm[:5])[6:15], 3, 3)
    drive = torque + ripple * ca.sin(2 * gear * q + phase) - (viscous + brake) * qd
    B = ca.inv(A)
    free = qd + dt * (B @ (drive - out[9:12] + J.T @ force))
    impulse = ca.SX(3, 1)
    for _ in range(SWEEPS):  # projected Gauss-Seidel
        for k in range(JOINTS):
            speed = free[k] + B[k, :] @ impulse
            bound = coulomb[k] * dt
            impulse[k] = ca.fmin(ca.fmax(impulse[k] - speed / B[k, k], -bound), bound)
    rate = free + B @ impulse
    q = q + dt * (qd + rate) / 2
    seen = ca.if_else(read > 0, resolution * ca.floor(q / resolution), counted)
    share = 1 - ca.exp(-motors[22] * dt)
    reported = reported + share * ((seen - counted) / dt - reported)
    new = ca.vertcat(q, rate, torque, seen, reported)
    inputs = [state, law, force, coulomb, brake, read, dt, arm, motors]
    return compiled(ca.Function('motor_turn', inputs, [ca.densify(new)]))[0]


class EmulatedMotors:
    """
    The arm with its motors. Not for use from two threads at once.

    Attributes
    ----------
    arm, motors
        What it is made of.
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
        self._turn.inputs[7][:] = [*model.geometry, *model.inertial, *model.gravity]
        self._turn.inputs[8][:] = [
            *motors.reflected_inertia, *motors.viscous, *motors.ripple, *motors.gear,
            *self._rng.uniform(0, 2 * math.pi, JOINTS), *motors.torque_limit, *motors.resolution,
            2 * math.pi * motors.current_bandwidth, 2 * math.pi * motors.velocity_bandwidth,
        ]  # fmt: skip
        self.fault, self.joint = 'none', 0
        self.reset(q)

    def reset(self, q: ArrayLike) -> None:
        """Put the arm at rest at joint angles q [rad], shape (joints,); no torque, no command."""
        angles = np.array(q, dtype=float)
        counted = np.floor(angles / self.motors.resolution) * self.motors.resolution
        self._state = np.concatenate([angles, np.zeros(6), counted, np.zeros(3)])
        self._mode, self._wanted, self._commanded = 'velocity', np.zeros(JOINTS), -math.inf
        self._effort, self.braking = np.zeros(JOINTS), False

    @property
    def q(self) -> NDArray[np.float64]:
        """True joint angles [rad], shape (3,)."""
        return self._state[0:3]

    @property
    def qd(self) -> NDArray[np.float64]:
        """True joint rates [rad/s], shape (3,)."""
        return self._state[3:6]

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
        before, coulomb, read = self.qd, np.array(self.motors.coulomb), np.ones(JOINTS)
        silent = t - self._commanded
        self.braking = silent > self.motors.command_timeout
        if silent > self.motors.command_timeout + self.motors.holding_delay:
            coulomb += self.motors.holding
        if self.fault == 'motor_stuck':
            coulomb[self.joint] = LOCKED
        elif self.fault in {'encoder_frozen', 'encoder_lost'}:
            read[self.joint] = 0.0
        f = self._turn
        brake = self.motors.brake if self.braking else (0.0, 0.0, 0.0)
        values = (self._law(), force, coulomb, brake, read, dt / turns)
        for buffer, value in zip(f.inputs[1:7], values, strict=True):
            buffer[:] = np.asarray(value, dtype=float)
        f.inputs[0][:] = self._state
        torque = np.zeros(JOINTS)
        for _ in range(turns):
            f.inputs[0][:] = f.evaluate()
            torque += f.output[6:9]
        self._effort = torque / turns
        self._state = f.output.copy()
        return (self.qd - before) / dt

    def _law(self) -> NDArray[np.float64]:
        """Return the torque that the amplifier asks for, see :func:`_turn_function`."""
        law = np.zeros((3, JOINTS))
        if self._mode == 'effort' and not self.braking:
            law[0] = self._wanted
        else:
            law[2] = -np.asarray(self.motors.velocity_gain)
            if self._mode == 'position' and not self.braking:
                law[1] = law[2] * self.motors.position_gain
                law[0] = -law[1] * self._wanted
            elif not self.braking:
                law[0] = -law[2] * self._wanted
        if self.fault == 'motor_off':
            law[:, self.joint] = 0.0
        return law.ravel()

    def _lost(self) -> bool:
        return self.fault == 'messages_dropped' and bool(self._rng.random() < 0.5)

    def read(self) -> JointStates | None:
        """Return what the amplifiers report, or None if the message is lost."""
        if self.fault == 'silent' or self._lost():
            return None
        _, position, velocity = self._state[6:].copy().reshape(3, JOINTS)
        if self.fault == 'encoder_lost':
            position[self.joint] = velocity[self.joint] = math.nan
        return JointStates(position, velocity, self._effort.copy())

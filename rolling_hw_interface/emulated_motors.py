"""Emulated motors that carry the hand, and their encoders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.instruments import MotionExpressions, Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of, planar_hybrid_of
from rolling_hw_interface.arm import ALL, Arm, dynamics, Kinematics, Structure
from rolling_hw_interface.motor_model import MODES, MotorModel

READ = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}  # entries of joint states
HAND = Layout(
    (
        quaternion_entry('q_WH'),
        *(vector_entry(n, u) for n, u in (('p_WH', 'm'), ('w_WH_H', 'rad/s'), ('v_WH_H', 'm/s'))),
    )
)
MOTOR_FAULTS = (
    'none',
    'encoder_lost',  # the joint does not report its position
    'encoder_frozen',  # the joint reports the last position for ever
    'motor_stuck',  # the joint does not turn
    'motor_off',  # the motor gives no torque
    'messages_dropped',  # half of the commands and states are lost
    'silent',  # no states are sent
)
SWEEPS = 6  # over the joints, for the friction impulses
LOSS = 0.5  # of the commands, where messages are dropped
LOCKED = 1e6  # friction of a stuck joint [N m]


@cache
def turn_equations(structure: Structure) -> ca.Function:
    """
    Return one turn of the amplifiers' loop.

    ``(state, law, wrench, coulomb, brake, read, dt, c, motors) -> state``: angle, rate, torque,
    counted angle and reported rate (5n); the law is that of the torque, ``constant + of the
    counted angle + of the reported rate`` (3n); force and torque on the hand about its origin, in
    W; ``read`` is 1 for an encoder that works; c: numbers of the arm; motors:
    :func:`turn_numbers`.
    """
    n = len(structure.axes)
    sizes = {'state': 5 * n, 'law': 3 * n, 'wrench': 6, 'coulomb': n, 'brake': n, 'read': n,
             'dt': 1, 'c': structure.size, 'motors': 7 * n + 2}  # fmt: skip
    inputs = [ca.SX.sym(name, size) for name, size in sizes.items()]
    state, law, wrench, coulomb, brake, read, dt, c, motors = inputs
    q, qd, torque, counted, reported = ca.vertsplit(state, n)
    rotor, viscous, ripple, gear, phase, limit, resolution = ca.vertsplit(motors[:-2], n)
    constant, of_angle, of_rate = ca.vertsplit(law, n)
    wanted = constant + of_angle * counted + of_rate * reported
    wanted = ca.fmin(ca.fmax(wanted, -limit), limit)
    torque = wanted + (torque - wanted) * ca.exp(-motors[-2] * dt)
    M, h = dynamics(structure, q, qd, c)
    A = M + ca.diag(rotor) + dt * ca.diag(viscous + brake)
    J = Kinematics(structure, q, qd, c).J
    drive = torque + ripple * ca.sin(2 * gear * q + phase) - (viscous + brake) * qd
    B = ca.inv(A)
    free = qd + dt * (B @ (drive - h + J.T @ wrench))
    impulse = ca.SX(n, 1)
    for _ in range(SWEEPS):  # projected Gauss-Seidel
        for k in range(n):
            speed = free[k] + B[k, :] @ impulse
            bound = coulomb[k] * dt
            impulse[k] = ca.fmin(ca.fmax(impulse[k] - speed / B[k, k], -bound), bound)
    rate = free + B @ impulse
    q = q + dt * (qd + rate) / 2
    seen = ca.if_else(read > 0, resolution * ca.floor(q / resolution), counted)
    fraction = 1 - ca.exp(-motors[-1] * dt)
    reported = reported + fraction * ((seen - counted) / dt - reported)
    new = ca.vertcat(q, rate, torque, seen, reported)
    return ca.Function('motor_turn', inputs, [ca.densify(new)])


@cache
def _turn_function(structure: Structure) -> ca.Function:
    return compiled(turn_equations(structure))[0]


def turn_numbers(motors: MotorModel, phases: ArrayLike) -> Array:
    """
    Return the motor parameters of a step (7n + 2), with phases of the ripple [rad], shape (n,).

    Inertia as the joints feel it, viscous friction, ripple, gear, phase, torque limit and
    resolution of each joint, then both bandwidths [rad/s].
    """
    bandwidths = np.array([motors.current_bandwidth, motors.velocity_bandwidth])
    rows = (
        motors.reflected_inertia, motors.viscous, motors.ripple, motors.gear, phases,
        motors.torque_limit, motors.resolution, 2 * math.pi * bandwidths,
    )  # fmt: skip
    return np.concatenate(rows)


def ripple_phases(rng: np.random.Generator, joints: int) -> Array:
    """Draw the phases of the ripple [rad], shape (joints,); the first numbers of a seed."""
    return rng.uniform(0, 2 * math.pi, joints)


class EmulatedMotors:
    """
    The arm with its motors. Not thread-safe.

    Attributes
    ----------
    arm, motors
        The arm and the motors.
    braking
        Whether the amplifiers brake by themselves because no command came.
    fault, joint
        The fault at work and the joint that has it.
    friction
        Factor of the friction in the drives.
    names, seed
        Names of the joints, and the random seed.

    """

    carried = tuple(HAND.names)

    def __init__(
        self,
        arm: Arm,
        motors: MotorModel,
        q: ArrayLike,
        *,
        seed: int = 0,
        period: float = 1e-3,
        names: Sequence[str] = (),
    ) -> None:
        """
        Put the arm at rest.

        Parameters
        ----------
        arm, motors
            The arm and its motors.
        q
            Joint angles [rad].
        seed
            Random seed of the phases of the ripple and of lost commands.
        period
            Time for which they feel the same load [s].
        names
            Names of the joints in messages; the arm's if empty.

        """
        self.arm, self.motors, self.period = arm, motors, period
        self.names, self._start = tuple(names or arm.chain.joint_names), np.array(q, dtype=float)
        self.state = Layout(
            tuple(
                Entry(entry, tuple(f'{joint}_{entry}' for joint in self.names), unit)
                for entry, unit in READ.items()
            )
        )
        self._moves, self.friction = list(arm.chain.moves), 1.0
        self._rng, self.seed = np.random.default_rng(seed), seed
        motors.check_joints(arm.joints)
        self._turn = FastFunction(_turn_function(arm.structure))
        self._turn.inputs[7][:] = arm.numbers
        phases = ripple_phases(self._rng, arm.joints)
        self._turn.inputs[8][:] = turn_numbers(motors, phases)
        self.fault, self.joint = 'none', 0
        self.restart()

    def restart(self) -> None:
        """Put the arm at rest at its start, without torque and command."""
        angles = self._start
        counted = np.floor(angles / self.motors.resolution) * self.motors.resolution
        rest = np.zeros_like(angles)
        self._state = np.concatenate([angles, rest, rest, counted, rest])
        self._mode, self._wanted, self._commanded = 'velocity', rest, -math.inf
        self._effort, self.braking = rest, False

    def _part(self, index: int) -> Array:
        return self._state[index * self.arm.joints : (index + 1) * self.arm.joints]

    @property
    def q(self) -> Array:
        """True joint angles [rad], shape (n,)."""
        return self._part(0)

    @property
    def qd(self) -> Array:
        """True joint rates [rad/s], shape (n,)."""
        return self._part(1)

    def inject(self, kind: str, joint: int = 0) -> None:
        """Start a fault, or end it with ``none``."""
        if not 0 <= joint < self.arm.joints:
            known = ', '.join(map(str, range(self.arm.joints)))
            raise ParameterError(f'joint must be one of {known}, got {joint}')
        if kind not in MOTOR_FAULTS:
            raise ParameterError(f'fault must be one of {", ".join(MOTOR_FAULTS)}, got {kind!r}')
        self.fault, self.joint = kind, joint

    def command(self, mode: str, values: ArrayLike, t: float) -> None:
        """
        Take a command.

        Parameters
        ----------
        mode
            ``effort``, ``velocity`` or ``position``.
        values
            Joint torques [N m], rates [rad/s] or angles [rad]; shape (n,).
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
        if wanted.shape != self.q.shape or not np.all(np.isfinite(wanted)):
            raise ParameterError(
                f'a command takes {self.arm.joints} finite numbers, got {wanted.tolist()}'
            )
        if self.fault == 'messages_dropped' and self._rng.random() < LOSS:
            return
        self._mode, self._wanted, self._commanded = mode, wanted.copy(), t

    def step(self, wrench: ArrayLike, t: float, dt: float) -> Array:
        """
        Advance from t to t + dt.

        Parameters
        ----------
        wrench
            Force [N] and torque [N m] on the hand about its origin, in W; vector of 6.
        t, dt
            Time and duration [s].

        Returns
        -------
        NDArray
            Mean joint accelerations [rad/s^2], shape (n,).

        """
        turns = max(1, round(dt * self.motors.rate))
        before, read = self.qd, np.ones_like(self.q)
        coulomb = self.friction * np.array(self.motors.coulomb)
        silent = t - self._commanded
        self.braking = silent > self.motors.command_timeout
        if silent > self.motors.command_timeout + self.motors.holding_delay:
            coulomb += self.motors.holding
        if self.fault == 'motor_stuck':
            coulomb[self.joint] = LOCKED
        elif self.fault in {'encoder_frozen', 'encoder_lost'}:
            read[self.joint] = 0.0
        f, viscous = self._turn, slice(self.arm.joints, 2 * self.arm.joints)
        f.inputs[8][viscous] = self.friction * np.array(self.motors.viscous)
        brake = self.motors.brake if self.braking else 0.0
        values = (self._law(), wrench, coulomb, brake, read, dt / turns)
        for buffer, value in zip(f.inputs[1:7], values, strict=True):
            buffer[:] = np.asarray(value, dtype=float)
        f.inputs[0][:] = self._state
        torque, given = np.zeros_like(self.q), slice(2 * len(self.q), 3 * len(self.q))
        for _ in range(turns):
            f.inputs[0][:] = f.evaluate()
            torque += f.output[given]
        self._effort = torque / turns
        self._state = f.output.copy()
        return (self.qd - before) / dt

    def _law(self) -> Array:
        """Return the torque that the amplifier asks for, see :func:`_turn_function`."""
        law = np.zeros((3, self.arm.joints))
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

    # -- the drive of an emulation ------------------------------------------------------------

    @property
    def values(self) -> Array:
        """Reported angles [rad], rates [rad/s] and mean torques [N m], shape (3 joints,)."""
        position, velocity = self._part(3).copy(), self._part(4).copy()
        if self.fault == 'encoder_lost':
            position[self.joint] = velocity[self.joint] = math.nan
        return np.concatenate([position, velocity, self._effort])

    def load(self, at: MotionExpressions) -> ca.SX:
        """Return the force [N] and torque [N m] on the hand about its origin, in W."""
        X_WH, X_WC = at.body('hand'), at.body('contact')
        wrench = ca.SX(6, 1) if at.wrench is None else at.wrench
        R_WH = X_WH[:3, :3]
        force = R_WH @ wrench[3:6]
        moment = R_WH @ wrench[0:3] + ca.cross(X_WC[:3, 3] - X_WH[:3, 3], force)
        return -ca.vertcat(force, moment)

    def turn(self, load: ArrayLike, t: float, dt: float) -> Array:
        """Advance from t by dt [s]; return the hand's accelerations, shape (m,) [SI units]."""
        q, qd = self.q, self.qd
        qdd = self.step(load, t, dt)
        return self.arm.hand_acceleration(q, qd, qdd)[self._moves]

    def carry(self) -> Array:
        """Return pose and twist of the hand, shape (13,) in SI units."""
        return self.arm.hand_state(self.q, self.qd)


def encoders(motors: EmulatedMotors) -> Sensor:
    """Return the sensor of the amplifiers' reports, once in each period."""
    return Sensor(
        name='encoders',
        output=motors.state,
        measure=lambda at: ca.vertcat(*(at.drive[name] for name in READ)),
        covariance=np.zeros((motors.state.size,) * 2),
        rate=1 / motors.period,
        message='joint_states',
        topic='robot_joint_states',
    )


def object_on_arm(
    model: ContactSystem,
    params: ArrayLike,
    start: ArrayLike,
    motors: EmulatedMotors,
    cameras: Sequence[Sensor] = (),
    *,
    slip_share: float = 0.8,
    resistance: float = 0.0,
) -> EmulatedObject:
    """
    Return an object on a plate that an arm carries, as encoders and cameras measure it.

    Parameters
    ----------
    model, params, start
        Object and plate, their parameters and the state at the start; on a planar arm gravity is
        its motion in the plane, and the start is in the plane x-z.
    motors
        The arm with its motors, at the start.
    cameras
        Sensors of the object.
    slip_share, resistance
        Kinetic over static friction, and rolling resistance [m s/rad].

    Raises
    ------
    ParameterError
        The bodies do not fit the arm.

    """
    bodies = hybrid_of if motors.arm.chain.moves == ALL else planar_hybrid_of
    return EmulatedObject(
        model,
        params,
        start,
        hybrid=bodies(model, params, slip_share=slip_share, resistance=resistance),
        sensors=(encoders(motors), *cameras),
        drive=motors,
        seed=[motors.seed] * (1 + len(cameras)),
    )


def inject(machine: EmulatedObject, fault: str, joint: int = 0) -> None:
    """
    Start a fault of motors or encoders, or end it by ``none``.

    Raises
    ------
    ParameterError
        There is no such fault or joint.

    """
    motors_of(machine).inject(fault, joint)
    of_states = {'silent': 'off', 'messages_dropped': 'messages_dropped'}.get(fault, 'none')
    machine.emulation.streams['encoders'].inject(of_states)


def motors_of(machine: EmulatedObject) -> EmulatedMotors:
    """Return the motors that drive an emulated object."""
    motors = machine.emulation.drive
    if not isinstance(motors, EmulatedMotors):
        raise ParameterError('the object is not carried by motors')
    return motors

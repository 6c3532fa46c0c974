"""The bridge from accelerations of the hand to commands of motors, and its equations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_hw_interface.arm import Arm, Chain, compiled_for, dynamics, Kinematics, Structure
from rolling_hw_interface.motor_model import MODES, MotorModel
from rolling_hw_interface.watchdog import StopRamp, Watchdog

FRICTION_RATE = 2e-3  # of a joint, above which all of its friction is made up for [rad/s]
RESERVE = 0.95  # fraction of the deceleration with which a limit is approached
CHANGED = 1e-9  # rad/s by which a limit has to change a rate to be counted


@cache
def reference_equations(structure: Structure) -> ca.Function:
    """
    Return ``(q, qd, control, dt, c, limits) -> q, qd, qdd, clipped, det``.

    The reference of the joints after a period of an acceleration of the hand, alpha_WH_H and
    a_WH_H, of an arm of numbers c; the limits are minimum and maximum angles, maximum rates and
    accelerations; clipped is 1 where one of them changed a rate; det is the determinant of the
    Jacobian before.
    """
    n = len(structure.axes)
    q, qd, limits = ca.SX.sym('q', n), ca.SX.sym('qd', n), ca.SX.sym('limits', 4 * n)
    control, dt, c = ca.SX.sym('u', 6), ca.SX.sym('dt'), ca.SX.sym('c', structure.size)
    known = Kinematics(structure, q, qd, c)
    wanted = qd + dt * known.joint_acceleration(control)
    out = ca.vertcat(limited_step(q, qd, wanted, dt, ca.vertsplit(limits, n)), known.determinant())
    inputs = [q, qd, control, dt, c, limits]
    return ca.Function('bridge_reference', inputs, [ca.densify(out)])


def limited_step(q: ca.SX, qd: ca.SX, wanted: ca.SX, dt: ca.SX, limits: list[ca.SX]) -> ca.SX:
    """Return angles, rates, accelerations, and whether a limit changed the wanted rates."""
    low, high, speed, acceleration = limits
    change = acceleration * dt
    ahead = q + dt / 2 * qd  # half of the way of this step is made already
    least = -ca.fmin(speed, _stoppable(ahead - low, acceleration, dt))
    most = ca.fmin(speed, _stoppable(high - ahead, acceleration, dt))
    rate = ca.fmin(ca.fmax(wanted, qd - change), qd + change)
    rate = ca.fmin(ca.fmax(rate, least), most)
    clipped = ca.mmax(ca.fabs(rate - wanted)) > CHANGED
    angle = ca.fmin(ca.fmax(q + dt * (qd + rate) / 2, low), high)
    return ca.vertcat(angle, rate, (rate - qd) / dt, clipped)


def _stoppable(room: ca.SX, deceleration: ca.SX, dt: ca.SX) -> ca.SX:
    """Return the maximum rate from which a joint stops within its range, step by step."""
    deceleration = RESERVE * deceleration
    half = deceleration * dt / 2
    return ca.sqrt(half**2 + 2 * deceleration * ca.fmax(room, 0)) - half


def torque_equations(structure: Structure) -> ca.Function:
    """
    Return ``(reading, trusted, then, reference, stiffness, c, drives) -> torque``.

    Reading: angles and rates of the encoders (2n), with 1 in ``trusted`` where they count (n); the
    reference of that time (2n), and that of now with its accelerations (3n); c: numbers of the
    arm; drives: maximum torques, those of the pull to the reference, inertias of the rotors as
    the joints feel them, viscous and Coulomb friction (5n).
    """
    n = len(structure.axes)
    sizes = {'reading': 2 * n, 'trusted': n, 'then': 2 * n, 'reference': 3 * n, 'stiffness': 1,
             'c': structure.size, 'drives': 5 * n}  # fmt: skip
    inputs = [ca.SX.sym(name, size) for name, size in sizes.items()]
    reading, trusted, then, reference, stiffness, c, drives = inputs
    (angle, rate), (angle_then, rate_then) = ca.vertsplit(reading, n), ca.vertsplit(then, n)
    q, qd, qdd = ca.vertsplit(reference, n)
    torque, most, rotor, viscous, coulomb = ca.vertsplit(drives, n)
    behind = ca.if_else(trusted > 0, angle_then - angle, 0)
    slower = ca.if_else(trusted > 0, rate_then - rate, 0)
    pull = 2 * stiffness * slower + stiffness**2 * behind
    at = ca.SX.sym('at', n)
    M, h = ca.substitute(
        list(dynamics(structure, at, qd, c)), [at], [ca.if_else(trusted > 0, angle, q)]
    )
    M += ca.diag(rotor)
    pulling = ca.fmin(ca.fmax(M @ pull, -most), most)
    friction = viscous * qd + coulomb * ca.tanh(qd / FRICTION_RATE)
    wanted = M @ qdd + pulling + h + friction
    found = ca.fmin(ca.fmax(wanted, -torque), torque)
    return ca.Function('bridge_torque', inputs, [ca.densify(found)])


def limit_numbers(chain: Chain) -> Array:
    """Return minimum and maximum angle [rad], rates and accelerations of joints, shape (4n,)."""
    return np.concatenate([chain.low, chain.high, chain.speed, chain.acceleration])


def most_torque(chain: Chain, motors: MotorModel) -> Array:
    """Return the maximum torque that both joint and motor allow [N m], shape (n,)."""
    return np.minimum(chain.torque, motors.torque_limit)


def drive_numbers(chain: Chain, motors: MotorModel, feedback_share: float) -> Array:
    """Return the drives' parameters for a torque, shape (5n,), see :func:`torque_equations`."""
    most = most_torque(chain, motors)
    friction = motors.viscous, motors.coulomb
    return np.concatenate([most, feedback_share * most, motors.reflected_inertia, *friction])


@dataclass(frozen=True, kw_only=True)
class BridgeSettings:
    """
    Settings of the bridge.

    Attributes
    ----------
    mode
        Command interface of the motors: effort, velocity or position.
    command_timeout
        Age of a command beyond which the arm is stopped [s].
    state_timeout
        Age of the joint states beyond which the arm is stopped [s].
    stop_time
        Time in which the arm is stopped [s].
    stiffness
        Natural frequency of the feedback to the reference [rad/s].
    feedback_share
        Maximum feedback torque, as a fraction of the maximum torque; it limits the effect of a
        wrong encoder before it is noticed.
    tracking_limit
        Tracking error of a joint that is a fault [rad].
    stall_distance
        Travel of the reference within which the reading of a joint must change [rad].
    off_plane
        Acceleration out of the plane of the arm that is ignored without a warning [m/s^2].

    """

    mode: str = 'effort'
    command_timeout: float = 0.02
    state_timeout: float = 0.02
    stop_time: float = 0.15
    stiffness: float = 60.0
    feedback_share: float = 0.1
    tracking_limit: float = 0.05
    stall_distance: float = 5e-3
    off_plane: float = 0.05

    def __post_init__(self) -> None:
        """Reject settings that cannot work."""
        if self.mode not in MODES:
            raise ParameterError(f'mode must be one of {", ".join(MODES)}, got {self.mode!r}')
        for name in self.__dataclass_fields__:
            if name != 'mode':
                check_positive(f'bridge: {name}', getattr(self, name))


class MotorBridge:
    """
    The bridge: commands and states in, motor commands out by :meth:`step`.

    Attributes
    ----------
    phase
        ``waiting`` for a first state, ``holding``, ``driving``, ``stopping``, or ``stopped``:
        at rest until :meth:`enable`.
    reason
        Why it last stopped; empty if nothing was wrong.
    q, qd, qdd
        Reference of the joints [rad], [rad/s], [rad/s^2].
    clipped
        Number of steps in which a limit changed a command.
    refused
        Reason why a command was last rejected; empty if none was.

    """

    def __init__(
        self, arm: Arm, motors: MotorModel, settings: BridgeSettings | None = None
    ) -> None:
        """
        Wait for a first state.

        Parameters
        ----------
        arm, motors
            As they are believed to be.
        settings
            How to drive.

        """
        self.arm, self.motors = arm, motors
        self.settings = settings or BridgeSettings()
        motors.check_joints(arm.joints)
        self._low, self._high = arm.chain.low, arm.chain.high
        self._torque = most_torque(arm.chain, motors)
        self._reference, self._drive = self._equations()
        self._commands = Watchdog(self.settings.command_timeout)
        self._states = Watchdog(self.settings.state_timeout)
        self._ramp = StopRamp(self.settings.stop_time)
        self._control = np.zeros(6)
        self._measured, self._rate = np.full(arm.joints, math.nan), np.zeros(arm.joints)
        self._stalled = np.zeros(arm.joints, dtype=bool)
        self._still_since = np.full(arm.joints, math.nan)  # the reference when a reading changed
        self.q, self.qd, self.qdd = (np.zeros(arm.joints) for _ in range(3))
        self._then = (self.q, self.qd)  # the reference at the last reading
        self.phase, self.reason, self.refused = 'waiting', '', ''
        self.enabled, self._broken, self._released = True, False, False
        self.clipped = 0

    def _equations(self) -> tuple[FastFunction, FastFunction]:
        """Return the compiled equations with the numbers of arm and motors."""
        arm, motors, settings = self.arm, self.motors, self.settings
        reference = FastFunction(compiled_for(arm.structure, reference_equations))
        drive = FastFunction(compiled_for(arm.structure, torque_equations))
        reference.inputs[4][:] = drive.inputs[5][:] = arm.numbers
        reference.inputs[5][:] = limit_numbers(arm.chain)
        drive.inputs[4][:] = settings.stiffness
        drive.inputs[6][:] = drive_numbers(arm.chain, motors, settings.feedback_share)
        return reference, drive

    # -- inputs -----------------------------------------------------------------------------

    def take_command(self, control: ArrayLike, t: float) -> bool:
        """
        Take accelerations of the hand.

        Parameters
        ----------
        control
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers.
        t
            Time of arrival [s].

        Returns
        -------
        bool
            Whether it was accepted; ``refused`` has the reason if not.

        """
        u = np.asarray(control, dtype=float)
        if u.shape != (6,) or not np.all(np.isfinite(u)):
            self.refused = 'command rejected: it is not finite'
            return False
        if not self.enabled:
            self.refused = f'command rejected: {self.reason or "not enabled"}'
            return False
        aside = self.arm.left_out(u)
        if aside > self.settings.off_plane:
            self.refused = f'{aside:.3g} m/s^2 or rad/s^2 out of the plane of the arm left out'
        self._control = u.copy()
        self._commands.feed(t)
        return True

    def take_state(self, position: ArrayLike, velocity: ArrayLike, t: float) -> None:
        """Take angles [rad] and rates [rad/s] of the joints, vectors; nan where one is lost."""
        q, qd = np.asarray(position, dtype=float), np.asarray(velocity, dtype=float)
        if not q.shape == qd.shape == self.q.shape:
            self.refused = f'joint states of {q.shape} and {qd.shape} numbers rejected'
            return
        changed = ~(np.abs(q - self._measured) < 1e-12)
        self._still_since = np.where(changed, self.q, self._still_since)
        self._stalled = np.abs(self.q - self._still_since) > self.settings.stall_distance
        self._measured, self._rate = q.copy(), qd.copy()
        self._then = (self.q.copy(), self.qd.copy())
        self._states.feed(t)
        if self.phase == 'waiting' and np.all(np.isfinite(q)):
            self._rest_here()

    def _rest_here(self) -> None:
        self.q, self._still_since = self._measured.copy(), self._measured.copy()
        self.qd = np.zeros_like(self.q)
        self._then = (self.q.copy(), self.qd.copy())
        self._stalled[:] = False
        self.phase = 'holding'

    def enable(self, t: float) -> None:
        """Take commands again, from where the arm is; a fault that lasts comes back."""
        self.enabled, self.reason, self._broken = True, '', False
        self._commands.forget()
        if np.all(np.isfinite(self._measured)) and not self._states.expired(t):
            self._rest_here()
        else:
            self.phase = 'waiting'

    def stop(self, t: float, reason: str = 'asked to stop') -> None:
        """Bring the arm to rest and take no more commands."""
        if self.enabled and self.phase == 'stopping':
            self.reason = reason  # it would have held and gone on
        self.enabled = False
        self._begin_stop(t, reason)

    # -- the step ---------------------------------------------------------------------------

    def step(self, t: float, dt: float) -> Array | None:
        """
        Return the motor commands for the next period.

        Parameters
        ----------
        t
            Time [s].
        dt
            Period [s].

        Returns
        -------
        NDArray or None
            Joint torques [N m], rates [rad/s] or angles [rad] by the mode, shape (n,). None before
            the first state, and after a failure of the hardware: a last command carries the arm's
            weight, and without commands the amplifiers brake, whatever the encoders read.

        """
        if self.phase == 'waiting':
            return None
        if self.phase in {'holding', 'driving'}:
            self._look_for_faults(t)
        if self.phase == 'holding' and not self._commands.expired(t):
            self.phase, self.reason = 'driving', ''
        elif self.phase == 'driving' and self._commands.expired(t):
            self._begin_stop(t, f'the command is {self._commands.age(t):.3f} s old')
        self._move_reference(t, dt)
        if not self._broken:
            return self._output(t)
        released, self._released = self._released, True
        return None if released else self._released_output()

    def _look_for_faults(self, t: float) -> None:
        lost = np.flatnonzero(~np.isfinite(self._measured))
        if self._states.expired(t):
            self._fail(t, f'the joint states are {self._states.age(t):.3f} s old')
        elif lost.size:
            self._fail(t, f'joint {int(lost[0]) + 1} gives no angle')
        else:
            off = np.abs(self._measured - self._then[0])
            worst = int(np.argmax(off))
            if self._stalled.any():
                self._fail(
                    t, f'joint {int(np.argmax(self._stalled)) + 1} does not turn, by its encoder'
                )
            elif not off[worst] <= self.settings.tracking_limit:
                self.q, self.qd = self._measured.copy(), self._rate.copy()
                self._fail(t, f'joint {worst + 1} is {off[worst]:.3g} rad from its reference')

    def _fail(self, t: float, reason: str) -> None:
        self.enabled, self._broken, self._released = False, True, False
        self._begin_stop(t, reason)

    def _begin_stop(self, t: float, reason: str) -> None:
        if self.phase in {'waiting', 'stopping', 'stopped'}:
            return
        self.phase, self.reason = 'stopping', reason
        self._ramp.start(self.qd, t)

    def _move_reference(self, t: float, dt: float) -> None:
        if self.phase == 'driving':
            inputs, n = self._reference.inputs, self.arm.joints
            inputs[0][:], inputs[1][:], inputs[2][:] = self.q, self.qd, self._control
            inputs[3][0] = dt
            out = self._reference.evaluate().copy()
            try:
                self.arm.check_regular(float(out[-1]))
            except ParameterError as error:
                self.stop(t, str(error))
            else:
                self.q, self.qd, self.qdd = out[:n], out[n : 2 * n], out[2 * n : 3 * n]
                self.clipped += bool(out[-2])
                return
        rate = self._ramp.rate(t + dt) if self.phase == 'stopping' else np.zeros_like(self.q)
        if self.phase == 'stopping' and self._ramp.over(t + dt):
            self.phase = 'holding' if self.enabled else 'stopped'
        self.qdd = (rate - self.qd) / dt
        self.q = np.minimum(np.maximum(self.q + dt * (self.qd + rate) / 2, self._low), self._high)
        self.qd = rate

    def _released_output(self) -> Array:
        """Return what neither drives nor drops the arm: its weight, no rate, or where it is."""
        held: Array = np.where(np.isfinite(self._measured), self._measured, self.q)
        if self.settings.mode == 'position':
            return held
        if self.settings.mode == 'velocity':
            return np.zeros_like(self.q)
        _, weight, _ = self.arm.dynamics(held, 0.0)
        return np.minimum(np.maximum(weight, -self._torque), self._torque)

    def _output(self, t: float) -> Array:
        mode = self.settings.mode
        if mode == 'position':
            return self.q.copy()
        trusted = np.isfinite(self._measured) & np.isfinite(self._rate)
        if self._states.expired(t):
            trusted[:] = False
        q_then, qd_then = self._then  # an old reading does not pull the harder, the older it is
        if mode == 'velocity':
            behind = np.where(trusted, q_then - self._measured, 0.0)
            return np.asarray(self.qd + self.settings.stiffness * behind, dtype=float)
        reading, on, then, reference = self._drive.inputs[:4]
        n, on[:] = self.arm.joints, trusted
        reading[:n], reading[n:], then[:n], then[n:] = self._measured, self._rate, q_then, qd_then
        reference[:n], reference[n : 2 * n], reference[2 * n :] = self.q, self.qd, self.qdd
        return self._drive.evaluate().copy()

"""Emulated motors, and the plant that they drive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.mode import MotionState
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.emulated_object import hybrid_views, Observation
from rolling_dynamics.hybrid_contact.from_contact_system import (
    hybrid_of,
    placed_state,
    planar_hybrid_of,
)
from rolling_dynamics.hybrid_contact.model_state import Plant
from rolling_dynamics.restriction import Restriction
from rolling_dynamics.simulation.emulation import Emulation
from rolling_hw_interface.arm import Arm, dynamics, Kinematics
from rolling_hw_interface.arm_chain import ALL, Structure
from rolling_hw_interface.faults import checked_fault, MOTOR_FAULTS
from rolling_hw_interface.motor_model import MODES, MotorModel
from transforms3d.quaternions import qmult, quat2mat

SWEEPS = 6  # over the joints, for the friction impulses
LOCKED = 1e6  # friction of a stuck joint [N m]


class JointStates(NamedTuple):
    """
    What the amplifiers report, shape (n,) each.

    Angles [rad] and filtered rates [rad/s] at the time of the report, torques [N m] as their mean
    since the last one.
    """

    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]


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
    share = 1 - ca.exp(-motors[-1] * dt)
    reported = reported + share * ((seen - counted) / dt - reported)
    new = ca.vertcat(q, rate, torque, seen, reported)
    return ca.Function('motor_turn', inputs, [ca.densify(new)])


@cache
def _turn_function(structure: Structure) -> ca.Function:
    return compiled(turn_equations(structure))[0]


def turn_numbers(motors: MotorModel, phases: ArrayLike) -> NDArray[np.float64]:
    """
    Return what a turn takes of the motors (7n + 2), with phases of the ripple [rad], shape (n,).

    Inertia as the joints feel it, viscous friction, ripple, gear, phase, torque limit and
    resolution of each joint, then both bandwidths [rad/s].
    """
    bandwidths = np.array([motors.current_bandwidth, motors.velocity_bandwidth])
    rows = (
        motors.reflected_inertia, motors.viscous, motors.ripple, motors.gear, phases,
        motors.torque_limit, motors.resolution, 2 * math.pi * bandwidths,
    )  # fmt: skip
    return np.concatenate(rows)


def ripple_phases(rng: np.random.Generator, joints: int) -> NDArray[np.float64]:
    """Draw the phases of the ripple [rad], shape (joints,); what is drawn first of a seed."""
    return rng.uniform(0, 2 * math.pi, joints)


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

    def __init__(self, arm: Arm, motors: MotorModel, q: ArrayLike, *, seed: int = 0) -> None:
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
        motors.check_joints(arm.joints)
        self._turn = FastFunction(_turn_function(arm.structure))
        self._turn.inputs[7][:] = arm.numbers
        phases = ripple_phases(self._rng, arm.joints)
        self._turn.inputs[8][:] = turn_numbers(motors, phases)
        self.fault, self.joint = 'none', 0
        self.reset(q)

    def reset(self, q: ArrayLike) -> None:
        """Put the arm at rest at joint angles q [rad], shape (joints,); no torque, no command."""
        angles = np.array(q, dtype=float)
        counted = np.floor(angles / self.motors.resolution) * self.motors.resolution
        rest = np.zeros_like(angles)
        self._state = np.concatenate([angles, rest, rest, counted, rest])
        self._mode, self._wanted, self._commanded = 'velocity', rest, -math.inf
        self._effort, self.braking = rest, False

    def _part(self, index: int) -> NDArray[np.float64]:
        return self._state[index * self.arm.joints : (index + 1) * self.arm.joints]

    @property
    def q(self) -> NDArray[np.float64]:
        """True joint angles [rad], shape (n,)."""
        return self._part(0)

    @property
    def qd(self) -> NDArray[np.float64]:
        """True joint rates [rad/s], shape (n,)."""
        return self._part(1)

    def inject(self, kind: str, joint: int = 0) -> None:
        """Start a fault, or end it with ``none``."""
        if not 0 <= joint < self.arm.joints:
            known = ', '.join(map(str, range(self.arm.joints)))
            raise ParameterError(f'joint must be one of {known}, got {joint}')
        self.fault, self.joint = checked_fault(kind, MOTOR_FAULTS), joint

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
        if self._lost():
            return
        self._mode, self._wanted, self._commanded = mode, wanted.copy(), t

    def step(self, wrench: ArrayLike, t: float, dt: float) -> NDArray[np.float64]:
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
        before, coulomb, read = self.qd, np.array(self.motors.coulomb), np.ones_like(self.q)
        silent = t - self._commanded
        self.braking = silent > self.motors.command_timeout
        if silent > self.motors.command_timeout + self.motors.holding_delay:
            coulomb += self.motors.holding
        if self.fault == 'motor_stuck':
            coulomb[self.joint] = LOCKED
        elif self.fault in {'encoder_frozen', 'encoder_lost'}:
            read[self.joint] = 0.0
        f = self._turn
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

    def _law(self) -> NDArray[np.float64]:
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

    def _lost(self) -> bool:
        return self.fault == 'messages_dropped' and bool(self._rng.random() < 0.5)

    def read(self) -> JointStates | None:
        """Return what the amplifiers report, or None if the message is lost."""
        if self.fault == 'silent' or self._lost():
            return None
        position, velocity = self._part(3).copy(), self._part(4).copy()
        if self.fault == 'encoder_lost':
            position[self.joint] = velocity[self.joint] = math.nan
        return JointStates(position, velocity, self._effort.copy())


HAND = {'q_WH': slice(0, 4), 'p_WH': slice(4, 7), 'w_WH_H': slice(7, 10), 'v_WH_H': slice(10, 13)}


@dataclass(frozen=True, slots=True)
class PlantView:
    """
    What is true of the plant at one instant.

    Attributes
    ----------
    hand, object_
        q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body; shape (13,) each.
    p_WC, force_W, torque_W
        Contact point [m], and force [N] and torque [N m] on the object there, in the world.
    gap
        Distance between object and plate [m].
    mode
        ``rolling``, ``slipping`` or ``separated``.

    """

    hand: NDArray[np.float64]
    object_: NDArray[np.float64]
    p_WC: NDArray[np.float64]
    force_W: NDArray[np.float64]
    torque_W: NDArray[np.float64]
    gap: float
    mode: str


class EmulatedPlant:
    """
    Arm, motors and object. Not for use from two threads at once.

    Attributes
    ----------
    motors
        The arm and its motors; commands go there.
    time
        Since the last reset [s].
    ended
        Name of the event that ended the motion of the object, or the empty string.
    held
        Whether the object is held on the plate, so that it only moves with it.
    events
        Names of what happened to the contact in the last step.

    """

    def __init__(
        self,
        model: ContactSystem,
        params: ArrayLike,
        start: ArrayLike,
        arm: Arm,
        motors: MotorModel,
        *,
        slip_share: float = 0.8,
        resistance: float = 0.0,
        seed: int = 0,
    ) -> None:
        """
        Put everything at its start.

        Parameters
        ----------
        model, params
            Object and plate, and their parameters; on a planar arm gravity is that of its plane.
        start
            State of the contact system at the start, on a planar arm in the plane x-z.
        arm, motors
            The arm and its motors.
        slip_share, resistance
            Kinetic over static friction, and rolling resistance [m s/rad].
        seed
            Of what is random in the motors.

        Raises
        ------
        ParameterError
            The arm does not reach the start, or the bodies do not fit.

        """
        self._model = model
        bodies = hybrid_of if arm.chain.moves == ALL else planar_hybrid_of
        system: Plant
        system, p = bodies(model, params, slip_share=slip_share, resistance=resistance)
        self._system, self._params, self._start = system, p, np.array(start, dtype=float)
        self._views = hybrid_views(system)
        hand = np.concatenate([self._start[model.state.slice(n)] for n in ('q_WH', 'p_WH')])
        self._joints = arm.joints_at(hand)
        self.motors = EmulatedMotors(arm, motors, self._joints, seed=seed)
        self._plant = Emulation(system, p)
        self._moves = list(arm.chain.moves)
        self._u = np.zeros(len(self._moves))
        self._plant.restart(self._placed(self._start), self._u)
        self.time, self.ended, self.held = 0.0, '', False
        self.events: tuple[str, ...] = ()
        self._seen = self._look()

    def get_ready(self) -> None:
        """Do what takes a second at the first change of mode before there is one."""
        self._system.get_ready()

    def reset(self, *, shift: float = 0.0, turn: float = 0.0) -> None:
        """
        Go back to the start, at rest.

        Parameters
        ----------
        shift, turn
            Of the contact point along the plate [m] and of the object about y [rad].

        """
        x = self._start.copy()
        x[self._model.state.slice('contact_h').start] += shift
        where = self._model.state.slice('q_HO')
        x[where] = qmult((math.cos(turn / 2), 0.0, math.sin(turn / 2), 0.0), x[where])
        self.motors.reset(self._joints)
        self._u, self.time, self.ended, self.events = 0.0 * self._u, 0.0, '', ()
        self._plant.restart(self._placed(x), self._u)
        self._seen = self._look()

    def _placed(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return placed_state(self._system, self._params, self._model, x)

    def step(self, dt: float) -> PlantView:
        """
        Advance by dt [s]; the motors do what they were commanded.

        Returns
        -------
        PlantView
            What is true afterwards.

        """
        motors, seen = self.motors, self._seen
        moment = seen.torque_W + np.cross(seen.p_WC - seen.hand[4:7], seen.force_W)
        q, qd = motors.q, motors.qd
        qdd = motors.step(-np.concatenate([seen.force_W, moment]), self.time, dt)
        self._u = motors.arm.hand_acceleration(q, qd, qdd)[self._moves]
        self.time += dt
        self.events = ()
        if not self.ended:
            plant = self._plant
            plant.forget()
            if not self.held:
                plant.step(self._u, dt)
            self.ended, self.events = plant.state.stopped, tuple(e.name for e in plant.events)
            plant.state = replace(plant.state, x=self._with_hand(plant.state.x))
        self._seen = self._look()
        return self._seen

    def _with_hand(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the state with the hand where the arm has it."""
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        system = self._system
        plane = system if isinstance(system, Restriction) else None
        out = x.copy() if plane is None else plane.expand_states(x)
        at = (system if plane is None else plane.whole).state.slice
        for name, part in HAND.items():
            out[at(name)] = hand[part]
        return out if plane is None else out[plane.state_index]

    def view(self) -> PlantView:
        """Return what is true now."""
        return self._seen

    @property
    def state(self) -> MotionState:
        """State of the object on the hand, with its mode."""
        return self._plant.state

    @property
    def control(self) -> NDArray[np.float64]:
        """Accelerations that the hand had in the last step; those of its control."""
        return self._u

    def _look(self) -> PlantView:
        state = self._plant.state
        seen = Observation(self._views[state.mode](state.x, self._u, state.t, state.p), ())
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        on, R_WH = not self.ended, quat2mat(hand[:4])
        return PlantView(
            hand=hand,
            object_=seen.object_,
            p_WC=seen.X_WCh[:3, 3],
            force_W=on * R_WH @ seen.wrench[3:],
            torque_W=on * R_WH @ seen.wrench[:3],
            gap=seen.gap,
            mode=state.published_mode,
        )

"""The chain of links of an arm, and the parameters of its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.quaternions import rotation_vector
from rolling_dynamics.rotations import product
from transforms3d.euler import euler2mat, euler2quat
from transforms3d.quaternions import qconjugate, qmult, quat2mat

STEPS, LONGEST, REACHED = 60, 0.5, 1e-9  # of Newton's method: number, maximum step [rad], error


def _frames(
    structure: Structure, q: ca.SX, c: ca.SX
) -> tuple[list[tuple[ca.SX, ca.SX]], list[ca.SX], ca.SX]:
    """Return attitude and position of each link and of the hand, axes of the joints, q_WH."""
    *links, (R_hand, q_hand, p_hand) = structure.frames(c)
    R, p, turned = ca.SX.eye(3), ca.SX.zeros(3), ca.SX([1, 0, 0, 0])
    found, axes = [], []
    for k, ((R_link, q_link, p_link), axis) in enumerate(zip(links, structure.axes, strict=True)):
        p, R = p + R @ p_link, R @ R_link
        axes.append(R[:, axis])
        R = R @ _turn(q[k], axis)
        half = ca.SX.zeros(3)
        half[axis] = ca.sin(q[k] / 2)
        turned = product(product(turned, q_link), ca.vertcat(ca.cos(q[k] / 2), half))
        found.append((R, p))
    return [*found, (R @ R_hand, p + R @ p_hand)], axes, product(turned, q_hand)


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
        Its attitude, as a quaternion and as a matrix, and its position in W.
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
        """Return the determinant of the Jacobian of the arm; zero where it is singular."""
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
    for k, (mass, centre, inertia) in enumerate(structure.bodies(c)):
        R, p = frames[k]
        at, moving = p + R @ centre, min(k + 1, n)
        J_v = ca.jacobian(at, q)
        J_w = ca.horzcat(turning[:, :moving], ca.SX(3, n - moving))
        w, I_W = J_w @ qd, R @ inertia @ R.T
        force = mass * (J_v @ qdd + ca.jtimes(J_v @ qd, q, qd) - structure.gravity(c))
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
def compiled_for(
    structure: Structure, equations: Callable[[Structure], ca.Function]
) -> ca.Function:
    """Return the equations of an arm, compiled once."""
    return compiled(equations(structure))[0]


def _dynamics_equations(structure: Structure) -> ca.Function:
    n = len(structure.axes)
    q, qd, c = ca.SX.sym('q', n), ca.SX.sym('qd', n), ca.SX.sym('c', structure.size)
    M, h = dynamics(structure, q, qd, c)
    out = ca.densify(ca.vertcat(ca.vec(M), h))
    return ca.Function('arm_dynamics', [q, qd, c], [out])


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
        self._hand = FastFunction(compiled_for(self.structure, hand_equations))
        self._dynamics = FastFunction(compiled_for(self.structure, _dynamics_equations))
        self._hand.inputs[4][:] = self._dynamics.inputs[2][:] = self.numbers

    def _known(
        self, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0, control: ArrayLike = 0.0
    ) -> Array:
        """Return what :func:`hand_equations` gives; overwritten by the next call."""
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
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers; a planar arm ignores the part out
            of its plane, see :meth:`left_out`.

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
        """Return the determinant of the Jacobian at joint angles [rad], shape (n,), unsigned."""
        return abs(float(self._known(q)[-1]))

    def check_regular(self, determinant: float) -> None:
        """Raise ParameterError where a determinant of the Jacobian is a singular arm's."""
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

    def hand_covariances(self, q: ArrayLike, variances: Array) -> Array:
        """
        Return the covariances of pose and twist of the hand, in the order of ``Odometry``.

        Parameters
        ----------
        q
            Joint angles [rad].
        variances
            Of the errors of angle [rad^2] and rate [rad^2/s^2] of each joint, shape (2, n).

        Returns
        -------
        NDArray
            Shape (2, 6, 6).

        """
        J = self.jacobian(q)
        turned = np.kron(np.eye(2), quat2mat(self.hand_state(q)[:4]).T) @ J
        return np.array([J * variances[0] @ J.T, turned * variances[1] @ turned.T])

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


ALL = (0, 1, 2, 3, 4, 5)  # of alpha_WH_H and a_WH_H
ROUNDED = 15  # digits after the point of attitudes: right angles are exact
FRAME, BODY = 16, 10  # numbers of a frame, and of a mass


@dataclass(frozen=True, kw_only=True)
class Body:
    """
    Mass, centre of mass and inertia of a link.

    Attributes
    ----------
    mass
        Mass [kg].
    centre
        Centre of mass in the frame of the link [m].
    inertia
        xx, yy, zz, xy, xz, yz about the centre of mass, along the axes of the link [kg m^2].

    """

    mass: float = 0.0
    centre: tuple[float, ...] = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...] = (0.0,) * 6

    def numbers(self) -> list[float]:
        """Return mass, centre and inertia as one list."""
        return [self.mass, *self.centre, *self.inertia]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Pose of a frame in the one before it: position [m], and roll, pitch, yaw [rad]."""

    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)

    @property
    def quaternion(self) -> Array:
        """Its attitude (w, x, y, z), shape (4,)."""
        return np.asarray(np.round(euler2quat(*self.rpy, 'sxyz'), ROUNDED) + 0.0, dtype=float)

    @property
    def matrix(self) -> Array:
        """Its attitude as a rotation matrix, without unit, shape (3, 3)."""
        return np.asarray(np.round(euler2mat(*self.rpy, 'sxyz'), ROUNDED) + 0.0, dtype=float)

    def numbers(self) -> list[float]:
        """Return the matrix by rows, the quaternion and the place as one list."""
        return [*self.matrix.ravel(), *self.quaternion, *self.position]


@dataclass(frozen=True, kw_only=True)
class Link:
    """
    A link and the joint that moves it; its frame is in the joint and rotates with it.

    Attributes
    ----------
    joint
        Name of the joint.
    place
        Pose of the joint in the frame of the previous link, at a joint angle of zero.
    axis
        0, 1 or 2: the joint turns about x, y or z.
    body
        Mass of the link.
    low, high, speed, acceleration, torque
        Limits of the joint [rad], [rad/s], [rad/s^2], [N m].

    """

    joint: str
    place: Place
    axis: int
    body: Body
    low: float
    high: float
    speed: float
    acceleration: float
    torque: float


class Structure(NamedTuple):
    """
    Structure of an arm that its equations are written for.

    Attributes
    ----------
    axes
        Axis of each joint.
    moves
        Which of the hand's six accelerations the arm gives.
    pattern
        Its numbers where they are 0, 1 or -1, None where they are inputs.

    """

    axes: tuple[int, ...]
    moves: tuple[int, ...]
    pattern: tuple[float | None, ...]

    @property
    def size(self) -> int:
        """Number of inputs."""
        return self.pattern.count(None)

    @property
    def moved(self) -> list[int]:
        """Indices in (v_WH_W, w_WH_W) that the arm moves."""
        return sorted((k + 3) % 6 for k in self.moves)

    def _all(self, c: ca.SX) -> ca.SX:
        inputs = iter(range(self.size))
        return ca.vertcat(*(c[next(inputs)] if v is None else v for v in self.pattern))

    def frames(self, c: ca.SX) -> list[tuple[ca.SX, ca.SX, ca.SX]]:
        """Return matrix, quaternion, position of joints and hand, each in the previous frame."""
        numbers, found = self._all(c), []
        for k in range(len(self.axes) + 1):
            n = numbers[FRAME * k : FRAME * (k + 1)]
            found.append((ca.reshape(n[:9], 3, 3).T, n[9:13], n[13:16]))
        return found

    def bodies(self, c: ca.SX) -> Iterator[tuple[ca.SX, ca.SX, ca.SX]]:
        """Yield mass, centre and inertia (3, 3) of the links, then the hand."""
        numbers = self._all(c)[FRAME * (len(self.axes) + 1) : -3]
        for k in range(len(self.axes) + 1):
            n = numbers[BODY * k : BODY * (k + 1)]
            yield n[0], n[1:4], inertia_matrix(n[4:10])

    def gravity(self, c: ca.SX) -> ca.SX:
        """Return gravity in the world."""
        return self._all(c)[-3:]


def _of_each(name: str) -> cached_property[Array]:
    """Return a property of a chain: a number of each of its links, shape (n,)."""
    return cached_property(lambda chain: np.array([getattr(link, name) for link in chain.links]))


@dataclass(frozen=True, kw_only=True)
class Chain:
    """
    A chain of links between the world and the hand.

    Attributes
    ----------
    links
        Links from the base on; the joint of the first is fixed to the world.
    hand
        Pose of the hand in the last link.
    payload
        Mass of the hand, in its frame.
    gravity
        Gravity in the world [m/s^2].
    home
        Joint angles [rad] near which it works.
    determinant
        Minimum magnitude of the determinant of its Jacobian: below, it counts as singular.
    low, high
        Minimum and maximum joint angles [rad], shape (n,).
    speed, acceleration, torque
        Maximum joint rates [rad/s], accelerations [rad/s^2] and torques [N m], shape (n,).

    """

    links: tuple[Link, ...]
    hand: Place
    payload: Body = Body()
    gravity: tuple[float, ...]
    home: tuple[float, ...]
    determinant: float

    low = _of_each('low')
    high = _of_each('high')
    speed = _of_each('speed')
    acceleration = _of_each('acceleration')
    torque = _of_each('torque')

    def __post_init__(self) -> None:
        """Reject a chain whose joints do not fix the motion of the hand."""
        if len(self.links) != len(self.moves):
            raise ParameterError(
                f'arm: it has {len(self.links)} joints, 6 are needed, or 3 about the y axis of '
                'the world'
            )
        if len(self.home) != len(self.links):
            raise ParameterError(f'arm: home takes {len(self.links)} angles, got {len(self.home)}')

    @property
    def joint_names(self) -> list[str]:
        """Names of its joints, from the base on."""
        return [link.joint for link in self.links]

    @property
    def moves(self) -> tuple[int, ...]:
        """Indices in (alpha_WH_H, a_WH_H) that the arm gives: all, or those in the plane x-z."""
        places = [*(link.place for link in self.links), self.hand]
        level = all(abs(r) + abs(y) < 1e-12 for r, _, y in (p.rpy for p in places))
        planar = level and all(link.axis == 1 for link in self.links)
        return (1, 3, 5) if planar else ALL

    def split(self) -> tuple[Structure, Array]:
        """Return the structure, and what its equations take [SI units], shape (size,)."""
        places: Sequence[Place] = (*(link.place for link in self.links), self.hand)
        bodies = (*(link.body for link in self.links), self.payload)
        every = [v for place in places for v in place.numbers()]
        every += [v for body in bodies for v in body.numbers()]
        every += self.gravity
        pattern = tuple(float(v) if v in (0, 1, -1) else None for v in every)
        numbers = [v for v, fixed in zip(every, pattern, strict=True) if fixed is None]
        structure = Structure(tuple(link.axis for link in self.links), self.moves, pattern)
        return structure, np.array(numbers)


JOINTS = 3
MOUNT = math.pi / 2  # pitch of the hand where link 3 points along x
SLENDER = 1e-3  # inertia of a link about its own length, of that about its joint: not measured


@dataclass(frozen=True, kw_only=True)
class ArmModel:
    """
    A planar arm with three revolute joints about the world's y axis.

    A joint angle turns about +y, so that a link at angle phi points along
    ``(cos phi, 0, -sin phi)``. The hand sits at the end of link 3 with its z axis along the link:
    its pitch is ``q1 + q2 + q3 + pi/2``.

    Attributes
    ----------
    lengths
        Lengths of the three links [m].
    masses
        Masses of the links, the last with the hand [kg].
    centres
        Distance from joint to centre of mass of each link, along the link [m].
    inertias
        Inertias of the links about their centres of mass, y axis [kg m^2].
    base
        x and z of joint 1 in the world [m].
    gravity
        x and z of gravity in the plane of the arm; of an inclined table its component in the table
        [m/s^2].
    low
        Minimum joint angles [rad].
    high
        Maximum joint angles [rad].
    speed
        Maximum joint speeds [rad/s].
    acceleration
        Maximum joint accelerations [rad/s^2].
    torque
        Maximum joint torques, after the gear [N m].
    singular_sine
        Minimum |sin q2|; the arm is singular when stretched or folded.

    """

    lengths: tuple[float, ...] = (0.40, 0.40, 0.10)
    masses: tuple[float, ...] = (1.4, 1.1, 0.5)
    centres: tuple[float, ...] = (0.20, 0.20, 0.08)
    inertias: tuple[float, ...] = (1.9e-2, 1.5e-2, 6e-3)
    base: tuple[float, ...] = (-0.50, -0.25)
    gravity: tuple[float, ...] = (0.0, -9.81 * math.sin(math.radians(24.0)))
    low: tuple[float, ...] = (-2.8, 0.05, -3.1)
    high: tuple[float, ...] = (1.6, 2.9, 1.6)
    speed: tuple[float, ...] = (8.0, 8.0, 12.0)
    acceleration: tuple[float, ...] = (150.0, 200.0, 400.0)
    torque: tuple[float, ...] = (60.0, 40.0, 15.0)
    singular_sine: float = 0.1

    def __post_init__(self) -> None:
        """Reject impossible values."""
        sizes = {'base': 2, 'gravity': 2}
        for name in self.__dataclass_fields__:
            value = np.atleast_1d(np.asarray(getattr(self, name), dtype=float))
            size = 1 if name == 'singular_sine' else sizes.get(name, JOINTS)
            if value.shape != (size,) or not np.all(np.isfinite(value)):
                raise ParameterError(
                    f'arm: {name} takes {size} finite numbers, got {value.tolist()}'
                )
        for name in ('lengths', 'masses', 'inertias', 'speed', 'acceleration', 'torque'):
            check_positive(f'arm: {name}', getattr(self, name))
        if not all(a < b for a, b in zip(self.low, self.high, strict=True)):
            raise ParameterError(
                f'arm: low must be less than high for each joint, got {self.low} and {self.high}'
            )
        if not 0.0 < self.singular_sine < 1.0:
            raise ParameterError(
                f'arm: singular_sine must lie between 0 and 1, got {self.singular_sine:g}'
            )

    @property
    def chain(self) -> Chain:
        """The arm as a chain, in the plane y = 0 of the world."""
        (x, z), (gx, gz), (a, b, c) = self.base, self.gravity, self.lengths
        places = ((x, 0.0, z), (a, 0.0, 0.0), (b, 0.0, 0.0))
        links = [
            Link(
                joint=f'joint_{k + 1}',
                place=Place(position=places[k]),
                axis=1,
                body=_slender(self.masses[k], self.centres[k], self.inertias[k]),
                low=self.low[k],
                high=self.high[k],
                speed=self.speed[k],
                acceleration=self.acceleration[k],
                torque=self.torque[k],
            )
            for k in range(JOINTS)
        ]
        return Chain(
            links=tuple(links),
            hand=Place(position=(c, 0.0, 0.0), rpy=(0.0, MOUNT, 0.0)),
            gravity=(gx, 0.0, gz),
            home=tuple((low + high) / 2 for low, high in zip(self.low, self.high, strict=True)),
            determinant=self.singular_sine * a * b,
        )


def _slender(mass: float, centre: float, inertia: float) -> Body:
    along = SLENDER * inertia
    return Body(
        mass=mass, centre=(centre, 0.0, 0.0), inertia=(along, inertia, inertia, 0.0, 0.0, 0.0)
    )

"""
What the motor bridge computes in every period, as compiled functions.

Its reference of the joints one period on, within the limits; and the torque of the arm's equations
with a stiff and damped pull to that reference.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_hw_interface.arm import dynamics, Kinematics
from rolling_hw_interface.arm_chain import Chain, Structure
from rolling_hw_interface.motor_model import MotorModel

FRICTION_RATE = 2e-3  # of a joint, above which all of its friction is made up for [rad/s]
RESERVE = 0.95  # share of the deceleration with which a limit is approached
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
    """Return the maximum rate from which a joint stops within the room left, step by step."""
    deceleration = RESERVE * deceleration
    half = deceleration * dt / 2
    return ca.sqrt(half**2 + 2 * deceleration * ca.fmax(room, 0)) - half


@cache
def reference_function(structure: Structure) -> ca.Function:
    """Return :func:`reference_equations`, compiled."""
    return compiled(reference_equations(structure))[0]


@cache
def torque_function(structure: Structure) -> ca.Function:
    """Return :func:`torque_equations`, compiled."""
    return compiled(torque_equations(structure))[0]


@cache
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
    """Return the greatest torque that both joint and motor allow [N m], shape (n,)."""
    return np.minimum(chain.torque, motors.torque_limit)


def drive_numbers(chain: Chain, motors: MotorModel, feedback_share: float) -> Array:
    """Return what a torque takes of the drives, shape (5n,), see :func:`torque_equations`."""
    most = most_torque(chain, motors)
    friction = motors.viscous, motors.coulomb
    return np.concatenate([most, feedback_share * most, motors.reflected_inertia, *friction])

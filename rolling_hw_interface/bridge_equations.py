"""
What the motor bridge computes in every period, as compiled functions.

Its reference of the joints one period on, within the limits; and the torque of the arm's equations
with a stiff and damped pull to that reference.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contract.layout import Layout, vector_entry
from rolling_hw_interface.arm import (
    dynamics_function,
    joint_acceleration_expression,
    kinematics_function,
)

FRICTION_RATE = 2e-3  # of a joint, above which all of its friction is made up for [rad/s]
RESERVE = 0.95  # share of the deceleration with which a limit is approached
CHANGED = 1e-9  # rad/s by which a limit has to change a rate to be counted
LIMITS = Layout(
    (
        vector_entry('low', 'rad', '', 'minimum angles'),
        vector_entry('high', 'rad', '', 'maximum angles'),
        vector_entry('speed', 'rad/s', '', 'maximum rates'),
        vector_entry('acceleration', 'rad/s^2', '', 'maximum accelerations'),
    )
)
DRIVES = Layout(
    (
        vector_entry('torque', 'N m', '', 'maximum torques'),
        vector_entry('most', 'N m', '', 'maximum torques of the pull to the reference'),
        vector_entry('rotor', 'kg m^2', '', 'inertias of the rotors as the joints feel them'),
        vector_entry('viscous', 'N m s/rad', '', 'friction'),
        vector_entry('coulomb', 'N m', '', 'friction'),
    )
)


@cache
def reference_function() -> ca.Function:
    """
    Return ``(q, qd, control, dt, geometry, LIMITS) -> q, qd, qdd, clipped``, compiled.

    The reference of the joints after a period of an acceleration of the hand, alpha_WH_H and
    a_WH_H; clipped is 1 where a limit changed a rate.
    """
    q, qd = ca.SX.sym('q', 3), ca.SX.sym('qd', 3)
    control, dt, geometry = ca.SX.sym('u', 6), ca.SX.sym('dt'), ca.SX.sym('geometry', 5)
    limits = ca.SX.sym('limits', LIMITS.size)
    low, high, speed, acceleration = (limits[3 * k : 3 * k + 3] for k in range(4))
    known = kinematics_function()(q, qd, geometry)
    wanted = qd + dt * joint_acceleration_expression(known, control)
    out = limited_step(q, qd, wanted, dt, (low, high, speed, acceleration))
    inputs = [q, qd, control, dt, geometry, limits]
    return compiled(ca.Function('bridge_reference', inputs, [ca.densify(out)]))[0]


def limited_step(
    q: ca.SX, qd: ca.SX, wanted: ca.SX, dt: ca.SX, limits: tuple[ca.SX | ca.DM, ...]
) -> ca.SX:
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
    """Return the greatest rate from which a joint stops within the room left, step by step."""
    deceleration = RESERVE * deceleration
    half = deceleration * dt / 2
    return ca.sqrt(half**2 + 2 * deceleration * ca.fmax(room, 0)) - half


@cache
def torque_function() -> ca.Function:
    """
    Return ``(reading, trusted, then, reference, stiffness, arm, DRIVES) -> torque``, compiled.

    Reading: angles and rates of the encoders (6), with 1 in ``trusted`` where they count (3); the
    reference of that time (6), and that of now with its accelerations (9); arm: geometry, inertial
    parameters, gravity (16).
    """
    reading, trusted, then = ca.SX.sym('reading', 6), ca.SX.sym('on', 3), ca.SX.sym('then', 6)
    reference, stiffness = ca.SX.sym('reference', 9), ca.SX.sym('stiffness')
    arm, drives = ca.SX.sym('arm', 16), ca.SX.sym('drives', DRIVES.size)
    q, qd, qdd = reference[0:3], reference[3:6], reference[6:9]
    torque, most, rotor, viscous, coulomb = (drives[3 * k : 3 * k + 3] for k in range(5))
    behind = ca.if_else(trusted > 0, then[0:3] - reading[0:3], 0)
    slower = ca.if_else(trusted > 0, then[3:6] - reading[3:6], 0)
    pull = 2 * stiffness * slower + stiffness**2 * behind
    at = ca.if_else(trusted > 0, reading[0:3], q)
    out = dynamics_function()(at, qd, ca.SX(3, 1), arm[:5], arm[5:14], arm[14:])
    M = ca.reshape(out[:9], 3, 3) + ca.diag(rotor)
    pulling = ca.fmin(ca.fmax(M @ pull, -most), most)
    friction = viscous * qd + coulomb * ca.tanh(qd / FRICTION_RATE)
    wanted = M @ qdd + pulling + out[9:12] + friction
    inputs = [reading, trusted, then, reference, stiffness, arm, drives]
    found = ca.fmin(ca.fmax(wanted, -torque), torque)
    return compiled(ca.Function('bridge_torque', inputs, [ca.densify(found)]))[0]

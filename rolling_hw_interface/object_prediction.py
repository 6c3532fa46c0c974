"""
What the object does next and how it touches the hand, as compiled functions of its pose.

In contact the forces are those of rolling, held in the friction cone; out of contact there are
none. The contact point is the closest point of hand and object.
"""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.separation import posed_state
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.rotations import conjugate, exponential, product, rotation_matrix

BODY = Layout(
    (
        quaternion_entry('q_WO', 'attitude of the object'),
        vector_entry('p_WO', 'm', 'W', 'centre of mass of the object'),
        vector_entry('w_WO_W', 'rad/s', 'W', 'angular velocity'),
        vector_entry('v_WO_W', 'm/s', 'W', 'velocity of the centre of mass'),
    )
)
ERROR = Layout(
    (
        vector_entry('d_p', 'm', 'W', 'error of the position'),
        vector_entry('d_R', 'rad', 'W', 'turn of the attitude, R = Exp(d_R) R_estimate'),
        vector_entry('d_v', 'm/s', 'W', 'error of the velocity'),
        vector_entry('d_w', 'rad/s', 'W', 'error of the angular velocity'),
        Entry('d_t', ('d_t',), 's', text='error of the clock'),
    )
)
CONTACT = Layout(
    (
        Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', text='contact point on the hand'),
        Entry('gap', ('gap',), 'm', text='distance along the normal'),
        vector_entry('slip_Ch', 'm/s', 'Ch', 'velocity of the point of the object over the hand'),
    )
)


def advanced_hand(hand: ca.SX, u: ca.SX, dt: ca.SX) -> ca.SX:
    """Return pose and twist of the hand dt seconds later, under the accelerations u."""
    R = rotation_matrix(hand[:4])
    w, v = hand[7:10], hand[10:13]
    a_W = R @ u[3:6]
    w_next = w + dt * u[0:3]
    q = product(hand[:4], exponential(dt * (w + w_next) / 2))
    v_W = R @ v + dt * a_W
    p = hand[4:7] + dt * (R @ v) + dt**2 / 2 * a_W
    return ca.vertcat(q, p, w_next, rotation_matrix(q).T @ v_W)


def _odometry(body: ca.SX) -> ca.SX:
    """Return the object's pose and its twist in its own frame."""
    R = rotation_matrix(body[:4])
    return ca.vertcat(body[:7], R.T @ body[7:10], R.T @ body[10:13])


def prediction_function(system: ContactSystem) -> ca.Function:
    """
    Return ``(body, near, hand, u, lead, dt, touching, p) -> body, near, gap``, compiled.

    Parameters
    ----------
    system
        The system, in the representation ``attitude``.

    Returns
    -------
    casadi.Function
        Of the object (``BODY``), chart coordinates of the hand near the contact, pose and twist
        of the hand (13), its accelerations (6), the time since the hand was there [s], the
        duration [s], whether hand and object touch (1 or 0), and the parameters.

    """
    return compiled(_prediction(system))[0]


def spread_function(system: ContactSystem) -> ca.Function:
    """
    Return ``(body, near, hand, u, lead, dt, touching, p) -> derivatives (12x13)``, compiled.

    How an error of the object, ``ERROR`` without the clock, moves on, by columns; the last column
    is the error that comes of the logarithm of the scale of the inertia. The inputs are those of
    :func:`prediction_function`.
    """
    predict = _prediction(system)
    inputs = [ca.SX.sym(predict.name_in(k), predict.size1_in(k)) for k in range(8)]
    body, *rest, p = inputs
    d, J = ca.SX.sym('d', 13), system.parameters.slice('inertia')
    scaled = ca.SX(p)
    scaled[J] = p[J] * ca.exp(d[12])
    ahead, moved = predict(*inputs), predict(_moved(body, d), *rest, scaled)
    turned = product(moved[:4], conjugate(ahead[:4]))
    error = ca.vertcat(
        moved[4:7] - ahead[4:7],
        2 * turned[1:],
        moved[10:13] - ahead[10:13],
        moved[7:10] - ahead[7:10],
    )
    F = ca.substitute(ca.jacobian(error, d), d, ca.DM.zeros(13))
    out = ca.cse(ca.vec(ca.densify(F)))
    return compiled(ca.Function('object_spread', inputs, [out]))[0]


def _moved(body: ca.SX, d: ca.SX) -> ca.SX:
    """Return the object moved by an error, ``ERROR`` without the clock."""
    return ca.vertcat(
        product(exponential(d[3:6]), body[:4]),
        body[4:7] + d[0:3],
        body[7:10] + d[9:12],
        body[10:13] + d[6:9],
    )


def _prediction(system: ContactSystem) -> ca.Function:
    body, near, hand = ca.SX.sym('body', 13), ca.SX.sym('near', 2), ca.SX.sym('hand', 13)
    u, lead, dt = ca.SX.sym('u', 6), ca.SX.sym('lead'), ca.SX.sym('dt')
    touching, p = ca.SX.sym('touching'), ca.SX.sym('p', system.parameters.size)
    found = posed_state(system)(advanced_hand(hand, u, lead), _odometry(body), near, p)
    x, gap = found[: system.state.size], found[system.state.size]
    force_W, torque_W = _contact_force(system, x, u, touching, p)
    mass = p[system.parameters.slice('mass')]
    xx, yy, zz, xy, xz, yz = ca.vertsplit(p[system.parameters.slice('inertia')])
    J = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    R = rotation_matrix(body[:4])
    w_O = R.T @ body[7:10]
    alpha = R @ ca.solve(J, R.T @ torque_W - ca.cross(w_O, J @ w_O))
    a = force_W / mass + p[system.parameters.slice('gravity_W')]
    w, v = body[7:10], body[10:13]
    q = product(exponential(dt * w + dt**2 / 2 * alpha), body[:4])
    out = ca.vertcat(
        q / ca.norm_2(q),
        body[4:7] + dt * v + dt**2 / 2 * a,
        w + dt * alpha,
        v + dt * a,
        x[system.state.slice('contact_h')],
        gap,
    )
    inputs = [body, near, hand, u, lead, dt, touching, p]
    return ca.Function('object_prediction', inputs, [ca.densify(out)])


def _contact_force(
    system: ContactSystem, x: ca.SX, u: ca.SX, touching: ca.SX, p: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Return force and torque about the centre of mass on the object, in W."""
    law = system.mode.wrench
    if law is None:
        raise ParameterError('the system has no contact force')
    wrench = law(x, u, 0, p)
    _, X_WO, X_WC = system.pose(x, p)
    normal = ca.fmax(wrench[5], 0)
    tangential = ca.norm_2(ca.vertcat(wrench[3:5], 1e-12))
    share = ca.fmin(1, p[system.parameters.slice('mu')] * normal / tangential)
    on = ca.if_else(wrench[5] > 0, touching, 0)
    force = X_WC[:3, :3] @ ca.vertcat(share * wrench[3:5], normal)
    arm = X_WC[:3, 3] - X_WO[:3, 3]
    return on * force, on * (ca.cross(arm, force) + X_WC[:3, :3] @ wrench[:3])


def contact_function(system: ContactSystem) -> ca.Function:
    """
    Return ``(body, near, hand, u, lead, p) -> contact (6), derivatives (6x12), x``, compiled.

    The contact stands in ``CONTACT``, its derivatives are with respect to ``ERROR`` without the
    clock, by columns; x is the state of the system. The inputs are those of
    :func:`prediction_function`.
    """
    body, near, hand = ca.SX.sym('body', 13), ca.SX.sym('near', 2), ca.SX.sym('hand', 13)
    u, lead, p = ca.SX.sym('u', 6), ca.SX.sym('lead'), ca.SX.sym('p', system.parameters.size)
    d = ca.SX.sym('d', 12)
    moved = _moved(body, d)
    now = advanced_hand(hand, u, lead)
    found = posed_state(system)(now, _odometry(moved), near, p)
    x, gap = found[: system.state.size], found[system.state.size]
    uv = x[system.state.slice('contact_h')]
    hand_p = p[system.parameters.slice('hand_surface')]
    geometry = system.hand_surface.geometry(uv, hand_p, system.hand_chart)
    R = rotation_matrix(now[:4])
    point_W = now[4:7] + R @ (geometry.position + gap * geometry.frame[:, 2])
    v_object = moved[10:13] + ca.cross(moved[7:10], point_W - moved[4:7])
    v_hand = R @ (now[10:13] + ca.cross(now[7:10], geometry.position))
    contact = ca.vertcat(uv, gap, (R @ geometry.frame).T @ (v_object - v_hand))
    J = ca.jacobian(contact, d)
    values = ca.substitute([ca.vertcat(contact, ca.vec(ca.densify(J)), x)], [d], [ca.SX.zeros(12)])
    inputs = [body, near, hand, u, lead, p]
    return compiled(ca.Function('object_contact', inputs, [ca.densify(values[0])]))[0]

"""
Kalman filter for pose and twist of the object, at the time of the last image.

The mean moves by the equations of the contact; the covariance as of a free body driven by
white accelerations. The error lives in the tangent space (``ERROR``); its last
component is the time by which the images are dated wrong. Where hand and object touch, that the
gap is zero and the contact rolls is taken as a measurement. Where the inertia is in doubt, its
scale is estimated too, and the covariance moves by derivatives of the equations of the contact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact.closest_points import closest_points, Touch
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import posed_state
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.quaternions import rotation_vector
from rolling_dynamics.rotations import conjugate, exponential, product, rotation_matrix
from transforms3d.quaternions import qmult, quat2mat

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
        Its inputs: the object (``BODY``), chart coordinates of the hand near the contact, pose and
        twist of the hand (13), its accelerations (6), their age [s], the duration [s], whether
        hand and object touch (1 or 0), and the parameters.

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
    J = inertia_matrix(p[system.parameters.slice('inertia')])
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
    fraction = ca.fmin(1, p[system.parameters.slice('mu')] * normal / tangential)
    on = ca.if_else(wrench[5] > 0, touching, 0)
    force = X_WC[:3, :3] @ ca.vertcat(fraction * wrench[3:5], normal)
    arm = X_WC[:3, 3] - X_WO[:3, 3]
    return on * force, on * (ca.cross(arm, force) + X_WC[:3, :3] @ wrench[:3])


def contact_function(system: ContactSystem) -> ca.Function:
    """
    Return ``(body, near, hand, u, lead, p) -> contact (6), derivatives (6x12), x``, compiled.

    The contact is in ``CONTACT``, its derivatives are with respect to ``ERROR`` without the clock,
    by columns; x is the state of the system. The inputs are those of :func:`prediction_function`.
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


@cache
def update_function(rows: int, states: int) -> ca.Function:
    """
    Return ``(C, H C, S, innovation) -> distance, correction, C``, compiled.

    Parameters
    ----------
    rows, states
        Sizes of the measurement, and of the estimate.

    Returns
    -------
    casadi.Function
        Of the covariance (states, states), ``H C`` (states, rows) by columns, so its transpose,
        ``H C H^T`` with the noise (rows, rows), and the innovation; gives the squared Mahalanobis
        distance, the correction and the new covariance. Where S is not positive definite, nothing
        is finite.

    """
    C, S = ca.SX.sym('C', states, states), ca.SX.sym('S', rows, rows)
    CH, innovation = ca.SX.sym('CH', states, rows), ca.SX.sym('r', rows)
    L = ca.chol(S).T
    r, Y = ca.solve(L, innovation), ca.solve(L, CH.T)
    upper = ca.triu(ca.densify(C - Y.T @ Y))
    new = upper + ca.triu(upper, False).T
    out = ca.vertcat(ca.sumsqr(r), Y.T @ r, ca.vec(ca.densify(new)))
    return compiled(ca.Function(f'kalman_update_{rows}', [C, CH, S, innovation], [out]))[0]


GATE = {2: 13.8, 3: 16.3, 4: 18.5, 6: 22.5}  # 99.9 % of chi squared, by degrees of freedom
LONGEST_STEP = 5e-3  # of the prediction [s]
FASTEST, FASTEST_TURN = 30.0, 1e3  # m/s, rad/s: beyond that an estimate has gone astray
LIGHTEST, HEAVIEST = 0.05, 20.0  # inertia that can be found, times that believed
P, R, V, W = (ERROR.slice(name) for name in ('d_p', 'd_R', 'd_v', 'd_w'))
OUT_OF_PLANE = [1, 3, 5, 7, 9, 11]
RATES = slice(6, 12)
REST_NOISE = np.diag(np.repeat((1e-6, 1e-4), 3))  # of a held object
PLANE_NOISE = np.diag(np.repeat((1e-8, 1e-6, 1e-6), (1, 2, 3)))
CONJUGATE = np.array((1.0, -1.0, -1.0, -1.0))
TURNS = np.arange(6)  # d_p and d_R, which d_v and d_w move


@dataclass(frozen=True, kw_only=True)
class FilterModel:
    """
    Assumptions of the filter.

    Attributes
    ----------
    acceleration
        Process noise: unmodelled acceleration [m/s^1.5].
    angular_acceleration
        Process noise: unmodelled angular acceleration [rad/s^1.5].
    gap
        Standard deviation of the gap of a contact [m].
    slip
        Standard deviation of the slip of a rolling contact [m/s].
    clock
        Initial standard deviation of the clock offset [s].
    clock_walk
        Random walk of the clock offset [s/s^0.5].
    inertia
        Standard deviation of the logarithm of the scale of the inertia; 0 = it is known. Where it
        is positive, the scale is estimated, and the covariance moves by the equations of the
        contact.
    planar
        Whether the object can only move in the plane x-z of the world and turn about y.

    """

    acceleration: float = 0.05
    angular_acceleration: float = 0.3
    gap: float = 1e-4
    slip: float = 5e-3
    clock: float = 2e-3
    clock_walk: float = 1e-5
    inertia: float = 0.0
    planar: bool = False

    def __post_init__(self) -> None:
        """Reject values that are not positive."""
        for name in self.__dataclass_fields__:
            if name != 'planar':
                value = getattr(self, name)
                check_positive(f'filter: {name}', value, zero=name == 'inertia')


class PoseFilter:
    """
    The filter. Not for use from two threads at once.

    Attributes
    ----------
    body
        Estimate, see ``object_prediction.BODY``.
    near
        Contact point on the hand, chart coordinates.
    covariance
        Of the error, shape (13, 13); (14, 14) with the logarithm of the scale of the inertia.
    touching
        Whether hand and object are taken to touch.
    clock_error
        Sum of the corrections of the images' dates [s].
    inertia
        Moments of inertia over those given.

    """

    def __init__(self, system: ContactSystem, params: ArrayLike, model: FilterModel) -> None:
        """
        Compile the equations.

        Parameters
        ----------
        system, params
            Hand and object, in the representation ``attitude``, and their parameters.
        model
            Model of the filter.

        """
        self.model = model
        self._predict = FastFunction(prediction_function(system))
        self._contact = FastFunction(contact_function(system))
        learns = self.model.inertia > 0
        self._derive = FastFunction(spread_function(system)) if learns else None
        self._size = ERROR.size + learns
        self._updates = {n: FastFunction(update_function(n, self._size)) for n in (2, 6)}
        p = np.asarray(params, dtype=float)
        at = system.parameters.slice('inertia')
        self._believed = p[at].copy()
        self._inertias = [f.inputs[7][at] for f in (self._predict, self._derive) if f]
        if self._derive:
            self._derive.inputs[7][:] = p
        self._predict.inputs[7][:] = p
        self._contact.inputs[5][:] = p
        strengths = (self.model.acceleration, self.model.angular_acceleration)
        self._power = np.repeat(np.square(strengths), 3)
        self.body = np.zeros(BODY.size)
        self.near = np.zeros(2)
        self.covariance = np.eye(self._size)
        self.covariance[ERROR.size :, ERROR.size :] = self.model.inertia**2
        self.touching = True
        self.clock_error = 0.0
        self.inertia = 1.0

    def start(
        self, p_WO: ArrayLike, q_WO: ArrayLike, near: ArrayLike, *, touching: bool = True
    ) -> None:
        """Start at a measured pose, of unknown velocity; q (w, x, y, z), p [m]."""
        self.body[:4], self.body[4:7] = np.asarray(q_WO), np.asarray(p_WO)
        self.body[7:] = 0.0
        self.near = np.array(near, dtype=float)
        deviations = np.repeat((2e-3, 0.05, 1.0, 20.0), 3)
        learnt = np.diag(self.covariance)[ERROR.size :]  # what does not go astray with the pose
        self.covariance = np.diag([*deviations**2, self.model.clock**2, *learnt])
        self.touching = touching

    def change_contact(self, *, touching: bool) -> None:
        """Set the contact as lost or made, with uncertain velocities."""
        self.touching = touching
        self.covariance[V, V] += 0.5**2 * np.eye(3)
        self.covariance[W, W] += 10.0**2 * np.eye(3)

    def mean_after(
        self, body: Array, near: Array, hand: ArrayLike, u: ArrayLike, lead: float, dt: float
    ) -> tuple[Array, Array]:
        """
        Return object and contact point after a time.

        Parameters
        ----------
        body, near
            Object and chart coordinates near the contact.
        hand, u
            Pose and twist of the hand (13) and its accelerations (6).
        lead, dt
            Time since the hand was there, and duration [s].

        """
        f = self._predict
        f.inputs[2][:], f.inputs[3][:], f.inputs[6][0] = hand, u, self.touching
        steps = max(1, math.ceil(dt / LONGEST_STEP)) if math.isfinite(dt) else 1
        for k in range(steps):
            f.inputs[0][:], f.inputs[1][:] = body, near
            f.inputs[4][0], f.inputs[5][0] = lead + k * dt / steps, dt / steps
            out = f.evaluate()
            if not math.isfinite(out.sum()):  # no closest point here: a free body
                return _coasted(body, dt - k * dt / steps), near
            body, near = out[:13].copy(), out[13:15].copy()
        return body, near

    def spread(self, dt: float) -> None:
        """Move the covariance on by dt [s] as of a free body, from where the mean is."""
        F = np.eye(self._size)
        F[TURNS, TURNS + 6] = dt
        x, y, z = (dt * self.body[7:10]).tolist()
        F[3, 4], F[3, 5], F[4, 5] = -z, y, -x
        F[4, 3], F[5, 3], F[5, 4] = z, -y, x
        self._spread(F, dt)

    def advance(self, hand: ArrayLike, u: ArrayLike, lead: float, dt: float) -> None:
        """Move mean and covariance on by the equations of the contact, see :meth:`mean_after`."""
        assert self._derive is not None  # noqa: S101 - of the type checker
        f, F = self._derive, np.eye(self._size)
        given = (self.body, self.near, hand, u, lead, dt, self.touching)
        for buffer, value in zip(f.inputs, given, strict=False):
            buffer[:] = value
        out = f.evaluate().reshape(13, 12).T
        if math.isfinite(out.sum()):
            F[:12, :12], F[:12, ERROR.size :] = out[:, :12], out[:, 12:]
            self._spread(F, dt)
        else:
            self.spread(dt)
        self.body, self.near = self.mean_after(self.body, self.near, hand, u, lead, dt)

    def _spread(self, F: Array, dt: float) -> None:
        C = F @ self.covariance @ F.T
        C[TURNS, TURNS] += dt**3 / 3 * self._power
        C[TURNS, TURNS + 6] += dt**2 / 2 * self._power
        C[TURNS + 6, TURNS] += dt**2 / 2 * self._power
        C[TURNS + 6, TURNS + 6] += dt * self._power
        C[12, 12] += self.model.clock_walk**2 * dt
        self.covariance = C

    def take_pose(
        self, p_WO: ArrayLike, q_WO: ArrayLike, covariance: ArrayLike
    ) -> tuple[bool, float]:
        """
        Take a measured pose.

        Parameters
        ----------
        p_WO, q_WO
            Place [m] and attitude (w, x, y, z).
        covariance
            Of place and of a turn about the world's axes, shape (6, 6).

        Returns
        -------
        accepted, distance
            Whether it fits, and the squared Mahalanobis distance of the innovation.

        """
        turn = qmult(np.asarray(q_WO, dtype=float), self.body[:4] * CONJUGATE)
        innovation = np.concatenate([np.asarray(p_WO) - self.body[4:7], rotation_vector(turn)])
        H = np.zeros((6, self._size))
        H[:3, P] = H[3:, R] = np.eye(3)
        H[:3, 12], H[3:, 12] = -self.body[10:13], -self.body[7:10]
        return self._update(innovation, H, np.asarray(covariance, dtype=float))

    def take_contact(self, hand: ArrayLike, u: ArrayLike, lead: float) -> bool:
        """
        Measure that a closed contact has no gap and does not slip.

        Parameters
        ----------
        hand, u, lead
            See :meth:`mean_after`.

        Returns
        -------
        bool
            Whether the estimate fits a contact that does not slip.

        """
        contact, J, _ = self.contact(self.body, self.near, hand, u, lead)
        if not math.isfinite(contact.sum() + J.sum()):
            return False
        self.near = contact[:2].copy()
        m = self.model
        for rows, deviations in (((2, 5), (m.gap, m.slip)), ((3, 4), (m.slip, m.slip))):
            H = np.zeros((2, self._size))
            H[:, :12] = J[list(rows)]
            fits, _ = self._update(-contact[list(rows)], H, np.diag(np.square(deviations)))
        return fits

    def take_plane(self) -> None:
        """Take that the object moves in the plane x-z and turns about y."""
        q = self.body[:4]
        flat = np.array((q[0], 0.0, q[2], 0.0)) / math.hypot(q[0], q[2])
        tilt = rotation_vector(qmult(flat, q * CONJUGATE))
        rest = np.array(
            (-self.body[5], tilt[0], tilt[2], -self.body[11], -self.body[7], -self.body[9])
        )
        self._update(rest, np.eye(self._size)[OUT_OF_PLANE], PLANE_NOISE, gated=False)

    def take_rest(self) -> None:
        """Take that the object does not move."""
        rest = -np.concatenate([self.body[10:13], self.body[7:10]])
        self._update(rest, np.eye(self._size)[RATES], REST_NOISE, gated=False)

    def sound(self) -> bool:
        """Return whether mean and covariance can be believed at all."""
        return plausible(self.body) and bool(np.all(np.isfinite(self.covariance)))

    def contact(
        self, body: ArrayLike, near: ArrayLike, hand: ArrayLike, u: ArrayLike, lead: float
    ) -> tuple[Array, Array, Array]:
        """
        Return how an object and the hand touch.

        Parameters
        ----------
        body, near, hand, u, lead
            See :meth:`mean_after`.

        Returns
        -------
        contact, derivatives, x
            ``object_prediction.CONTACT``, shape (6,); its derivatives with respect to the error
            without the clock, shape (6, 12); and the state of the system.

        """
        f = self._contact
        for buffer, value in zip(f.inputs, (body, near, hand, u), strict=False):
            buffer[:] = np.asarray(value, dtype=float)
        f.inputs[4][0] = lead
        out = f.evaluate().copy()
        n = CONTACT.size
        return out[:n], out[n : 13 * n].reshape(12, n).T, out[13 * n :]

    def _update(
        self, innovation: Array, H: Array, noise: Array, *, gated: bool = True
    ) -> tuple[bool, float]:
        C = self.covariance
        f, n, rows = self._updates[len(innovation)], self._size, H @ C
        f.inputs[0][:], f.inputs[1][:] = C.ravel(), rows.ravel()
        f.inputs[2][:], f.inputs[3][:] = (rows @ H.T + noise).ravel(), innovation
        out = f.evaluate()
        distance = float(out[0])
        if not math.isfinite(distance) or (gated and distance > GATE[len(innovation)]):
            return False, distance
        self._add(out[1 : n + 1].copy())
        self.covariance = out[n + 1 :].reshape(n, n).copy()
        return True, distance

    def _add(self, d: Array) -> None:
        q = qmult(quaternion_of(d[R]), self.body[:4])
        self.body[:4] = q / math.sqrt(float(q @ q))
        self.body[4:7] += d[P]
        self.body[7:10] += d[W]
        self.body[10:13] += d[V]
        self.clock_error += float(d[12])
        if self._derive:
            self.inertia = min(max(self.inertia * math.exp(float(d[13])), LIGHTEST), HEAVIEST)
            for place in self._inertias:
                place[:] = self.inertia * self._believed


def touch_of(system: ContactSystem, params: Array, hand: Array, p_WO: Array, q_WO: Array) -> Touch:
    """
    Return the closest points of object and hand, from poses in the world.

    Parameters
    ----------
    system, params
        Hand and object, and their parameters.
    hand
        q_WH (w, x, y, z) and p_WH [m], maybe more.
    p_WO, q_WO
        Position of the object [m], and its attitude (w, x, y, z).

    Raises
    ------
    RollingError
        No such point was found.

    """
    R_HW = quat2mat(hand[:4]).T
    return closest_points(
        system.object_surface,
        system.hand_surface,
        R_HW @ quat2mat(q_WO),
        R_HW @ (p_WO - hand[4:7]),
        object_parameters=params[system.parameters.slice('object_surface')],
        hand_parameters=params[system.parameters.slice('hand_surface')],
        hand_chart=system.hand_chart,
    )


def at_rest(body: Array) -> Array:
    """Return a vector of ``object_prediction.BODY``, shape (13,), SI units, without velocities."""
    return np.concatenate([body[:7], np.zeros(6)])


def plausible(body: Array) -> bool:
    """Return whether a vector of ``object_prediction.BODY`` is finite and of a likely speed."""
    if not math.isfinite(body.sum()):
        return False
    w, v = body[7:10], body[10:13]
    return float(v @ v) < FASTEST**2 and float(w @ w) < FASTEST_TURN**2


def _coasted(body: Array, dt: float) -> Array:
    out = body.copy()
    out[:4] = qmult(quaternion_of(dt * body[7:10]), body[:4])
    out[4:7] += dt * body[10:13]
    return out


def quaternion_of(d: ArrayLike) -> Array:
    """Return the unit quaternion (w, x, y, z) of a rotation vector [rad]."""
    x, y, z = np.asarray(d, dtype=float).tolist()
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < 1e-9:
        return np.array((1.0, x / 2, y / 2, z / 2))
    scale = math.sin(angle / 2) / angle
    return np.array((math.cos(angle / 2), scale * x, scale * y, scale * z))


def odometry_of(body: Array) -> Array:
    """Return q (w, x, y, z), p [m] and the twist in the object's frame; shape (13,)."""
    M = quat2mat(body[:4])
    return np.concatenate([body[:7], M.T @ body[7:10], M.T @ body[10:13]])

"""
Rolling contact from Newton, Euler and multipliers in maximal coordinates.

A second derivation, with nothing in common with the contact equations it is compared to: no
chart, no Gauss frame, no shape operator, no relative acceleration, no body twists of the object.

Frames: W is fixed to the world, H to the hand, whose motion is prescribed, and O to the object,
with its origin at the centre of mass. C is the place of contact, a point that belongs to neither
body. The surfaces are phi_h(p_HC_H) = 0 and phi_o(p_OC_O) = 0, both negative inside the material.

With r_h = p_WC - p_WH and r_o = p_WC - p_WO, with n the unit normal out of the hand, f the force
and tau n the torque of the hand on the object, and with G_i the gradient of phi_i turned into W,
the unknowns a_WO, alpha_WO, f, v_WC (the rate of p_WC) and tau solve

- Newton: m a_WO = f + m g;
- Euler: J alpha_WO + w_WO x J w_WO = r_o x f + tau n, J in W;
- rolling, the time derivative of v_WO + w_WO x r_o = v_WH + w_WH x r_h, where p_WC moves::

      a_WO + alpha_WO x r_o + w_WO x (v_WC - v_WO) = a_WH + alpha_WH x r_h + w_WH x (v_WC - v_WH)

- contact, the time derivative of phi_h(p_HC_H) = 0 and of G_o x G_h = 0, where::

      d/dt p_iC_i = R_iW (v_WC - v_Wi - w_Wi x r_i)
      dG_i/dt = w_Wi x G_i + R_Wi Hessian_i d/dt p_iC_i

- pure rolling, the time derivative of (w_WO - w_WH) . n = 0; or tau = 0 in plain rolling.

All of them are linear in the unknowns: the product of two velocities appears only with v_WC once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from oracles.implicit_surfaces import ImplicitSurface
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
Friction = Literal['rolling', 'pure_rolling']
HandAcceleration = Callable[[float], tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True, kw_only=True)
class MaximalModel:
    """
    Two bodies in contact and what acts on them.

    Attributes
    ----------
    object_surface, hand_surface
        Implicit surfaces, in O and in H.
    mass
        Mass of the object [kg].
    inertia
        Inertia of the object about its centre of mass, in O [kg m^2], shape (3, 3).
    gravity_W
        Gravity vector in W [m/s^2], shape (3,).
    friction
        'rolling' lets the object spin about the normal, 'pure_rolling' does not.

    """

    object_surface: ImplicitSurface
    hand_surface: ImplicitSurface
    mass: float
    inertia: Array
    gravity_W: Array
    friction: Friction = 'rolling'

    def __post_init__(self) -> None:
        """Reject an unknown friction model."""
        if self.friction not in {'rolling', 'pure_rolling'}:
            raise ValueError(f'friction is rolling or pure_rolling, got {self.friction!r}')


@dataclass(frozen=True, kw_only=True)
class MaximalState:
    """
    Poses and velocities of both bodies and the place of contact.

    Attributes
    ----------
    R_WH, R_WO
        Attitudes, shape (3, 3).
    p_WH, p_WO, p_WC
        Origin of the hand, centre of mass of the object, place of contact, in W [m].
    w_WH_H, v_WH_H
        Body twist of the hand, in H [rad/s], [m/s].
    w_WO_W, v_WO_W
        Angular velocity of the object and velocity of its centre of mass, in W.

    """

    R_WH: Array
    p_WH: Array
    w_WH_H: Array
    v_WH_H: Array
    R_WO: Array
    p_WO: Array
    w_WO_W: Array
    v_WO_W: Array
    p_WC: Array

    @property
    def p_HC_H(self) -> Array:
        """Place of contact seen from the hand, in H [m]."""
        return self.R_WH.T @ (self.p_WC - self.p_WH)

    @property
    def p_OC_O(self) -> Array:
        """Place of contact seen from the object, in O [m]."""
        return self.R_WO.T @ (self.p_WC - self.p_WO)


@dataclass(frozen=True, kw_only=True)
class MaximalSolution:
    """
    Accelerations, contact wrench and motion of the contact.

    Attributes
    ----------
    a_WO_W, alpha_WO_W
        Acceleration of the centre of mass [m/s^2], angular acceleration [rad/s^2], in W.
    force_W
        Force of the hand on the object, in W [N].
    tau_normal
        Torque of the hand on the object about the normal out of the hand [N m].
    n_W
        Unit normal out of the hand, in W.
    v_WC_W
        Rate of the place of contact, in W [m/s].
    v_HC_H, v_OC_O
        Rate of the place of contact over the hand, in H, and over the object, in O [m/s].

    """

    a_WO_W: Array
    alpha_WO_W: Array
    force_W: Array
    tau_normal: float
    n_W: Array
    v_WC_W: Array
    v_HC_H: Array
    v_OC_O: Array

    @property
    def normal_force(self) -> float:
        """Part of the force along the normal out of the hand, positive when pressed [N]."""
        return float(self.force_W @ self.n_W)


@dataclass(frozen=True, kw_only=True)
class ChartFreeState:
    """
    The same state as seen from the hand, without redundant coordinates of the object's place.

    Attributes
    ----------
    q_WH, q_HO
        Attitudes, unit quaternions wxyz.
    p_WH, p_HC_H
        Origin of the hand in W, place of contact in H [m].
    w_WH_H, v_WH_H, w_HO_H
        Body twist of the hand, relative angular velocity of the object, in H.

    """

    q_WH: Array
    p_WH: Array
    q_HO: Array
    p_HC_H: Array
    w_WH_H: Array
    v_WH_H: Array
    w_HO_H: Array


def hat(w: ArrayLike) -> Array:
    """Return the matrix of the cross product, hat(w) x = w x x."""
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: ArrayLike, b: ArrayLike) -> Array:
    """Return a x b of two vectors of shape (3,); much faster than numpy's general one."""
    a1, a2, a3 = a
    b1, b2, b3 = b
    return np.array([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


def rotation_from_quaternion(q: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion wxyz."""
    return Rotation.from_quat(np.roll(np.asarray(q, float), -1)).as_matrix()


def quaternion_from_rotation(R: ArrayLike) -> Array:
    """Return the unit quaternion wxyz of a rotation matrix, w not negative."""
    q = np.roll(Rotation.from_matrix(np.asarray(R, float)).as_quat(), 1)
    return -q if q[0] < 0.0 else q


def state_from_chart_free(model: MaximalModel, chart_free: ChartFreeState) -> MaximalState:
    """
    Return the maximal state of bodies that touch and roll.

    The object's place of contact is where its outward normal is opposite to the hand's; the
    position and the velocity of its centre follow from contact and rolling.

    Parameters
    ----------
    model
        Needed for the surfaces. The object's must have one point per normal.
    chart_free
        The state to convert.

    Returns
    -------
    MaximalState
        The maximal state.

    """
    s = chart_free
    R_WH = rotation_from_quaternion(s.q_WH)
    R_HO = rotation_from_quaternion(s.q_HO)
    p_OC_O = model.object_surface.point_with_normal(-R_HO.T @ model.hand_surface.normal(s.p_HC_H))
    w_HO_H, w_WH_H = np.asarray(s.w_HO_H, float), np.asarray(s.w_WH_H, float)
    p_HO_H = s.p_HC_H - R_HO @ p_OC_O
    w_WO_H = w_WH_H + w_HO_H
    v_WO_H = s.v_WH_H + cross(w_WH_H, s.p_HC_H) - cross(w_WO_H, R_HO @ p_OC_O)
    return MaximalState(
        R_WH=R_WH,
        p_WH=np.asarray(s.p_WH, float),
        w_WH_H=w_WH_H,
        v_WH_H=np.asarray(s.v_WH_H, float),
        R_WO=R_WH @ R_HO,
        p_WO=s.p_WH + R_WH @ p_HO_H,
        w_WO_W=R_WH @ w_WO_H,
        v_WO_W=R_WH @ v_WO_H,
        p_WC=s.p_WH + R_WH @ s.p_HC_H,
    )


def to_chart_free(state: MaximalState) -> ChartFreeState:
    """Return the state as seen from the hand; quaternions have w not negative."""
    s = state
    return ChartFreeState(
        q_WH=quaternion_from_rotation(s.R_WH),
        p_WH=s.p_WH,
        q_HO=quaternion_from_rotation(s.R_WH.T @ s.R_WO),
        p_HC_H=s.p_HC_H,
        w_WH_H=s.w_WH_H,
        v_WH_H=s.v_WH_H,
        w_HO_H=s.R_WH.T @ s.w_WO_W - s.w_WH_H,
    )


def _tangents(normal: Array) -> Array:
    """Return two independent vectors across the normal, shape (2, 3)."""
    away = np.eye(3)[np.argmin(np.abs(normal))]
    first = cross(normal, away)
    return np.array([first, cross(normal, first)])


def _contact_rows(model: MaximalModel, state: MaximalState) -> tuple[Array, Array, Array, Array]:
    """
    Return the equations of the contact's motion and the rate of the hand's gradient.

    Returns
    -------
    A, b
        A v_WC = b, shapes (3, 3), (3,).
    B, c
        dG_h/dt = B v_WC + c, shapes (3, 3), (3,).

    """
    s = state
    w_WH, v_WH = s.R_WH @ s.w_WH_H, s.R_WH @ s.v_WH_H
    G_h = s.R_WH @ model.hand_surface.gradient(s.p_HC_H)
    G_o = s.R_WO @ model.object_surface.gradient(s.p_OC_O)
    B_h = s.R_WH @ model.hand_surface.hessian(s.p_HC_H) @ s.R_WH.T
    B_o = s.R_WO @ model.object_surface.hessian(s.p_OC_O) @ s.R_WO.T
    at_h = v_WH + cross(w_WH, s.p_WC - s.p_WH)  # the hand's material point at C
    at_o = s.v_WO_W + cross(s.w_WO_W, s.p_WC - s.p_WO)
    c_h = cross(w_WH, G_h) - B_h @ at_h
    c_o = cross(s.w_WO_W, G_o) - B_o @ at_o
    # d/dt (G_o x G_h) = (hat(G_o) B_h - hat(G_h) B_o) v_WC + G_o x c_h - G_h x c_o = 0
    across = _tangents(G_h)
    A = np.vstack([across @ (hat(G_o) @ B_h - hat(G_h) @ B_o), G_h])
    b = np.append(across @ (cross(G_h, c_o) - cross(G_o, c_h)), G_h @ at_h)
    return A, b, B_h, c_h


def accelerations(
    model: MaximalModel, state: MaximalState, alpha_WH_H: ArrayLike, a_WH_H: ArrayLike
) -> MaximalSolution:
    """
    Solve for all unknowns at once.

    Parameters
    ----------
    model, state
        The bodies and their state.
    alpha_WH_H
        Angular acceleration of the hand, in H [rad/s^2], shape (3,).
    a_WH_H
        True acceleration of the hand's origin, expressed in H [m/s^2], shape (3,).

    Returns
    -------
    MaximalSolution
        Accelerations, wrench and rate of the contact.

    """
    s, m = state, model.mass
    w_WH, w_WO = s.R_WH @ s.w_WH_H, s.w_WO_W
    v_WH, v_WO = s.R_WH @ s.v_WH_H, s.v_WO_W
    r_h, r_o = s.p_WC - s.p_WH, s.p_WC - s.p_WO
    n = s.R_WH @ model.hand_surface.normal(s.p_HC_H)
    J = s.R_WO @ model.inertia @ s.R_WO.T
    contact, contact_rhs, B_h, c_h = _contact_rows(model, s)
    # the rate of n: that of G_h without its part along n, over |G_h|
    across = (np.eye(3) - np.outer(n, n)) / np.linalg.norm(model.hand_surface.gradient(s.p_HC_H))

    a, alpha, f, v_C = (slice(i, i + 3) for i in (0, 3, 6, 9))
    tau = 12
    A, b = np.zeros((13, 13)), np.zeros(13)
    A[0:3, a], A[0:3, f], b[0:3] = m * np.eye(3), -np.eye(3), m * model.gravity_W  # Newton
    A[3:6, alpha], A[3:6, f], A[3:6, tau] = J, -hat(r_o), -n  # Euler
    b[3:6] = -cross(w_WO, J @ w_WO)
    A[6:9, a], A[6:9, alpha], A[6:9, v_C] = np.eye(3), -hat(r_o), hat(w_WO - w_WH)  # rolling
    b[6:9] = s.R_WH @ a_WH_H + cross(s.R_WH @ alpha_WH_H, r_h)
    b[6:9] += cross(w_WO, v_WO) - cross(w_WH, v_WH)
    A[9:12, v_C], b[9:12] = contact, contact_rhs
    if model.friction == 'pure_rolling':
        A[12, alpha], A[12, v_C] = n, (w_WO - w_WH) @ across @ B_h
        b[12] = n @ s.R_WH @ alpha_WH_H - (w_WO - w_WH) @ across @ c_h
    else:
        A[12, tau] = 1.0
    x = np.linalg.solve(A, b)
    return MaximalSolution(
        a_WO_W=x[a],
        alpha_WO_W=x[alpha],
        force_W=x[f],
        tau_normal=float(x[tau]),
        n_W=n,
        v_WC_W=x[v_C],
        v_HC_H=s.R_WH.T @ (x[v_C] - v_WH - cross(w_WH, r_h)),
        v_OC_O=s.R_WO.T @ (x[v_C] - v_WO - cross(w_WO, r_o)),
    )


def constraint_residual(model: MaximalModel, state: MaximalState) -> Array:
    """
    Return how far the bodies are from touching and rolling.

    Parameters
    ----------
    model, state
        The bodies and their state.

    Returns
    -------
    Array
        Distances of C from both surfaces [m], to first order (2), sum of the unit normals (3),
        slip velocity [m/s] (3), relative spin [rad/s], zero for plain rolling (1); shape (9,).

    """
    s = state
    hand, body = model.hand_surface, model.object_surface
    w_WH = s.R_WH @ s.w_WH_H
    n_h, n_o = s.R_WH @ hand.normal(s.p_HC_H), s.R_WO @ body.normal(s.p_OC_O)
    slip = s.v_WO_W + cross(s.w_WO_W, s.p_WC - s.p_WO)
    slip -= s.R_WH @ s.v_WH_H + cross(w_WH, s.p_WC - s.p_WH)
    spin = (s.w_WO_W - w_WH) @ n_h if model.friction == 'pure_rolling' else 0.0
    gaps = [
        surface.phi(p) / np.linalg.norm(surface.gradient(p))
        for surface, p in ((hand, s.p_HC_H), (body, s.p_OC_O))
    ]
    return np.concatenate([gaps, n_h + n_o, slip, [spin]])


def energy(model: MaximalModel, state: MaximalState) -> float:
    """Return the kinetic and potential energy of the object [J]."""
    w_WO_O = state.R_WO.T @ state.w_WO_W
    kinetic = model.mass * state.v_WO_W @ state.v_WO_W + w_WO_O @ model.inertia @ w_WO_O
    return float(0.5 * kinetic - model.mass * model.gravity_W @ state.p_WO)


_FIELDS = {
    'R_WH': (3, 3), 'p_WH': (3,), 'w_WH_H': (3,), 'v_WH_H': (3,),
    'R_WO': (3, 3), 'p_WO': (3,), 'w_WO_W': (3,), 'v_WO_W': (3,), 'p_WC': (3,),
}  # fmt: skip


def _pack(values: dict[str, Array]) -> Array:
    return np.concatenate([values[name].ravel() for name in _FIELDS])


def _unpack(y: Array) -> MaximalState:
    ends = np.cumsum([np.prod(shape) for shape in _FIELDS.values()])
    parts = np.split(y, ends[:-1])
    shapes = zip(_FIELDS.items(), parts, strict=True)
    return MaximalState(**{name: part.reshape(shape) for (name, shape), part in shapes})


def _rate(model: MaximalModel, y: Array, alpha_WH_H: ArrayLike, a_WH_H: ArrayLike) -> Array:
    """Return the time derivative of the packed state."""
    s = _unpack(y)
    solution = accelerations(model, s, alpha_WH_H, a_WH_H)
    return _pack(
        {
            'R_WH': s.R_WH @ hat(s.w_WH_H),
            'p_WH': s.R_WH @ s.v_WH_H,
            'w_WH_H': np.asarray(alpha_WH_H, float),
            'v_WH_H': np.asarray(a_WH_H, float) - cross(s.w_WH_H, s.v_WH_H),
            'R_WO': hat(s.w_WO_W) @ s.R_WO,
            'p_WO': s.v_WO_W,
            'w_WO_W': solution.alpha_WO_W,
            'v_WO_W': solution.a_WO_W,
            'p_WC': solution.v_WC_W,
        }
    )


def integrate(
    model: MaximalModel,
    state: MaximalState,
    times: ArrayLike,
    hand_acceleration: HandAcceleration | None = None,
    *,
    rtol: float = 1e-11,
    atol: float = 1e-12,
) -> list[MaximalState]:
    """
    Integrate the index-1 equations; the constraints are kept by the tolerance alone.

    Nothing is projected: ``constraint_residual`` of the last state measures the error.

    Parameters
    ----------
    model, state
        The bodies and their state at times[0].
    times
        Increasing instants [s], shape (N,).
    hand_acceleration
        t -> (alpha_WH_H, a_WH_H), smooth; a hand without acceleration if absent.
    rtol, atol
        Tolerances of DOP853.

    Returns
    -------
    list of MaximalState
        The state at each of the times.

    """
    still = (np.zeros(3), np.zeros(3))
    times = np.asarray(times, float)
    result = solve_ivp(
        lambda t, y: _rate(model, y, *(hand_acceleration(t) if hand_acceleration else still)),
        (times[0], times[-1]),
        _pack(vars(state)),
        method='DOP853',
        t_eval=times,
        rtol=rtol,
        atol=atol,
    )
    if not result.success:
        raise RuntimeError(f'integration stopped at t = {result.t[-1]}: {result.message}')
    return [_unpack(y) for y in result.y.T]

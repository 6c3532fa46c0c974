"""
Printed formulas of Woodruff and Lynch, 'Robotic Contact Juggling', for orthogonal charts.

Names are those of the paper, numbers in comments are its equations: {s} is the world, {h} the
hand, {o} the object with its origin at the centre of mass, {c_h} and {c_o} the Gauss frames at the
contact, q = (u_o, v_o, u_h, v_h, psi), twists (omega, v). CasADi does nothing but differentiate
the charts. The normal x_c x y_c of a chart must point out of the material: psi then turns one
Gauss frame into the other with the normals opposite, R_chco = diag(R_psi, -1).

Where the paper does not fit together the reading is an argument, see ``Reading``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Friction = Literal['rolling', 'pure_rolling']
Reading = Literal['true', 'componentwise', 'printed']
"""
How the linear part of a body acceleration is read.

'true': the acceleration of the origin, expressed in the body's frame; (47) as printed, and (7)
without the part of ad^T that belongs to v. 'componentwise': the derivative of the components of
the body twist, which is what (13) integrates; (7) as printed, and (47) with the term it lacks.
'printed': (7) and (47) both as printed, which is wrong.
"""

E1 = np.array([[0.0, -1.0], [1.0, 0.0]])  # (32)
E2 = np.zeros((5, 6))  # (41)
E2[[0, 1, 2, 3, 4], [3, 4, 0, 1, 2]] = [-1.0, -1.0, 1.0, 1.0, 1.0]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """
    Local geometry of a chart at one point.

    Attributes
    ----------
    F, R
        Point and Gauss frame (25) in the frame of the body, shapes (3,), (3, 3).
    dR
        Derivatives of R by u and by v, shape (2, 3, 3).
    G, L, H
        Metric (26), second fundamental form (27) and curvature (28), shape (2, 2).
    Gamma, Gamma_bar, Gamma_bar_bar
        Christoffel symbols: (29) shape (2,), (35) shape (2, 3), (37) shape (3,).
    L_bar, L_bar_bar
        (36) shape (3,), (38) shape (2, 3).

    """

    F: Array
    R: Array
    dR: Array
    G: Array
    L: Array
    H: Array
    Gamma: Array
    Gamma_bar: Array
    Gamma_bar_bar: Array
    L_bar: Array
    L_bar_bar: Array

    @property
    def sqrt_G(self) -> Array:
        """Return the root of the diagonal metric."""
        return np.diag(np.sqrt(np.diag(self.G)))

    @property
    def sigma(self) -> float:
        """Return sqrt(g22 / g11), below (32)."""
        return float(np.sqrt(self.G[1, 1] / self.G[0, 0]))

    def omega(self, u_dot: ArrayLike) -> Array:
        """Return the angular velocity of the Gauss frame over the body, in the Gauss frame."""
        W = self.R.T @ np.tensordot(np.asarray(u_dot, float), self.dR, axes=1)
        return np.array([W[2, 1], W[0, 2], W[1, 0]])


class Chart:
    """
    Orthogonal chart of a surface, F(u, v) in the frame of the body.

    Parameters
    ----------
    expression
        u, v -> the three components of F, for CasADi's SX.

    """

    def __init__(self, expression: Callable[[ca.SX, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]) -> None:
        u = ca.SX.sym('u', 2)
        F = ca.vertcat(*expression(u[0], u[1]))
        chi = [ca.jacobian(F, u[k]) for k in range(2)]
        d_chi = [[ca.jacobian(chi[j], u[k]) for k in range(2)] for j in range(2)]
        G = ca.blockcat([[ca.dot(a, b) for a in chi] for b in chi])  # (26)
        n = ca.cross(*chi)
        n = n / ca.norm_2(n)
        R = ca.horzcat(*(a / ca.norm_2(a) for a in chi), n)  # (25)
        L = ca.blockcat([[ca.dot(a, n) for a in row] for row in d_chi])  # (27)
        root = ca.diag(1 / ca.sqrt(ca.diag(G)))
        H = root @ L @ root  # (28)
        g_inverse = ca.inv(G)
        christoffel = {
            (j + 1, k + 1, m + 1): sum(
                ca.dot(d_chi[j][k], chi[n]) * g_inverse[n, m] for n in range(2)
            )
            for j in range(2) for k in range(2) for m in range(2)
        }  # (30); key (j, k, l), l the upper index  # fmt: skip
        parts = [
            F, R, *(ca.reshape(ca.jacobian(ca.vec(R), u[k]), 3, 3) for k in range(2)),
            G, L, H, *self._symbols(u, christoffel, L),
        ]  # fmt: skip
        self._function = ca.Function('geometry', [u], parts)

    @staticmethod
    def _symbols(
        u: ca.SX, christoffel: dict[tuple[int, int, int], ca.SX], L: ca.SX
    ) -> list[ca.SX]:
        def c(upper: int, j: int, k: int) -> ca.SX:
            return christoffel[j, k, upper]

        def d(expression: ca.SX, k: int) -> ca.SX:
            return ca.jacobian(expression, u[k - 1])

        L11, L12, L21, L22 = L[0, 0], L[0, 1], L[1, 0], L[1, 1]
        Gamma = ca.vertcat(c(2, 1, 1), c(2, 1, 2))  # (29), (31)
        Gamma_bar = ca.blockcat([[c(m, 1, 1), 2 * c(m, 1, 2), c(m, 2, 2)] for m in (1, 2)])  # (35)
        L_bar = ca.vertcat(L11, 2 * L12, L22)  # (36)
        one, two = c(2, 2, 1) - c(1, 1, 1), c(2, 2, 2) - c(1, 1, 2)
        Gamma_bar_bar = ca.vertcat(  # (37)
            one * c(2, 1, 1) + d(c(2, 1, 1), 1),
            one * c(2, 1, 2) + two * c(2, 1, 1) + d(c(2, 1, 2), 1) + d(c(2, 1, 1), 2),
            two * c(2, 1, 2) + d(c(2, 1, 2), 2),
        )
        L_bar_bar = ca.blockcat(
            [  # (38)
                [
                    c(1, 1, 1) * L11 - d(L11, 1),
                    c(1, 1, 1) * L12 + c(1, 1, 2) * L11 - d(L12, 1) - d(L11, 2),
                    c(1, 1, 2) * L12 - d(L12, 2),
                ],
                [
                    c(2, 2, 1) * L21 - d(L21, 1),
                    c(2, 2, 1) * L22 + c(2, 2, 2) * L21 - d(L22, 1) - d(L21, 2),
                    c(2, 2, 2) * L22 - d(L22, 2),
                ],
            ]
        )
        return [Gamma, Gamma_bar, Gamma_bar_bar, L_bar, L_bar_bar]

    def __call__(self, u: ArrayLike) -> Geometry:
        """Return the local geometry at (u, v); the chart must be orthogonal there."""
        F, R, R_u, R_v, G, L, H, *symbols = (value.full() for value in self._function(u))
        if abs(G[0, 1]) > 1e-9 * np.sqrt(G[0, 0] * G[1, 1]):
            raise ValueError(f'the chart is not orthogonal at {u}: g12 = {G[0, 1]:.3g}')
        Gamma, Gamma_bar, Gamma_bar_bar, L_bar, L_bar_bar = symbols
        return Geometry(
            F=F.ravel(), R=R, dR=np.stack([R_u, R_v]), G=G, L=L, H=H, Gamma=Gamma.ravel(),
            Gamma_bar=Gamma_bar, Gamma_bar_bar=Gamma_bar_bar.ravel(), L_bar=L_bar.ravel(),
            L_bar_bar=L_bar_bar,
        )  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """
    The two charts in contact.

    Attributes
    ----------
    o, h
        Charts of the object and of the hand.

    """

    o: Chart
    h: Chart

    def at(self, q: ArrayLike) -> tuple[Geometry, Geometry, Array]:
        """Return the geometry of object and hand and R_psi at q."""
        q = np.asarray(q, float)
        return self.o(q[0:2]), self.h(q[2:4]), R_psi(q[4])


@dataclass(frozen=True, kw_only=True)
class State:
    """
    State s of the paper, with omega_rel for the redundant q_dot.

    Attributes
    ----------
    R_sh, r_sh
        Pose of the hand, shapes (3, 3), (3,).
    q
        Contact coordinates (u_o, v_o, u_h, v_h, psi), shape (5,).
    V_sh
        Body twist of the hand in {h}, shape (6,).
    omega_rel
        Relative angular velocity in {c_h}, shape (3,).

    """

    R_sh: Array
    r_sh: Array
    q: Array
    V_sh: Array
    omega_rel: Array


@dataclass(frozen=True, kw_only=True)
class Solution:
    """
    What (8)-(12) give.

    Attributes
    ----------
    alpha_rel
        Relative angular acceleration in {c_h}, shape (3,).
    F_contact
        Contact wrench (11), (12) on the object in {c_h}, shape (6,).
    V_dot_so
        Body acceleration (6) of the object in {o}, in the reading asked for, shape (6,).
    q_ddot
        Second-order kinematics (3), shape (5,).

    """

    alpha_rel: Array
    F_contact: Array
    V_dot_so: Array
    q_ddot: Array


def bracket(w: ArrayLike) -> Array:
    """Return [w], (21)."""
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def Ad(R: Array, r: Array) -> Array:
    """Return the adjoint map of T = (R, r), (22)."""
    return np.block([[R, np.zeros((3, 3))], [bracket(r) @ R, R]])


def ad(V: Array) -> Array:
    """Return the matrix of the Lie bracket, (23)."""
    return np.block([[bracket(V[:3]), np.zeros((3, 3))], [bracket(V[3:]), bracket(V[:3])]])


def R_psi(psi: float) -> Array:
    """Return R_psi, below (32)."""
    return np.array([[np.cos(psi), -np.sin(psi)], [-np.sin(psi), -np.cos(psi)]])


def R_chco(psi: float) -> Array:
    """Return the rotation between the Gauss frames, its own inverse."""
    R = -np.eye(3)
    R[:2, :2] = R_psi(psi)
    return R


def T_oh(pair: Pair, q: ArrayLike) -> tuple[Array, Array]:
    """Return R_oh and r_oh from the contact configuration."""
    o, h, _ = pair.at(q)
    R = o.R @ R_chco(np.asarray(q)[4]) @ h.R.T
    return R, o.F - R @ h.F


def T_och(pair: Pair, q: ArrayLike) -> tuple[Array, Array]:
    """Return R_och and r_och from the contact configuration."""
    o, _, _ = pair.at(q)
    return o.R @ R_chco(np.asarray(q)[4]), o.F


def V_so(pair: Pair, state: State) -> Array:
    """Return the body twist of the object, (2)."""
    V_rel = np.concatenate([state.omega_rel, np.zeros(3)])
    return Ad(*T_oh(pair, state.q)) @ state.V_sh + Ad(*T_och(pair, state.q)) @ V_rel


def relative_curvature(pair: Pair, q: ArrayLike) -> Array:
    """Return H~_o + H_h, which (32) inverts."""
    o, h, R = pair.at(q)
    return R @ o.H @ R + h.H


def K1(pair: Pair, q: ArrayLike) -> Array:
    """Return K1, q_dot = K1 omega_rel, (32); shape (5, 3)."""
    o, h, R = pair.at(q)
    common = np.linalg.solve(relative_curvature(pair, q), E1)
    K1o = np.linalg.solve(o.sqrt_G, R @ common)
    K1h = np.linalg.solve(h.sqrt_G, common)
    K = np.zeros((5, 3))
    K[0:2, 0:2], K[2:4, 0:2] = K1o, K1h
    K[4, 0:2] = o.sigma * o.Gamma @ K1o + h.sigma * h.Gamma @ K1h
    K[4, 2] = -1.0
    return K


def _second_order_matrix(pair: Pair, q: ArrayLike) -> Array:
    """Return the matrix that (39), (40) and (41) invert."""
    o, h, R = pair.at(q)
    return np.block(
        [
            [R @ o.sqrt_G, -h.sqrt_G],
            [R @ E1 @ o.H @ o.sqrt_G, -E1 @ h.H @ h.sqrt_G],
        ]
    )


def _spin_row(pair: Pair, q: ArrayLike) -> Array:
    """Return [sigma_o Gamma_o, sigma_h Gamma_h], shape (4,)."""
    o, h, _ = pair.at(q)
    return np.concatenate([o.sigma * o.Gamma, h.sigma * h.Gamma])


def _w(u_dot: Array) -> Array:
    """Return the products of velocities below (39)."""
    return np.array([u_dot[0] ** 2, u_dot[0] * u_dot[1], u_dot[1] ** 2])


def K2(pair: Pair, q: ArrayLike, omega_rel: Array) -> Array:
    """Return the velocity terms of the second-order kinematics, (40); shape (5,)."""
    o, h, R = pair.at(q)
    q_dot = K1(pair, q) @ omega_rel
    uo_dot, uh_dot, psi_dot = q_dot[0:2], q_dot[2:4], q_dot[4]
    w_o, w_h = _w(uo_dot), _w(uh_dot)
    w_x, w_y, w_z = omega_rel
    across = np.array([w_y, -w_x])
    upper = -R @ o.sqrt_G @ o.Gamma_bar @ w_o + h.sqrt_G @ h.Gamma_bar @ w_h
    upper += -2.0 * w_z * E1 @ R @ o.sqrt_G @ uo_dot
    lower = R @ E1 @ np.linalg.solve(o.sqrt_G, o.L_bar_bar @ w_o)
    lower += -E1 @ np.linalg.solve(h.sqrt_G, h.L_bar_bar @ w_h)
    lower += -w_z * R @ o.H @ o.sqrt_G @ uo_dot - psi_dot * h.H @ h.sqrt_G @ uh_dot
    lower += -o.sigma * (o.Gamma @ uo_dot) * across
    K2a = np.linalg.solve(_second_order_matrix(pair, q), np.concatenate([upper, lower]))
    K2b = -across @ R @ E1 @ np.linalg.solve(o.sqrt_G, o.L @ uo_dot)
    K2b += o.sigma * o.Gamma_bar_bar @ w_o + h.sigma * h.Gamma_bar_bar @ w_h
    K2b += _spin_row(pair, q) @ K2a
    return np.append(K2a, K2b)


def K3(pair: Pair, q: ArrayLike) -> Array:
    """Return the matrix of V_rel_dot in the second-order kinematics, (41); shape (5, 6)."""
    inverse, left = np.eye(5), np.eye(5)
    inverse[:4, :4] = np.linalg.inv(_second_order_matrix(pair, q))
    left[4, :4], left[4, 4] = _spin_row(pair, q), -1.0
    return left @ inverse @ E2


def a_roll(pair: Pair, q: ArrayLike, omega_rel: Array) -> Array:
    """Return the relative linear acceleration of rolling in {c_h}, (42)."""
    o, _, R = pair.at(q)
    v = R @ o.sqrt_G @ (K1(pair, q) @ omega_rel)[0:2]
    w_x, w_y, w_z = omega_rel
    return np.append(-w_z * E1 @ v, np.array([w_y, -w_x]) @ v)


def alpha_z_pr(pair: Pair, q: ArrayLike, omega_rel: Array) -> float:
    """Return alpha_z of pure rolling, (46)."""
    o, _, R = pair.at(q)
    uo_dot = (K1(pair, q) @ omega_rel)[0:2]
    across = np.array([omega_rel[1], -omega_rel[0]])
    return float(-across @ R @ E1 @ np.linalg.solve(o.sqrt_G, o.L @ uo_dot))


def alpha_z_pr_45(pair: Pair, q: ArrayLike, omega_rel: Array) -> float:
    """Return alpha_z of pure rolling as (45) prints it."""
    o, _, _ = pair.at(q)
    omega_oco = R_chco(np.asarray(q)[4]) @ o.omega((K1(pair, q) @ omega_rel)[0:2])
    return float((bracket(omega_rel) @ omega_oco)[2])


def K4(pair: Pair, state: State, reading: Reading) -> Array:
    """Return the velocity products of (6): (47), with the missing term if componentwise."""
    o, h, _ = pair.at(state.q)
    R_oh, R_och = T_oh(pair, state.q)[0], T_och(pair, state.q)[0]
    w_sh, v_sh = state.V_sh[:3], state.V_sh[3:]
    V = V_so(pair, state)
    w_so, v_so, zero = V[:3], V[3:], np.zeros(3)
    hand = np.concatenate([zero, bracket(w_sh) @ bracket(w_sh) @ h.F])
    relative = np.concatenate([bracket(state.omega_rel) @ R_och.T @ w_so, zero])
    body = np.concatenate([zero, bracket(w_so) @ bracket(w_so) @ o.F])
    K = Ad(*T_oh(pair, state.q)) @ hand - Ad(*T_och(pair, state.q)) @ relative - body  # (47)
    if reading == 'componentwise':
        K[3:] += R_oh @ bracket(w_sh) @ v_sh - bracket(w_so) @ v_so
    return K


def rolling_dynamics(
    pair: Pair,
    state: State,
    V_dot_sh: Array,
    *,
    J_o: Array,
    m_o: float,
    g_s: Array,
    friction: Friction,
    reading: Reading,
    adjoint_in_8: bool = True,
) -> Solution:
    """
    Solve (8) for relative acceleration and contact wrench.

    Parameters
    ----------
    pair, state
        Charts and state.
    V_dot_sh
        Acceleration of the hand (alpha, a) in {h}; a is true or componentwise with the reading.
    J_o, m_o, g_s
        Inertia in {o}, mass, gravity vector in {s}.
    friction
        'rolling', (9), or 'pure_rolling', (10).
    reading
        How accelerations are read, see ``Reading``.
    adjoint_in_8
        Whether V_rel_dot stands behind [Ad_T_och] in (8); False is the printed equation.

    Returns
    -------
    Solution
        Accelerations and wrench.

    """
    q, omega_rel = state.q, state.omega_rel
    R_oh, r_oh = T_oh(pair, q)
    R_och, r_och = T_och(pair, q)
    G_o = np.block([[J_o, np.zeros((3, 3))], [np.zeros((3, 3)), m_o * np.eye(3)]])
    V = V_so(pair, state)
    if reading == 'true':
        bias = np.concatenate([-bracket(V[:3]) @ J_o @ V[:3], np.zeros(3)])
    else:
        bias = ad(V).T @ G_o @ V  # (7)
    F_g = np.concatenate([np.zeros(3), m_o * R_oh @ state.R_sh.T @ g_s])
    velocity_terms = K4(pair, state, reading)
    hand = Ad(R_oh, r_oh) @ V_dot_sh
    right = np.linalg.solve(G_o, bias + F_g) - velocity_terms - hand  # (8)
    left = Ad(R_och, r_och) if adjoint_in_8 else np.eye(6)
    wrench = -np.linalg.solve(G_o, Ad(R_och.T, -R_och.T @ r_och).T)
    # columns of alpha (3) and a_rel (3), then tau (3) and f (3), in {c_h}
    V_rel_dot = np.concatenate([np.zeros(3), a_roll(pair, q, omega_rel)])
    if friction == 'pure_rolling':
        V_rel_dot[2] = alpha_z_pr(pair, q, omega_rel)
        K5 = np.column_stack([left[:, 0:2], wrench[:, 2:6]])  # (10)
        x = np.linalg.solve(K5, right - left @ V_rel_dot)
        V_rel_dot[0:2], tau_z = x[0:2], x[2]
    else:
        K5 = np.column_stack([left[:, 0:3], wrench[:, 3:6]])  # (9)
        x = np.linalg.solve(K5, right - left @ V_rel_dot)
        V_rel_dot[0:3], tau_z = x[0:3], 0.0
    return Solution(
        alpha_rel=V_rel_dot[0:3],
        F_contact=np.concatenate([[0.0, 0.0, tau_z], x[3:6]]),  # (11), (12)
        V_dot_so=hand + Ad(R_och, r_och) @ V_rel_dot + velocity_terms,  # (6)
        q_ddot=K2(pair, q, omega_rel) + K3(pair, q) @ V_rel_dot,  # (3)
    )

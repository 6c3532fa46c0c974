"""Second-order kinematics against the printed formulas, finite differences and each other."""

import casadi as ca
import numpy as np
from oracles import orthogonal_charts, woodruff_lynch
import pytest
from rolling_dynamics.contact.representation import second_order_kinematics
from rolling_dynamics.surfaces import Chart, Ellipsoid, ExpressionSurface, Surface, Torus

SKEWED = ExpressionSurface(
    ['u + 0.3*v', 'v + 0.2*u', '0.2*u^2 - 0.1*u*v + 0.3*v^2 + 0.1*u^3'], parameters={}
)


def surface_of(expression, side='outside'):
    uv = ca.SX.sym('uv', 2)
    position = ca.vertcat(*expression(uv[0], uv[1]))
    chart = Chart(name='test', coordinates=uv, position=position)
    return Surface(name='test', parameters=ca.SX(0, 1), values={}, charts=(chart,), side=side)


PAIRS = {
    'sphere on plane': (orthogonal_charts.sphere(0.2), orthogonal_charts.plane()),
    'ellipsoid on plane': (orthogonal_charts.ellipsoid(0.3, 0.2, 0.15), orthogonal_charts.plane()),
    'ellipsoid in dish': (
        orthogonal_charts.ellipsoid(0.3, 0.2, 0.15),
        orthogonal_charts.ellipsoid(2.0, 1.5, 1.2, cavity=True),
    ),
    'ellipsoid on torus': (
        orthogonal_charts.ellipsoid(0.3, 0.2, 0.15),
        orthogonal_charts.turned_torus(1.0, 0.4, 0.5),
    ),
    'torus on cylinder': (
        orthogonal_charts.turned_torus(1.0, 0.4, 0.5),
        orthogonal_charts.turned_cylinder(0.7, 0.4),
    ),
}


@pytest.mark.parametrize('name', PAIRS)
def test_printed_formulas(name):
    """K1, K2, K3 and the constraints of the paper, on orthogonal charts."""
    (_, o), (_, h) = PAIRS[name]
    pair = woodruff_lynch.Pair(woodruff_lynch.Chart(o), woodruff_lynch.Chart(h))
    ours = second_order_kinematics(surface_of(o), surface_of(h))
    rng = np.random.default_rng(0)
    for _ in range(10):
        q = np.concatenate([rng.uniform(0.3, 1.2, 4), rng.uniform(-3, 3, 1)])
        w = rng.normal(size=3)
        K1, _, K2, K3, a_roll, alpha_z = (np.array(a) for a in ours(q, w, [0, 0], [], []))
        scale = max(1.0, np.abs(K2).max())
        assert np.abs(K1 - woodruff_lynch.K1(pair, q)).max() < 1e-10 * np.abs(K1).max()
        assert np.abs(K2.ravel() - woodruff_lynch.K2(pair, q, w).ravel()).max() < 1e-10 * scale
        assert np.abs(K3 - woodruff_lynch.K3(pair, q)).max() < 1e-10 * np.abs(K3).max()
        assert np.abs(a_roll.ravel() - woodruff_lynch.a_roll(pair, q, w)).max() < 1e-10 * scale
        # (46); the paper's sign convention has d1 on the other side for (45)
        assert abs(alpha_z.item() - woodruff_lynch.alpha_z_pr(pair, q, w)) < 1e-10 * scale


GENERAL = {
    'ellipsoid on a skewed chart': (Ellipsoid(0.2, 0.3, 0.15), SKEWED),
    'skewed chart on torus': (
        ExpressionSurface(['u + 0.3*v', 'v + 0.2*u', '-u^2 - 0.4*u*v - 1.3*v^2']),
        Torus(1.0, 0.3),
    ),
    'ellipsoid in dish': (Ellipsoid(0.2, 0.3, 0.15), Ellipsoid(1.0, 1.3, 0.9, side='inside')),
}


def positions(surface, uv):
    position, frame, *_ = (np.array(a) for a in surface.numeric()(uv, surface.parameter_values))
    return position.ravel(), frame


def contact(pair, q):
    """Attitude and position of the object in the hand, and the contact frame, at q."""
    obj, hand = pair
    p_o, F_o = positions(obj, q[0:2])
    p_h, F_h = positions(hand, q[2:4])
    c, s = np.cos(q[4]), np.sin(q[4])
    R = F_h @ np.array([[c, -s, 0], [-s, -c, 0], [0, 0, -1]]) @ F_o.T
    return R, p_h - R @ p_o, p_h, F_h


@pytest.mark.parametrize('name', GENERAL)
def test_finite_differences_of_the_motion(name):
    """The true motion in the hand, along q(t), has the velocity and acceleration put in."""
    pair = GENERAL[name]
    f = second_order_kinematics(*pair)
    parameters = [s.parameter_values for s in pair]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = np.concatenate([rng.uniform(0.3, 1.2, 4), rng.uniform(-3, 3, 1)])
        w, v, alpha = rng.normal(size=3), 0.2 * rng.normal(size=2), rng.normal(size=3)
        K1, K1s, K2, K3, a_keep, _ = (np.array(a) for a in f(q, w, v, *parameters))
        a = 0.3 * rng.normal(size=3)
        a[2] = a_keep[2, 0]  # the contact is kept
        q_dot = (K1 @ w + K1s @ v).ravel()
        q_ddot = K2.ravel() + K3 @ np.concatenate([alpha, a])
        h = 1e-4

        def pose(t, q=q, q_dot=q_dot, q_ddot=q_ddot):
            return contact(pair, q + t * q_dot + t * t / 2 * q_ddot)

        R0, p0, c0, F = pose(0.0)
        stencil = [pose(k * h) for k in (-2, -1, 0, 1, 2)]
        first = np.array([1, -8, 0, 8, -1]) / (12 * h)
        second = np.array([-1, 16, -30, 16, -1]) / (12 * h * h)
        R_dot = sum(k * s[0] for k, s in zip(first, stencil, strict=True))
        R_ddot = sum(k * s[0] for k, s in zip(second, stencil, strict=True))
        p_dot = sum(k * s[1] for k, s in zip(first, stencil, strict=True))
        p_ddot = sum(k * s[1] for k, s in zip(second, stencil, strict=True))
        w_hat = R_dot @ R0.T
        alpha_hat = R_ddot @ R0.T - w_hat @ w_hat
        vee = [(2, 1), (0, 2), (1, 0)]
        w_H = np.array([(w_hat[i, j] - w_hat[j, i]) / 2 for i, j in vee])
        alpha_H = np.array([(alpha_hat[i, j] - alpha_hat[j, i]) / 2 for i, j in vee])
        arm = R0.T @ (c0 - p0)  # the point fixed in the object that is at the contact
        assert np.abs(F.T @ w_H - w).max() < 1e-7
        assert np.abs(F.T @ (p_dot + R_dot @ arm) - [*v, 0]).max() < 1e-7
        assert np.abs(F.T @ alpha_H - alpha).max() < 1e-5
        assert np.abs(F.T @ (p_ddot + R_ddot @ arm) - a).max() < 1e-5

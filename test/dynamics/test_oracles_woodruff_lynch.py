"""The printed formulas of 002 against maximal coordinates, and each erratum of 002 proved."""

from dataclasses import replace

import numpy as np
from oracles import orthogonal_charts as charts
from oracles import woodruff_lynch as wl
from oracles.maximal_coordinates import (
    accelerations,
    constraint_residual,
    MaximalModel,
    MaximalState,
)
from oracles.spinning_plate import SpinningPlate
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.3, -0.4, -9.7])
INERTIA = np.array([[3.1, 0.2, -0.1], [0.2, 2.4, 0.3], [-0.1, 0.3, 1.9]]) * 1e-3
MASS = 0.4
FRICTIONS = ['rolling', 'pure_rolling']

SPHERE = charts.sphere(0.2)
ELLIPSOID = charts.ellipsoid(0.3, 0.2, 0.15)
CHARTED = {
    'sphere on plane': (SPHERE, charts.plane()),
    'ellipsoid on plane': (ELLIPSOID, charts.plane()),
    'ellipsoid in dish': (ELLIPSOID, charts.ellipsoid(1.3, 1.0, 0.9, cavity=True)),
    'sphere on ellipsoid': (SPHERE, charts.ellipsoid(0.7, 0.5, 0.4)),
    'ellipsoid on cylinder': (ELLIPSOID, charts.turned_cylinder(0.6, 0.5)),
    'torus on torus': (charts.turned_torus(0.3, 0.1, 0.4), charts.turned_torus(0.8, 0.3, 0.7)),
}
SURFACES = {name: pair[k] for k in (0, 1) for name, pair in CHARTED.items()}
PAIRS = {
    name: wl.Pair(wl.Chart(body[1]), wl.Chart(hand[1])) for name, (body, hand) in CHARTED.items()
}
V_C1 = {'q': np.array([np.pi / 2, 0, 0, 0, 0]), 'omega_rel': np.array([1.0, 0.0, -7.0])}


def random_state(rng, friction='rolling'):
    """Return a state away from the singularities of the charts, sixty degrees wide."""
    omega_rel = rng.normal(size=3)
    if friction == 'pure_rolling':
        omega_rel[2] = 0.0
    return wl.State(
        R_sh=Rotation.from_rotvec(rng.normal(size=3)).as_matrix(),
        r_sh=rng.normal(size=3),
        q=np.append(rng.uniform(0.2, 1.2, size=4), rng.uniform(-3.0, 3.0)),
        V_sh=rng.normal(size=6),
        omega_rel=omega_rel,
    )


def maximal(name, state, friction, *, mass=MASS, inertia=INERTIA, gravity=GRAVITY):
    """Return the same bodies in maximal coordinates."""
    pair, ((body, _), (hand, _)) = PAIRS[name], CHARTED[name]
    R_oh, r_oh = wl.T_oh(pair, state.q)
    V_so, R_WO = wl.V_so(pair, state), state.R_sh @ R_oh.T
    maximal_state = MaximalState(
        R_WH=state.R_sh,
        p_WH=state.r_sh,
        w_WH_H=state.V_sh[:3],
        v_WH_H=state.V_sh[3:],
        R_WO=R_WO,
        p_WO=state.r_sh - R_WO @ r_oh,
        w_WO_W=R_WO @ V_so[:3],
        v_WO_W=R_WO @ V_so[3:],
        p_WC=state.r_sh + state.R_sh @ pair.h(state.q[2:4]).F,
    )
    model = MaximalModel(
        object_surface=body, hand_surface=hand, mass=mass, inertia=inertia, gravity_W=gravity,
        friction=friction,
    )  # fmt: skip
    return model, maximal_state


def paper(name, state, V_dot_sh, reading, *, friction='rolling', adjoint_in_8=True):
    """Return the paper's solution for a hand acceleration that is given in the true reading."""
    V_dot_sh = V_dot_sh.copy()
    if reading != 'true':
        V_dot_sh[3:] -= np.cross(state.V_sh[:3], state.V_sh[3:])
    return wl.rolling_dynamics(
        PAIRS[name], state, V_dot_sh, J_o=INERTIA, m_o=MASS, g_s=GRAVITY, friction=friction,
        reading=reading, adjoint_in_8=adjoint_in_8,
    )  # fmt: skip


def flow(pair, q, omega_h, alpha_h, h=5e-4):
    """
    Roll both ways with w_HO_H(t) = omega_h + alpha_h t in {h}.

    alpha_h is then the relative angular acceleration that the paper means, the derivative seen
    from the hand. Returns times and q(t), shapes (5,), (5, 5), the instant 0 in the middle.
    """

    def rate(t, q):
        return wl.K1(pair, q) @ pair.h(q[2:4]).R.T @ (omega_h + alpha_h * t)

    sides = []
    for sign in (-1.0, 1.0):
        result = solve_ivp(
            rate, (0.0, sign * 2 * h), q, method='DOP853', rtol=1e-13, atol=1e-14,
            t_eval=sign * h * np.array([1.0, 2.0]),
        )  # fmt: skip
        sides.append(result.y.T)
    times = h * np.arange(-2.0, 3.0)
    return times, np.vstack([sides[0][::-1], [q], sides[1]])


def first_derivative(times, values):
    a, b, _, c, d = values
    return (a - 8 * b + 8 * c - d) / (12 * (times[1] - times[0]))


def second_derivative(times, values):
    a, b, c, d, e = values
    return (-a + 16 * b - 30 * c + 16 * d - e) / (12 * (times[1] - times[0]) ** 2)


# geometry ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', SURFACES)
def test_geometry_matches_the_implicit_surface(name):
    surface, expression = SURFACES[name]
    g = wl.Chart(expression)(np.random.default_rng(1).uniform(0.2, 1.2, size=2))
    gradient, hessian = surface.gradient(g.F), surface.hessian(g.F)
    assert abs(surface.phi(g.F)) < 1e-14
    np.testing.assert_allclose(g.R[:, 2], surface.normal(g.F), atol=1e-13)
    np.testing.assert_allclose(g.R.T @ g.R, np.eye(3), atol=1e-13)
    assert np.linalg.det(g.R) == pytest.approx(1.0)
    # phi(F(u)) = 0 twice differentiated: the curvature along the unit tangents
    tangents = g.R[:, :2]
    curvature = -tangents.T @ hessian @ tangents / np.linalg.norm(gradient)
    np.testing.assert_allclose(g.H, curvature, atol=1e-12)


def test_turned_charts_have_a_full_second_fundamental_form():
    for chart in (charts.turned_torus(0.8, 0.3, 0.7), charts.turned_cylinder(0.6, 0.5)):
        g = wl.Chart(chart[1])([0.4, 0.9])
        assert abs(g.H[0, 1]) > 0.3
    g = wl.Chart(charts.turned_torus(0.8, 0.3, 0.7)[1])([0.4, 0.9])
    assert np.all(np.abs(g.Gamma_bar) > 0.1)


@pytest.mark.parametrize('name', SURFACES)
def test_symbols_describe_how_the_gauss_frame_turns(name):
    chart, rng = wl.Chart(SURFACES[name][1]), np.random.default_rng(2)
    u, u_dot, u_ddot = rng.uniform(0.3, 1.1, size=2), *rng.normal(size=(2, 2))
    times = 1e-3 * np.arange(-2.0, 3.0)
    path = [chart(u + t * u_dot + 0.5 * t**2 * u_ddot) for t in times]
    g, w = path[2], np.array([u_dot[0] ** 2, u_dot[0] * u_dot[1], u_dot[1] ** 2])
    R_dot = first_derivative(times, [p.R for p in path])
    close = {'rtol': 1e-6, 'atol': 1e-8}
    # (29): sigma Gamma u_dot is the rate of the frame about its normal
    np.testing.assert_allclose(g.sigma * g.Gamma @ u_dot, (g.R.T @ R_dot)[1, 0], **close)
    np.testing.assert_allclose(g.omega(u_dot)[2], g.sigma * g.Gamma @ u_dot, **close)
    # (37): its derivative
    spin = [p.sigma * p.Gamma @ (u_dot + t * u_ddot) for t, p in zip(times, path, strict=True)]
    np.testing.assert_allclose(
        g.sigma * (g.Gamma @ u_ddot + g.Gamma_bar_bar @ w), first_derivative(times, spin), **close
    )
    # (35), (36): acceleration of the point along the tangents and along the normal
    F_ddot = g.R.T @ second_derivative(times, [p.F for p in path])
    np.testing.assert_allclose(
        F_ddot[:2], g.sqrt_G @ (u_ddot + g.Gamma_bar @ w), rtol=1e-5, atol=1e-8
    )
    np.testing.assert_allclose(F_ddot[2], g.L_bar @ w, rtol=1e-5, atol=1e-8)


def test_chart_that_is_not_orthogonal_is_rejected():
    chart = wl.Chart(lambda u, v: (u + v, v, u * v))
    with pytest.raises(ValueError, match='not orthogonal'):
        chart([0.3, 0.4])


# first-order kinematics -------------------------------------------------------------------------


@pytest.mark.parametrize('name', PAIRS)
def test_K1_moves_the_contact_as_the_implicit_surfaces_do(name):
    rng = np.random.default_rng(3)
    for _ in range(5):
        state, pair = random_state(rng), PAIRS[name]
        solution = accelerations(*maximal(name, state, 'rolling'), np.zeros(3), np.zeros(3))
        q_dot = wl.K1(pair, state.q) @ state.omega_rel
        o, h, _ = pair.at(state.q)
        over_object = o.R[:, :2] @ o.sqrt_G @ q_dot[0:2]
        over_hand = h.R[:, :2] @ h.sqrt_G @ q_dot[2:4]
        np.testing.assert_allclose(over_object, solution.v_OC_O, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(over_hand, solution.v_HC_H, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize('name', PAIRS)
def test_K1_turns_the_object_at_the_relative_angular_velocity(name):
    pair, state = PAIRS[name], random_state(np.random.default_rng(4))
    omega_h = pair.h(state.q[2:4]).R @ state.omega_rel
    times, path = flow(pair, state.q, omega_h, np.zeros(3))
    poses = [wl.T_oh(pair, q) for q in path]
    R_ho_dot = first_derivative(times, [R.T for R, _ in poses])
    r_ho_dot = first_derivative(times, [-R.T @ r for R, r in poses])
    R_ho, r_ho = poses[2][0].T, -poses[2][0].T @ poses[2][1]
    contact = pair.h(state.q[2:4]).F
    np.testing.assert_allclose(R_ho_dot, wl.bracket(omega_h) @ R_ho, atol=1e-8)
    np.testing.assert_allclose(r_ho_dot, np.cross(omega_h, r_ho - contact), atol=1e-8)


@pytest.mark.parametrize('name', PAIRS)
def test_constraints_on_the_rates_hold(name):
    pair, state = PAIRS[name], random_state(np.random.default_rng(5), 'pure_rolling')
    K = wl.K1(pair, state.q)
    q_dot = K @ state.omega_rel
    one = np.linalg.solve(K[0:2, :2], q_dot[0:2])
    two = np.linalg.solve(K[2:4, :2], q_dot[2:4])
    np.testing.assert_allclose(one, two, rtol=1e-11)  # (33)
    np.testing.assert_allclose(one, state.omega_rel[:2], rtol=1e-11)
    assert q_dot[4] == pytest.approx(K[4, :2] @ state.omega_rel[:2], rel=1e-13)  # (34)


def test_erratum_K1_has_no_line_contact():
    # A cylinder on a plane: H~_o + H_h loses rank.
    pair = wl.Pair(wl.Chart(charts.turned_cylinder(0.6, 0.5)[1]), wl.Chart(charts.plane()[1]))
    curvature = wl.relative_curvature(pair, [0.4, 0.9, 0.3, 0.2, 0.7])
    assert np.linalg.norm(curvature) == pytest.approx(1 / 0.6)
    assert abs(np.linalg.det(curvature)) < 1e-14


# second-order kinematics ------------------------------------------------------------------------


@pytest.mark.parametrize('name', PAIRS)
@pytest.mark.parametrize('seed', range(3))
def test_K2_and_K3_are_the_derivative_of_K1(name, seed):
    rng = np.random.default_rng(seed)
    pair, state = PAIRS[name], random_state(rng)
    alpha, R_hch = rng.normal(size=3), pair.h(state.q[2:4]).R
    omega_h, alpha_h = R_hch @ state.omega_rel, R_hch @ alpha
    times, path = flow(pair, state.q, omega_h, alpha_h)
    rates = [
        wl.K1(pair, q) @ pair.h(q[2:4]).R.T @ (omega_h + t * alpha_h)
        for t, q in zip(times, path, strict=True)
    ]
    V_rel_dot = np.append(alpha, wl.a_roll(pair, state.q, state.omega_rel))
    q_ddot = wl.K2(pair, state.q, state.omega_rel) + wl.K3(pair, state.q) @ V_rel_dot
    expected = first_derivative(times, rates)
    np.testing.assert_allclose(q_ddot, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize('name', PAIRS)
def test_a_roll_is_the_acceleration_of_the_material_point(name):
    # (42): the point of the object that touches, seen from the hand; its velocity is zero.
    rng = np.random.default_rng(6)
    pair, state = PAIRS[name], random_state(rng)
    o, h, R = pair.at(state.q)
    times, path = flow(pair, state.q, h.R @ state.omega_rel, rng.normal(size=3), h=2e-3)
    poses = [wl.T_oh(pair, q) for q in path]
    point = [R_oh.T @ (o.F - r_oh) for R_oh, r_oh in poses]
    a_rel = wl.a_roll(pair, state.q, state.omega_rel)
    np.testing.assert_allclose(first_derivative(times, point), 0.0, atol=1e-8)
    np.testing.assert_allclose(h.R.T @ second_derivative(times, point), a_rel, atol=2e-6)
    # erratum: (4) with the velocity of the contact point over the object, not of {o} over {c_o}
    v = np.append(R @ o.sqrt_G @ (wl.K1(pair, state.q) @ state.omega_rel)[0:2], 0.0)
    np.testing.assert_allclose(-np.cross(state.omega_rel, v), a_rel, rtol=1e-12, atol=1e-14)
    assert np.linalg.norm(a_rel) > 1e-2


@pytest.mark.parametrize('name', PAIRS)
def test_erratum_d2_is_zero_and_46_is_the_rest(name):
    pair, state = PAIRS[name], random_state(np.random.default_rng(7), 'pure_rolling')
    o, h, _ = pair.at(state.q)
    q_dot = wl.K1(pair, state.q) @ state.omega_rel
    row = np.concatenate([o.sigma * o.Gamma, h.sigma * h.Gamma, [-1.0]])
    # (43): omega_z = row q_dot. The accelerations enter through row K3 alone: only alpha_z.
    np.testing.assert_allclose(row @ wl.K3(pair, state.q), [0, 0, 1, 0, 0, 0], atol=1e-12)
    # and the rest of d(omega_z)/dt is - d1, here with d(sigma Gamma)/dt u_dot from (37)
    products = [np.array([u[0] ** 2, u[0] * u[1], u[1] ** 2]) for u in (q_dot[0:2], q_dot[2:4])]
    velocity_part = row @ wl.K2(pair, state.q, state.omega_rel)
    velocity_part += o.sigma * o.Gamma_bar_bar @ products[0]
    velocity_part += h.sigma * h.Gamma_bar_bar @ products[1]
    d1 = wl.alpha_z_pr(pair, state.q, state.omega_rel)
    assert velocity_part == pytest.approx(-d1, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize('name', PAIRS)
def test_46_keeps_the_relative_spin_at_zero(name):
    rng = np.random.default_rng(8)
    pair, state = PAIRS[name], random_state(rng, 'pure_rolling')
    R_hch, z = pair.h(state.q[2:4]).R, wl.alpha_z_pr(pair, state.q, state.omega_rel)
    omega_h, alpha_h = R_hch @ state.omega_rel, R_hch @ np.append(rng.normal(size=2), z)
    times, path = flow(pair, state.q, omega_h, alpha_h)
    spin = [
        pair.h(q[2:4]).R[:, 2] @ (omega_h + t * alpha_h) for t, q in zip(times, path, strict=True)
    ]
    assert abs(first_derivative(times, spin)) < 1e-8


@pytest.mark.parametrize('name', PAIRS)
@pytest.mark.parametrize('friction', FRICTIONS)
def test_erratum_45_is_minus_46(name, friction):
    state = random_state(np.random.default_rng(9), friction)
    right = wl.alpha_z_pr(PAIRS[name], state.q, state.omega_rel)
    printed = wl.alpha_z_pr_45(PAIRS[name], state.q, state.omega_rel)
    assert printed == pytest.approx(-right, rel=1e-11, abs=1e-12)
    simple = name in {'sphere on plane', 'ellipsoid on plane'}  # the paper: zero is enough there
    assert (abs(right) < 1e-12) == simple


# rolling dynamics -------------------------------------------------------------------------------


@pytest.mark.parametrize('reading', ['true', 'componentwise'])
@pytest.mark.parametrize('friction', FRICTIONS)
@pytest.mark.parametrize('name', PAIRS)
def test_rolling_dynamics_match_maximal_coordinates(name, friction, reading):
    rng = np.random.default_rng(10)
    for _ in range(10):
        state, V_dot_sh = random_state(rng, friction), rng.normal(size=6)
        model, maximal_state = maximal(name, state, friction)
        np.testing.assert_allclose(constraint_residual(model, maximal_state), 0.0, atol=1e-12)
        expected = accelerations(model, maximal_state, V_dot_sh[:3], V_dot_sh[3:])
        solution = paper(name, state, V_dot_sh, reading, friction=friction)
        V_dot_so = solution.V_dot_so.copy()
        if reading == 'componentwise':
            V_so = wl.V_so(PAIRS[name], state)
            V_dot_so[3:] += np.cross(V_so[:3], V_so[3:])
        R_WO = maximal_state.R_WO
        R_Wch = state.R_sh @ PAIRS[name].h(state.q[2:4]).R
        for given, wanted in (
            (V_dot_so[:3], R_WO.T @ expected.alpha_WO_W),
            (V_dot_so[3:], R_WO.T @ expected.a_WO_W),
            (solution.F_contact[3:], R_Wch.T @ expected.force_W),
        ):
            np.testing.assert_allclose(given, wanted, atol=1e-11 * np.linalg.norm(wanted))
        scale = max(1e-3, abs(expected.tau_normal))
        assert solution.F_contact[2] == pytest.approx(expected.tau_normal, abs=1e-11 * scale)
        assert np.all(solution.F_contact[:2] == 0.0)


@pytest.mark.parametrize('name', ['sphere on ellipsoid', 'torus on torus'])
def test_second_order_kinematics_predict_the_rates_of_the_coordinates(name):
    # q_ddot of the paper against the change of q_dot along the motion of its own state
    pair, state = PAIRS[name], random_state(np.random.default_rng(11))
    solution = paper(name, state, np.zeros(6), 'true')
    R_hch = pair.h(state.q[2:4]).R
    omega_h, alpha_h = R_hch @ state.omega_rel, R_hch @ solution.alpha_rel
    times, path = flow(pair, state.q, omega_h, alpha_h)
    expected = second_derivative(times, path)
    np.testing.assert_allclose(solution.q_ddot, expected, atol=1e-4 * np.abs(expected).max())


def test_erratum_8_lacks_the_adjoint():
    rng = np.random.default_rng(12)
    state, V_dot_sh = random_state(rng), rng.normal(size=6)
    right = paper('ellipsoid on plane', state, V_dot_sh, 'true')
    printed = paper('ellipsoid on plane', state, V_dot_sh, 'true', adjoint_in_8=False)
    assert np.linalg.norm(printed.F_contact - right.F_contact) > 0.1
    assert np.linalg.norm(printed.alpha_rel - right.alpha_rel) > 1.0


# (6), (7) and (47) do not fit together ----------------------------------------------------------


def plate_state(omega_rel, V_sh=(0.0, 0.0, 7.0, 0.0, 0.0, 0.0)):
    return wl.State(
        R_sh=np.eye(3), r_sh=np.zeros(3), q=V_C1['q'] + [0, 0, 0.3, -0.1, 0],
        V_sh=np.array(V_sh), omega_rel=np.array(omega_rel),
    )  # fmt: skip


def solve_ball(state, reading):
    """Return the paper's solution for a homogeneous ball on a horizontal plate."""
    return wl.rolling_dynamics(
        PAIRS['sphere on plane'], state, np.zeros(6), J_o=0.4 * 0.1 * 0.2**2 * np.eye(3), m_o=0.1,
        g_s=np.array([0.0, 0.0, -9.81]), friction='rolling', reading=reading,
    )  # fmt: skip


def test_erratum_spinning_plate_shows_only_a_wrong_normal_force():
    # The printed pair adds the force m w_so x v_so at the centre. On V-C1 the ball has no spin in
    # the world, so that force is vertical: the motion comes out right, N = m g does not.
    state = plate_state(V_C1['omega_rel'])
    right, printed = solve_ball(state, 'componentwise'), solve_ball(state, 'printed')
    np.testing.assert_allclose(printed.alpha_rel, right.alpha_rel, atol=1e-12)
    np.testing.assert_allclose(printed.F_contact[3:5], right.F_contact[3:5], atol=1e-13)
    assert right.F_contact[5] == pytest.approx(0.1 * 9.81, rel=1e-13)
    V_so = wl.V_so(PAIRS['sphere on plane'], state)
    R_oh = wl.T_oh(PAIRS['sphere on plane'], state.q)[0]
    spurious = 0.1 * R_oh.T @ np.cross(V_so[:3], V_so[3:])
    assert printed.F_contact[5] - right.F_contact[5] == pytest.approx(spurious[2], rel=1e-12)
    assert abs(spurious[2]) > 1e-2


@pytest.mark.parametrize(
    ('omega_rel', 'V_sh'),
    [([1.0, 0.3, -5.0], (0, 0, 7, 0, 0, 0)), ([1.0, 0.3, 0.0], (0, 0, 0, 0, 0, 0.5))],
    ids=['spin about the normal', 'hand that moves along the normal'],
)
def test_erratum_47_shows_in_the_motion_of_a_ball(omega_rel, V_sh):
    state = plate_state(omega_rel, V_sh)
    right, printed = solve_ball(state, 'componentwise'), solve_ball(state, 'printed')
    np.testing.assert_allclose(solve_ball(state, 'true').alpha_rel, right.alpha_rel, atol=1e-12)
    assert np.linalg.norm(printed.alpha_rel - right.alpha_rel) > 0.1


@pytest.mark.parametrize('name', ['ellipsoid on plane', 'ellipsoid in dish'])
def test_erratum_47_shows_on_a_fixed_hand_but_not_in_the_energy(name):
    state = replace(random_state(np.random.default_rng(13)), V_sh=np.zeros(6))
    pair = PAIRS[name]
    right = paper(name, state, np.zeros(6), 'componentwise')
    printed = paper(name, state, np.zeros(6), 'printed')
    assert np.linalg.norm(printed.alpha_rel - right.alpha_rel) > 0.1
    # power of inertia and weight, with the kinematics that hold for any alpha_rel
    V_so = wl.V_so(pair, state)
    G_o = np.diag([0.0, 0.0, 0.0, MASS, MASS, MASS])
    G_o[:3, :3] = INERTIA
    weight = MASS * wl.T_oh(pair, state.q)[0] @ state.R_sh.T @ GRAVITY
    for solution in (right, printed):
        V_rel_dot = np.append(solution.alpha_rel, wl.a_roll(pair, state.q, state.omega_rel))
        V_dot_so = wl.Ad(*wl.T_och(pair, state.q)) @ V_rel_dot
        V_dot_so += wl.K4(pair, state, 'componentwise')
        assert V_so @ G_o @ V_dot_so == pytest.approx(weight @ V_so[3:], rel=1e-11)


def test_erratum_printed_equations_depend_on_a_uniform_motion():
    rng = np.random.default_rng(14)
    state, boost = random_state(rng), np.append(np.zeros(3), rng.normal(size=3))
    moved = replace(state, V_sh=state.V_sh + boost)
    V_dot_sh = rng.normal(size=6)
    for reading in ('true', 'componentwise', 'printed'):
        one = paper('ellipsoid in dish', state, V_dot_sh, reading)
        two = paper('ellipsoid in dish', moved, V_dot_sh, reading)
        difference = np.linalg.norm(one.alpha_rel - two.alpha_rel)
        assert difference > 1.0 if reading == 'printed' else difference < 1e-9


def test_erratum_K4_componentwise_depends_on_the_velocity_of_the_hand():
    state = random_state(np.random.default_rng(15))
    moved = replace(state, V_sh=state.V_sh + np.array([0, 0, 0, 1.0, -2.0, 0.5]))
    pair = PAIRS['ellipsoid in dish']
    for reading, depends in (('printed', False), ('true', False), ('componentwise', True)):
        change = wl.K4(pair, moved, reading) - wl.K4(pair, state, reading)
        assert (np.linalg.norm(change) > 0.1) == depends
        np.testing.assert_allclose(change[:3], 0.0, atol=1e-13)


@pytest.mark.parametrize('reading', ['true', 'componentwise'])
def test_6_is_the_derivative_of_2_in_its_reading(reading):
    # Both bodies follow prescribed motions, without dynamics: (6) is kinematics.
    rng = np.random.default_rng(16)
    pair, state = PAIRS['ellipsoid in dish'], random_state(rng)
    w, v, alpha, v_dot, alpha_rel = state.V_sh[:3], state.V_sh[3:], *rng.normal(size=(3, 3))
    R_hch = pair.h(state.q[2:4]).R
    omega_h, alpha_h = R_hch @ state.omega_rel, R_hch @ alpha_rel
    times, path = flow(pair, state.q, omega_h, alpha_h)
    V_so = [
        wl.V_so(pair, replace(
            state, q=q, V_sh=np.concatenate([w + t * alpha, v + t * v_dot]),
            omega_rel=pair.h(q[2:4]).R.T @ (omega_h + t * alpha_h),
        ))
        for t, q in zip(times, path, strict=True)
    ]  # fmt: skip
    expected, a = first_derivative(times, V_so), v_dot.copy()
    if reading == 'true':
        expected[3:] += np.cross(V_so[2][:3], V_so[2][3:])
        a += np.cross(w, v)
    V_rel_dot = np.append(alpha_rel, wl.a_roll(pair, state.q, state.omega_rel))
    V_dot_so = wl.Ad(*wl.T_oh(pair, state.q)) @ np.concatenate([alpha, a])
    V_dot_so += wl.Ad(*wl.T_och(pair, state.q)) @ V_rel_dot + wl.K4(pair, state, reading)
    np.testing.assert_allclose(V_dot_so, expected, atol=1e-7)


# the printed example V-C1 -----------------------------------------------------------------------


def test_erratum_psi_dot_of_V_C1_is_plus_seven():
    q_dot = wl.K1(PAIRS['sphere on plane'], V_C1['q']) @ V_C1['omega_rel']
    np.testing.assert_allclose(q_dot, [0.0, 1.0, 0.0, -0.2, 7.0], atol=1e-14)


def test_erratum_ball_of_V_C1_does_rotate():
    state = wl.State(R_sh=np.eye(3), r_sh=np.zeros(3), V_sh=np.array([0, 0, 7.0, 0, 0, 0]), **V_C1)
    _, maximal_state = maximal('sphere on plane', state, 'rolling')
    np.testing.assert_allclose(maximal_state.w_WO_W, [1.0, 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(maximal_state.v_WO_W, [0.0, -0.2, 0.0], atol=1e-14)


def test_erratum_14_to_16_hold_in_the_inertial_frame_only():
    plate = SpinningPlate(
        rate=7.0, radius=0.2, mass=0.1, gravity_W=np.array([0.0, 0.0, -9.81]),
        n_W=np.array([0.0, 0.0, 1.0]), p_WC_start=np.zeros(3),
        v_WC_start=np.array([0.0, -0.2, 0.0]),
    )  # fmt: skip
    times, centre = np.linspace(0.0, np.pi, 50), np.array([0.1, 0.0, 0.0])
    in_world = plate.contact_point(times)
    turn = Rotation.from_rotvec(np.outer(-7.0 * times, [0.0, 0.0, 1.0]))
    in_hand = turn.apply(in_world)
    np.testing.assert_allclose(np.linalg.norm(in_world - centre, axis=1), 0.1, rtol=1e-13)
    assert np.ptp(np.linalg.norm(in_hand - centre, axis=1)) > 0.1


@pytest.mark.parametrize('name', ['sphere on plane'])
def test_V_C1_follows_the_closed_solution_at_every_point_of_its_circle(name):
    # At instants of the closed solution: rates of (8) against its accelerations, whatever the
    # chart's attitude.
    plate = SpinningPlate(
        rate=7.0, radius=0.2, mass=0.1, gravity_W=np.array([0.0, 0.0, -9.81]),
        n_W=np.array([0.0, 0.0, 1.0]), p_WC_start=np.array([0.1, 0.2, 0.0]),
        v_WC_start=np.array([0.3, -0.2, 0.0]), spin=-0.7,
    )  # fmt: skip
    pair, rng = PAIRS[name], np.random.default_rng(17)
    for t in np.linspace(0.0, 3.0, 7):
        q = np.concatenate([
            rng.uniform(0.4, 2.5, size=2), plate.contact_point(t)[:2], rng.uniform(-3, 3, size=1)
        ])  # fmt: skip
        state = wl.State(
            R_sh=np.eye(3), r_sh=np.zeros(3), q=q, V_sh=np.array([0, 0, 7.0, 0, 0, 0]),
            omega_rel=plate.angular_velocity(t) - [0, 0, 7.0],
        )  # fmt: skip
        solution = solve_ball(state, 'true')
        R_ho = wl.T_oh(pair, q)[0].T
        np.testing.assert_allclose(
            R_ho @ wl.V_so(pair, state)[3:], plate.contact_velocity(t), atol=1e-13
        )
        np.testing.assert_allclose(
            R_ho @ solution.V_dot_so[3:], plate.centre_acceleration(t), atol=1e-12
        )
        np.testing.assert_allclose(solution.F_contact[3:], plate.contact_force(t), atol=1e-12)

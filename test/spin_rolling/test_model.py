"""Montana's equations and their Darboux-frame form, proved by other derivations."""

import casadi as ca
import numpy as np
from paper_formulas import PSI_OFFSET, sphere_surface
import pytest
from rolling_dynamics.contact.representation import (
    contact_frame_rotation,
    first_order_kinematics,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere.system import (
    attitude_from_coordinates,
    coordinates_from_attitude,
    SpinRollingSphere,
)
from rolling_dynamics.surfaces import Plane
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

R = 0.35


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def wobble(t):
    """Return an angular velocity that never repeats soon."""
    return np.array([np.sin(1.3 * t) + 0.2, 0.7 * np.cos(0.9 * t), 0.8 * np.sin(2.1 * t + 0.4)])


def rates(system, x, u, radius=R):
    return np.array(system.mode.dynamics(x, u, 0.0, [radius])).ravel()


def test_rotation_matrix_integrated_from_the_angular_velocity_agrees_to_1e_12():
    """Second derivation: R-dot = [w] R and the centre's velocity w x (radius z); no chart."""
    start = np.array([0.1, -0.2, 0.3, 0.4, -0.5])

    def matrix_rates(t, y):
        w, A = wobble(t), y[2:].reshape(3, 3)
        return np.r_[np.cross(w, [0, 0, R])[:2], (skew(w) @ A).ravel()]

    y0 = np.r_[start[:2], attitude_from_coordinates(start[2:4], start[4]).ravel()]
    y = solve_ivp(matrix_rates, (0, 4), y0, 'DOP853', rtol=3e-14, atol=1e-15).y[:, -1]
    p = SpinRollingSphere().pack_parameters(radius=R)
    for representation in ('attitude', 'coordinates'):
        system = SpinRollingSphere(representation=representation)
        if representation == 'attitude':
            q = Rotation.from_matrix(y0[2:].reshape(3, 3)).as_quat()[[3, 0, 1, 2]]
            x0 = np.r_[start[:2], q]
        else:
            x0 = start
        end = simulate(system, p, x0, wobble, 4.0, rtol=3e-14, atol=1e-15).states[-1]
        assert end[:2] == pytest.approx(y[:2], abs=1e-12)
        assert np.array(system.attitude(end)) == pytest.approx(y[2:].reshape(3, 3), abs=1e-12)


def test_general_contact_kinematics_give_the_same_rates():
    sphere, plane = sphere_surface(R), Plane()
    q = ca.SX.sym('q', 5)  # u_o, v_o, u_h, v_h, psi
    K = ca.Function(
        'K',
        [q],
        [
            first_order_kinematics(
                sphere.geometry(q[0:2], ca.SX(R)), plane.geometry(q[2:4], ca.SX(0, 1)), q[4]
            ).rolling
        ],
    )
    system, rng = SpinRollingSphere(representation='coordinates'), np.random.default_rng(0)
    for _ in range(50):
        x, w = rng.uniform(-1.4, 1.4, 5), rng.normal(size=3)
        general = np.array(K([x[2], x[3], x[0], x[1], x[4] + PSI_OFFSET]) @ w).ravel()
        assert rates(system, x, w) == pytest.approx(general[[2, 3, 0, 1, 4]], abs=1e-12)


def test_attitude_is_that_of_the_general_contact_frames():
    sphere, rng = sphere_surface(R), np.random.default_rng(1)
    for _ in range(20):
        u, v, psi = rng.uniform(-1.4, 1.4, 3)
        frame = np.array(sphere.numeric()([u, v], R)[1])
        turn = np.array(ca.DM(contact_frame_rotation(ca.DM(psi + PSI_OFFSET))))
        assert attitude_from_coordinates([u, v], psi) == pytest.approx(turn @ frame.T, abs=1e-14)


def test_coordinates_and_attitude_are_inverse():
    rng = np.random.default_rng(2)
    for _ in range(100):
        c = np.array([*rng.uniform(-3, 3, 1), rng.uniform(-1.5, 1.5), *rng.uniform(-9, 9, 1)])
        back = coordinates_from_attitude(attitude_from_coordinates(c[:2], c[2]), near=c)
        assert back == pytest.approx(c, abs=1e-12)
    assert attitude_from_coordinates([0, 0], 0) == pytest.approx(np.eye(3))


def printed_14(x, u, radius):
    """Eq. (14) as printed: drift and three input fields."""
    v, psi = x[3], x[4]
    alpha, beta, gamma, theta, phi = u
    s, c = np.sin(theta + phi), np.cos(theta + phi)
    sp, cp, tan = np.sin(psi), np.cos(psi), np.tan(v)
    f = [
        s,
        s,
        s * (sp - cp) / (radius * np.cos(v)),
        s * (cp + sp) / radius,
        tan * (s * (sp - cp) + np.cos(phi)) / radius,
    ]
    g_beta = [
        radius * s,
        -radius * c,
        -np.sin(psi + theta + phi) / np.cos(v),
        -np.cos(psi + theta + phi),
        -tan * np.sin(psi + theta + phi),
    ]
    g_gamma = [
        -radius * s,
        -radius * s,
        s * (cp - sp) / np.cos(v),
        -s * (sp + cp),
        tan * s * (cp - sp),
    ]
    return np.array(f) + np.array(g_beta) * beta + np.array(g_gamma) * gamma - alpha * np.eye(5)[4]


def test_as_published_is_the_printed_equation_14():
    system = SpinRollingSphere(
        variant='as_published', inputs='virtual_surface', representation='coordinates'
    )
    rng = np.random.default_rng(3)
    for _ in range(50):
        x, u = rng.uniform(-1.4, 1.4, 5), rng.normal(size=5)
        assert rates(system, x, u) == pytest.approx(printed_14(x, u, R), abs=1e-12)


def darboux_frame_velocity(u, v_o, radius):
    """Eq. (4) written with vectors: e_1 at the angle theta + phi, e_2 = e_3 x e_1."""
    alpha, beta, gamma, theta, phi = u
    e3 = np.array([0, 0, 1.0])
    e1 = Rotation.from_rotvec((theta + phi) * e3).apply([1.0, 0, 0])
    kg = np.tan(v_o) * np.cos(phi) / radius - alpha
    return beta * e1 + (1 / radius - gamma) * np.cross(e3, e1) - kg * e3


def test_corrected_is_the_frame_transformation_and_the_published_sine_is_not():
    rng = np.random.default_rng(4)
    montana = SpinRollingSphere(representation='coordinates')
    for _ in range(50):
        x, u = rng.uniform(-1.4, 1.4, 5), rng.normal(size=5)
        expected = rates(montana, x, darboux_frame_velocity(u, x[3], R))
        for variant, agrees in (('corrected', True), ('as_published', False)):
            system = SpinRollingSphere(
                variant=variant, inputs='virtual_surface', representation='coordinates'
            )
            close = np.allclose(rates(system, x, u), expected, rtol=0, atol=1e-12)
            assert close == agrees


def test_drift_has_unit_speed_only_when_corrected():
    for angle in np.linspace(-3, 3, 13):
        u = [0, 0, 0, angle - 0.3, 0.3]
        for variant, velocity in (
            ('corrected', [np.cos(angle), np.sin(angle)]),
            ('as_published', [np.sin(angle), np.sin(angle)]),
        ):
            system = SpinRollingSphere(variant=variant, inputs='virtual_surface')
            x = [0, 0, 1, 0, 0, 0]
            assert rates(system, x, u)[:2] == pytest.approx(velocity, abs=1e-14)


@pytest.mark.parametrize('inputs', ['virtual_surface', 'direction'])
@pytest.mark.parametrize('variant', ['corrected', 'as_published'])
def test_both_representations_roll_alike_and_delta_is_the_clock(inputs, variant):
    options = {'inputs': inputs, 'variant': variant}
    chart = SpinRollingSphere(representation='coordinates', **options)
    attitude = SpinRollingSphere(**options)
    timed = SpinRollingSphere(independent_variable='time', **options)
    u = np.array([0.7, -0.8, 0.4, 0.9, -0.5])[: chart.control.size]
    p, c0 = chart.pack_parameters(radius=R), np.array([0.2, -0.1, 0.3])
    x0 = np.r_[0, 0, c0]
    q = Rotation.from_matrix(attitude_from_coordinates(c0[:2], c0[2])).as_quat()[[3, 0, 1, 2]]
    end = simulate(chart, p, x0, u, 0.3).states[-1]
    end_attitude = simulate(attitude, p, np.r_[0, 0, q], u, 0.3).states[-1]
    end_timed = simulate(timed, p, np.r_[0, 0, q], np.r_[u, 0.1], 3.0).states[-1]
    matrix = np.array(chart.attitude(end))
    assert np.array(attitude.attitude(end_attitude)) == pytest.approx(matrix, abs=1e-10)
    assert end_attitude[:2] == pytest.approx(end[:2], abs=1e-10)
    assert end_timed == pytest.approx(end_attitude, abs=1e-10)


def test_the_attitude_passes_the_pole_where_the_coordinates_stop():
    """A straight roll along +v_s brings the contact over the pole v_o = pi/2."""
    start, w = [0, 0, 0, 0, 0], [-1.0, 0, 0]  # rolls towards +v_s, v_o grows by w
    chart, attitude = SpinRollingSphere(representation='coordinates'), SpinRollingSphere()
    p = chart.pack_parameters(radius=R)
    stopped = simulate(chart, p, start, w, 3.0)
    assert stopped.terminal_event.name == 'pole'
    assert abs(stopped.times[-1] - np.pi / 2) < 2e-3
    end = simulate(attitude, p, [0, 0, 1, 0, 0, 0], w, 3.0).states[-1]
    expected = Rotation.from_rotvec([-3.0, 0, 0]).as_matrix()
    assert np.array(attitude.attitude(end)) == pytest.approx(expected, abs=1e-11)
    assert end[:2] == pytest.approx([0, 3 * R], abs=1e-11)


@pytest.mark.parametrize('representation', ['attitude', 'coordinates'])
def test_retract_and_difference_are_inverse(representation):
    system, rng = SpinRollingSphere(representation=representation), np.random.default_rng(5)
    y = rng.uniform(-1, 1, system.state.size)
    if representation == 'attitude':
        y[2:] /= np.linalg.norm(y[2:])
    d = rng.uniform(-0.9, 0.9, system.tangent.size)
    x = system.retract(y, d)
    assert np.array(system.difference(x, y)).ravel() == pytest.approx(d, abs=1e-12)
    assert np.array(system.difference(y, y)).ravel() == pytest.approx(0, abs=1e-15)


def test_poses_touch():
    system = SpinRollingSphere()
    p, x = system.pack_parameters(radius=R), [0.3, -0.2, 1, 0, 0, 0]
    body, contact = (np.array(m) for m in system.pose(x, p))
    assert body[:3, 3] - contact[:3, 3] == pytest.approx([0, 0, R])


@pytest.mark.parametrize('radius', [0.0, -1.0, np.nan, np.inf, True, 'x'])
def test_radius_that_no_sphere_has_is_refused(radius):
    with pytest.raises(ParameterError, match='radius must be'):
        SpinRollingSphere().pack_parameters(radius=radius)


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('variant', 'printed'),
        ('inputs', 'torque'),
        ('representation', 'euler'),
        ('independent_variable', 'angle'),
    ],
)
def test_unknown_option_is_refused_by_name(option, value):
    with pytest.raises(ParameterError, match=option):
        SpinRollingSphere(**{option: value})


def test_start_at_a_pole_of_the_coordinates_is_refused():
    system = SpinRollingSphere(representation='coordinates')
    with pytest.raises(ParameterError, match=r'pole.*attitude'):
        simulate(system, [R], [0, 0, 0, np.pi / 2, 0], None, 1.0)
    with pytest.raises(ParameterError, match='pole'):
        coordinates_from_attitude(Rotation.from_rotvec([-np.pi / 2, 0, 0]).as_matrix())

"""Induced curvatures on any surface, and the rolling that they give."""

import casadi as ca
from evidence.papers.tafrishi import induced_curvature, InducedCurvature
import numpy as np
from paper_formulas import relative_angular_velocity, sphere_surface
import pytest
from rolling_dynamics.contact.representation import (
    contact_frame_rotation,
    first_order_kinematics,
)
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.surfaces import (
    Cylinder,
    Ellipsoid,
    ExpressionSurface,
    Plane,
    Sphere,
    Torus,
)

SKEWED = ['u + 0.2*v', 'v - 0.1*u', '-0.3*u^2 - 0.2*v^2 - 0.1*u*v']
SURFACES = {
    'paper sphere': (sphere_surface(0.4), [0.3, 0.5]),
    'sphere': (Sphere(0.7), [1.1, 0.3]),
    'ellipsoid': (Ellipsoid(0.5, 0.7, 0.9), [1.0, 0.4]),
    'dish': (Ellipsoid(1.5, 1.7, 1.2, side='inside'), [1.0, 0.4]),
    'cylinder': (Cylinder(0.6), [0.3, 0.2]),
    'torus': (Torus(1.0, 0.3), [0.4, 0.2]),
    'plane': (Plane(), [0.1, 0.2]),
    'skewed': (ExpressionSurface(SKEWED), [0.1, -0.2]),
}


def chart_curvatures(surface, uv):
    """Return the characteristics of the chart lines, Eqs. (75), (76), about the outward normal."""
    along, across = (induced_curvature(surface, uv, phi) for phi in (0.0, np.pi / 2))
    return {
        f'{name}_{end}{line}': getattr(of, f'{name}_{end}')
        for of, line in ((along, 'u'), (across, 'v'))
        for name, end in (('k', 'n'), ('tau', 'g'), ('k', 'g'))
    }


def curve(start, rng):
    """Return chart coordinates c(t) of a random curve through a point, as functions."""
    a, b = rng.normal(size=(2, 2)) * 0.3

    def c(t):
        return np.asarray(start) + a * t + b * t * t

    return c


def darboux_by_differences(surface, c, h=1e-4):
    """Second derivation: differentiate points and Darboux frames along a curve numerically."""

    def frame(t):
        point = surface.point
        tangent = (point(c(t + h)) - point(c(t - h))) / (2 * h)
        normal = np.array(surface.numeric()(c(t), surface.parameter_values)[1])[:, 2]
        e1 = tangent / np.linalg.norm(tangent)
        return np.array([e1, np.cross(normal, e1), normal]), np.linalg.norm(tangent)

    low, high, (here, speed) = frame(-h)[0], frame(h)[0], frame(0)
    d = (high - low) / (2 * h) / speed
    return InducedCurvature(d[0] @ here[2], d[1] @ here[2], d[0] @ here[1])


def angle_on(surface, uv, rate):
    """Return the angle of a chart velocity in the contact frame, and its speed."""
    scale = np.array(surface.numeric()(uv, surface.parameter_values)[3])
    v = scale @ rate
    return np.arctan2(v[1], v[0]), np.hypot(*v)


def along(surface, c, h=1e-4, normal='outward'):
    """Return what the suite gives for a curve, with the rate of the angle or without."""

    def phi(t):
        return angle_on(surface, c(t), (c(t + h) - c(t - h)) / (2 * h))

    angle, speed = phi(0)
    rate = np.angle(np.exp(1j * (phi(h)[0] - phi(-h)[0]))) / (2 * h) / speed
    return [induced_curvature(surface, c(0), angle, r, normal=normal) for r in (rate, 0.0)]


@pytest.mark.parametrize('name', SURFACES)
def test_darboux_frames_differentiated_numerically_agree(name):
    surface, start = SURFACES[name]
    rng = np.random.default_rng(0)
    for _ in range(5):
        c = curve(start, rng)
        expected = darboux_by_differences(surface, c)
        complete, printed = along(surface, c)
        assert tuple(complete) == pytest.approx(tuple(expected), rel=3e-5, abs=3e-5)
        assert abs(printed.k_g - expected.k_g) > 1e-3  # without Liouville's term it is another


def test_sphere_and_plane_of_the_paper():
    radius, v = 0.4, 0.5
    given = chart_curvatures(sphere_surface(radius), [0.3, v])  # about the outward normal
    assert given == pytest.approx(
        {
            'k_nu': -1 / radius,
            'tau_gu': 0,
            'k_gu': np.tan(v) / radius,
            'k_nv': -1 / radius,
            'tau_gv': 0,
            'k_gv': 0,
        },
        abs=1e-12,
    )  # Eq. (2), whose k_n are about the inward normal and k_g about the outward one
    assert chart_curvatures(Plane(), [1, 2]) == pytest.approx(dict.fromkeys(given, 0.0), abs=1e-15)


def test_directions_follow_equation_77_on_an_orthogonal_chart():
    surface, uv = SURFACES['ellipsoid']
    k = chart_curvatures(surface, uv)
    for phi in np.linspace(-3, 3, 11):
        c, s = np.cos(phi), np.sin(phi)
        expected = (
            k['k_nu'] * c * c + 2 * k['tau_gu'] * c * s + k['k_nv'] * s * s,
            k['tau_gu'] * np.cos(2 * phi) + 0.5 * (k['k_nv'] - k['k_nu']) * np.sin(2 * phi),
            k['k_gu'] * c + k['k_gv'] * s,
        )
        assert tuple(induced_curvature(surface, uv, phi)) == pytest.approx(expected, abs=1e-12)


def test_circle_in_cartesian_coordinates_has_its_curvature_only_with_liouvilles_term():
    radius = 0.8
    with_term = induced_curvature(Plane(), [radius, 0], np.pi / 2, 1 / radius)
    assert with_term.k_g == pytest.approx(1 / radius)
    assert induced_curvature(Plane(), [radius, 0], np.pi / 2).k_g == 0.0


def contact_paths(moving, fixed, q0, w):
    """Return both contact paths as charts of time, from the general contact kinematics."""
    q = ca.SX.sym('q', 5)
    K = ca.Function(
        'K',
        [q],
        [
            first_order_kinematics(
                moving.geometry(q[0:2], ca.SX(ca.DM(moving.parameter_values))),
                fixed.geometry(q[2:4], ca.SX(ca.DM(fixed.parameter_values))),
                q[4],
            ).rolling
        ],
    )

    def rate(x, t):
        return np.array(K(x) @ w(t)).ravel()

    x0 = np.array(q0, dtype=float)

    def state(t):
        if t == 0:
            return x0
        x, s = x0, t / 4
        for k in range(4):  # Runge-Kutta of order 4; h is tiny
            k1 = rate(x, k * s)
            k2 = rate(x + s / 2 * k1, (k + 0.5) * s)
            k3 = rate(x + s / 2 * k2, (k + 0.5) * s)
            k4 = rate(x + s * k3, (k + 1) * s)
            x = x + s / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x

    return (lambda t: state(t)[:2]), (lambda t: state(t)[2:4])


@pytest.mark.parametrize(
    'pair',
    [
        ('ellipsoid', 'torus'),
        ('ellipsoid', 'skewed'),
        ('paper sphere', 'plane'),
        ('ellipsoid', 'dish'),
    ],
)
def test_two_induced_curvatures_give_the_angular_velocity_of_general_rolling(pair):
    """Eq. (4) about the common normal; with k_g of the moving body about its own it fails."""
    (moving, uo), (fixed, uh) = SURFACES[pair[0]], SURFACES[pair[1]]
    q0 = np.r_[uo, uh, 0.7]

    def w(t):
        return np.array([0.8 + t, -0.5 + 2 * t, 0.6 - t])

    over_moving, over_fixed = contact_paths(moving, fixed, q0, w)
    inward = along(moving, over_moving, normal='inward')[0]
    outward = along(fixed, over_fixed)[0]
    h = 1e-4
    angle, speed = angle_on(fixed, uh, (over_fixed(h) - over_fixed(-h)) / (2 * h))
    found = relative_angular_velocity(inward, outward, delta=speed)
    e1 = np.array([np.cos(angle), np.sin(angle), 0])
    components = [w(0) @ e1, w(0) @ np.cross([0, 0, 1.0], e1), w(0)[2]]
    assert found == pytest.approx(components, abs=1e-5)
    mixed = inward._replace(k_g=-inward.k_g)  # as Eq. (8) has it
    wrong = relative_angular_velocity(mixed, outward, delta=speed)
    assert abs(wrong[2] - components[2]) > 1e-2


def test_frames_of_both_bodies_are_those_of_the_contact():
    """The angle on the moving body follows from that on the fixed one by R_psi."""
    (moving, uo), (fixed, uh) = SURFACES['ellipsoid'], SURFACES['torus']
    over_moving, over_fixed = contact_paths(
        moving, fixed, np.r_[uo, uh, 0.7], lambda _: np.array([0.8, -0.5, 0.6])
    )
    h = 1e-4
    here = [
        angle_on(s, c(0), (c(h) - c(-h)) / (2 * h))
        for s, c in ((moving, over_moving), (fixed, over_fixed))
    ]
    turn = np.array(ca.DM(contact_frame_rotation(ca.DM(0.7))))[:2, :2]
    e_o, e_h = (np.array([np.cos(a), np.sin(a)]) for a, _ in here)
    assert turn @ e_o == pytest.approx(e_h, abs=1e-6)
    assert here[0][1] == pytest.approx(here[1][1], abs=1e-6)  # equal speeds: no slip


def test_example_2_1_a_rolling_disc():
    """The disc of Eqs. (6), (7); Eq. (5) gives 1/R - gamma where Eq. (6) prints a plus."""
    radius, gamma, delta = 0.3, 0.9, 2.0
    disc, plane = InducedCurvature(1 / radius, 0, 0), InducedCurvature(0, 0, 0)
    omega = relative_angular_velocity(disc, plane, InducedCurvature(gamma, 0, 0), delta)
    assert omega == pytest.approx([0, delta * (1 / radius - gamma), 0])
    velocity = np.cross(omega, [0, 0, radius])
    assert velocity == pytest.approx([delta * (1 - radius * gamma), 0, 0])
    plain = relative_angular_velocity(disc, plane, delta=delta)
    assert plain[1] * radius == pytest.approx(delta)  # Eq. (7): delta = R dv_o/dt


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match='normal must be one of'):
        induced_curvature(Plane(), [0, 0], 0.0, normal='up')
    with pytest.raises(SurfaceError, match='degenerate'):
        induced_curvature(sphere_surface(1.0), [0, np.pi / 2], 0.0)

"""The equations against Newton and Euler with unknown accelerations and forces, to 1e-12."""

from mass_driven_newton_euler import Body, rotation
import numpy as np
import pytest
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import FreeMass, RailMass
from rolling_dynamics.internal_masses.rails import (
    Circle,
    Ellipse,
    ExpressionRail,
    FigureEight,
    Straight,
)

TOLERANCE = 1e-12  # relative to the size of the accelerations


def random_rotation(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def random_inertia(rng):
    a = rng.uniform(0.2, 1.0, 3)
    R = random_rotation(rng)
    return R @ np.diag([a[1] + a[2], a[0] + a[2], a[0] + a[1]]) @ R.T


LAID = {}  # frame or direction that a rail was given


def laid(make, given):
    rail = make(given)
    LAID[rail] = given
    return rail


def spatial_masses(rng):
    frame = random_rotation(rng)
    return [
        RailMass(0.7, laid(lambda R: Circle(0.5, rng.uniform(-0.2, 0.2, 3), R), frame)),
        RailMass(1.3, laid(lambda R: Ellipse((0.3, 0.6), (0.1, 0, 0), R), random_rotation(rng))),
        RailMass(
            0.2,
            laid(lambda d: Straight(d, (-0.5, 0.5), (0.1, -0.2, 0.0)), rng.normal(size=3)),
        ),
        RailMass(0.4, laid(lambda R: FigureEight(0.5, 0.2, frame=R), random_rotation(rng))),
        FreeMass(0.6, ['0.3*sin(2*t)', '0.1*t^2', '0.2*cos(t)-0.1']),
        RailMass(
            0.9,
            ExpressionRail(
                ['a*cos(theta)', 'a*sin(theta)', 'b*sin(2*theta)'],
                {'a': 0.4, 'b': 0.2},
                period=2 * np.pi,
            ),
            drive='sin(3*t)',
        ),
    ]


def analytic(masses, theta, rate, u, t):
    """chi, chi', chi'' written by hand for each kind of mass."""
    chi, vel, acc, k, j = [], [], [], 0, 0
    for m in masses:
        if isinstance(m, FreeMass):
            chi.append(np.array([0.3 * np.sin(2 * t), 0.1 * t * t, 0.2 * np.cos(t) - 0.1]))
            vel.append(np.array([0.6 * np.cos(2 * t), 0.2 * t, -0.2 * np.sin(t)]))
            acc.append(np.array([-1.2 * np.sin(2 * t), 0.2, -0.2 * np.cos(t)]))
            continue
        th, r = theta[k], rate[k]
        if m.drive is None:
            a = u[j]
            j += 1
        else:
            a = np.sin(3 * t)
        k += 1
        z, d1, d2 = by_hand(m.rail, th)
        chi.append(z)
        vel.append(d1 * r)
        acc.append(d2 * r * r + d1 * a)
    return chi, vel, acc


def by_hand(rail, th):
    c, s, c2, s2 = np.cos(th), np.sin(th), np.cos(2 * th), np.sin(2 * th)
    centre = np.array([rail.values.get(f'centre_{k}', 0.0) for k in 'xyz'])
    v, given = rail.values, LAID.get(rail, np.eye(3))
    if rail.kind in ('circle', 'ellipse'):
        X, Z = given[:, 0], given[:, 2]
        a, b = (v['radius'],) * 2 if rail.kind == 'circle' else (v['a'], v['b'])
        return centre + a * X * c + b * Z * s, -a * X * s + b * Z * c, -a * X * c - b * Z * s
    if rail.kind == 'straight':
        d = given / np.linalg.norm(given)
        return centre + th * d, d, np.zeros(3)
    if rail.kind == 'figure_eight':
        X, Z = v['length'] * given[:, 0], v['width'] * given[:, 2]
        return centre + X * s + Z * s2, X * c + 2 * Z * c2, -X * s - 4 * Z * s2
    a, b = v['a'], v['b']
    return (
        np.array([a * c, a * s, b * s2]),
        np.array([-a * s, a * c, 2 * b * c2]),
        np.array([-a * c, -a * s, -4 * b * s2]),
    )


FORCE = [
    '0.3*sin(t)-0.2*vx + 0.1*(wy*vz-wz*vy)',  # drag, and Magnus' force S w x v
    '0.1*x-0.05*vy^2 + 0.1*(wz*vx-wx*vz) + 0.2*qw*qx',
    '0.4-0.1*vz*z + 0.1*(wx*vy-wy*vx) - 0.3*qy*qz + 0.2*theta_2*theta_rate_3',
]


def force_by_hand(t, p, v, q, w, theta, rate):
    return np.array(
        [
            0.3 * np.sin(t) - 0.2 * v[0],
            0.1 * p[0] - 0.05 * v[1] ** 2 + 0.2 * q[0] * q[1],
            0.4 - 0.1 * v[2] * p[2] - 0.3 * q[2] * q[3] + 0.2 * theta[1] * rate[2],
        ]
    ) + 0.1 * np.cross(w, v)


def ball_case(seed, *, unilateral, rolling):
    rng = np.random.default_rng(seed)
    masses = spatial_masses(rng)
    system = PointMassBall(masses, force=FORCE, unilateral=unilateral)
    inertia, chi0 = random_inertia(rng), rng.uniform(-0.3, 0.3, 3)
    g = np.array([0.5, -0.3, -9.0])
    p = system.pack_parameters(
        mass=1.1,
        inertia=inertia,
        radius=1.3,
        centre_of_mass=chi0,
        gravity_W=g,
        mu=0.8,
        mu_kinetic=0.35,
    )
    theta, rate = rng.uniform(-0.4, 0.4, 5), rng.normal(size=5)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    Omega, t, u = rng.normal(size=3), 0.37, rng.normal(size=4)
    place = {'p': [0.4, -0.2]}
    position = np.array([0.4, -0.2, 1.3])
    velocity = np.cross(rotation(q) @ Omega, [0, 0, 1.3])
    if unilateral:
        if not rolling:
            velocity = velocity + np.array([0.5, 0.3, 0.0])
        place = {'p_WB': position, 'v_WB_W': velocity}
    x = system.state.pack(theta=theta, theta_rate=rate, q_WB=q, w_WB_B=Omega, **place)
    chi, vel, acc = analytic(masses, theta, rate, u, t)
    zero = np.zeros(3)
    body = Body(
        masses=[1.1, *(m.mass for m in masses)],
        chi=[chi0, *chi],
        chi_dot=[zero, *vel],
        chi_ddot=[zero, *acc],
        inertia=inertia,
        radius=1.3,
        q=q,
        Omega=Omega,
        gravity=g,
        force=force_by_hand(t, position, velocity, q, rotation(q) @ Omega, theta, rate),
    )
    return system, p, x, u, t, body


def close(a, b):
    scale = max(1.0, np.abs(b).max())
    assert np.abs(np.asarray(a) - b).max() < TOLERANCE * scale


def entries(system, mode, x, u, t, p):
    rate = np.array(system.modes[mode].dynamics(x, u, t, p)).ravel()
    return system.state.unpack(rate), np.array(system.modes[mode].wrench(x, u, t, p)).ravel()[3:]


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('unilateral', [False, True])
def test_rolling_ball(seed, unilateral):
    """Eqs. (3.2), (3.3), (3.4), (2.20) with every kind of mass, any inertia, force, incline."""
    system, p, x, u, t, body = ball_case(seed, unilateral=unilateral, rolling=True)
    Omega_dot, a, force = body.solve('rolling')
    rates, got = entries(system, 'rolling', x, u, t, p)
    close(rates['w_WB_B'], Omega_dot)
    close(got, force)
    if unilateral:
        close(rates['v_WB_W'], a)


@pytest.mark.parametrize('seed', range(8))
def test_flying_ball(seed):
    """Eqs. (B.15), (B.6), (B.17)."""
    system, p, x, u, t, body = ball_case(seed, unilateral=True, rolling=False)
    Omega_dot, a, _ = body.solve('separated')
    rates, got = entries(system, 'separated', x, u, t, p)
    close(rates['w_WB_B'], Omega_dot)
    close(rates['v_WB_W'], a)
    assert not got.any()


@pytest.mark.parametrize('seed', range(8))
def test_sliding_ball(seed):
    """Coulomb friction against the direction of slip, height held."""
    system, p, x, u, t, body = ball_case(seed, unilateral=True, rolling=False)
    direction = np.array([0.5, 0.3]) / np.hypot(0.5, 0.3)
    Omega_dot, a, force = body.solve((direction, 0.35))
    rates, got = entries(system, 'slipping', x, u, t, p)
    close(rates['w_WB_B'], Omega_dot)
    close(rates['v_WB_W'], a)
    close(got, force)


def test_oracle_shares_no_result():
    """A wrong mass changes the oracle alone: the agreement above is not an accident of zeros."""
    system, p, x, u, t, body = ball_case(0, unilateral=False, rolling=True)
    body.m[2] *= 1.001
    Omega_dot, _, _ = body.solve('rolling')
    rates, _ = entries(system, 'rolling', x, u, t, p)
    assert np.abs(rates['w_WB_B'] - Omega_dot).max() > 1e-5


def disk_case(seed, *, unilateral):
    rng = np.random.default_rng(seed)
    masses = [
        RailMass(0.7, Circle(0.5, (0.1, 0, -0.2))),
        RailMass(1.2, Ellipse((0.3, 0.7), (0.05, 0, 0.1))),
        RailMass(0.3, Straight((1, 0, 2), (-0.6, 0.6))),
    ]
    force = ['0.3*sin(t)-0.2*vx+0.1*wy*vz', '0', '0.4*z+0.2*qw*qy-0.1*theta_rate_1']
    disk = PointMassDisk(masses, force=force, unilateral=unilateral)
    ball = PointMassBall(masses, force=force, unilateral=unilateral)
    g, chi0 = (0.4, 0.0, -9.0), rng.uniform(-0.3, 0.3, 2)
    common = {'mass': 1.5, 'radius': 1.2, 'gravity_W': g, 'mu': 0.8, 'mu_kinetic': 0.3}
    pd = disk.pack_parameters(polar_inertia=0.9, centre_of_mass=chi0, **common)
    pb = ball.pack_parameters(
        inertia=[0.8, 0.9, 1.0], centre_of_mass=[chi0[0], 0, chi0[1]], **common
    )
    theta, rate, u = rng.uniform(-0.4, 0.4, 3), rng.normal(size=3), rng.normal(size=3)
    phi, phi_rate = rng.uniform(-3, 3), rng.normal()
    flat = {'p': [0.3]}, {'p': [0.3, 0.0]}
    if unilateral:
        v = rng.normal(size=2)
        flat = (
            {'p_WB': [0.3, 1.2], 'v_WB_W': v},
            {'p_WB': [0.3, 0, 1.2], 'v_WB_W': [v[0], 0, v[1]]},
        )
    xd = disk.state.pack(theta=theta, theta_rate=rate, phi=phi, phi_rate=phi_rate, **flat[0])
    xb = ball.state.pack(
        theta=theta,
        theta_rate=rate,
        q_WB=[np.cos(phi / 2), 0, -np.sin(phi / 2), 0],
        w_WB_B=[0, -phi_rate, 0],
        **flat[1],
    )
    return (disk, pd, xd), (ball, pb, xb), u


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('mode', ['rolling', 'slipping', 'separated'])
def test_ball_in_a_plane_is_the_disk(seed, mode):
    """(4.1)-(4.4), (B.18) against (3.2)-(3.4), (B.17) with everything in one plane."""
    (disk, pd, xd), (ball, pb, xb), u = disk_case(seed, unilateral=mode != 'rolling')
    of_disk, f_disk = entries(disk, mode, xd, u, 0.7, pd)
    of_ball, f_ball = entries(ball, mode, xb, u, 0.7, pb)
    close(of_disk['phi_rate'], -of_ball['w_WB_B'][1:2])
    close(of_ball['w_WB_B'][[0, 2]], np.zeros(2))
    close(f_disk, f_ball)
    if mode != 'rolling':
        close(of_disk['v_WB_W'], of_ball['v_WB_W'][[0, 2]])
    power = [s.actuator_power(mode)(x, u, 0.7, p) for s, p, x in ((disk, pd, xd), (ball, pb, xb))]
    assert float(power[0]) == pytest.approx(float(power[1]), rel=1e-12)


def test_one_mass_in_the_mean_is_no_substitute():
    """Section 2 of the paper says n masses may be replaced by one in their mean: not so."""

    def rates(trajectories, masses):
        ball = PointMassBall([FreeMass(m, c) for m, c in zip(masses, trajectories, strict=True)])
        p = ball.pack_parameters(mass=1.0, inertia=0.4, radius=1.0)
        x = ball.state.pack(q_WB=[1, 0, 0, 0], w_WB_B=[0.3, 0.2, 0.1], p=[0, 0])
        return np.array(ball.mode.dynamics(x, [], 0.0, p)).ravel()[4:7]

    two = rates([(0.5, 0, 0.1), (-0.3, 0, 0.1)], (1.0, 1.0))
    one = rates([(0.1, 0, 0.1)], (2.0,))
    assert np.abs(two - one).max() > 0.03  # rad/s^2, of 0.5

"""Equations of motion, proved a second time, and the laws that they must obey."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from reaction_oracle import accelerations_and_reactions
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.pendulum_sphere.system import PendulumSphere, resting_direction
from rolling_dynamics.simulation import simulate
from scipy.integrate import quad_vec
from transforms3d.quaternions import quat2mat

SYSTEM = PendulumSphere()
LAYOUT = SYSTEM.state
ROUGH = replace(
    paper_parameters(),
    slope=0.1,
    azimuth=0.7,
    rolling_resistance=2e-3,
    rolling_damping=1e-3,
    pendulum_excess=0.3 * paper_parameters().pendulum_inertia,
)
LEVEL = replace(paper_parameters(), pendulum_excess=ROUGH.pendulum_excess)


def random_state(rng, speed=3.0):
    q = rng.normal(size=4)
    return LAYOUT.pack(
        contact=rng.normal(size=2),
        q_WS=[1, 0, 0, 0],
        q_WP=q / np.linalg.norm(q),
        w_WS_W=speed * rng.normal(size=3),
        w_WP_W=speed * rng.normal(size=3),
    )


def direction(x):
    return -quat2mat(x[LAYOUT.slice('q_WP')])[:, 2]


def parts(x):
    v = LAYOUT.unpack(x)
    return direction(x), v['w_WS_W'], v['w_WP_W']


def number(function, *args):
    return np.array(function(*args)).ravel()


def relative(a, b):
    a, b = np.concatenate([np.ravel(v) for v in a]), np.concatenate([np.ravel(v) for v in b])
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize('params', [LEVEL, ROUGH], ids=['level', 'slope with resistance'])
def test_reactions_as_unknowns_give_the_same_motion_and_forces(params):
    rng = np.random.default_rng(1)
    p = SYSTEM.pack_parameters(params)
    worst = 0.0
    for _ in range(300):
        x, Q = random_state(rng), rng.normal(size=3)
        n, Omega, omega = parts(x)
        dO, do, _, _, N_o, N_t = accelerations_and_reactions(
            n, Omega, omega, Q, params, params.gravity_W
        )
        xdot = number(SYSTEM.mode.dynamics, x, Q, 0, p)
        wrench = number(SYSTEM.mode.wrench, x, Q, 0, p)
        got_t = number(SYSTEM.joint_force, x, Q, 0, p)
        rates = xdot[LAYOUT.slice('w_WS_W')], xdot[LAYOUT.slice('w_WP_W')]
        worst = max(worst, relative(rates, (dO, do)), relative((wrench[3:], got_t), (N_o, N_t)))
    assert worst < 1e-12


def test_inverse_dynamics_undo_the_dynamics():
    rng = np.random.default_rng(2)
    p = SYSTEM.pack_parameters(ROUGH)
    for _ in range(100):
        x, Q = random_state(rng), rng.normal(size=3)
        xdot = number(SYSTEM.mode.dynamics, x, Q, 0, p)
        N = number(SYSTEM.mode.wrench, x, Q, 0, p)[3:]
        rate, shell = xdot[LAYOUT.slice('w_WP_W')], xdot[LAYOUT.slice('w_WS_W')]
        found = [np.array(v).ravel() for v in SYSTEM.inverse_dynamics(x, rate, p)]
        assert relative(found, (shell, Q, N)) < 1e-11


def power(x, Q, p):
    """Return dE/dt by differentiation along the dynamics."""
    s = ca.SX.sym('x', LAYOUT.size)
    energy = SYSTEM.invariants['energy'](s, ca.DM(Q), 0, p)
    gradient = ca.Function('g', [s], [ca.gradient(energy, s)])
    return number(gradient, x) @ number(SYSTEM.mode.dynamics, x, Q, 0, p)


@pytest.mark.parametrize('params', [LEVEL, ROUGH], ids=['level', 'slope with resistance'])
def test_energy_changes_by_the_power_of_torque_and_resistance(params):
    rng = np.random.default_rng(3)
    p = SYSTEM.pack_parameters(params)
    for _ in range(50):
        x, Q = random_state(rng), rng.normal(size=3)
        _, Omega, omega = parts(x)
        torque = number(SYSTEM.mode.wrench, x, Q, 0, p)[:3]
        expected = Q @ (omega - Omega) + torque @ Omega
        assert power(x, Q, p) == pytest.approx(expected, abs=1e-12 * (1 + abs(expected)) * 100)
        force = number(SYSTEM.mode.wrench, x, Q, 0, p)[5]
        assert (torque @ Omega) * np.sign(force) < 1e-12 or force < 0


def test_printed_equation_2_does_not_balance_energy():
    """Erratum: without j (domega . n) n energy appears from nowhere where Q has a part along n."""
    rng = np.random.default_rng(4)
    x = random_state(rng)
    n, Omega, omega = parts(x)
    Q = 0.5 * n
    i, j = LEVEL.pendulum_inertia, LEVEL.pendulum_excess
    for printed, wanted in ((False, 1 / (i + j)), (True, 1 / i)):
        _, do, *_ = accelerations_and_reactions(
            n, Omega, omega, Q, LEVEL, LEVEL.gravity_W, as_printed=printed
        )
        spin_rate = do @ n + omega @ np.cross(omega, n)
        assert spin_rate == pytest.approx(wanted * 0.5, rel=1e-10)
    printed_power = (i + j) * (omega @ n) * 0.5 / i - (omega @ n) * 0.5
    assert abs(printed_power) > 0.01  # what the printed form gains on top of Q . omega


def torque_history(rng, size):
    a = rng.normal(size=(3, 3))
    w, s = rng.uniform(1, 6, size=(2, 3, 3))
    return lambda t: size * np.sum(a * np.sin(w * t + s), axis=1)


def test_energy_balance_under_a_random_torque_history_in_3d():
    rng = np.random.default_rng(5)
    p = SYSTEM.pack_parameters(ROUGH)
    torque = torque_history(rng, 0.05)
    x0 = SYSTEM.rolling_state(ROUGH, velocity=[0.5, -0.3], spin=1.0)
    run = simulate(
        SYSTEM,
        p,
        x0,
        torque,
        2.0,
        rtol=1e-12,
        atol=1e-13,
        events={'normal_force': 'record', 'friction': 'record'},
    )

    def rates(t):
        x, Q = run.state_at(t), torque(t)
        _, Omega, omega = parts(x)
        tau_r = number(SYSTEM.mode.wrench, x, Q, t, p)[:3]
        slope = (
            (ROUGH.shell_mass + ROUGH.pendulum_mass)
            * ROUGH.shell_radius
            * np.cross([0, 0, 1], ROUGH.gravity_W)
        )
        return np.concatenate([[Q @ (omega - Omega) + tau_r @ Omega], -Q + tau_r + slope])

    work, _ = quad_vec(rates, 0, 2.0, epsabs=1e-12, epsrel=1e-12, limit=400)
    names = ('energy', 'momentum_x', 'momentum_y', 'momentum_z')
    change = [
        float(SYSTEM.invariants[k](run.states[-1], torque(2.0), 2.0, p))
        - float(SYSTEM.invariants[k](x0, torque(0.0), 0, p))
        for k in names
    ]
    assert abs(work[0]) > 1e-2
    np.testing.assert_allclose(change, work, atol=2e-9)


def test_momentum_vector_changes_at_the_rate_minus_Q():
    rng = np.random.default_rng(6)
    p = SYSTEM.pack_parameters(LEVEL)
    M, m, R = LEVEL.shell_mass, LEVEL.pendulum_mass, LEVEL.shell_radius
    k = np.array([0, 0, -1.0])
    for _ in range(20):
        x, Q = random_state(rng), rng.normal(size=3)
        n, Omega, omega = parts(x)
        dO, _, dV, dv, _, _ = accelerations_and_reactions(
            n, Omega, omega, Q, LEVEL, LEVEL.gravity_W
        )
        rate = LEVEL.shell_inertia * dO - R * np.cross(k, M * dV + m * dv)
        np.testing.assert_allclose(rate, -Q, atol=1e-10)
        s, y = ca.SX.sym('x', LAYOUT.size), number(SYSTEM.mode.dynamics, x, Q, 0, p)
        K = ca.vertcat(*(SYSTEM.invariants[f'momentum_{c}'](s, ca.DM(Q), 0, p) for c in 'xyz'))
        J = np.array(ca.Function('J', [s], [ca.jacobian(K, s)])(x))
        np.testing.assert_allclose(J @ y, -Q, atol=1e-10)


def test_free_motion_conserves_the_known_integrals():
    p = SYSTEM.pack_parameters(LEVEL)
    x0 = LAYOUT.pack(
        q_WP=[np.cos(0.4), np.sin(0.4), 0, 0], w_WS_W=[1.0, 2.0, 0.5], w_WP_W=[-0.5, 1.5, 3.0]
    )
    run = simulate(
        SYSTEM,
        p,
        x0,
        None,
        10.0,
        rtol=1e-12,
        atol=1e-13,
        t_eval=np.linspace(0, 10, 101),
        events={'normal_force': 'record', 'friction': 'record'},
    )
    assert np.ptp(run.states[:, LAYOUT.slice('contact')], axis=0).max() > 0.1  # it does move
    for name in SYSTEM.invariants:
        values = run.evaluate(lambda s, name=name: s.invariants[name])[:, 0]
        assert np.ptp(values) < 1e-9 * max(1, np.abs(values).max()), name


def test_pendulum_spin_and_vertical_momentum_are_not_constant_by_accident():
    """Under a torque both change: the test above can fail."""
    p = SYSTEM.pack_parameters(LEVEL)
    x0 = LAYOUT.pack(q_WP=[np.cos(0.4), np.sin(0.4), 0, 0], w_WP_W=[-0.5, 1.5, 3.0])
    run = simulate(
        SYSTEM,
        p,
        x0,
        np.array([0.02, 0.03, 0.05]),
        0.5,
        events={'normal_force': 'record', 'friction': 'record'},
    )
    for name in SYSTEM.invariants:
        values = run.evaluate(lambda s, name=name: s.invariants[name])[:, 0]
        assert np.ptp(values) > 1e-4, name


@pytest.mark.parametrize('azimuth', [0.0, 1.0, -2.5])
def test_pendulum_holds_the_sphere_on_a_slope(azimuth):
    params = paper_parameters().on_slope(np.radians(5), azimuth)
    p = SYSTEM.pack_parameters(params)
    x = SYSTEM.rolling_state(params)
    total = params.shell_mass + params.pendulum_mass
    Q = total * params.shell_radius * np.cross([0, 0, 1], params.gravity_W)
    rates = number(SYSTEM.mode.dynamics, x, Q, 0, p)
    np.testing.assert_allclose(rates, 0, atol=1e-12)
    up = -params.gravity_W / params.gravity
    angle = np.arccos(-resting_direction(params) @ up)
    assert np.sin(angle) == pytest.approx(
        total
        * params.shell_radius
        * np.sin(params.slope)
        / (params.pendulum_mass * params.pendulum_length)
    )


def test_tangent_space_is_consistent():
    rng = np.random.default_rng(8)
    x, d = random_state(rng), 0.3 * rng.normal(size=SYSTEM.tangent.size)
    moved = SYSTEM.retract(x, d)
    np.testing.assert_allclose(number(SYSTEM.difference, moved, x), d, atol=1e-12)

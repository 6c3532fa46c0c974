"""Rolling dynamics against Newton and Euler in maximal coordinates, and against each other."""

from contact_samples import (
    ball_state,
    level_ball,
    maximal_model,
    maximal_state,
    PAIRS,
    parameters_of,
    poses_and_twists,
    random_state,
    system_of,
)
import numpy as np
from oracles.maximal_coordinates import accelerations, constraint_residual, energy, integrate
import pytest
from rolling_dynamics.contact.conversions import to_coordinates
from rolling_dynamics.simulation import simulate

FRICTION = ('rolling', 'pure_rolling')
CASES = [(name, friction) for name in PAIRS for friction in FRICTION]


def rate(system, x, u, p):
    return system.state.unpack(np.array(system.mode.dynamics(x, u, 0.0, p)).ravel())


@pytest.mark.parametrize(('name', 'friction'), CASES)
def test_accelerations_and_wrench_in_six_degrees_of_freedom(name, friction):
    system, model = system_of(name, friction), maximal_model(name, friction)
    p, rng = parameters_of(system), np.random.default_rng(3)
    for _ in range(10):
        x, u = random_state(system, p, rng), rng.normal(size=6) * 3
        state = maximal_state(system, p, x)
        assert np.abs(constraint_residual(model, state)).max() < 1e-12
        ours, values = rate(system, x, u, p), system.state.unpack(x)
        w_H, w_rel = values['w_WH_H'], values['w_HO_H']
        theirs = accelerations(model, state, u[:3], u[3:])
        R = state.R_WH
        alpha = R @ (ours['w_HO_H'] + u[:3] + np.cross(w_H, w_rel))
        scale = max(1.0, np.abs(theirs.alpha_WO_W).max(), np.abs(theirs.force_W).max())
        assert np.abs(alpha - theirs.alpha_WO_W).max() < 1e-9 * scale
        wrench = np.array(system.mode.wrench(x, u, 0.0, p)).ravel()
        frame = np.array(system.pose(x, p)[2])[:3, :3]
        assert np.abs(frame @ wrench[3:] - theirs.force_W).max() < 1e-9 * scale
        assert abs(wrench[2] - theirs.tau_normal) < 1e-9 * scale
        assert np.all(wrench[:2] == 0)
        _, contact_frame, _, T, *_ = (
            np.array(a)
            for a in system.hand_surface.numeric()(
                values['contact_h'], system.hand_surface.parameter_values
            )
        )
        v_HC_H = contact_frame[:, :2] @ T @ ours['contact_h']
        assert np.abs(v_HC_H - theirs.v_HC_H).max() < 1e-9 * max(1, np.abs(v_HC_H).max())


@pytest.mark.parametrize(('name', 'friction'), CASES)
def test_the_two_representations_agree(name, friction):
    system = system_of(name, friction)
    other = system.with_representation('coordinates')
    p, rng = parameters_of(system), np.random.default_rng(4)
    for _ in range(10):
        x, u = random_state(system, p, rng), rng.normal(size=6) * 3
        y = to_coordinates(system, p, x)
        wrenches = [
            np.array(s.mode.wrench(z, u, 0.0, p)).ravel() for s, z in ((system, x), (other, y))
        ]
        assert np.abs(wrenches[0] - wrenches[1]).max() < 1e-9 * max(1, np.abs(wrenches[0]).max())
        a, b = rate(system, x, u, p), rate(other, y, u, p)
        for entry in ('q_WH', 'p_WH', 'contact_h', 'w_WH_H', 'v_WH_H'):
            assert np.abs(a[entry] - b[entry]).max() < 1e-9 * max(1, np.abs(a[entry]).max())
        for f in ('energy', 'spin'):
            values = [float(s.invariants[f](z, u, 0.0, p)) for s, z in ((system, x), (other, y))]
            assert abs(values[0] - values[1]) < 1e-11 * max(1, abs(values[0]))


@pytest.mark.parametrize('friction', FRICTION)
@pytest.mark.parametrize(
    'name',
    [
        'sphere on plane',
        'ellipsoid on plane',
        pytest.param('ellipsoid in dish', marks=pytest.mark.slow),
    ],
)
def test_motion_under_an_accelerated_hand(name, friction):
    """Half a second of motion, both representations against the oracle's own integration."""
    system, model = system_of(name, friction), maximal_model(name, friction)
    p, rng = parameters_of(system), np.random.default_rng(5)
    x = random_state(system, p, rng)
    amplitude, phase = rng.normal(size=6), rng.uniform(0, 6, size=6)

    def hand(t):
        return amplitude * np.sin(5 * t + phase)

    theirs = integrate(
        model,
        maximal_state(system, p, x),
        [0, 0.5],
        lambda t: (hand(t)[:3], hand(t)[3:]),
        rtol=1e-12,
        atol=1e-13,
    )[-1]
    coordinates = system.with_representation('coordinates')
    for s, start in ((system, x), (coordinates, to_coordinates(system, p, x))):
        trajectory = simulate(s, p, start, hand, 0.5, events=())
        _, _, X_WO, (w_O, _) = poses_and_twists(trajectory.system, p, trajectory.states[-1])
        assert np.abs(X_WO[:3, 3] - theirs.p_WO).max() < 1e-9
        assert np.abs(X_WO[:3, :3] - theirs.R_WO).max() < 1e-9
        assert np.abs(X_WO[:3, :3] @ w_O - theirs.w_WO_W).max() < 1e-8


def test_energy_is_that_of_the_oracle():
    system, model = system_of('ellipsoid in dish'), maximal_model('ellipsoid in dish')
    p, rng = parameters_of(system), np.random.default_rng(6)
    x = random_state(system, p, rng)
    ours = float(system.invariants['energy'](x, np.zeros(6), 0.0, p))
    assert ours == pytest.approx(energy(model, maximal_state(system, p, x)), rel=1e-12)


def test_pure_rolling_keeps_the_spin_at_zero():
    system = system_of('ellipsoid in dish', 'pure_rolling')
    p, rng = parameters_of(system), np.random.default_rng(7)
    spin = system.invariants['spin']
    for _ in range(5):
        x, u = random_state(system, p, rng), rng.normal(size=6)
        f = np.array(system.mode.dynamics(x, u, 0.0, p)).ravel()
        h = 1e-5
        slope = float(spin(x + h * f, u, 0, p) - spin(x - h * f, u, 0, p)) / (2 * h)
        assert abs(slope) < 1e-8 * max(1.0, np.abs(f).max())


@pytest.mark.parametrize('friction', FRICTION)
@pytest.mark.parametrize('inertia', [4e-5, 1e-10, 1e-12, 1e-14])
def test_a_ball_of_little_inertia_rolls_down_in_as_few_steps_as_any(friction, inertia):
    """Along the incline it accelerates by the pull of gravity over 1 + J / (m r^2)."""
    mass, radius, pull, duration = 0.1, 0.05, 1.0, 1.0
    system, _ = level_ball(radius, mass, friction=friction)
    p = system.pack_parameters(
        mass=mass, inertia=inertia, gravity_W=(pull, 0.0, -9.8), mu=1.0, mu_spin=1.0
    )
    x0 = ball_state(system)
    motion = simulate(system, p, x0, None, duration)
    place = motion.states[-1, system.state.slice('contact_h')]
    a = pull / (1 + inertia / (mass * radius**2))
    np.testing.assert_allclose(place, [a * duration**2 / 2, 0.0], atol=1e-11)
    assert motion.steps < 60

"""Landings that give back a fraction of the energy: closed forms of a ball."""

from hybrid_samples import state, system
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.rebound import rebound_impulse
from rolling_dynamics.simulation import simulate

R, MASS, G = 0.1, 0.2, 9.81


def ball(**given):
    s = system(R)
    return s, s.pack_parameters(mass=MASS, inertia=0.4 * MASS * R**2, **given)


@pytest.mark.parametrize('share', [0.25, 1.0])
def test_ball_comes_up_to_its_share_of_the_height(share):
    s, p = ball(restitution=share)
    fall, x = 0.3, state(s, p_HO_H=[0, 0, R + 0.3])
    down = np.sqrt(2 * fall / G)
    up = down + np.sqrt(share) * down
    run = simulate(s, p, x, None, up, t_eval=[up], rtol=1e-10, atol=1e-12)
    assert [e.name for e in run.events] == ['landing']
    assert_allclose(run.states[0][s.state.slice('p_HO_H')], [0, 0, R + share * fall], atol=1e-8)
    assert 'rebounds' in run.events[0].text


def test_a_bouncing_ball_comes_to_rest():
    s, p = ball(restitution=0.25)
    x = state(s, p_HO_H=[0, 0, R + 0.05])
    run = simulate(s, p, x, None, 1.0, rtol=1e-9, atol=1e-11)
    landings = [e.time for e in run.events if e.name == 'landing']
    first = np.sqrt(2 * 0.05 / G)
    # each flight is half as long as the one before, down to 1 mm/s
    assert_allclose(np.diff(landings)[:5], 2 * first * 0.5 ** np.arange(1, 6), rtol=1e-6)
    assert landings[-1] < 3 * first + 1e-3
    assert next(iter(run.segments[-1].system.modes)) in ('rolling', 'pure_rolling')


@pytest.mark.parametrize('slides', [True, False])
def test_oblique_bounce_of_a_ball(slides):
    """W of a ball is diagonal: slip ends at (2/7) of v_t over (1 + e) mu v_n, or not at all."""
    v_t, v_n, share, mu = 1.0, -0.8, 0.49, 0.1 if slides else 0.5
    e = np.sqrt(share)
    W = np.diag([3.5, 3.5, 1.0]) / MASS
    P, after = rebound_impulse(W, np.array([v_t, 0, v_n]), mu, mu, share)
    assert after[2] == pytest.approx(-e * v_n, rel=1e-9)
    assert P[2] == pytest.approx(-(1 + e) * v_n * MASS, rel=1e-9)
    friction = mu * P[2] if slides else v_t * MASS / 3.5
    assert P[0] == pytest.approx(-friction, rel=1e-6)
    assert after[0] == pytest.approx(v_t - 3.5 / MASS * friction, abs=1e-6)


@pytest.mark.parametrize('seed', range(12))
def test_impact_with_friction_gains_no_energy_and_gives_back_its_share(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    W, share, mu = root @ root.T + 0.5 * np.eye(3), rng.uniform(0, 1), rng.uniform(0.05, 1.0)
    v = np.array([*rng.normal(size=2), -rng.uniform(0.2, 1.0)])
    P, after = rebound_impulse(W, v, mu, 0.8 * mu, share)
    assert_allclose(after, v + W @ P, atol=1e-9)
    assert (v + after) @ P / 2 < 1e-9  # work of the impulse
    assert np.hypot(*P[:2]) <= mu * P[2] * (1 + 1e-9)
    assert after[2] > 0 or share < 1e-3


def test_share_beyond_one_is_refused():
    with pytest.raises(ParameterError, match='restitution must lie between 0 and 1'):
        ball(restitution=1.1)

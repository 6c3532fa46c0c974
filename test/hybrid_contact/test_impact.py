"""Inelastic impacts: the impact law, a momentum balance of its own, the friction cone."""

from hybrid_samples import INERTIA, MASS, random_state, state, system, turn, world_motion
import numpy as np
from numpy.testing import assert_allclose
import pytest
import transforms3d


def falling(seed, planar=False, **friction):
    """Return system, p and a state that touches the moving plate from above, going down."""
    s, rng = system(0.05, 0.06, 0.08), np.random.default_rng(seed)
    p = s.pack_parameters(mass=MASS, inertia=INERTIA, **friction)
    x = random_state(s, rng, 'separated', p, plane=planar)
    down = x.copy()
    where = s.state.slice('p_HO_H')
    down[where.stop - 1] -= float(s.touch(x, p)[0])
    v = np.array(s.touch(down, p)[1]).ravel()
    down[s.state.slice('v_HO_H').stop - 1] -= v[2] + rng.uniform(0.3, 2.0)
    return s, p, down


def landed(s, p, x):
    """Return the state after the impact, and its text."""
    u = np.zeros(s.control.size)
    out = s.begin(p, x, u)
    assert out.events[0].name == 'landing'
    return out.events[0].state, out.events[0].text


@pytest.mark.parametrize('seed', range(4))
def test_impact_law(seed):
    """J_c w+ = J w- + m r x v-, velocities relative to the hand; the contact is at rest after."""
    s, p, x = falling(seed, mu=100.0)
    after, text = landed(s, p, x)
    assert 'sticks' in text
    a, b = s.state.unpack(x), s.state.unpack(after)
    R = transforms3d.quaternions.quat2mat(a['q_HO'])
    J = R @ np.diag(INERTIA) @ R.T
    r = a['p_HO_H'] - np.array(s.touch(x, p)[2]).ravel()  # from contact to centre
    J_c = J + MASS * (r @ r * np.eye(3) - np.outer(r, r))
    right = J @ a['w_HO_H'] + MASS * np.cross(r, a['v_HO_H'])
    assert_allclose(J_c @ b['w_HO_H'], right, rtol=1e-10, atol=1e-14)
    assert_allclose(np.array(s.touch(after, p)[1]).ravel(), 0, atol=1e-12)


@pytest.mark.parametrize(('seed', 'mu'), [(0, 100.0), (1, 100.0), (2, 0.1), (3, 0.1)])
def test_momentum_balance_in_the_world(seed, mu):
    """One impulse at the contact explains the change of both momenta, sticking or not."""
    s, p, x = falling(seed, mu=mu)
    after, _ = landed(s, p, x)
    (v0, L0, R_WH), (v1, L1, _) = world_motion(s, x, p), world_motion(s, after, p)
    P = MASS * (v1 - v0)
    p_HO = s.state.unpack(x)['p_HO_H']
    arm = R_WH @ (np.array(s.touch(x, p)[2]).ravel() - p_HO)
    assert_allclose(L1 - L0, np.cross(arm, P), atol=1e-13)
    P_H = R_WH.T @ P
    assert P_H[2] > 0
    assert np.hypot(*P_H[:2]) <= mu * P_H[2] * (1 + 1e-9)


@pytest.mark.parametrize('planar', [False, True])
def test_outside_the_cone_the_impulse_slides(planar):
    """The impulse that would stick needs more friction than there is: it slips, with Coulomb."""
    count = 0
    for seed in range(12):
        s, p, x = falling(seed, planar, mu=0.05)
        M, J, _ = (np.array(a) for a in s.impact_terms(x, np.zeros(6), 0, p))
        needed = -np.linalg.solve(J @ np.linalg.solve(M, J.T), np.array(s.touch(x, p)[1]).ravel())
        after, text = landed(s, p, x)
        a, b = s.state.unpack(x), s.state.unpack(after)
        P = MASS * (b['v_HO_H'] - a['v_HO_H'])
        if (
            'sticks' in text
        ):  # an impulse that would stick may lie in the cone, and slip still last
            assert np.hypot(*needed[:2]) <= 0.05 * needed[2]
            continue
        count += 1
        assert 'slips' in text
        v = np.array(s.touch(after, p)[1]).ravel()
        assert_allclose(v[2], 0, atol=1e-9)
        tangential = np.hypot(P[0], P[1])
        slip0 = np.array(s.touch(x, p)[1]).ravel()[:2]
        if planar and slip0[0] * v[0] > 0:  # slip kept its direction: the whole cone was used
            assert_allclose(tangential, 0.05 * P[-1], rtol=1e-7)
        assert tangential <= 0.05 * P[-1] * (1 + 1e-7)
    assert count > 4


def test_a_ball_that_lands_sticks_with_two_sevenths_of_its_slip():
    s = system(0.3)
    p = s.pack_parameters(mass=2.0, inertia=2 * 0.4 * 0.09, mu=0.5)
    x = s.state.pack(
        q_WH=[1, 0, 0, 0],
        q_HO=[1, 0, 0, 0],
        p_HO_H=[0, 0, 0.3],
        v_HO_H=[1.0, 0, -2.0],
        **{n: np.zeros(3) for n in ('p_WH', 'w_WH_H', 'v_WH_H', 'w_HO_H')},
    )
    after, _ = landed(s, p, x)
    assert_allclose(s.state.unpack(after)['v_HO_H'], [5 / 7, 0, 0], atol=1e-12)
    q = p.copy()
    q[[s.parameters.names.index('mu'), s.parameters.names.index('mu_kinetic')]] = 0.05
    after, text = landed(s, q, x)
    assert 'slips' in text
    assert_allclose(s.state.unpack(after)['v_HO_H'], [1 - 0.05 * 2, 0, 0], atol=1e-9)


def test_upright_condition_in_the_plane():
    """(J + m |r|^2) w+^2 / 2 = m g (a - h): after the impact the ellipse just comes upright."""
    s = system(0.05, 0.06, 0.08)
    p = s.pack_parameters(mass=MASS, inertia=INERTIA, mu=100.0)
    falls = {'p_HO_H': [0, 0, 1.0], 'w_HO_H': [0, -3.0, 0], 'v_HO_H': [0.4, 0, -1.5]}
    x = state(s, q_HO=turn(0.9), **falls)
    x[s.state.names.index('p_HO_H_z')] -= float(s.touch(x, p)[0])
    after, _ = landed(s, p, x)
    d = s.state.unpack(after)
    point = np.array(s.touch(after, p)[2]).ravel()
    r = d['p_HO_H'] - point
    kinetic = (INERTIA[1] + MASS * r @ r) * d['w_HO_H'][1] ** 2 / 2
    energy = float(s.invariants['energy'](after, np.zeros(6), 0, p))
    assert_allclose(energy, kinetic + MASS * 9.81 * r[2], rtol=1e-12)

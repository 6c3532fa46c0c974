"""The equations of each mode against Newton's and Euler's laws in the world."""

from hybrid_samples import INERTIA, MASS, random_state, system, world_motion
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere

MODES = ('rolling', 'pure_rolling', 'slipping', 'separated')
FRICTION = {'mu': 0.6, 'mu_kinetic': 0.4, 'mu_spin': 0.003, 'rolling_resistance': 1e-4}


def sample(mode, seed, **friction):
    """Return system, parameters, state and control at a random place."""
    s, rng = system(0.05, 0.06, 0.08), np.random.default_rng(seed)
    options = FRICTION | friction
    p = s.pack_parameters(mass=MASS, inertia=INERTIA, gravity_W=[0.3, -0.2, -4.0], **options)
    x = random_state(s, rng, mode, p)
    return s, p, x, 3 * rng.normal(size=6)


def along(function, x, xdot, h=1e-6):
    """Return the rate of a function of the state along the motion, by differences."""
    return (function(x + h * xdot) - function(x - h * xdot)) / (2 * h)


@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('seed', range(3))
def test_newton_and_euler_hold_in_the_world(mode, seed):
    s, p, x, u = sample(mode, seed)
    xdot = np.array(s.modes[mode].dynamics(x, u, 0, p)).ravel()
    wrench = np.array(s.modes[mode].wrench(x, u, 0, p)).ravel()
    R_WH = world_motion(s, x, p)[2]
    tau, f = R_WH @ wrench[:3], R_WH @ wrench[3:]
    momentum = along(lambda y: MASS * world_motion(s, y, p)[0], x, xdot)
    spin = along(lambda y: world_motion(s, y, p)[1], x, xdot)
    p_HC, p_HO = np.array(s.touch(x, p)[2]).ravel(), s.state.unpack(x)['p_HO_H']
    arm = R_WH @ (p_HC - p_HO)
    assert_allclose(momentum, f + MASS * np.array([0.3, -0.2, -4.0]), atol=2e-8)
    assert_allclose(spin, np.cross(arm, f) + tau, atol=2e-8)


@pytest.mark.parametrize('mode', MODES)
def test_each_mode_keeps_its_constraint_and_its_law_of_friction(mode):
    s, p, x, u = sample(mode, 7)
    xdot = np.array(s.modes[mode].dynamics(x, u, 0, p)).ravel()
    tau_f = np.array(s.modes[mode].wrench(x, u, 0, p)).ravel()
    _, v, _, spin = (np.array(a).ravel() for a in s.touch(x, p))
    v_rate = along(lambda y: np.array(s.touch(y, p)[1]).ravel(), x, xdot)
    spin_rate = along(lambda y: float(s.touch(y, p)[3]), x, xdot)
    N = tau_f[5]
    if mode == 'separated':
        assert_allclose(tau_f, 0)
        return
    resisting = -N * FRICTION['rolling_resistance'] * s.state.unpack(x)['w_HO_H'][:2]
    assert_allclose(tau_f[:2], resisting, rtol=1e-12)
    assert_allclose(v_rate[2], 0, atol=1e-8)
    if mode.endswith('rolling'):
        assert_allclose(v_rate, 0, atol=1e-8)
    else:
        force, torque = friction_of(v[:2], spin[0])
        assert_allclose(tau_f[3:5], N * force, rtol=1e-9)
        assert_allclose(tau_f[2], N * torque, rtol=1e-9)
    if mode == 'rolling':
        assert_allclose(tau_f[2], 0, atol=1e-15)
    if mode == 'pure_rolling':
        assert_allclose([spin[0], spin_rate], 0, atol=1e-8)


def friction_of(v, spin):
    """Return friction (2) and spin torque [m] over the normal force: Zhuravlev's Pade form."""
    a = FRICTION['mu_spin'] / FRICTION['mu'] / (3 * np.pi / 16)
    speed, rim, mu = np.linalg.norm(v), a * abs(spin), FRICTION['mu_kinetic']
    slope = 0.3 * 3 * np.pi / 8
    force = (speed**2 + slope * rim * speed) / (speed**2 + slope * rim * speed + 0.3 * rim**2)
    b = 32 / (15 * np.pi)
    torque = (rim**2 + b * rim * speed) / (rim**2 + b * rim * speed + 2 * speed**2)
    return -mu * force * v / speed, -mu * a * 3 * np.pi / 16 * torque * np.sign(spin)


@pytest.mark.parametrize('mode', ['rolling', 'pure_rolling'])
def test_rolling_is_that_of_the_contact_system(mode):
    s, p, x, u = sample(mode, 3, mu_spin=0.0, rolling_resistance=0.0)
    c = ContactSystem(Ellipsoid(0.05, 0.06, 0.08), Plane(), friction=mode)
    q = c.pack_parameters(mass=MASS, inertia=INERTIA, gravity_W=[0.3, -0.2, -4.0])
    d = s.state.unpack(x)
    point = np.array(s.touch(x, p)[2]).ravel()[:2]
    same = {e.name: d[e.name] for e in c.state.entries if e.name in d}
    y = c.state.pack(contact_h=point, **same)
    rates = c.state.unpack(np.array(c.mode.dynamics(y, u, 0, q)).ravel())
    own = s.state.unpack(np.array(s.modes[mode].dynamics(x, u, 0, p)).ravel())
    for name in same:
        assert_allclose(own[name], rates[name], atol=1e-12)
    wrench = c.mode.wrench(y, u, 0, q)
    assert_allclose(np.array(s.modes[mode].wrench(x, u, 0, p)), np.array(wrench), atol=1e-12)


def test_bad_bodies_and_coefficients_are_refused():
    with pytest.raises(SurfaceError, match='support function'):
        HybridContactSystem(Sphere(0.1, side='inside'))
    s = system(0.05, 0.06, 0.08)
    for options, text in (
        ({'mu': -1.0}, 'mu must be'),
        ({'mu': 0.2, 'mu_kinetic': 0.3}, 'must not exceed'),
        ({'rolling_resistance': np.nan}, 'rolling_resistance'),
        ({'edges': (1, 0, 0, 1)}, 'edges takes'),
    ):
        with pytest.raises(ParameterError, match=text):
            s.pack_parameters(mass=MASS, inertia=INERTIA, **options)

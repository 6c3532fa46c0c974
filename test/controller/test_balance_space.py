"""Balance in space: a ball kept in place, an ellipsoid kept upright, on the hybrid plant."""

from collections import deque

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.region_of_attraction import region_of_attraction
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact import ContactSystem, solid_ellipsoid_inertia
from rolling_dynamics.hybrid_contact import HybridContactSystem, HybridPlant
from rolling_dynamics.hybrid_contact.model_state import model_state, plant_state
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere

HAND = {'d_WH': 10.0, 'p_WH': 100.0, 'w_WH_H': 0.1, 'v_WH_H': 1.0, 'w_HO_H': 1.0}
CONTROL = [0.1] * 3 + [1.0] * 3
LIMITS = {f'alpha_WH_H_{k}': (-80.0, 80.0) for k in 'xyz'} | {
    f'a_WH_H_{k}': (-8.0, 8.0) for k in 'xyz'
}
GRAVITY = (0.0, 0.0, -0.4 * 9.81)


def bodies(surface, mass, inertia):
    """Return plant and model with their parameters."""
    plant, model = HybridContactSystem(surface), ContactSystem(surface, Plane())
    common = {'mass': mass, 'inertia': inertia, 'gravity_W': GRAVITY, 'mu': 0.8}
    return plant, plant.pack_parameters(**common), model, model.pack_parameters(**common)


def state(model, **given):
    zero = np.zeros(3)
    rest = {
        'q_WH': [1, 0, 0, 0],
        'p_WH': zero,
        'q_HO': [1, 0, 0, 0],
        'contact_h': [0, 0],
        'w_WH_H': zero,
        'v_WH_H': zero,
        'w_HO_H': zero,
    }
    return model.state.pack(**(rest | given))


def closed_loop(plant, p, model, law, x, duration, delay=8):
    """Return model states at 1 kHz, under a law that sees what was `delay` ms ago."""
    to_model = FastFunction(model_state(plant, model))
    run = HybridPlant(plant, p, plant_state(plant, p, model, x))
    seen, states = deque([run.state.x] * (delay + 1), maxlen=delay + 1), []
    for _ in range(round(duration * 1000)):
        out = run.step(law.command(to_model(seen[0], p)), 1e-3)
        assert out.published_mode == 'rolling', out.events
        seen.append(out.x)
        states.append(to_model(out.x, p))
    return np.array(states)


def test_ball_comes_back_to_its_place_with_its_attitude_free():
    radius, mass = 0.05, 0.2
    plant, p, model, q = bodies(Sphere(radius), mass, 0.4 * mass * radius**2)
    weights = LqrWeights(tracking=HAND | {'contact_h': 1000.0}, terminal={}, control=CONTROL)
    law = BalanceLqr(model, q, state(model), weights=weights, control_limits=LIMITS)
    start = state(model, contact_h=[0.03, -0.02], w_HO_H=[1.0, 0.5, 2.0], q_HO=[0.8, 0, 0.6, 0])
    d = model.state.unpack(closed_loop(plant, p, model, law, start, 4.0))
    assert np.abs(d['contact_h'][-200:]).max() < 2e-3
    assert np.abs(d['w_HO_H'][-200:, :2]).max() < 5e-2
    assert np.abs(d['p_WH'][-200:]).max() < 2e-3
    assert_allclose(law.gain[:, model.tangent.slice('d_HO')][:, :2], 0, atol=1e-6)
    spin = d['w_HO_H'][-1, 2] + d['w_WH_H'][-1, 2]
    assert spin == pytest.approx(2.0, abs=0.05)  # what no control moves goes on
    assert any('w_WH_H_z + w_HO_H_z' in text for text in law.uncontrollable)


@pytest.fixture(scope='module')
def upright():
    """Return plant, model and regulator of an ellipsoid on its end."""
    axes, mass = (0.03, 0.033, 0.04), 0.06
    plant, p, model, q = bodies(Ellipsoid(*axes), mass, solid_ellipsoid_inertia(mass, *axes))
    weights = LqrWeights(tracking=HAND | {'d_HO': 100.0}, terminal={}, control=CONTROL)
    law = BalanceLqr(model, q, state(model), weights=weights, control_limits=LIMITS)
    return plant, p, model, law


def test_ellipsoid_is_kept_upright(upright):
    plant, p, model, law = upright
    tilt = np.array([np.cos(0.06), 0.6 * np.sin(0.06), -0.8 * np.sin(0.06), 0])  # 0.12 rad
    start = state(model, q_HO=tilt, w_HO_H=[0.2, 0.1, 0.3])
    d = model.state.unpack(closed_loop(plant, p, model, law, start, 4.0))
    up = 1 - 2 * (d['q_HO'][:, 1] ** 2 + d['q_HO'][:, 2] ** 2)  # cosine of the tilt in the hand
    assert np.arccos(np.clip(up[-500:], -1, 1)).max() < 0.02
    assert np.abs(d['w_HO_H'][-500:, :2]).max() < 0.05
    assert np.abs(d['p_WH'][-500:]).max() < 0.03
    assert law.decomposition.V.shape == (20, 16)


def test_without_control_the_ellipsoid_falls(upright):
    plant, p, model, _ = upright

    class Idle:
        def command(self, _):
            return np.zeros(6)

    start = state(model, q_HO=[np.cos(0.005), np.sin(0.005), 0, 0])
    d = model.state.unpack(closed_loop(plant, p, model, Idle(), start, 0.7))
    assert 2 * np.arcsin(np.hypot(d['q_HO'][-1, 1], d['q_HO'][-1, 2])) > 0.1


@pytest.mark.slow
def test_region_of_attraction_in_space(upright):
    law = upright[3]
    region = region_of_attraction(law, samples=10)
    assert region.contains(law.x)
    assert region.level > law.value(state(upright[2], q_HO=[np.cos(0.05), np.sin(0.05), 0, 0]))

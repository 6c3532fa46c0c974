"""Balance in space: a ball kept in place, an ellipsoid kept upright, on the hybrid plant."""

from collections import deque

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.balance.region_of_attraction import region_of_attraction
from rolling_controller.laboratory.laws import spatial_regulator
from rolling_controller.law import StateFeedback
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.from_contact_system import (
    hybrid_of,
    model_state,
    plant_state,
    rest_state,
)
from rolling_dynamics.inertia import solid_ellipsoid_inertia
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere
from stepped_motion import SteppedMotion


def on_plate(mass, *axes, **friction):
    """Return a homogeneous body on a plate, and its parameters."""
    surface = Sphere(*axes) if len(axes) == 1 else Ellipsoid(*axes)
    system = ContactSystem(surface, Plane(u_bounds=(-0.1875, 0.1875), v_bounds=(-0.1875, 0.1875)))
    inertia = solid_ellipsoid_inertia(mass, *np.broadcast_to(axes, 3))
    gravity = (0, 0, -0.4 * 9.81)
    return system, system.pack_parameters(
        mass=mass, inertia=inertia, gravity_W=gravity, mu=0.8, **friction
    )


BALL = on_plate(0.2, 0.05)
ELLIPSOID = on_plate(0.06, 0.03, 0.033, 0.04)


def closed_loop(body, law, duration, delay=8, *, spins=False, **start):
    """Return model states by name at 1 kHz, under a law that sees what was `delay` ms ago."""
    model, (plant, p) = body[0], hybrid_of(*body, slip_share=0.75)
    to_model = FastFunction(model_state(plant, model))
    run = SteppedMotion(plant, p, plant_state(plant, p, model, rest_state(model.state, **start)))
    seen, states = deque([run.state.x] * (delay + 1), maxlen=delay + 1), []
    for _ in range(round(duration * 1000)):
        out = run.step(law.step(None, to_model(seen[0], p), 0.0)[1], 1e-3)
        assert spins or out.published_mode in {'rolling', 'pure_rolling'}, out.events
        seen.append(out.x)
        states.append(to_model(out.x, p))
    return model.state.unpack(np.array(states))


def tilt(d):
    """Return the tilt of the object's axis in the hand [rad] over time."""
    return 2 * np.arcsin(np.hypot(d['q_HO'][:, 1], d['q_HO'][:, 2]))


def test_ball_comes_back_to_its_place_with_its_attitude_free():
    law = spatial_regulator(*BALL)
    d = closed_loop(
        BALL,
        law,
        4.0,
        contact_h=[0.03, -0.02],
        w_HO_H=[1.0, 0.5, 2.0],
        q_HO=[0.8, 0, 0.6, 0],
    )
    assert np.abs(d['contact_h'][-200:]).max() < 2e-3
    assert np.abs(d['w_HO_H'][-200:, :2]).max() < 5e-2
    assert np.abs(d['p_WH'][-200:]).max() < 2e-3
    assert_allclose(law.gain[:, law.system.tangent.slice('d_HO')][:, :2], 0, atol=1e-6)
    spin = d['w_HO_H'][-1, 2] + d['w_WH_H'][-1, 2]
    assert spin == pytest.approx(2.0, abs=0.05)  # what no control moves goes on
    assert any('w_WH_H_z + w_HO_H_z' in text for text in law.uncontrollable)


def test_ball_with_spin_friction_stops_spinning_too():
    body = on_plate(0.2, 0.05, mu_spin=3e-3)
    law = spatial_regulator(*body)
    start = {'contact_h': [0.02, 0.01], 'w_HO_H': [0.2, 0, 2.0]}
    d = closed_loop(body, law, 2.0, spins=True, **start)  # on its patch it slips while it spins
    assert np.abs(d['contact_h'][-200:]).max() < 2e-3
    assert np.abs(d['w_HO_H'][-200:, 2]).max() < 1e-6


@pytest.fixture(scope='module')
def regulator():
    """Return the regulator of the ellipsoid on its end."""
    return spatial_regulator(*ELLIPSOID)


def test_ellipsoid_is_kept_upright(regulator):
    lean = [np.cos(0.06), 0.6 * np.sin(0.06), -0.8 * np.sin(0.06), 0]  # 0.12 rad
    d = closed_loop(ELLIPSOID, regulator, 4.0, q_HO=lean, w_HO_H=[0.2, 0.1, 0.3])
    assert tilt(d)[-500:].max() < 0.02
    assert np.abs(d['w_HO_H'][-500:, :2]).max() < 0.05
    assert np.abs(d['p_WH'][-500:]).max() < 0.03
    assert regulator.decomposition.V.shape == (20, 16)


def test_without_control_the_ellipsoid_falls():
    idle = StateFeedback(ELLIPSOID[0], lambda *_: np.zeros(6))
    d = closed_loop(ELLIPSOID, idle, 0.7, q_HO=[np.cos(0.005), np.sin(0.005), 0, 0])
    assert tilt(d)[-1] > 0.1


def test_a_body_that_does_not_rest_upright_is_refused():
    system, p = ELLIPSOID
    tilted = p.copy()
    tilted[system.parameters.slice('gravity_W')] = 0.5, 0.0, -3.0
    with pytest.raises(ParameterError, match='equilibrium'):
        spatial_regulator(system, tilted)


@pytest.mark.slow
def test_region_of_attraction_in_space(regulator):
    region = region_of_attraction(regulator, samples=10)
    assert region.contains(regulator.x)
    lean = rest_state(regulator.system.state, q_HO=[np.cos(0.05), np.sin(0.05), 0, 0])
    assert region.level > regulator.value(lean)

"""Rolling resistance of an object on a hand in the system that plans and laws take."""

import math

import numpy as np
import pytest
from rolling_dynamics.configuration import find_config
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of, model_state, plant_state
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere
from rolling_planner import plan_rolling
from rolling_planner.problem.scenario import read_problem
import yaml

MASS, R, G, MU = 0.2, 0.05, 9.81, 0.5
STILL = np.zeros(6)


def resisted(surface=None, pure=False, representation='attitude', **resistance):
    system = ContactSystem(
        surface or Sphere(R),
        Plane(),
        friction='pure_rolling' if pure else 'rolling',
        representation=representation,
        resisted=True,
    )
    p = system.pack_parameters(
        mass=MASS, inertia=0.4 * MASS * R**2, mu=MU, mu_spin=1e-3 if pure else 0.0, **resistance
    )
    return system, p


def rolling(system, v):
    start = {
        'q_WH': [1, 0, 0, 0],
        'p_WH': np.zeros(3),
        'w_WH_H': np.zeros(3),
        'v_WH_H': np.zeros(3),
    }
    w = [-v[1] / R, v[0] / R, 0]
    if system.representation.name == 'attitude':
        return system.state.pack(**start, q_HO=[1, 0, 0, 0], contact_h=np.zeros(2), w_HO_H=w)
    at = {'contact_o': [1.2, 0.1], 'contact_h': np.zeros(2), 'psi': 0.0}
    return system.state.pack(**start, **at, w_HO_Ch=w)


@pytest.mark.parametrize('pure', [False, True])
@pytest.mark.parametrize('representation', ['attitude', 'coordinates'])
def test_a_dry_and_a_viscous_resistance_slow_a_ball_as_closed_forms_say(pure, representation):
    """By (5/7) g e/R (Johnson 1985); by exp(-(5/7) g c t / R^2) what is proportional."""
    v, time = np.array([0.3, 0.4]), 1.0
    lever, c = 2e-3, 1e-4
    for given, kept in (
        ({'lever_arm': lever}, 1 - 5 / 7 * G * lever / R * time / 0.5),
        ({'rolling_resistance': c}, math.exp(-5 / 7 * G * c / R**2 * time)),
    ):
        system, p = resisted(pure=pure, representation=representation, **given)
        x = rolling(system, v)
        end = simulate(system, p, x, None, time, rtol=1e-10, atol=1e-12).states[-1]
        w = end[system.state.slice(system.representation.velocity.name)]
        expected = kept * np.array([-v[1], v[0], 0]) / R
        np.testing.assert_allclose(w, expected, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize('surface', [Sphere(R), Ellipsoid(0.05, 0.04, 0.03)])
@pytest.mark.parametrize(('lever', 'within'), [(0.0, 1e-9), (2e-3, 1e-3)])
def test_it_rolls_as_the_plant_that_may_slip_does(surface, lever, within):
    """Accelerations and the wrench of an accelerated hand, by equations written apart."""
    system, p = resisted(surface, rolling_resistance=1e-3, lever_arm=lever)
    plant, q = hybrid_of(system, p, resistance=1e-3, lever_arm=lever)
    rng = np.random.default_rng(5)
    mode, own = plant.modes['rolling'], next(iter(system.modes.values()))
    for _ in range(5):
        x = rolling(system, (0.3, -0.4)) + 0.0
        q_HO = rng.normal(size=4)
        x[system.state.slice('q_HO')] = q_HO / np.linalg.norm(q_HO)
        for name in ('w_WH_H', 'v_WH_H', 'w_HO_H'):
            x[system.state.slice(name)] = 5 * rng.normal(size=3)
        u = rng.normal(size=6)
        y = plant_state(plant, q, system, x)
        np.testing.assert_allclose(
            np.array(model_state(plant, system)(y, q)).ravel(), x, atol=1e-9
        )
        ours = np.array(own.dynamics(x, u, 0, p)).ravel()[system.state.slice('w_HO_H')]
        theirs = np.array(mode.dynamics(y, u, 0, q)).ravel()[plant.state.slice('w_HO_H')]
        np.testing.assert_allclose(ours, theirs, rtol=within, atol=within)
        wrenches = (np.array(f(*a)).ravel() for f, a in (
            (own.wrench, (x, u, 0, p)), (mode.wrench, (y, u, 0, q))))  # fmt: skip
        np.testing.assert_allclose(*wrenches, rtol=within, atol=within)


def scenario(tmp_path, **friction):
    document = yaml.safe_load(find_config('scenarios/ball_on_plate_straight.yaml').read_text())
    document['friction'] |= friction
    (path := tmp_path / 'scenario.yaml').write_text(yaml.safe_dump(document))
    return load_scenario(path)


@pytest.mark.slow
def test_a_plan_carries_the_resistance_to_the_plant_that_has_it(tmp_path):
    """Open loop; a plan made without resistance does not even break the ball away."""
    resistance = {'lever_arm': 5e-4, 'rolling_resistance': 2e-4}
    s = scenario(tmp_path, **resistance)
    plant, q = hybrid_of(s.system, s.p, resistance=2e-4, lever_arm=5e-4)
    x, reached = plant_state(plant, q, s.system, s.x0), []
    for planned in (s, scenario(tmp_path)):
        plan = plan_rolling(read_problem(planned))
        end = simulate(plant, q, x, plan.control_at, plan.times[-1]).states[-1]
        reached.append(np.array(model_state(plant, s.system)(end, q)).ravel())
    along = [y[s.system.state.slice('contact_h')][1] for y in reached]
    assert along[0] == pytest.approx(-0.033, abs=2e-3)
    assert along[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('entry', ['rolling_resistance', 'lever_arm'])
def test_the_former_place_of_an_entry_is_named(tmp_path, entry):
    document = yaml.safe_load(find_config('scenarios/ball_thrown_into_dish.yaml').read_text())
    document['hybrid'] = {entry: 1e-3}
    (path := tmp_path / 'scenario.yaml').write_text(yaml.safe_dump(document))
    with pytest.raises(ScenarioError, match=rf'hybrid\.{entry}: is friction\.{entry} now'):
        load_scenario(path)


def test_energy_is_kept_only_without_resistance():
    for given, kept in (({}, ['energy']), ({'lever_arm': 1e-3}, [])):
        system, p = resisted(**given)
        assert system.conserved(p, rolling(system, (0.3, 0.4))) == kept

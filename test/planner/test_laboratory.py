"""The laboratory is what a scenario says: any inertia, any plate; other bodies are rejected."""

import numpy as np
import pytest
from rolling_controller.laboratory.laws import balance_regulator
from rolling_dynamics.equilibrium import linear_model
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model
from rolling_planner.laboratory.laboratory import FLAT, Laboratory, UPRIGHT

MASS, LONG, SHORT = 0.0553, 0.0754 / 2, 0.0504 / 2
OTHER = {  # heavy at its ends, with a product of inertia in the plane, on a plate to one side
    'inertia': [3e-5, 5e-5, 2e-5, 0.0, 1e-6, 0.0],
    'hand_edges': [-0.05, 0.3, -0.1, 0.2],
}


def test_the_shipped_scenario_has_the_numbers_of_the_paper():
    laboratory = Laboratory.of_paper()
    assert laboratory.semi_axes == pytest.approx((LONG, SHORT))
    assert laboratory.mass == MASS
    assert laboratory.gravity == pytest.approx(0.4 * 9.81)
    lamina = MASS / 4 * (LONG**2 + SHORT**2)  # homogeneous, about its centre
    assert laboratory.inertia == pytest.approx(lamina)


@pytest.mark.parametrize('given', [{}, OTHER], ids=['of the paper', 'another'])
def test_rates_about_rest_are_those_of_the_equations(given):
    laboratory = Laboratory.of_paper(**given)
    system, p = laboratory.model()
    for beta in (UPRIGHT, FLAT):
        A = linear_model(system, p, laboratory.rest(beta), np.zeros(3)).A
        rates = np.linalg.eigvals(A)
        fastest = rates[np.abs(rates).argmax()]
        known = laboratory.equilibrium_rate(upright=beta == UPRIGHT)
        assert abs(fastest.real if beta == UPRIGHT else fastest.imag) == pytest.approx(known)


def test_another_body_is_balanced_on_a_plate_to_one_side():
    laboratory = Laboratory.of_paper(**OTHER)
    assert np.abs(balance_regulator(laboratory).poles).max() < 1
    system, p = laboratory.model()
    edge = system.mode.guards['edge']
    x = laboratory.rest(UPRIGHT, contact=0.28)
    assert float(edge(x, np.zeros(3), 0, p)) == pytest.approx(0.02)


def test_what_does_not_stand_up_in_the_plane_is_rejected():
    with pytest.raises(ParameterError, match='gravity must point along -z'):
        Laboratory.of_paper(gravity_W=[0.1, 0.0, -3.0])
    skew = Laboratory.of_paper(inertia=[3e-5, 5e-5, 2e-5, 1e-6, 0.0, 0.0])
    with pytest.raises(ParameterError, match='inertia_xy'):
        skew.model()
    ball = load_model('ball_on_plate_hard')
    with pytest.raises(ParameterError, match='ellipsoid whose semi-axis c exceeds a, got a sph'):
        Laboratory(ball.system, ball.params)

"""Holds and servos that cannot do what they are for are refused, or keep their limits."""

from cart import Cart, P
import casadi as ca
import numpy as np
import pytest
from rolling_controller import LqrWeights
from rolling_controller.balance.hold import Hold
from rolling_dynamics.contract import Layout, Mode, tangent_layout
from rolling_dynamics.contract.capabilities import offers, StateBounds
from rolling_dynamics.contract.rolling_system import difference, Entry, retraction
from rolling_dynamics.driven import driven, Servo
from rolling_dynamics.errors import ParameterError


@pytest.mark.parametrize(('place', 'speed'), [(0.0, 1.0), (0.0, 0.0)])
def test_a_hold_that_would_not_come_to_rest_is_refused(place, speed):
    """Whatever LAPACK's rounding makes of an eigenvalue on the unit circle."""
    weights = {'s': place, 'v': speed}
    with pytest.raises(ParameterError, match='give a weight to every part of the state'):
        Hold(
            Cart(),
            P,
            np.zeros(2),
            weights=LqrWeights(tracking=weights, terminal=weights, control=1.0),
        )


def test_a_cart_is_held_by_the_gain_of_its_double_integrator():
    """In continuous time u = -s - sqrt(3) v for these weights."""
    weights = {'s': 1.0, 'v': 1.0}
    hold = Hold(
        Cart(), P, np.zeros(2), weights=LqrWeights(tracking=weights, terminal=weights, control=1.0)
    )
    assert hold.gain == pytest.approx(np.array([[1.0, np.sqrt(3)]]), rel=2e-3)
    assert np.abs(hold.poles).max() < 1


class Pulled(Cart):
    """A cart on a curved way, pulled by 9.81 sin(s)."""

    def __init__(self):
        given = [ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True)]
        x, u, *_ = given
        rate = ca.vertcat(x[1], 9.81 * ca.sin(x[0]) + u)
        self.modes = {'rolling': Mode(dynamics=ca.Function('f', given, [rate]), guards={})}


@pytest.mark.parametrize('place', [0.15, 1.0, -2.0])
def test_a_state_is_held_where_it_is_if_a_control_holds_it(place):
    hold = Hold(Pulled(), P, [place, 0.0])
    np.testing.assert_allclose(hold.x, [place, 0.0], atol=1e-12)
    np.testing.assert_allclose(hold.u, -9.81 * np.sin(place), rtol=1e-8)
    assert hold.unstable == (np.cos(place) > 0)


class Beside(Cart):
    """A cart, and what no control reaches, which grows or dies out with a rate."""

    state = Layout((*Cart.state.entries, Entry('drift', ('drift',), 'm')))
    tangent = tangent_layout(state)
    retract, difference = retraction(state, tangent), difference(state)

    def __init__(self, rate):
        given = [ca.SX.sym(n, k) for n, k in zip('xutp', (3, 1, 1, 1), strict=True)]
        x, u, *_ = given
        rates = ca.vertcat(x[1], u, rate * x[2])
        self.modes = {'rolling': Mode(dynamics=ca.Function('f', given, [rates]), guards={})}


def test_what_grows_and_no_control_reaches_is_refused():
    with pytest.raises(ParameterError, match=r'do not reach drift, which grows with 0.5 1/s'):
        Hold(Beside(0.5), P, np.zeros(3))


@pytest.mark.parametrize(('rate', 'named'), [(0.0, ['drift']), (-0.5, [])])
def test_what_stays_and_no_control_reaches_is_named(rate, named):
    assert Hold(Beside(rate), P, np.zeros(3)).uncontrollable == named


class Walled(Cart):
    """A cart between walls, 2 m to the left and its end."""

    def state_bounds(self, p):
        return {'s': (-2.0, float(p[0]))}


def test_the_bounds_of_a_servo_stand_beside_those_of_the_system():
    servo = Servo(
        control='u',
        command=Entry('asked', ('asked',), 'm/s^2'),
        state=(Entry('motor', ('motor',), 'm/s^2'),),
        parameters=(Entry('most', ('most',), 'm/s^2'),),
        law=lambda v: (v.state['motor'], 10.0 * (v.command - v.state['motor'])),
        bounds=lambda p: {'motor': (-float(p['most'][0]), float(p['most'][0]))},
    )
    system = driven(Walled(), servo)
    own = offers(system, StateBounds)
    assert own.state_bounds(np.array([1.5, 4.0])) == {'s': (-2.0, 1.5), 'motor': (-4.0, 4.0)}

"""A step through modes whose state is no longer finite ends there, with the time."""

from cart import Cart, P
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.simulation import Stepper


def start(x):
    return MotionState(t=0.25, x=np.array(x), mode='rolling', p=P)


def test_a_cart_goes_to_the_time():
    after = Stepper(Cart(), P).step(start([0.1, 2.0]), np.array([4.0]), 0.5)
    assert after.t == 0.75
    assert after.x == pytest.approx([0.1 + 2.0 * 0.5 + 4.0 * 0.5**2 / 2, 2.0 + 4.0 * 0.5])


@pytest.mark.parametrize(('x', 'u'), [([np.nan, 0.0], 0.0), ([1e308, 1e308], 1e308)])
@pytest.mark.filterwarnings('ignore:overflow:RuntimeWarning')
def test_a_state_that_is_not_finite_ends_the_step(x, u):
    """Neither no number nor an overflow falls through a guard, which would end it otherwise."""
    steps = Stepper(Cart(edge=lambda here: here.end - here.s), P, max_step=4.0)
    with pytest.raises(SimulationError, match=r'no longer finite after the step from t = 0\.25 s'):
        steps.step(start(x), np.array([u]), 4.0)

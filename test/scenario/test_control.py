"""A control given by samples, at a time."""

import numpy as np
import pytest
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.scenario.control import Control

LAYOUT = Layout((Entry('u', ('u_1', 'u_2'), 'N'),))


@pytest.mark.parametrize('times', [[0.0], [0.0, 0.3], [0.0, 0.1, 0.1, 0.7, 2.0], [0.0, 0.0, 1.0]])
def test_samples_are_what_their_function_is(times):
    """To the bit, at jumps and beyond the last sample too."""
    values = np.random.default_rng(len(times)).normal(size=(len(times), 2))
    control = Control(None, LAYOUT, (np.array(times), values), states=3)
    function = FastFunction(control.function)
    for t in (*times, *np.linspace(0, 2.5, 50)):
        np.testing.assert_array_equal(control(t, np.zeros(3)), function(np.zeros(3), t))

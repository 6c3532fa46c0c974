"""The filter of an encoder whose angles are rounded down to whole counts."""

import math

import numpy as np
import pytest
from rolling_hw_interface.encoder_filter import EncoderFilter
from scipy.linalg import solve_discrete_are

COUNT, PERIOD, WANDER = 1e-3, 2e-3, 150.0


def test_an_angle_is_expected_half_a_count_above_the_one_that_was_rounded_down():
    encoders = EncoderFilter([COUNT, 4 * COUNT], PERIOD)
    for _ in range(50):
        found = encoders.step([7 * COUNT, -4 * COUNT], [0.0, 0.0])
    assert found.q == pytest.approx([7.5 * COUNT, -2 * COUNT], rel=1e-12)
    assert found.qd == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_count_answers_as_the_gain_for_a_uniform_error_of_one_count():
    """Its standard deviation is a count over the root of twelve; the gain by SciPy."""
    F = np.array([[1.0, PERIOD, PERIOD**2 / 2], [0.0, 1.0, PERIOD], [0.0, 0.0, 1.0]])
    H, h = np.array([[1.0, 0.0, 0.0]]), PERIOD
    Q = WANDER**2 * np.array(
        [
            [h**5 / 20, h**4 / 8, h**3 / 6],
            [h**4 / 8, h**3 / 3, h**2 / 2],
            [h**3 / 6, h**2 / 2, h],
        ]
    )
    variance = COUNT**2 / 12
    C = solve_discrete_are(F.T, H.T, Q, np.array([[variance]]))
    gain = (C @ H.T).ravel() / (C[0, 0] + variance)
    encoders = EncoderFilter([COUNT], PERIOD, wander=WANDER)
    encoders.step([0.0], [0.0])
    found = encoders.step([COUNT], [0.0])
    assert found.q[0] - COUNT / 2 == pytest.approx(gain[0] * COUNT, rel=1e-6)
    assert found.qd[0] == pytest.approx(gain[1] * COUNT, rel=1e-6)
    assert found.qdd[0] == pytest.approx(gain[2] * COUNT, rel=1e-6)


def test_what_a_joint_does_not_give_moves_nothing():
    encoders = EncoderFilter([COUNT], PERIOD)
    before = encoders.step([0.0], [0.0])
    after = encoders.step([math.nan], [0.0])
    assert after.q == pytest.approx(before.q, abs=1e-15)
    assert encoders.missing == 1

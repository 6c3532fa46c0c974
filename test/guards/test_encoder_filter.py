"""The filter of an encoder whose angles are rounded down to whole counts."""

import math

import numpy as np
import pytest
from rolling_hw_interface.encoder_filter import EncoderFilter, steady_filter
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


def transition(h):
    return np.array([[1.0, h, h * h / 2], [0.0, 1.0, h], [0.0, 0.0, 1.0]])


def test_angles_rates_and_accelerations_follow_the_motion_that_is_commanded():
    """Against the observer in matrices, over motions and gaps at random."""
    rng, F = np.random.default_rng(1), transition(PERIOD)
    gains = [steady_filter(PERIOD, WANDER, c * COUNT / math.sqrt(12))[0] for c in (1, 4)]
    encoders, x = EncoderFilter([COUNT, 4 * COUNT], PERIOD), None
    for k in range(60):
        seen = rng.normal(size=2) + np.array([0.1, -0.3]) * k
        seen[rng.uniform(size=2) < 0.2 * (k > 0)] = math.nan
        u = rng.normal(size=2)
        found = encoders.step(seen, u)
        if x is None:
            x = np.array([[m, 0.0, 0.0] for m in seen + np.array([0.5, 2.0]) * COUNT])
        for j, m in enumerate(seen + np.array([0.5, 2.0]) * COUNT):
            ahead = F @ x[j] + u[j] * np.array([PERIOD**2 / 2, PERIOD, 0.0])
            x[j] = ahead + gains[j] * (0.0 if math.isnan(m) else m - ahead[0])
        assert found.q == pytest.approx(x[:, 0], rel=1e-12, abs=1e-12)
        assert found.qd == pytest.approx(x[:, 1], rel=1e-10, abs=1e-10)
        assert found.qdd == pytest.approx(u + x[:, 2], rel=1e-9, abs=1e-9)


def test_a_filter_that_forgets_starts_at_the_next_whole_measurement():
    encoders = EncoderFilter([COUNT, COUNT], PERIOD)
    assert encoders.missing == 0
    assert encoders.step([0.0, math.nan], [0.0, 0.0]) is None
    assert encoders.step([0.0, math.nan], [0.0, 0.0]) is None
    assert encoders.missing == 2
    for k in range(5):
        encoders.step([0.1 * k, 0.2 * k], [0.0, 0.0])
    assert encoders.missing == 0
    encoders.step([0.5, math.nan], [0.0, 0.0])
    assert encoders.missing == 1
    encoders.forget()
    assert encoders.missing == 0
    assert encoders.step([math.nan, 0.0], [0.0, 0.0]) is None
    assert encoders.missing == 1
    found = encoders.step([2.0, 3.0], [0.0, 0.0])
    assert found.q == pytest.approx([2.0 + COUNT / 2, 3.0 + COUNT / 2], rel=1e-12)
    assert not found.qd.any()


@pytest.mark.parametrize(('measured', 'commanded'), [([0.0, 0.0], [0.0]), ([0.0], [0.0, 0.0])])
def test_another_number_of_joints_is_refused(measured, commanded):
    with pytest.raises(ValueError, match='zip'):
        EncoderFilter([COUNT], PERIOD).step(measured, commanded)


@pytest.mark.parametrize('noise', [1e-5, 1e-2])
def test_gain_and_covariance_are_steady(noise):
    F, h = transition(PERIOD), PERIOD
    rows = (h**5 / 20, h**4 / 8, h**3 / 6), (h**4 / 8, h**3 / 3, h**2 / 2), (h**3 / 6, h**2 / 2, h)
    C = solve_discrete_are(F.T, np.eye(3)[:, :1], WANDER**2 * np.array(rows), [[noise**2]])
    gain = C[:, 0] / (C[0, 0] + noise**2)
    found, after = steady_filter(PERIOD, WANDER, noise)
    assert found == pytest.approx(gain, rel=2e-8)
    assert after == pytest.approx(C - np.outer(gain, C[0]), rel=1e-6)


def test_errors_of_angles_and_rates_have_the_variances_that_are_declared():
    """Angles move by white jerk of the stated strength and are rounded down to whole counts."""
    counts = np.array([COUNT, 4 * COUNT])
    encoders, rng = EncoderFilter(counts, PERIOD), np.random.default_rng(1)
    x, F, h = np.zeros((2, 3)), transition(PERIOD), PERIOD
    Q = np.array([[h**5 / 20, h**4 / 8, h**3 / 6], [h**4 / 8, h**3 / 3, h**2 / 2],
                  [h**3 / 6, h**2 / 2, h]])  # fmt: skip
    L, off = WANDER * np.linalg.cholesky(Q), []
    for k in range(20_000):
        x = x @ F.T + rng.normal(size=(2, 3)) @ L.T
        found = encoders.step(np.floor(x[:, 0] / counts) * counts, [0.0, 0.0])
        if k > 200:
            off.append((found.q - x[:, 0], found.qd - x[:, 1]))
    assert np.var(off, axis=0) == pytest.approx(encoders.variances, rel=0.1)

"""The compiled update of the filter against its textbook form."""

import numpy as np
import pytest
from rolling_dynamics.compiled import FastFunction
from rolling_hw_interface.pose_filter import update_function

STATES = 13


@pytest.mark.parametrize('rows', [2, 6])
def test_update_is_that_of_joseph(rows):
    rng = np.random.default_rng(rows)
    root, H = rng.normal(size=(STATES, STATES)), rng.normal(size=(rows, STATES))
    C, noise, innovation = root @ root.T, np.diag(rng.uniform(0.1, 2, rows)), rng.normal(size=rows)
    S = H @ C @ H.T + noise
    gain = np.linalg.solve(S, H @ C).T
    A = np.eye(STATES) - gain @ H
    out = FastFunction(update_function(rows, STATES))(
        C.ravel(), (H @ C).ravel(), S.ravel(), innovation
    )
    assert out[0] == pytest.approx(innovation @ np.linalg.solve(S, innovation))
    np.testing.assert_allclose(out[1:14], gain @ innovation, atol=1e-12)
    new = out[14:].reshape(STATES, STATES)
    np.testing.assert_allclose(new, A @ C @ A.T + gain @ noise @ gain.T, atol=1e-12)
    assert np.array_equal(new, new.T)


def test_what_is_no_covariance_gives_nothing_finite():
    S = -np.eye(2)
    out = FastFunction(update_function(2, STATES))(
        np.eye(STATES).ravel(), np.zeros(2 * STATES), S.ravel(), np.ones(2)
    )
    assert not np.isfinite(out[0])

"""Quaternion expressions against transforms3d and the properties that define them."""

import casadi as ca
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest
from rolling_dynamics import rotations
from transforms3d import axangles, quaternions

q, r, d = ca.SX.sym('q', 4), ca.SX.sym('r', 4), ca.SX.sym('d', 3)
F = {
    name: ca.Function(name, inputs, [getattr(rotations, name)(*inputs)])
    for name, inputs in {
        'rotation_matrix': [q], 'product': [q, r], 'conjugate': [q], 'rate_body': [q, d],
        'rate_space': [q, d], 'exponential': [d], 'logarithm': [q],
    }.items()
}  # fmt: skip
quaternion = arrays(float, 4, elements=st.floats(-1, 1)).filter(lambda x: np.linalg.norm(x) > 0.1)
vector = arrays(float, 3, elements=st.floats(-2, 2))


def call(name, *values):
    return np.array(F[name](*values)).squeeze()


@given(quaternion)
def test_rotation_matrix(x):
    assert np.abs(call('rotation_matrix', x) - quaternions.quat2mat(x)).max() < 1e-13


@given(quaternion, quaternion)
def test_product_and_conjugate(x, y):
    assert np.abs(call('product', x, y) - quaternions.qmult(x, y)).max() < 1e-14
    assert np.abs(call('conjugate', x) - quaternions.qconjugate(x)).max() == 0


@settings(deadline=None)
@given(quaternion, vector)
def test_rates(x, w):
    """Turning for a short time at w, about the axes of the body or of the space."""
    x, h = x / np.linalg.norm(x), 1e-6
    turn = call('exponential', h * w)
    body = (quaternions.qmult(x, turn) - x) / h
    space = (quaternions.qmult(turn, x) - x) / h
    assert np.abs(call('rate_body', x, w) - body).max() < 1e-5
    assert np.abs(call('rate_space', x, w) - space).max() < 1e-5


@given(vector)
def test_exponential(v):
    angle = np.linalg.norm(v)
    expected = axangles.axangle2mat(v, angle) if angle > 0 else np.eye(3)
    assert np.abs(quaternions.quat2mat(call('exponential', v)) - expected).max() < 1e-13


@given(arrays(float, 3, elements=st.floats(-1.8, 1.8)))
def test_logarithm_undoes_the_exponential(v):
    back = call('logarithm', call('exponential', v))
    if np.linalg.norm(v) < np.pi - 1e-6:
        assert np.abs(back - v).max() < 1e-9
    assert np.linalg.norm(back) <= np.pi + 1e-12


@pytest.mark.parametrize('size', [0.0, 1e-12, 1e-8, 1e-5, 2e-5, 1e-4, 3e-4, 1e-3, 0.1])
def test_small_turns_keep_their_digits(size):
    v = size * np.array([0.6, -0.64, 0.48])
    assert np.abs(call('logarithm', call('exponential', v)) - v).max() < 1e-14 * max(1, size)


def test_derivatives_at_the_identity():
    jacobian = ca.Function('j', [d], [ca.jacobian(rotations.exponential(d), d)])
    assert np.abs(np.array(jacobian([0, 0, 0]))[1:] - np.eye(3) / 2).max() < 1e-15
    back = ca.Function('b', [q], [ca.jacobian(rotations.logarithm(q), q)])
    assert np.abs(np.array(back([1, 0, 0, 0]))[:, 1:] - 2 * np.eye(3)).max() < 1e-15

"""Poses of one instant agree with the arrays of rotation matrices, and mix the short way round."""

import numpy as np
import pytest
from rolling_robotics.scene.scene import between, compose, IDENTITY, rotation_matrices


def poses(seed, count):
    random = np.random.default_rng(seed)
    q = random.normal(size=(count, 4))
    return np.hstack([random.normal(size=(count, 3)), q / np.linalg.norm(q, axis=1)[:, None]])


def matrix(pose):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation_matrices(np.array([pose[3:]]))[0], pose[:3]
    return X


def test_composition_is_that_of_matrices():
    for a, b in zip(poses(1, 20), poses(2, 20), strict=True):
        assert matrix(compose(a, b)) == pytest.approx(matrix(a) @ matrix(b), abs=1e-14)
    (a,) = poses(3, 1)
    assert compose(IDENTITY, a) == pytest.approx(tuple(a))


def test_half_way_between_two_attitudes_is_half_the_turn_whatever_the_sign():
    a, b = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (2.0, 0.0, 4.0, np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    for sign in (1.0, -1.0):
        middle = between(a, (*b[:3], *(sign * v for v in b[3:])), 0.5)
        assert middle == pytest.approx((1, 0, 2, np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)))
    assert between(a, b, 0.0) == pytest.approx(a)

"""Poses of one instant agree with the arrays of rotation matrices."""

import numpy as np
import pytest
from rolling_robotics.scene.scene import compose, IDENTITY, rotation_matrices


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

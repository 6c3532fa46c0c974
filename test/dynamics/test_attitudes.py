"""Attitudes over time: the numbers of transforms3d, with the sign that is next to the last one."""

import numpy as np
from rolling_dynamics.rotations import quaternions
from scipy.spatial.transform import Rotation
from transforms3d.quaternions import mat2quat


def test_numbers_are_those_of_single_matrices_up_to_the_sign():
    half_turns = [np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1])]
    matrices = [np.eye(3), *half_turns, *Rotation.random(200, random_state=1).as_matrix()]
    matrices[-1] = matrices[-1] + 1e-9  # drifted
    found = quaternions(iter(matrices))
    expected = np.array([mat2quat(R) for R in matrices])
    signs = np.sign(np.sum(found * expected, axis=1))
    assert np.array_equal(found * signs[:, None], expected)


def test_sign_does_not_jump():
    angles = np.linspace(0.0, 4 * np.pi, 200)
    q = quaternions(Rotation.from_rotvec(np.outer(angles, [0.6, 0.0, 0.8])).as_matrix())
    assert np.allclose(q[:, 0], np.cos(angles / 2))
    assert np.all(np.sum(q[1:] * q[:-1], axis=1) > 0.99)

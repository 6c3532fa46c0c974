"""The planar arm against Newton's and Euler's equations written link by link."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel

MODEL = ArmModel()


def planar(arm, q):
    """Return x, z [m] and pitch [rad] of the hand."""
    hand = arm.hand_state(q)
    return hand[4], hand[6], 2 * math.atan2(hand[2], hand[0])


@pytest.fixture(scope='module')
def arm():
    return Arm(ArmModel().chain)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def random_joints(rng):
    return rng.uniform((-2, 0.3, -2.5), (1, 2.5, 1)), rng.normal(size=3), rng.normal(size=3) * 5


def turn(angle):
    """Rotation about y as it acts on (x, z)."""
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def newton_euler(model, q, qd, qdd):
    """Joint torques by recursion over the links; independent of the energies."""
    across = np.array([[0.0, 1.0], [-1.0, 0.0]])  # y x (x, z): turns (1, 0) into (0, -1)
    p, a = np.array(model.base), -np.array(model.gravity)  # gravity as an acceleration of the base
    angle = rate = acceleration = 0.0
    joints, centres, forces, torques = [], [], [], []
    for k in range(3):
        angle, rate, acceleration = angle + q[k], rate + qd[k], acceleration + qdd[k]
        d = turn(angle) @ np.array([1.0, 0.0])
        n = across @ d
        line = acceleration * n - rate**2 * d
        joints.append(p)
        centres.append(p + model.centres[k] * d)
        forces.append(model.masses[k] * (a + model.centres[k] * line))
        torques.append(model.inertias[k] * acceleration)
        p, a = p + model.lengths[k] * d, a + model.lengths[k] * line
    out = []
    for k in range(3):
        moment = 0.0
        for j in range(k, 3):
            r = centres[j] - joints[k]
            moment += torques[j] + r[1] * forces[j][0] - r[0] * forces[j][1]  # (r x f) . y
        out.append(moment)
    return np.array(out)


def test_torques_are_those_of_newton_and_euler(arm, rng):
    for _ in range(20):
        q, qd, qdd = random_joints(rng)
        expected = newton_euler(MODEL, q, qd, qdd)
        assert arm.dynamics(q, qd, qdd)[2] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_mass_matrix_is_symmetric_and_positive(arm, rng):
    M = arm.dynamics(*random_joints(rng))[0]
    assert pytest.approx(M.T) == M
    assert np.linalg.eigvalsh(M).min() > 0


def test_stretched_arm_stands_where_trigonometry_says():
    arm = Arm(ArmModel(base=(0.0, 0.0)).chain)
    assert planar(arm, [0, 0, 0]) == pytest.approx([0.9, 0.0, math.pi / 2])
    assert planar(arm, [-math.pi / 2, 0, 0]) == pytest.approx([0.0, 0.9, 0.0], abs=1e-12)


def test_velocity_of_the_hand_is_the_derivative_of_its_pose(arm, rng):
    q, qd, _ = random_joints(rng)
    h = 1e-6
    x0, x1 = arm.hand_state(q - h * qd, qd), arm.hand_state(q + h * qd, qd)
    state = arm.hand_state(q, qd)
    v_W = (x1[4:7] - x0[4:7]) / (2 * h)
    c, s = math.cos(planar(arm, q)[2]), math.sin(planar(arm, q)[2])
    R_WH = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    assert R_WH @ state[10:13] == pytest.approx(v_W, abs=1e-8)
    assert state[8] == pytest.approx(qd.sum())


def test_accelerations_of_hand_and_joints_are_inverse(arm, rng):
    for _ in range(10):
        q, qd, qdd = random_joints(rng)
        u = arm.hand_acceleration(q, qd, qdd)
        assert arm.joint_acceleration(q, qd, u) == pytest.approx(qdd, rel=1e-8, abs=1e-8)


def test_acceleration_is_the_derivative_of_velocity(arm, rng):
    q, qd, qdd = random_joints(rng)
    h = 1e-6
    rates = [arm.jacobian(q + k * h * qd) @ (qd + k * h * qdd) for k in (-1, 1)]
    x, _, z, _, alpha, _ = (rates[1] - rates[0]) / (2 * h)
    u = arm.hand_acceleration(q, qd, qdd)
    pitch = planar(arm, q)[2]
    c, s = math.cos(pitch), math.sin(pitch)
    assert u[[1, 3, 5]] == pytest.approx([alpha, c * x - s * z, s * x + c * z], abs=1e-6)


def test_inverse_kinematics_returns_the_joints(arm):
    q = np.array([-0.9, 1.3, -1.6])
    assert arm.joints_at(arm.hand_state(q)[:7]) == pytest.approx(q)


def test_out_of_reach_is_said(arm):
    with pytest.raises(ParameterError, match='does not reach'):
        arm.joints_at((1, 0, 0, 0, 2.0, 0.0, 0.0))


def test_stretched_arm_refuses_an_acceleration(arm):
    with pytest.raises(ParameterError, match='singular'):
        arm.joint_acceleration([0.1, 0.05, 0.2], [0, 0, 0], np.ones(6))


def test_what_lies_out_of_the_plane_is_told(arm):
    assert arm.left_out([0, 5, 0, 1, -0.2, 3]) == pytest.approx(0.2)
    assert (
        np.abs(arm.hand_acceleration(*random_joints(np.random.default_rng(1)))[[0, 2, 4]]).max()
        == 0
    )


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'lengths': (0.3, 0.0, 0.1)}, 'lengths must be positive'),
        ({'masses': (1.0, 2.0)}, 'masses takes 3 finite numbers'),
        ({'low': (2.0, 0.0, 0.0)}, 'low must be less than high'),
    ],
)
def test_arm_that_cannot_be_is_refused(change, text):
    with pytest.raises(ParameterError, match=text):
        ArmModel(**change)

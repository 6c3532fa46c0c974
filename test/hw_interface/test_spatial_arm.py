"""The arm in space: its pose and torques, the limits of its drives, and balance on it."""

from dataclasses import replace

from benchmarks import balance_arm as benchmark
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.spatial_arm import SpatialArm, SpatialArmModel, UPWARD
from rolling_hw_interface.spatial_drive import SpatialDrive
from transforms3d.quaternions import quat2mat

RNG = np.random.default_rng(5)
STRETCHED = np.zeros(6)


@pytest.fixture(scope='module')
def arm():
    return SpatialArm()


def test_the_stretched_ur5e_reaches_where_its_maker_says(arm):
    """Seen from the base; the pose at home is Pinocchio's of the same numbers."""
    at_home = arm.hand_state(UPWARD, STRETCHED)
    assert_allclose(at_home[:7], [1, 0, 0, 0, 0, 0, 0], atol=1e-12)
    R = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    found = R @ arm.hand_state(STRETCHED, STRETCHED)[4:7] + [-0.346541, -0.1333, 0.661469]
    assert_allclose(found, [-0.8172, -0.2329, 0.0628], atol=2e-6)


def test_rates_and_accelerations_are_those_of_the_pose(arm):
    q, qd, qdd = RNG.uniform(-1, 1, (3, 6))
    h = 1e-6
    before, after = (arm.hand_state(q + s * h * qd, qd + s * h * qdd) for s in (-1, 1))
    R = quat2mat(arm.hand_state(q, qd)[:4])
    v = R.T @ (after[4:7] - before[4:7]) / (2 * h)
    assert_allclose(arm.hand_state(q, qd)[10:], v, atol=1e-8)
    moved = arm.hand_acceleration(q, qd, qdd)
    v_W = [quat2mat(s[:4]) @ s[10:] for s in (before, after)]
    assert_allclose(moved[3:], R.T @ (v_W[1] - v_W[0]) / (2 * h), atol=1e-7)
    assert_allclose(arm.joint_acceleration(q, qd, moved), qdd, atol=1e-9)


def test_torques_are_those_of_lagrange():
    """By differences of the mass matrix: h = dM/dt qd - d(qd M qd / 2)/dq, without gravity."""
    arm, h = SpatialArm(SpatialArmModel(gravity=(0.0, 0.0, 0.0))), 1e-5
    q, qd = RNG.uniform(-2, 2, (2, 6))
    M = [[arm.dynamics(q + s * h * e, qd)[0] for s in (-1, 1)] for e in np.eye(6)]
    slopes = np.array([(after - before) / (2 * h) for before, after in M])
    expected = (
        np.einsum('kij,k,j->i', slopes, qd, qd) - np.einsum('kij,i,j->k', slopes, qd, qd) / 2
    )
    assert_allclose(arm.dynamics(q, qd)[1], expected, rtol=1e-6, atol=1e-8)


def test_what_is_carried_weighs_on_the_joints_as_a_force_does(arm):
    q = np.array(UPWARD) + 0.3
    heavier = SpatialArm(replace(arm.model, payload=(1.3, *arm.model.payload[1:])))
    more = heavier.dynamics(q, STRETCHED)[1] - arm.dynamics(q, STRETCHED)[1]
    assert_allclose(more, -arm.joint_torque(q, [0, 0, -9.81, 0, 0, 0]), atol=1e-10)


def test_a_singular_arm_is_refused_and_so_is_another_number_of_joints(arm):
    with pytest.raises(ParameterError, match='singular'):
        arm.joint_acceleration(STRETCHED, STRETCHED, np.ones(6))
    with pytest.raises(ParameterError, match='links must be 6, got 5'):
        SpatialArmModel(links=arm.model.links[:5])


def test_the_drives_keep_the_limits_whatever_is_asked(arm):
    drive, model = SpatialDrive(arm, arm), arm.model
    for _ in range(250):
        drive.step([0, 60, 0, 8, 0, 8], np.zeros(6), 1e-3)
        assert np.all(np.abs(drive.torque) <= model.limit('torque'))
        assert np.all(np.abs(drive.qd) <= 1.02 * model.limit('speed'))
    assert drive.clipped > 0
    for _ in range(50):  # more than the arm can carry
        drive.step(np.zeros(6), [0, 0, -2000, 0, 0, 0], 1e-3)
        assert np.all(np.abs(drive.torque) <= model.limit('torque'))
    assert np.any(np.abs(drive.torque) == model.limit('torque'))


def test_an_ellipsoid_is_balanced_on_a_ur5e(monkeypatch):
    monkeypatch.setattr(benchmark, 'DURATION', 1.0)
    assert benchmark.arrived(benchmark.BalanceOnArm().trial(3))


@pytest.mark.slow
def test_twenty_of_twenty_are_balanced():
    value = {row.name: row.value for row in benchmark.rows()}
    assert value['balanced on a UR5e'] == benchmark.TRIALS
    assert benchmark.BalanceOnArm().trial(3, feedback=False).tilt > 1

"""A UR5e by its URDF: poses, rates and torques, the limits of its drives, and balance on it."""

from dataclasses import replace
from pathlib import Path

from evidence.benchmarks import balance_arm as benchmark
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_urdf import arm_of_urdf, arm_urdf, model_from
from rolling_hw_interface.emulated_motors import EmulatedMotors
from rolling_hw_interface.motor_bridge import MotorBridge
from rolling_hw_interface.motor_model import MotorModel
from rolling_robotics.calibration_report import read_parameters
from rolling_robotics.trials.trial import OPEN_LOOP, Trial, tried
from transforms3d.quaternions import qconjugate, qmult, quat2mat

ROOT = Path(__file__).resolve().parents[2]
URDF = ROOT / 'config/ur5e.urdf'
GIVEN = read_parameters(ROOT / 'config/balance_3d.yaml')
HOME, DOWN = np.array(GIVEN['arm.home']), (0.0, 0.0, -9.81)
MOTORS = model_from(MotorModel, GIVEN, 'motors')
RNG = np.random.default_rng(5)
STILL = np.zeros(6)


@pytest.fixture(scope='module')
def arm():
    return Arm(arm_of_urdf(URDF, gravity=DOWN, home=HOME))


def test_the_ur5e_reaches_where_its_maker_says(arm):
    """Seen from the base, with all joints at zero; and it stands in the world's origin at home."""
    assert_allclose(arm.hand_state(HOME)[:7], [1, 0, 0, 0, 0, 0, 0], atol=1e-6)
    x, y, z = arm.hand_state(STILL)[4:7] - arm.chain.links[0].place.position
    assert_allclose([y, -x, z], [-0.8172, -0.2329, 0.0628], atol=2e-6)


def test_rates_and_accelerations_are_those_of_the_pose(arm):
    q, qd, qdd = RNG.uniform(-1, 1, (3, 6))
    h = 1e-6
    before, after = (arm.hand_state(q + s * h * qd, qd + s * h * qdd) for s in (-1, 1))
    R = quat2mat(arm.hand_state(q)[:4])
    assert_allclose(
        arm.hand_state(q, qd)[10:], R.T @ (after[4:7] - before[4:7]) / (2 * h), atol=1e-8
    )
    turned = quat2mat(after[:4]) @ quat2mat(before[:4]).T / (2 * h)
    w = [turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]]
    assert_allclose(arm.hand_state(q, qd)[7:10], R.T @ w / 2, atol=1e-8)
    moved = arm.hand_acceleration(q, qd, qdd)
    v_W = [quat2mat(s[:4]) @ s[10:] for s in (before, after)]
    assert_allclose(moved[3:], R.T @ (v_W[1] - v_W[0]) / (2 * h), atol=1e-7)
    assert_allclose(arm.joint_acceleration(q, qd, moved), qdd, atol=1e-9)
    assert_allclose(arm.joints_at(arm.hand_state(q)[:7], near=q + 0.1), q, atol=1e-4)


def test_torques_are_those_of_lagrange():
    """By differences of the mass matrix: h = dM/dt qd - d(qd M qd / 2)/dq, without gravity."""
    arm, h = Arm(arm_of_urdf(URDF, gravity=(0.0, 0.0, 0.0), home=HOME)), 1e-5
    q, qd = RNG.uniform(-2, 2, (2, 6))
    M = [[arm.dynamics(q + s * h * e, qd)[0] for s in (-1, 1)] for e in np.eye(6)]
    slopes = np.array([(after - before) / (2 * h) for before, after in M])
    expected = (
        np.einsum('kij,k,j->i', slopes, qd, qd) - np.einsum('kij,i,j->k', slopes, qd, qd) / 2
    )
    assert_allclose(arm.dynamics(q, qd)[1], expected, rtol=1e-6, atol=1e-8)


def test_torques_are_those_that_pinocchio_gave(arm):
    """Of Pinocchio 4.1 for this URDF, so that masses and inertias are read as it reads them."""
    q, qd = [0.3, -1.2, 0.9, -0.4, 1.1, 0.7], [0.5, -0.8, 1.2, 0.3, -0.6, 0.9]
    expected = [
        0.3209640714237, -31.28530033992, -18.76649109014, -1.792444115651, 0.1900038715707,
        0.01531327850348,
    ]  # fmt: skip
    found = arm.dynamics(q, qd, [1.0, 2.0, -1.5, 0.5, -2.0, 3.0])[2]
    assert_allclose(found, expected, rtol=1e-11)


def test_torques_are_those_of_pinocchio(arm):
    pinocchio = pytest.importorskip('pinocchio', reason='pip install pin compares the torques')
    model = pinocchio.buildModelFromUrdf(str(URDF))
    data = model.createData()
    for q, qd, qdd in RNG.uniform(-2, 2, (20, 3, 6)):
        expected = pinocchio.rnea(model, data, q, qd, qdd)
        assert_allclose(arm.dynamics(q, qd, qdd)[2], expected, rtol=1e-10, atol=1e-10)


def test_what_is_carried_weighs_on_the_joints_as_a_force_does(arm):
    heavier = replace(arm.chain.payload, mass=1 + arm.chain.payload.mass)
    more = Arm(replace(arm.chain, payload=heavier)).dynamics(HOME + 0.3, STILL)[1]
    weight = arm.jacobian(HOME + 0.3).T @ [0, 0, -9.81, 0, 0, 0]
    assert_allclose(more - arm.dynamics(HOME + 0.3, STILL)[1], -weight, atol=1e-10)


def test_a_singular_arm_is_refused_and_so_is_a_pose_out_of_reach(arm):
    with pytest.raises(ParameterError, match='singular'):
        arm.joint_acceleration(STILL, STILL, np.ones(6))
    with pytest.raises(ParameterError, match='does not reach p ='):
        arm.joints_at([1, 0, 0, 0, 2, 0, 0])


def test_what_is_written_is_read_again(arm, tmp_path):
    path, chain = tmp_path / 'arm.urdf', arm.chain
    path.write_text(arm_urdf(chain, chain.joint_names, world='world', prefix=''))
    again = Arm(arm_of_urdf(path, gravity=DOWN, home=HOME))
    assert again.chain.joint_names == chain.joint_names
    assert_allclose(again.numbers, arm.numbers, atol=1e-15)
    for name in ('low', 'high', 'speed', 'acceleration', 'torque'):
        assert_allclose(getattr(again.chain, name), getattr(chain, name))


@pytest.mark.parametrize(
    ('old', 'new', 'text'),
    [
        ('type="revolute"', 'type="prismatic"', "'shoulder_pan_joint' must be fixed or revolute"),
        ('type="revolute"', 'type="fixed"', 'it has 0 joints|no joint leads'),
        ('acceleration="40"', '', 'acceleration of limit takes finite numbers'),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0.6 0.8"/>', 'must turn about x, y or z'),
        ('lower="-3', 'lower="3', 'needs lower < upper'),
        ('<mass value="3.761"/>', '<mass value="inf"/>', 'value of mass takes finite'),
        ('<child link="hand"/>', '<child link="tool"/>', "no joint leads to a link 'hand'"),
        ('</robot>', '', 'cannot be read'),
        ('wrist_3_joint" type="revolute"', 'wrist_3_joint" type="fixed"', 'has 5 joints'),
    ],
)
def test_a_description_that_is_no_arm_is_refused(tmp_path, old, new, text):
    path = tmp_path / 'arm.urdf'
    path.write_text(URDF.read_text().replace(old, new))
    with pytest.raises(ParameterError, match=text):
        arm_of_urdf(path, gravity=DOWN, home=HOME)


def test_motors_and_joints_have_to_be_as_many(arm):
    with pytest.raises(ParameterError, match='they take 6 numbers each, one a joint'):
        MotorBridge(arm, MotorModel())


def test_the_drives_keep_the_limits_whatever_is_asked(arm):
    motors, bridge, chain = EmulatedMotors(arm, MOTORS, HOME), MotorBridge(arm, MOTORS), arm.chain
    for k in range(500):
        bridge.take_state(*motors.values.reshape(3, -1)[:2], k * 1e-3)
        bridge.take_command([0, 60, 0, 8, 0, 8], k * 1e-3)
        torque = bridge.step(k * 1e-3, 1e-3)
        motors.command('effort', torque, k * 1e-3)
        motors.step(np.zeros(6), k * 1e-3, 1e-3)
        assert np.all(np.abs(torque) <= chain.torque)
        assert np.all(np.abs(bridge.qd) <= chain.speed + 1e-9)
        assert np.all(np.abs(bridge.qdd) <= 1.02 * chain.acceleration)
        assert np.all(np.abs(motors.qd) <= 1.02 * chain.speed)
    assert bridge.clipped > 0


@pytest.mark.slow
def test_twenty_of_twenty_are_balanced():
    value = {row.name: row.value for row in benchmark.rows()}
    assert value['balanced on a UR5e'] == benchmark.TRIALS
    task, stands = benchmark.BalanceOnArm(), benchmark.Balanced()
    assert tried(Trial(task=task, criterion=stands, law=OPEN_LOOP), [3])[1] == 0


def test_errors_of_joints_show_in_pose_and_twist_of_the_hand(arm):
    """Drawn at random; those of a pose along the world's axes, of a twist along the hand's."""
    q, qd = RNG.uniform(-1, 1, (2, 6))
    sigma = RNG.uniform(1e-4, 3e-4, (2, 6))
    here, off = arm.hand_state(q, qd), []
    for dq, dqd in RNG.normal(size=(4000, 2, 6)) * sigma:
        moved = arm.hand_state(q + dq)
        turn = rotation_vector(qmult(moved[:4], qconjugate(here[:4])))
        rates = (arm.hand_state(q, qd + dqd) - here)[[10, 11, 12, 7, 8, 9]]
        off.append([[*moved[4:7] - here[4:7], *turn], rates])
    drawn = np.array([np.cov(one.T) for one in np.swapaxes(off, 0, 1)])
    found = arm.hand_covariances(q, sigma**2)
    scale = np.array([np.sqrt(np.outer(np.diag(C), np.diag(C))) for C in found])
    assert_allclose((drawn - found) / scale, 0.0, atol=0.08)

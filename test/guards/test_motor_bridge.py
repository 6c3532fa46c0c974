"""What the motor bridge takes, gives and refuses, one period at a time."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.motor_bridge import BridgeSettings, MotorBridge
from rolling_hw_interface.motor_model import MotorModel

DT = 1e-3
Q, STILL = np.array([0.3, 1.0, 0.2]), np.zeros(3)
ARM, MOTORS = Arm(ArmModel().chain), MotorModel()
MOST = np.minimum(ArmModel().torque, MOTORS.torque_limit)
LEVEL = np.zeros(6)


def waiting(mode='position', **settings):
    return MotorBridge(ARM, MOTORS, BridgeSettings(mode=mode, **settings))


def holding(mode='position', q=Q, **settings):
    bridge = waiting(mode, **settings)
    bridge.take_state(q, STILL, 0.0)
    assert bridge.phase == 'holding'
    return bridge


def driving(mode='position', q=Q, control=LEVEL, **settings):
    """Return a bridge after its first period under a command."""
    bridge = holding(mode, q, **settings)
    assert bridge.take_command(control, 0.0)
    bridge.step(0.0, DT)
    assert bridge.phase == 'driving'
    return bridge


# -- settings -----------------------------------------------------------------------------------


def test_settings_that_would_not_drive_are_refused():
    with pytest.raises(ParameterError) as refused:
        BridgeSettings(mode='current')
    assert str(refused.value) == ("mode must be one of effort, velocity, position, got 'current'")
    for name in BridgeSettings.__dataclass_fields__:
        for bad in (0.0, -1.0, math.nan, math.inf):
            with pytest.raises(ParameterError) as refused:
                BridgeSettings(**{name: bad})
            assert f'{name} must be ' in str(refused.value)
    with pytest.raises(ParameterError, match=r'^bridge: stop_time must be positive and finite,'):
        BridgeSettings(stop_time=0.0)
    assert BridgeSettings(stop_time=0.5, stiffness=0.3).stop_time == 0.5


def test_it_starts_by_waiting():
    bridge = MotorBridge(ARM, MOTORS)
    assert bridge.settings == BridgeSettings()
    assert (bridge.phase, bridge.reason, bridge.refused) == ('waiting', '', '')
    assert (bridge.enabled, bridge.clipped) == (True, 0)
    assert [v.tolist() for v in (bridge.q, bridge.qd, bridge.qdd)] == 3 * [[0.0, 0.0, 0.0]]
    assert bridge.step(0.0, DT) is None
    bridge.stop(0.0)
    assert bridge.phase == 'waiting'  # there is nothing to stop


# -- what comes in ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'bad', [[0.0] * 5, [[0.0] * 6], [0, 0, 0, math.nan, 0, 0], [math.inf, 0, 0, 0, 0, 0]]
)
def test_a_command_that_is_not_six_finite_numbers_is_refused(bad):
    bridge = holding()
    assert bridge.take_command(bad, 0.0) is False
    assert bridge.refused == 'command rejected: it is not finite'
    bridge.step(0.0, DT)
    assert bridge.phase == 'holding'


@pytest.mark.parametrize(('aside', 'said'), [(0.05, False), (0.0501, True)])
def test_what_lies_out_of_the_plane_of_the_arm_is_said(aside, said):
    bridge = holding()
    assert bridge.take_command([0, 0, 0, 1, aside, 0], 0.0) is True
    text = f'{aside:.3g} m/s^2 or rad/s^2 out of the plane of the arm left out'
    assert bridge.refused == (text if said else '')


def test_states_of_other_sizes_are_refused():
    bridge = waiting()
    for position, velocity in (([0.1] * 2, [0.0] * 3), ([0.1] * 3, [0.0] * 2)):
        bridge.take_state(position, velocity, 0.0)
        assert bridge.phase == 'waiting'
        shapes = f'({len(position)},) and ({len(velocity)},)'
        assert bridge.refused == f'joint states of {shapes} numbers rejected'


def test_the_first_whole_state_is_where_it_rests():
    bridge = waiting()
    bridge.take_state([0.3, math.nan, 0.2], STILL, 0.0)
    assert bridge.phase == 'waiting'
    given = Q.copy()
    bridge.take_state(given, [0.5, 0.5, 0.5], 0.0)
    given[:] = 9.0
    assert bridge.phase == 'holding'
    assert bridge.q.tolist() == Q.tolist()
    assert bridge.qd.tolist() == [0, 0, 0]
    assert bridge.step(0.0, DT).tolist() == Q.tolist()
    assert bridge.phase == 'holding'


# -- what goes out ------------------------------------------------------------------------------


def test_the_reference_goes_as_commanded():
    control = np.array([0, 0.5, 0, 1.0, 0, -0.7])
    given = control.copy()
    bridge = holding()
    bridge.take_command(given, 0.0)
    given[:] = 0.0
    qdd = ARM.joint_acceleration(Q, STILL, control)
    asked = bridge.step(0.0, DT)
    assert bridge.qdd == pytest.approx(qdd, rel=1e-9)
    assert bridge.qd == pytest.approx(qdd * DT, rel=1e-9)
    assert asked == pytest.approx(Q + qdd * DT**2 / 2, abs=1e-12)
    assert asked.tolist() == bridge.q.tolist()
    assert bridge.clipped == 0
    asked[:] = 9.0
    assert bridge.q == pytest.approx(Q, abs=1e-3)  # what was given out is a copy
    bridge.take_command([0, 1e6, 0, 0, 0, 0], 0.0)
    for count in (1, 2):
        bridge.step(0.0, DT)
        assert bridge.clipped == count


def test_rates_are_asked_for_with_a_pull_to_the_reference_of_the_reading():
    bridge = driving('velocity', control=[0, 0, 0, 2.0, 0, 0], stiffness=50.0)
    q_then, seen = bridge.q.copy(), bridge.q + np.array([1e-3, -2e-3, 3e-3])
    bridge.take_state(seen, STILL, DT)
    for k in (1, 2):  # an old reading does not pull the harder
        asked = bridge.step(k * DT, DT)
        assert asked == pytest.approx(bridge.qd + 50.0 * (q_then - seen), abs=1e-12)
    assert np.abs(bridge.q - q_then).min() > 1e-7
    bridge.take_state(bridge.q + 1e-3, [0.0, math.nan, 0.0], 2 * DT)
    q_then = bridge.q.copy()
    asked = bridge.step(2 * DT, DT)
    assert asked - bridge.qd == pytest.approx([-0.05, 0.0, -0.05], abs=1e-9)  # of those trusted


def torques(bridge, seen, rates, then, trusted=True):
    """Return the torques of the arm's equations, friction, and the pull within its share."""
    q_then, qd_then = then
    at = seen if trusted else bridge.q
    M, h, _ = ARM.dynamics(at, bridge.qd)
    M = M + np.diag(MOTORS.reflected_inertia)
    k = bridge.settings.stiffness
    pull = M @ (2 * k * (qd_then - rates) + k**2 * (q_then - seen)) if trusted else STILL
    share = bridge.settings.feedback_share * MOST
    friction = MOTORS.viscous * bridge.qd + MOTORS.coulomb * np.tanh(bridge.qd / 2e-3)
    return np.clip(M @ bridge.qdd + np.clip(pull, -share, share) + h + friction, -MOST, MOST)


def test_torques_are_those_of_the_arm_and_of_a_pull_within_its_share():
    control = [0, 0.5, 0, 1.0, 0, -0.7]
    bridge = driving('effort', control=control, stiffness=40.0, feedback_share=0.02)
    for off in (1e-5, 1e-2):
        then = bridge.q.copy(), bridge.qd.copy()
        seen = bridge.q + np.array([off, -off, 2 * off])
        rates = bridge.qd + np.array([3 * off, off, -off])
        bridge.take_state(seen, rates, DT)
        asked = bridge.step(DT, DT)
        assert asked == pytest.approx(torques(bridge, seen, rates, then), rel=1e-9)
    asked[:] = 0.0
    assert bridge.step(DT, DT) == pytest.approx(torques(bridge, seen, rates, then), rel=1e-9)


def test_readings_that_are_too_old_do_not_pull_while_it_stops():
    for mode in ('effort', 'velocity'):
        bridge = driving(mode, control=[0, 0, 0, 2.0, 0, 0], state_timeout=0.02, stop_time=0.2)
        seen = bridge.q + 1e-3
        bridge.take_state(seen, STILL, DT)
        then = bridge.q.copy(), bridge.qd.copy()
        bridge.stop(DT)
        fresh, old = bridge.step(0.02, DT), bridge.step(0.03, DT)
        wanted = bridge.qd
        if mode == 'effort':
            wanted = torques(bridge, seen, STILL, then, trusted=False)
        assert old == pytest.approx(wanted, rel=1e-9)
        assert np.abs(fresh - old).min() > 1e-3
        assert bridge.phase == 'stopping'


# -- stops --------------------------------------------------------------------------------------


def test_the_ramp_decelerates_evenly_and_the_reference_goes_half_way_between_the_rates():
    bridge = driving(stop_time=0.1)
    bridge.q, bridge.qd = Q.copy(), np.array([0.4, -0.2, 0.1])
    before = bridge.qd.copy()
    bridge.stop(0.0, 'enough')
    assert (bridge.phase, bridge.reason, bridge.enabled) == ('stopping', 'enough', False)
    bridge.stop(0.0, 'again')
    assert bridge.reason == 'enough'
    asked = bridge.step(0.0, DT)
    assert bridge.qd == pytest.approx(0.99 * before)
    assert bridge.qdd == pytest.approx(-before / 0.1)
    assert asked == pytest.approx(Q + DT * 0.995 * before, abs=1e-12)
    for k in range(1, 99):
        bridge.step(k * DT, DT)
        assert bridge.phase == 'stopping'
    bridge.step(99 * DT, DT)
    assert bridge.phase == 'stopped'
    assert bridge.qd.tolist() == [0, 0, 0]
    asked = bridge.step(0.1, DT)
    assert asked == pytest.approx(Q + 0.05 * before, abs=1e-9)
    assert bridge.qdd.tolist() == [0, 0, 0]
    assert bridge.take_command(LEVEL, 0.1) is False
    assert bridge.refused == 'command rejected: enough'
    bridge.stop(0.1)
    assert (bridge.phase, bridge.reason) == ('stopped', 'enough')


def test_stopping_is_told_as_asked_for_and_commands_are_refused_at_once():
    bridge = driving()
    bridge.stop(0.0)
    assert bridge.reason == 'asked to stop'
    assert not bridge.take_command(LEVEL, 0.0)
    assert bridge.refused == 'command rejected: asked to stop'
    bridge = waiting()
    bridge.stop(0.0)
    assert not bridge.take_command(LEVEL, 0.0)
    assert bridge.refused == 'command rejected: not enabled'


def test_a_command_that_comes_again_is_followed_after_a_silence():
    bridge = driving(command_timeout=0.01, stop_time=0.02, state_timeout=1.0)
    bridge.step(0.0101, DT)
    assert (bridge.phase, bridge.reason) == ('stopping', 'the command is 0.010 s old')
    bridge.step(0.035, DT)
    assert bridge.phase == 'holding'
    assert bridge.reason == 'the command is 0.010 s old'
    bridge.step(0.036, DT)
    assert bridge.phase == 'holding'
    bridge.take_command(LEVEL, 0.037)
    bridge.step(0.037, DT)
    assert (bridge.phase, bridge.reason) == ('driving', '')


def test_enabled_it_rests_where_the_arm_is_and_has_forgotten_its_command():
    bridge = driving(stop_time=0.01)
    bridge.stop(0.0)
    bridge.step(0.01, DT)
    assert bridge.phase == 'stopped'
    bridge.take_state(Q + 0.01, [0.1, 0.1, 0.1], 0.01)
    bridge.enable(0.01)
    assert (bridge.phase, bridge.reason, bridge.enabled) == ('holding', '', True)
    assert bridge.q.tolist() == (Q + 0.01).tolist()
    assert bridge.qd.tolist() == [0, 0, 0]
    assert bridge.step(0.01, DT).tolist() == (Q + 0.01).tolist()
    assert bridge.phase == 'holding'
    assert bridge.take_command(LEVEL, 0.01)


@pytest.mark.parametrize(('late', 'lost'), [(0.0201, 0.2), (0.0, math.nan)])
def test_enabled_without_a_state_it_waits_for_one(late, lost):
    bridge = driving(state_timeout=0.02)
    bridge.stop(0.0)
    bridge.take_state([0.3, 1.0, lost], STILL, 0.0)
    bridge.enable(late)
    assert bridge.phase == 'waiting'
    assert bridge.step(late, DT) is None


def test_where_the_arm_is_singular_it_stops():
    bridge = holding(q=np.array([0.3, 0.0999, 0.2]))
    bridge.take_command(LEVEL, 0.0)
    bridge.step(0.0, DT)
    assert bridge.phase == 'stopping'
    assert 'singular' in bridge.reason
    assert not bridge.enabled


# -- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize('phase', ['holding', 'driving'])
@pytest.mark.parametrize('joint', [0, 1, 2])
def test_a_lost_encoder_is_named(phase, joint):
    bridge = holding() if phase == 'holding' else driving()
    seen = Q.copy()
    seen[joint] = math.nan
    bridge.take_state(seen, STILL, 0.0)
    bridge.step(0.0, DT)
    assert (bridge.phase, bridge.reason) == ('stopping', f'joint {joint + 1} gives no angle')
    assert not bridge.enabled


@pytest.mark.parametrize('phase', ['holding', 'driving'])
def test_states_that_no_longer_come_are_a_fault(phase):
    bridge = holding(state_timeout=0.5) if phase == 'holding' else driving(state_timeout=0.5)
    bridge.take_command(LEVEL, 0.5)
    bridge.step(0.5, DT)
    assert bridge.phase == 'driving'
    bridge.take_command(LEVEL, 0.502)
    bridge.step(0.502, DT)
    assert (bridge.phase, bridge.reason) == ('stopping', 'the joint states are 0.502 s old')


@pytest.mark.parametrize('joint', [0, 1, 2])
@pytest.mark.parametrize(('off', 'fails'), [(0.0625, False), (-0.0625, False), (-0.063, True)])
def test_a_joint_far_from_its_reference_is_a_fault(joint, off, fails):
    bridge = driving(q=[0.5, 1.0, 0.25], tracking_limit=0.0625, stop_time=0.1)
    seen = bridge.q.copy()
    seen[joint] += off
    bridge.take_state(seen, [0.1, 0.2, 0.3], 0.0)
    asked = bridge.step(0.0, DT)
    assert (bridge.phase == 'stopping') == fails
    if fails:  # by the ramp, from where and as fast as the arm is
        assert bridge.reason == f'joint {joint + 1} is 0.063 rad from its reference'
        assert bridge.qd == pytest.approx(0.99 * np.array([0.1, 0.2, 0.3]))
        assert bridge.q == pytest.approx(seen, abs=1e-3)
        assert asked == pytest.approx(seen)


def test_a_reading_is_held_against_the_reference_of_its_time():
    """Silence of the encoders is no distance, as long as it is shorter than its timeout."""
    bridge = driving(tracking_limit=1e-4, state_timeout=9.0, command_timeout=9.0)
    bridge.qd = np.array([0.5, 0.0, 0.0])
    for k in range(5):
        bridge.step(k * DT, DT)
    assert abs(bridge.q[0] - Q[0]) > 1e-3
    assert bridge.phase == 'driving'


@pytest.mark.parametrize('joint', [0, 1, 2])
@pytest.mark.parametrize(('way', 'fails'), [(0.015625, False), (0.016, True), (-0.016, True)])
def test_an_encoder_that_stands_still_while_its_joint_should_turn_is_a_fault(joint, way, fails):
    start = np.array([0.5, 1.0, 0.25])
    bridge = driving(q=start, stall_distance=0.015625, tracking_limit=1.0)
    bridge.q = start.copy()
    bridge.q[joint] += way
    bridge.take_state(start, STILL, 0.0)
    bridge.step(0.0, DT)
    assert (bridge.phase == 'stopping') == fails
    text = f'joint {joint + 1} does not turn, by its encoder'
    assert bridge.reason == (text if fails else '')
    # a reading that changes, however little, has turned
    bridge = driving(q=start, stall_distance=0.015625, tracking_limit=1.0)
    bridge.q = start + way
    bridge.take_state(start + 1e-9, STILL, 0.0)
    bridge.step(0.0, DT)
    assert bridge.phase == 'driving'


@pytest.mark.parametrize('mode', ['position', 'velocity', 'effort'])
def test_a_broken_arm_is_carried_once_and_then_left_to_its_brakes(mode):
    bridge = driving(mode, control=[0, 0, 0, 2.0, 0, 0])
    seen = np.array([0.31, math.nan, 0.21])
    bridge.take_state(seen, STILL, 0.0)
    asked = bridge.step(0.0, DT)
    held = np.where(np.isfinite(seen), seen, bridge.q)
    weight = ARM.dynamics(held, STILL)[1]
    assert np.abs(weight[:2]).min() > 0.3
    wanted = {'position': held, 'velocity': STILL, 'effort': weight}[mode]
    assert asked == pytest.approx(wanted, abs=1e-12)
    assert bridge.step(DT, DT) is None
    assert bridge.step(2 * DT, DT) is None
    bridge.take_state(Q, STILL, DT)
    bridge.enable(DT)
    assert bridge.phase == 'holding'
    assert bridge.step(DT, DT) is not None
    bridge.take_state(seen, STILL, DT)
    assert bridge.step(DT, DT) is not None  # it carries it once more
    assert bridge.step(DT, DT) is None


@pytest.mark.parametrize(('q', 'sign'), [((0.3, 1.0, 0.2), -1), ((-2.6, 0.3, 0.2), 1)])
def test_the_weight_is_carried_within_the_torques(q, sign):
    arm = Arm(ArmModel(torque=(1.0, 0.25, 0.01)).chain)
    assert (sign * arm.dynamics(q, STILL)[1] > [1.0, 0.25, 0.01]).all()
    bridge = MotorBridge(arm, MOTORS)
    bridge.take_state(q, STILL, 0.0)
    bridge.take_state([math.nan, *q[1:]], STILL, 0.0)
    assert bridge.step(0.0, DT) == pytest.approx(sign * np.array([1.0, 0.25, 0.01]))

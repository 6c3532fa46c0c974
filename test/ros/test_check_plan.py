"""The service that judges a hand trajectory, with the real simulation behind it."""

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Transform, Twist
import numpy as np
import pytest
from rolling_interfaces.srv import CheckPlan
from rolling_planner import Plan
from rolling_planner.nodes.conversions import plan_to_message, seconds_to_duration
from rolling_planner.planners.job import planning_model
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint


@pytest.fixture(scope='module')
def node(run_process):
    return run_process(
        'rolling_planner.nodes.planner_node', params={'scenario_file': 'ball_on_plate_hard.yaml'}
    ).wait_for('ready to plan')


def lift(height, duration=1.0, count=21):
    """Return a trajectory that lifts the hand by a smooth step."""
    message = MultiDOFJointTrajectory(joint_names=['hand'])
    for t in np.linspace(0.0, duration, count):
        s = t / duration
        pose, velocity, acceleration = Transform(), Twist(), Twist()
        pose.translation.z = height * (10 * s**3 - 15 * s**4 + 6 * s**5)
        velocity.linear.z = height * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
        acceleration.linear.z = height * (60 * s - 180 * s**2 + 120 * s**3) / duration**2
        message.points.append(
            MultiDOFJointTrajectoryPoint(
                transforms=[pose],
                velocities=[velocity],
                accelerations=[acceleration],
                time_from_start=seconds_to_duration(float(t)),
            )
        )
    return message


def check(peer, trajectory):
    request = CheckPlan.Request(
        system='contact',
        start_names=['u_h', 'v_h'],
        start_values=[0.0, 0.0],
        hand_trajectory=trajectory,
    )
    return peer.call(CheckPlan, 'check_plan', request, 60.0)


def test_gentle_lift_keeps_the_contact(peer, node):
    answer = check(peer, lift(0.1))
    assert answer.ok, answer.reason
    margins = dict(zip(answer.margin_names, answer.margins, strict=True))
    least = 0.1 * (9.81 - 0.1 * 5.7735)  # greatest deceleration of the step is 5.7735 h / T^2
    assert margins['normal_force'] == pytest.approx(least, rel=1e-2)
    assert np.isnan(answer.first_failure_time)


def test_spline_of_the_poses_gives_the_same_judgement(peer, node):
    trajectory = lift(0.1)
    for point in trajectory.points:
        point.velocities, point.accelerations = [], []
    answer = check(peer, trajectory)
    assert answer.ok, answer.reason
    margins = dict(zip(answer.margin_names, answer.margins, strict=True))
    assert margins['normal_force'] == pytest.approx(0.1 * (9.81 - 0.1 * 5.7735), rel=3e-2)


def test_violent_lift_fails_where_the_plate_falls_away(peer, node):
    answer = check(peer, lift(3.0))
    assert not answer.ok
    assert answer.reason.startswith('the normal force falls to zero: the object leaves the hand')
    # the plate's acceleration passes -g there
    roots = np.roots([120.0, -180.0, 60.0, 9.81 / 3.0])
    first = min(r.real for r in roots if abs(r.imag) < 1e-9 and r.real > 0)
    assert answer.first_failure_time == pytest.approx(first, abs=1e-6)


def test_accelerations_without_velocities_are_refused(peer, node):
    trajectory = lift(0.1)
    for point in trajectory.points:
        point.velocities = []
    answer = check(peer, trajectory)
    assert not answer.ok
    assert 'accelerations need velocities' in answer.reason


def resting(drop=0.0):
    """Return the plan of a ball that rests, the hand falling by a multiple of gravity."""
    model = planning_model('ball_on_plate_hard.yaml').scenario
    controls = np.zeros((3, model.system.control.size))
    controls[1:, 5] = -drop * 9.81
    plan = Plan(
        system=model.system.name,
        model_hash=model.system.model_hash,
        state_names=model.system.state.names,
        control_names=model.system.control.names,
        times=np.array([0.0, 0.5, 1.0]),
        states=np.tile(model.x0, (3, 1)),
        controls=controls,
    )
    return plan_to_message(plan, Time(), 'world')


def test_a_plan_is_judged_too(peer, node):
    answer = peer.call(CheckPlan, 'check_plan', CheckPlan.Request(plan=resting()), 60.0)
    assert answer.ok, answer.reason
    margins = dict(zip(answer.margin_names, answer.margins, strict=True))
    assert margins['normal_force'] == pytest.approx(0.1 * 9.81, rel=1e-6)
    answer = peer.call(CheckPlan, 'check_plan', CheckPlan.Request(plan=resting(drop=2.0)), 60.0)
    assert not answer.ok
    assert answer.first_failure_time == pytest.approx(0.25, abs=1e-6)  # half way to 2 g


def test_a_plan_for_another_model_is_refused(peer, node):
    plan = resting()
    plan.model_hash = 'other'
    answer = peer.call(CheckPlan, 'check_plan', CheckPlan.Request(plan=plan), 60.0)
    assert not answer.ok
    assert 'model_hash' in answer.reason

"""The planner node with the real planners of rolling robots: plans, and every kind of failure."""

from dataclasses import dataclass

from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import Path
import numpy as np
import pytest
from rclpy.action import ActionClient
from rolling_dynamics.scenario import load_scenario
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.srv import CheckPlan
from rolling_node_kit.qos import LATCHED, STREAM_WRITER
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.refinement.rollout import RolloutSimulator
from sensor_msgs.msg import JointState

CODES = PlanRolling.Result
WAIT = 60.0  # s, for an answer


@dataclass(frozen=True)
class Case:
    """A scenario, a goal that can be reached, and goals that cannot."""

    scenario: str
    goal: dict
    horizon: float
    outside: tuple  # goal, text
    unreachable: tuple  # changes of the request, text
    error: float = 1e-3  # of the simulated end


def circles(*places):
    return {
        'keep_out_centers': [Point(x=float(x), y=float(y)) for x, y, _ in places],
        'keep_out_radii': [float(r) for *_, r in places],
    }


RING = [(0.7 * np.cos(a), 0.7 * np.sin(a), 0.2) for a in np.linspace(0, 2 * np.pi, 17)[:-1]]
CASES = {
    'point_mass_ball': Case(
        scenario='point_mass_straight.yaml',
        goal={'p_x': 2.0, 'p_y': 0.0, 'theta_1': -np.pi / 2 + 2 / 0.3},
        horizon=4.0,
        outside=({'theta_rate_1': 20.0}, 'goal.theta_rate_1 must lie between -12 and 12; got 20'),
        unreachable=({'horizon': 0.2}, 'friction'),
    ),
    'pendulum_sphere': Case(
        scenario='pendulum_start.yaml',
        goal={'contact_x': 1.0, 'contact_y': 0.5},
        horizon=0.0,
        outside=({'contact_x': 0.7, 'contact_y': 0.0}, 'lies inside obstacles[0]'),
        unreachable=(circles(*RING), 'the obstacles close it off'),
    ),
    'spin_rolling_sphere': Case(
        scenario='spin_rolling_plan.yaml',
        goal={'u_s': -0.005, 'v_s': 0.01, 'u_o': -0.5, 'v_o': -0.3, 'psi': 1.5},
        horizon=12.0,
        outside=({'u_s': 0.05}, 'u_s = 0.05 m lies outside the contact region'),
        unreachable=({'horizon': 0.1}, 'horizon allows 0.1 s; give a longer horizon'),
    ),
}


@pytest.fixture(scope='module', params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(scope='module')
def scenario(case):
    return load_scenario(case.scenario)


@pytest.fixture(scope='module')
def node(case, run_process):
    process = run_process(
        'rolling_planner.nodes.planner_node',
        params={'scenario_file': case.scenario, 'world_frame': 'odom', 'state_timeout': 0.3},
    ).wait_for('ready to plan', WAIT)
    yield process
    process.stop()


@pytest.fixture(scope='module')
def client(node, peer):
    made = ActionClient(peer.node, PlanRolling, 'plan_rolling')
    yield made
    made.destroy()


@pytest.fixture
def ask(peer, client, case, scenario):
    def run(goal=None, on_feedback=None, **changes):
        values = case.goal if goal is None else goal
        request = {
            'system': scenario.system.name,
            'start_names': scenario.system.state.names,
            'start_values': scenario.x0.tolist(),
            'horizon': case.horizon,
            **changes,
        }
        message = PlanRolling.Goal(
            goal_names=list(values), goal_values=list(values.values()), **request
        )
        handle = peer.send_goal(client, message, on_feedback, WAIT)
        return peer.result(handle, WAIT)

    return run


def only_quick(*names):
    """Leave the cases that take several seconds to the slow tests."""
    cases = [n if n in names else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
    return pytest.mark.parametrize('case', cases, indirect=True)


quick_first = only_quick('spin_rolling_sphere')


@quick_first
def test_a_plan_can_be_followed(ask, case, scenario, peer):
    feedback = []
    result = ask(on_feedback=lambda m: feedback.append(m.feedback))
    assert result.error_code == CODES.NONE, result.error_string
    peer.until(lambda: feedback)
    assert result.plan.header.frame_id == 'odom'
    assert result.plan.interpolation == 'linear'
    plan, system = message_to_plan(result.plan), scenario.system
    assert list(plan.state_names) == system.state.names
    assert list(plan.control_names) == system.control.names
    assert np.median(np.diff(plan.times)) <= 1 / 200 + 1e-9
    np.testing.assert_allclose(plan.states[0], scenario.x0, atol=1e-12)
    end = plan.states[-1]
    simulated = RolloutSimulator(system, 4).run(
        scenario.p, plan.states[0], plan.times, plan.controls
    )
    miss = np.array(system.difference(simulated.states[::4].T, plan.states.T))
    assert np.abs(miss[:, -1]).max() < 0.02  # torques of gaits are straight between the samples
    for name, value in case.goal.items():
        if name in plan.state_names:
            assert end[plan.state_names.index(name)] == pytest.approx(value, abs=case.error)
            where = system.state.names.index(name)
            assert simulated.states[-1, where] == pytest.approx(value, abs=case.error)
    (path,) = peer.collect(Path, 'plan/object_path', LATCHED)
    assert path.header.frame_id == 'odom'
    last = path.poses[-1].pose.position
    assert np.hypot(last.x - path.poses[0].pose.position.x, last.y) > 1e-3


def ask_for_the_present(peer, ask):
    """Ask for a plan from the present state once the planner has found who publishes it."""

    def answer():
        result = ask(start_names=[], start_values=[])
        return None if 'came within 0.3 s;' in result.error_string else result

    return peer.until(answer)


@quick_first
def test_the_present_state_is_the_start(ask, peer, scenario):
    names = scenario.system.state.names
    x = scenario.x0.copy()
    place = next(n for n in ('p_x', 'contact_x', 'u_s') if n in names)
    x[names.index(place)] = 1e-3
    publisher = peer.node.create_publisher(JointState, 'robot/state', STREAM_WRITER)
    message = JointState(name=list(reversed(names)), position=x[::-1].tolist())
    with peer.every(0.01, lambda: publisher.publish(message)):
        result = ask_for_the_present(peer, ask)
    peer.node.destroy_publisher(publisher)
    assert result.error_code == CODES.NONE, result.error_string
    np.testing.assert_allclose(message_to_plan(result.plan).states[0], x, atol=1e-12)


def test_a_state_that_never_comes(ask):
    result = ask(start_names=[], start_values=[])
    assert result.error_code == CODES.STALE_STATE
    assert 'no robot/state came within 0.3 s' in result.error_string


def test_a_state_without_the_right_names(ask, peer):
    publisher = peer.node.create_publisher(JointState, 'robot/state', STREAM_WRITER)
    message = JointState(name=['wheel'], position=[0.0])
    with peer.every(0.01, lambda: publisher.publish(message)):
        result = ask_for_the_present(peer, ask)
    peer.node.destroy_publisher(publisher)
    assert result.error_code == CODES.STALE_STATE
    assert 'robot/state: joint states of ' in result.error_string
    assert "are needed, got ['wheel']" in result.error_string


def test_another_system_is_refused_by_name(ask, scenario):
    result = ask(system='unicycle')
    assert result.error_code == CODES.INVALID_GOAL
    assert f"system must be '{scenario.system.name}'" in result.error_string
    assert "got 'unicycle'" in result.error_string


@pytest.mark.parametrize(
    ('goal', 'changes', 'text'),
    [
        ({'nose': 1.0}, {}, "no state 'nose'; there are: "),
        (None, {'planner_id': 'magic'}, 'planner_id must be empty or one of '),
        (None, {'horizon': -1.0}, 'horizon must be '),
        (None, {'time_budget': float('nan')}, 'time_budget must be '),
        (None, {'goal_tolerances': [1e-3]}, 'goal_tolerances'),
        (None, {'keep_out_radii': [1.0]}, 'keep_out'),
        (None, {'start_names': ['nose'], 'start_values': [0.0]}, "start_names: no state 'nose'"),
    ],
)
def test_a_goal_that_makes_no_sense(ask, goal, changes, text):
    result = ask(goal, **changes)
    assert result.error_code == CODES.INVALID_GOAL
    assert text in result.error_string


def test_a_goal_outside_the_region(ask, case):
    goal, text = case.outside
    changes = circles((0.7, 0.0, 0.2)) if 'contact_x' in goal else {}
    result = ask(goal, **changes)
    assert result.error_code == CODES.INVALID_GOAL
    assert text in result.error_string


@only_quick('spin_rolling_sphere', 'pendulum_sphere')
def test_a_goal_that_cannot_be_reached(ask, case):
    changes, text = case.unreachable
    result = ask(**changes)
    assert result.error_code == CODES.INFEASIBLE
    assert text in result.error_string


def test_a_budget_that_is_too_small(ask):
    result = ask(time_budget=1e-6)
    assert result.error_code == CODES.TIMEOUT
    # the second from a worker that has not read its scenario after the grace
    texts = 'time budget', 'did not answer within 3 s and was killed'
    assert any(text in result.error_string for text in texts)


def test_a_cancelled_goal(peer, client, ask, case, scenario):
    message = PlanRolling.Goal(
        start_names=scenario.system.state.names,
        start_values=scenario.x0.tolist(),
        goal_names=list(case.goal),
        goal_values=list(case.goal.values()),
        horizon=case.horizon,
    )
    assert peer.cancelled(client, message).error_code == CODES.CANCELLED
    assert ask().error_code == CODES.NONE


def test_a_hand_trajectory_is_not_for_a_robot(peer, node):
    answer = peer.call(CheckPlan, 'check_plan', CheckPlan.Request())
    assert not answer.ok
    assert answer.reason


def test_waypoints_are_passed_or_refused(ask, scenario):
    poses = [PoseStamped(), PoseStamped()]
    poses[0].pose.position.x, poses[1].pose.position.x = 0.6, 1.0
    poses[0].pose.position.y, poses[1].pose.position.y = 0.4, 0.0
    result = ask(waypoints=poses)
    if scenario.system.name != 'pendulum_sphere':
        assert result.error_code == CODES.INVALID_GOAL
        assert (
            f'waypoints are not for the planner of {scenario.system.name}' in result.error_string
        )
        return
    assert result.error_code == CODES.NONE, result.error_string
    plan = message_to_plan(result.plan)
    for pose in poses:
        p = pose.pose.position
        assert np.hypot(plan.states[:, 0] - p.x, plan.states[:, 1] - p.y).min() < 0.02
    poses[0].header.frame_id = 'kitchen'
    result = ask(waypoints=poses)
    assert result.error_code == CODES.INVALID_GOAL
    assert "waypoints[0]: frame_id must be 'odom', got 'kitchen'" in result.error_string

"""The planner node with the real planner of an object on a hand."""

from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import Path
import numpy as np
import pytest
from rclpy.action import ActionClient
from rolling_interfaces.action import PlanRolling
from rolling_node_kit.qos import LATCHED
from rolling_planner.nodes.conversions import message_to_plan
from trajectory_msgs.msg import MultiDOFJointTrajectory

CODES = PlanRolling.Result
WAIT = 60.0  # s, for an answer
GOAL = {'u_h': 0.0, 'v_h': -0.033}


@pytest.fixture(scope='module')
def ask(run_process, peer):
    node = run_process(
        'rolling_planner.nodes.planner_node', params={'scenario_file': 'ball_on_plate_hard.yaml'}
    ).wait_for('ready to plan', WAIT)
    client = ActionClient(peer.node, PlanRolling, 'plan_rolling')

    def run(goal=GOAL, *, cancel=False, **changes):
        request = {'start_names': ['u_h', 'v_h'], 'start_values': [0.0, 0.0], 'horizon': 2.0}
        message = PlanRolling.Goal(
            goal_names=list(goal), goal_values=list(goal.values()), **(request | changes)
        )
        if cancel:
            return peer.cancelled(client, message, WAIT)
        return peer.result(peer.send_goal(client, message, timeout=WAIT), WAIT)

    yield run
    client.destroy()
    node.stop()


def test_plan_and_its_topics(ask, peer):
    result = ask()
    assert result.error_code == CODES.NONE, result.error_string
    plan = message_to_plan(result.plan)
    end = dict(zip(plan.state_names, plan.states[-1], strict=True))
    assert np.hypot(end['u_h'], end['v_h'] + 0.033) < 1e-3
    (path,) = peer.collect(Path, 'plan/object_path', LATCHED)
    assert len(path.poses) == len(plan.times)
    for body, name in (('hand', 'WH'), ('object', 'WO')):
        (motion,) = peer.collect(MultiDOFJointTrajectory, f'plan/{body}', LATCHED)
        assert motion.joint_names == [body]
        assert len(motion.points) == len(plan.times)
        if name == 'WH':
            place = motion.points[-1].transforms[0].translation
            assert place.x == pytest.approx(end['p_WH_x'])
            assert motion.points[-1].accelerations


@pytest.mark.parametrize(
    ('goal', 'changes', 'code', 'text'),
    [
        ({'u_x': 0.1}, {}, CODES.INVALID_GOAL, "no state 'u_x'; did you mean 'u_h'? there"),
        ({'u_h': 1.0}, {}, CODES.INVALID_GOAL, 'goal.u_h must lie between -0.3 and 0.3'),
        ({'p_WH_x': 0.1}, {}, CODES.INFEASIBLE, 'cannot move it'),
        (GOAL, {'time_budget': 1e-6}, CODES.TIMEOUT, 'time budget'),
        (GOAL, {'system': 'pendulum_sphere'}, CODES.INVALID_GOAL, "system must be 'contact'"),
        (
            GOAL,
            {'waypoints': [PoseStamped()]},
            CODES.INVALID_GOAL,
            'waypoints are not for the planner of contact',
        ),
        (
            GOAL,
            {'keep_out_centers': [Point()], 'keep_out_radii': [0.1]},
            CODES.INVALID_GOAL,
            'keep_out_centers are not for the planner of contact',
        ),
    ],
    ids=['name', 'region', 'unreachable', 'budget', 'system', 'waypoints', 'keep_out'],
)
def test_failure(ask, goal, changes, code, text):
    result = ask(goal, **changes)
    assert result.error_code == code
    assert text in result.error_string


def test_cancelled_and_planned_again(ask):
    assert ask(cancel=True).error_code == CODES.CANCELLED
    assert ask().error_code == CODES.NONE

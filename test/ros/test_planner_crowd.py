"""Many goals at once for the planner node, and goals while a trajectory is being checked."""

import queue
import time

from geometry_msgs.msg import Transform
import pytest
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.srv import CheckPlan
from rolling_node_kit import single_goal_server
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

CODES = PlanRolling.Result
GOALS, CROWD = 100, 1000
STATE_TIMEOUT = 2.0


@pytest.fixture(scope='module')
def node(run_process):
    return run_process(
        'rolling_planner.nodes.planner_node',
        params={
            'scenario_file': 'ball_on_plate_hard.yaml',
            'work': 'fake_work:plan_work',
            'state_timeout': STATE_TIMEOUT,
        },
    ).wait_for('ready to plan')


def goal():
    return PlanRolling.Goal(
        system='contact',
        start_names=['u_h', 'v_h'],
        start_values=[0.0, 0.0],
        goal_names=['u_h'],
        goal_values=[0.01],
        horizon=1.0,
    )


@pytest.mark.parametrize(
    ('clients', 'queued'),
    [
        pytest.param(1, 10, id='1'),
        pytest.param(20, GOALS, id='20'),
        # on a starved machine ten answers come faster than twenty clients take them
        pytest.param(20, 10, id='20-short', marks=pytest.mark.slow),
    ],
)
def test_of_many_goals_at_once_each_is_answered(peer, node, clients, queued, fault_row):
    """They are, though a client's queue holds the answers to all clients, ten by default."""
    qos = QoSProfile(depth=queued)
    queues = {'goal_service_qos_profile': qos, 'result_service_qos_profile': qos}
    made = [ActionClient(peer.node, PlanRolling, 'plan_rolling', **queues) for _ in range(clients)]
    for client in made:  # the answers find their way to each
        peer.result(peer.send_goal(client, goal()))
    answers, results = queue.Queue(), queue.Queue()

    def answered(future):
        handle = future.result()
        answers.put(handle.accepted)
        if handle.accepted:
            handle.get_result_async().add_done_callback(results.put)

    def send():
        for k in range(GOALS):
            made[k % clients].send_goal_async(goal()).add_done_callback(answered)

    told = fault_row(f'{GOALS} goals at once, from {clients} clients')
    peer.in_turn(send)
    peer.until(lambda: answers.qsize() == GOALS, what='an answer to each goal')
    accepted = sum(answers.get() for _ in range(GOALS))
    peer.until(lambda: results.qsize() == accepted, what='a result of each accepted goal')
    codes = [results.get().result().result.error_code for _ in range(accepted)]
    assert set(codes) <= {CODES.NONE, CODES.PREEMPTED}
    assert CODES.NONE in codes
    ways = f'{codes.count(CODES.NONE)} planned, {codes.count(CODES.PREEMPTED)} superseded'
    told(f'each is answered: {GOALS - accepted} refused, {ways}')
    peer.in_turn(lambda: [client.destroy() for client in made])


def test_one_goal_is_not_held_up_by_a_thousand_of_another_client(peer, node, fault_row):
    """It is the newest, and answered before those of the crowd that wait."""
    qos = QoSProfile(depth=CROWD + 1)  # both are in one process, which takes the answers in turn
    crowd, honest = (
        ActionClient(peer.node, PlanRolling, 'plan_rolling', goal_service_qos_profile=qos)
        for _ in range(2)
    )
    for client in (crowd, honest):
        peer.result(peer.send_goal(client, goal()))
    answers = []

    def send():
        for _ in range(CROWD):
            sent = crowd.send_goal_async(goal())
            sent.add_done_callback(lambda f: answers.append(f.result().accepted))
        last = honest.send_goal_async(goal())
        last.add_done_callback(lambda _: answers.append('honest'))
        return last

    told, begin = fault_row(f'{CROWD} goals at once, then one of another client'), time.monotonic()
    handle = peer.wait(peer.in_turn(send))
    waited = time.monotonic() - begin
    assert handle.accepted
    assert peer.result(handle).error_code == CODES.NONE
    peer.until(lambda: len(answers) == CROWD + 1)
    assert answers.index('honest') <= CROWD - single_goal_server.WAITING // 2
    told(f'that one is accepted after {waited:.2f} s and planned, each of the others is answered')
    newer, refused = 'a newer goal came before it was accepted', answers.count(False)
    peer.until(lambda: node.text.count(newer) >= refused, what='a line for each that is refused')
    peer.in_turn(lambda: [client.destroy() for client in (crowd, honest)])


def test_a_check_that_waits_for_the_state_holds_up_no_goal(peer, node):
    """The check ends too, and says what is missing."""
    client = ActionClient(peer.node, PlanRolling, 'plan_rolling')
    checks = peer.node.create_client(CheckPlan, 'check_plan')
    peer.until(checks.service_is_ready)
    still = MultiDOFJointTrajectory(joint_names=['hand'])
    for t in (0, 1):
        point = MultiDOFJointTrajectoryPoint(transforms=[Transform()])
        point.time_from_start.sec = t
        still.points.append(point)
    # the answers find their way from here on: a second check would be a wait of its own
    assert peer.answered(checks.call_async, CheckPlan.Request(system='contact')).reason

    def planned_meanwhile():
        check = peer.in_turn(
            checks.call_async, CheckPlan.Request(system='contact', hand_trajectory=still)
        )
        result = peer.result(peer.send_goal(client, goal()))
        before = not check.done()
        assert result.error_code == CODES.NONE
        assert 'no hand/odometry' in peer.wait(check).reason
        return before

    peer.until(planned_meanwhile)  # a busy machine may be late once, a goal held up always is
    peer.in_turn(client.destroy)

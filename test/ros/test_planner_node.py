"""The planner node with a planner that is not one: every outcome, and the node lives on."""

import contextlib
import os
from pathlib import Path
import signal
import threading
import time

from deadline import Deadline
from lifecycle_msgs.msg import Transition
import pytest
from rclpy.action import ActionClient
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.srv import CheckPlan

CODES = PlanRolling.Result
START = ['u_h', 'v_h']
LONG = 2.0


@pytest.fixture(scope='module')
def node(run_process):
    return run_process(
        'rolling_planner.nodes.planner_node',
        params={
            'scenario_file': 'ball_on_plate_hard.yaml',
            'work': 'fake_work:plan_work',
            'state_timeout': 0.2,
        },
    ).wait_for('ready to plan')


@pytest.fixture(scope='module')
def client(node, peer):
    return ActionClient(peer.node, PlanRolling, 'plan_rolling')


def goal(horizon=1.0, names=('u_h',), values=(0.01,), **more):
    request = {'start_names': START, 'start_values': [0.0, 0.0], **more}
    return PlanRolling.Goal(
        system='contact',
        goal_names=list(names),
        goal_values=list(values),
        horizon=horizon,
        **request,
    )


def run(peer, client, request, on_feedback=None):
    handle = peer.send_goal(client, request, on_feedback)
    assert handle.accepted
    return peer.result(handle)


def at_work(peer, client, request):
    """Send a goal; return its handle once a worker works on it."""
    working = threading.Event()
    handle = peer.send_goal(client, request, lambda _: working.set())
    assert working.wait(60)
    return handle


def test_plan_comes_with_feedback(peer, client):
    feedback = []
    result = run(peer, client, goal(), lambda m: feedback.append(m.feedback))
    assert result.error_code == CODES.NONE
    assert list(result.plan.times) == [0.0, 1.0]
    assert [f.iteration for f in peer.until(lambda: feedback)] == [1]


@pytest.mark.parametrize(
    ('horizon', 'code', 'text'),
    [
        (3.0, CODES.INFEASIBLE, 'normal_force cannot be met'),
        (4.0, CODES.INTERNAL, 'status 7'),
        (5.0, CODES.INTERNAL, 'oops'),
    ],
    ids=['infeasible', 'crash', 'fault'],
)
def test_failure_is_a_result_and_the_node_plans_on(peer, client, horizon, code, text, fault_row):
    what = {3.0: 'finds no plan', 4.0: 'ends in the midst of a plan', 5.0: 'raises an exception'}
    told = fault_row(f'the worker of the planner {what[horizon]}')
    result = run(peer, client, goal(horizon))
    told(f'answered: {result.error_string}')
    assert result.error_code == code
    assert text in result.error_string
    assert run(peer, client, goal()).error_code == CODES.NONE


@pytest.mark.parametrize(
    ('request_', 'text'),
    [
        (goal(0.0), 'horizon must be positive'),
        (goal(float('nan')), 'horizon must be positive'),
        (goal(names=('u_x',)), "no state 'u_x'; did you mean 'u_h'? there are: q_WH_w"),
        (goal(values=(float('nan'),)), "'u_h' must be finite"),
        (goal(names=('u_h', 'v_h')), 'one number for each of the 2 names'),
        (goal(names=('q_HO_w',)), 'the attitude q_HO is needed as a whole'),
        (goal(names=(), values=()), 'goal_names is empty'),
        (goal(planner_id='magic'), 'planner_id must be empty or one of'),
        (goal(start_names=['u_h'], start_values=[]), 'start_values'),
        (goal(keep_out_radii=[1.0]), 'keep_out'),
        (goal(start_names=[], start_values=[]), 'no hand/odometry'),
    ],
    ids=lambda v: v if isinstance(v, str) else '',
)
def test_bad_goal_is_answered_with_what_would_do(peer, client, request_, text):
    result = run(peer, client, request_)
    assert result.error_code in (CODES.INVALID_GOAL, CODES.STALE_STATE)
    assert text in result.error_string


@pytest.mark.parametrize('horizon', [LONG, 6.0], ids=['polls', 'deaf'])
def test_cancel_is_answered_at_once(peer, client, horizon, fault_row):
    handle = at_work(peer, client, goal(horizon))
    hears = 'hears nothing' if horizon > LONG else 'polls'
    told = fault_row(f'a goal is cancelled, the work on which {hears}')
    assert peer.cancel(handle).error_code == CODES.CANCELLED
    told('answered: cancelled; the next goal is planned')
    assert run(peer, client, goal()).error_code == CODES.NONE


def test_newer_goal_supersedes_every_older_one(peer, client):
    handles = [peer.send_goal(client, goal(LONG)) for _ in range(3)]
    last = run(peer, client, goal())
    assert last.error_code == CODES.NONE
    for handle in handles:
        assert peer.result(handle).error_code == CODES.PREEMPTED


def state_and_parent(pid):
    """Return the state of a process, T where it is stopped, and the id of its parent."""
    state, parent = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[:2]
    return state, int(parent)


def workers_of(node):
    """Return the states of the worker processes of a node by id; T if each thread stands."""
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):  # it ended
            state, parent = state_and_parent(folder.name)
            if parent == node.popen.pid and state != 'Z':
                threads = [str(t.relative_to('/proc')) for t in (folder / 'task').iterdir()]
                running = {state_and_parent(t)[0] for t in threads} - {'T'}
                found[int(folder.name)] = min(running, default='T')
    return found


def stop_workers(node):
    """Stop the worker processes of the node, none of which is ending; return their ids."""
    end = Deadline(60)
    while set((workers := workers_of(node)).values()) != {'T'} or len(workers) != 2:
        assert end.left > 0.0, f'not stopped in time: {workers}'
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(0.01)
    return list(workers)


def test_stopped_worker_is_killed_when_the_budget_is_spent(peer, client, node, fault_row):
    """The spare was stopped too; those that take their place do the next goal."""
    handle = at_work(peer, client, goal(LONG, time_budget=0.5))
    told = fault_row('SIGSTOP to both workers during a goal with a budget of 0.5 s')
    stopped = stop_workers(node)
    result = peer.result(handle)
    told(f'answered: {result.error_string}')
    assert result.error_code == CODES.TIMEOUT
    assert 'did not answer within 3.5 s and was killed' in result.error_string
    assert peer.result(peer.send_goal(client, goal())).error_code == CODES.NONE
    for pid in stopped:
        assert not Path(f'/proc/{pid}').exists()


def test_workers_stopped_while_they_wait_are_replaced(peer, client, node, fault_row):
    stop_workers(node)
    told = fault_row('SIGSTOP to both workers while they wait, then a goal')
    assert peer.result(peer.send_goal(client, goal())).error_code == CODES.NONE
    told('both are replaced, and the goal is planned')


def test_check_plan_names_what_is_wrong(peer, node):
    answer = peer.call(CheckPlan, 'check_plan', CheckPlan.Request(system='contact'))
    assert not answer.ok
    assert 'one joint and at least two points' in answer.reason


def test_goal_is_refused_while_inactive(peer, client):
    twice = (Transition.TRANSITION_DEACTIVATE,) * 2
    assert peer.transit('planner', *twice) == [True, False]
    assert not peer.send_goal(client, goal()).accepted
    assert peer.transit('planner', Transition.TRANSITION_ACTIVATE) == [True]
    assert run(peer, client, goal()).error_code == CODES.NONE


def test_stop_at_work_is_clean(peer, client, node, fault_row):
    at_work(peer, client, goal(6.0))
    told = fault_row('Ctrl-C twice during a goal, the work on which hears nothing')
    status = node.stop(signal.SIGINT, signal.SIGINT)
    told(f'the planner ends with status {status}')
    assert (status, 'Traceback' in node.text) == (0, False), node.text

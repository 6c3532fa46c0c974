"""Goals that come while a node prepares wait until it is active."""

from pathlib import Path
import sys
import threading
import time

from action_msgs.msg import GoalStatus
from deadline import Deadline
from lifecycle_msgs.msg import Transition
import pytest
from rclpy.action import ActionClient
from rolling_dynamics.errors import SimulationError
from rolling_interfaces.action import RunExperiment
from rolling_node_kit import suite_node
from rolling_node_kit.single_goal_server import SingleGoalServer
from rolling_node_kit.suite_node import SuiteNode

sys.path.append(str(Path(__file__).parent))

from in_process import in_process

CODES = RunExperiment.Result


class SlowNode(SuiteNode):
    """A node that prepares for as long as a test wants, and may fail to become active."""

    def __init__(self):
        super().__init__('slow', ())
        self.ready, self.fails, self.worked = threading.Event(), False, 0
        self.log, self.on_activation = [], lambda: None

    @property
    def preparing(self):
        return '' if self.ready.is_set() else 'preparing the laws'

    def configure(self):
        server = SingleGoalServer(self, RunExperiment, 'run_experiment', self._work)
        self.at_cleanup(server.destroy)

    def activate(self):
        if self.fails:
            raise SimulationError('no law')
        self.on_activation()
        self.log.append('activated')

    def deactivate(self):
        self.log.append('deactivated')

    async def _work(self, _goal):
        assert self.active
        self.worked += 1
        return RunExperiment.Result(error_code=CODES.NONE)


@pytest.fixture
def node(domain, monkeypatch):
    monkeypatch.setattr(suite_node, 'PROGRESS_PERIOD', 0.0)
    with in_process(domain, SlowNode, {}) as made:
        yield made


@pytest.fixture
def client(peer, node):
    made = ActionClient(peer.node, RunExperiment, 'run_experiment')
    yield made
    peer.in_turn(made.destroy)


def wait_logged(capfd, *texts, timeout=60.0):
    """Wait until every text was logged."""
    logged, end = '', Deadline(timeout)
    while not all(text in logged for text in texts):
        assert end.left > 0.0, logged
        time.sleep(0.01)
        logged += capfd.readouterr().err


def begin(peer, client):
    """Return the handle of a goal that was accepted."""
    handle = peer.send_goal(client, RunExperiment.Goal())
    assert handle.accepted
    return handle


def test_a_goal_is_worked_on_once_the_node_is_ready(peer, node, client, capfd):
    handle = begin(peer, client)
    assert handle.status <= GoalStatus.STATUS_EXECUTING
    wait_logged(
        capfd,
        'the goal waits until the node is ready: preparing the laws',
        'not active yet: preparing the laws',
    )
    assert node.worked == 0
    node.ready.set()
    assert peer.result(handle).error_code == CODES.NONE
    assert node.worked == 1


def test_a_goal_that_waits_can_be_cancelled_and_superseded(peer, node, client):
    assert peer.cancel(begin(peer, client)).error_code == CODES.CANCELLED
    older, newer = begin(peer, client), begin(peer, client)
    assert peer.result(older).error_code == CODES.PREEMPTED
    node.ready.set()
    assert peer.result(newer).error_code == CODES.NONE
    assert node.worked == 1


def test_a_goal_ends_where_the_node_does_not_become_active(peer, node, client):
    handle = begin(peer, client)
    node.fails = True
    node.ready.set()
    result = peer.result(handle)
    assert (result.error_code, result.error_string) == (CODES.INACTIVE, 'the node is inactive')
    assert not peer.send_goal(client, RunExperiment.Goal()).accepted
    assert node.worked == 0


def test_what_is_activated_while_the_process_ends_is_safe(peer, node):
    """As where Ctrl-C comes while a node starts its loop in another thread."""
    node.on_activation = node.make_safe
    node.ready.set()
    peer.until(lambda: len(node.log) == 3, what='the end of the activation')
    assert node.log == ['deactivated', 'activated', 'deactivated']
    assert not node.active
    assert peer.transit('slow', Transition.TRANSITION_ACTIVATE) == [False]
    assert 'activated' not in node.log[3:]

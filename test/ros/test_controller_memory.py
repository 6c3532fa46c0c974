"""Executions of a controller, one after the other, leave nothing behind in memory."""

from array import array
from functools import partial
import gc
from pathlib import Path
import sys
import time
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from deadline import Deadline
import numpy as np
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.impl.rcutils_logger import RcutilsLogger
from rolling_controller.law import Following, OpenLoop
from rolling_controller.motion_watch import MotionWatch, Predictor
from rolling_controller.nodes.control_loop import CODES
from rolling_controller.nodes.controller_node import ControllerNode
from rolling_controller.nodes.controller_parameters import HAND_TABLE
from rolling_controller.nodes.equipment import Equipment
from rolling_controller.nodes.execution import Execution
from rolling_controller.nodes.machines import ControlledHand
from rolling_controller.tracker import Tracker
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit import single_goal_server
from rolling_planner.plan import Plan

sys.path.append(str(Path(__file__).parent))

from fake_states import hand_and_object, PERIOD, Source, still
from in_process import in_process, LONG
from runs import await_active

SCENARIO = 'ball_on_plate_hard.yaml'
PARAMETERS = {'scenario_file': SCENARIO, 'open_loop': True, 'rate': 200.0, 'state_timeout': 1.0}
KEPT = 1  # for which the middleware keeps a result [s]
FIRST, EXECUTIONS = 20, 300
MANY = 50_000  # times of a plan that is refused
DURATION = 0.004  # [s]


class Machine:
    """A machine at rest, seen again whenever it is looked at."""

    missing = 'nothing is missing'

    def __init__(self, model):
        self._model = model
        self.measured = self
        self.age, self.trouble, self.fault, self.covariances = 0.0, '', '', None
        self.poll = self.wait = lambda *_: None
        self.send = self.await_acknowledgement = lambda *_: None

    def state(self):
        return time.time_ns(), self._model.start

    def state_near(self, _stamp):
        return self._model.start

    def bound(self, _states):
        return None

    def safe(self, _x):
        return np.zeros(6)


class Goal:
    """A goal without a client."""

    def __init__(self):
        self.request = SimpleNamespace(
            plan=SimpleNamespace(header=SimpleNamespace(stamp=Time())),
        )
        self.handle = SimpleNamespace(publish_feedback=lambda _: None)

    def on_stop(self, callback):
        self.callback = callback


@pytest.fixture(scope='module')
def execute():
    """Return a function that executes a short plan to its end."""
    model = load_model(SCENARIO)
    values = {entry.name: entry.default for entry in HAND_TABLE}
    equipment = Equipment(
        machine=Machine(model),
        tracker=Tracker(model.system, model.params, uncounted=('p_WH',)),
        predictor=(predictor := Predictor(model.system, model.params, delay=0.001, horizon=0.05)),
        watch=MotionWatch(model.system, predictor),
        start=model.start,
        values=values,
        once=False,
    )
    now = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=time.time_ns()))
    logger = RcutilsLogger('memory')
    node = SimpleNamespace(get_clock=lambda: now, get_logger=lambda: logger, executor=None)
    plan = Plan(
        system='contact',
        model_hash='',
        state_names=tuple(model.system.state.names),
        control_names=tuple(model.system.control.names),
        times=np.linspace(0.0, DURATION, 3),
        states=np.tile(model.start, (3, 1)),
        controls=np.zeros((3, 6)),
    )
    following = Following(OpenLoop(model.system, plan), plan.times, plan.states)

    def run():
        execution = Execution(node, equipment, Goal(), plan, following, lambda _: None)
        steps, end = execution.run(), Deadline(60.0)
        while True:
            assert end.left > 0.0
            try:
                steps.send(None)
            except StopIteration as ended:
                return ended.value
            time.sleep(1e-3)

    return run


def objects():
    """Return how many objects are alive, those that are never looked at again included."""
    gc.collect()
    return len(gc.get_objects()) + gc.get_freeze_count()


def test_executions_leave_nothing_behind(execute):
    for _ in range(FIRST):
        assert execute().code == CODES.NONE
    before = objects()
    for _ in range(EXECUTIONS):
        assert execute().code == CODES.NONE
    assert objects() - before < EXECUTIONS / 10


@pytest.fixture
def node(domain, monkeypatch):
    """A controller in this process, spun in a thread; results are kept for a short time."""
    monkeypatch.setattr(
        single_goal_server,
        'ActionServer',
        lambda *given, **named: rclpy.action.ActionServer(
            *given, **named | {'result_timeout': KEPT}
        ),
    )
    with in_process(
        domain, partial(ControllerNode, ControlledHand, 'contact'), PARAMETERS
    ) as made:
        yield made


def without_goals():
    """Return the number of objects once the middleware has forgotten all results but the last."""
    end = Deadline(LONG)
    while sum(type(o).__name__ == 'ServerGoalHandle' for o in gc.get_objects()) > 2:
        assert end.left > 0.0, 'goals are kept'
        time.sleep(0.1)
        gc.collect()
    return objects()


@pytest.mark.slow
def test_goals_of_a_node_leave_nothing_behind(peer, node):
    model, bodies = hand_and_object(SCENARIO)
    source, plan = Source(peer, bodies), still('contact', model.system, model.start, 0.02)
    client = ActionClient(peer.node, ExecutePlan, 'execute_plan')

    def execute_goal():
        handle = peer.send_goal(client, ExecutePlan.Goal(plan=plan), timeout=LONG)
        return peer.result(handle, LONG).error_code

    with peer.every(PERIOD, source.tell):
        end = Deadline(LONG)
        while execute_goal() != CODES.NONE:
            assert end.left > 0.0
        for _ in range(FIRST):
            execute_goal()
        before = without_goals()
        for _ in range(EXECUTIONS):
            assert execute_goal() == CODES.NONE
        assert without_goals() - before < EXECUTIONS / 10
    peer.in_turn(client.destroy)


def test_a_refused_plan_is_not_kept(peer, node):
    """The middleware keeps the goal for its result, but not the plan in it."""
    model, _ = hand_and_object(SCENARIO)
    client = ActionClient(peer.node, ExecutePlan, 'execute_plan')
    await_active(peer, 'controller', LONG)
    goal = ExecutePlan.Goal(plan=still('contact', model.system, model.start, 0.02))
    goal.plan.times = array('d', range(MANY))
    refused = peer.result(peer.send_goal(client, goal, timeout=LONG), LONG)
    assert refused.error_code == CODES.INVALID_GOAL
    assert f'{MANY} times' in refused.error_string
    del goal, refused
    kept = [o for o in gc.get_objects() if isinstance(o, RollingPlan) and len(o.times) == MANY]
    assert not kept
    peer.in_turn(client.destroy)

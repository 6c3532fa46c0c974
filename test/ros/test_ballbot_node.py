"""A robot that falls without feedback, from outside, in nodes: it is held between its plans."""

from dataclasses import replace
import os
from pathlib import Path
import sys
import threading

from builtin_interfaces.msg import Time
from deadline import Deadline
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped, Vector3
import numpy as np
import pytest
from rclpy.action import ActionClient
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario import load_scenario
from rolling_interfaces.action import ExecutePlan
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_READER
from rolling_planner import plan_rolling
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.demo.demo import GoalReached, PlanLockstep
from rolling_robotics.nodes.trial_client import TrialClient
from rolling_robotics.trials.trial import Trial
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from transforms3d.quaternions import qmult

CODES = ExecutePlan.Result
STILL = 1e-3  # m, rad: greatest error in two seconds of a hold
MINUTE = 60.0  # s
PLUGIN_EXAMPLE = str(Path(__file__).parents[2] / 'examples/ballbot/ballbot/ballbot.yaml')


@pytest.fixture(scope='module')
def scenario():
    sys.path.insert(0, str(Path(__file__).parents[2] / 'examples' / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    return load_scenario(PLUGIN.example)


@pytest.fixture(scope='module')
def plan(scenario):
    """Return a metre along x in three seconds, from upright."""
    x = scenario.x0.copy()
    x[scenario.system.state.slice('q_WB')] = [1, 0, 0, 0]
    return plan_rolling(replace(read_problem(scenario), x_start=x, horizon=3.0))


@pytest.fixture(scope='module')
def ros_environment(domain, ballbot_installed):
    folders = os.pathsep.join([str(ballbot_installed), str(Path(__file__).parent)])
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': folders}


class Ballbot:
    """The robot with its simulator and controller, in simulated time."""

    def __init__(self, peer, scenario, plan):
        self.peer, self.scenario, self.plan = peer, scenario, plan
        self.client = ActionClient(peer.node, ExecutePlan, 'execute_plan')

    def reset(self):
        # a hold about where it stood would pull it from its start until the next plan begins
        self.peer.call(Trigger, 'controller/stop', Trigger.Request())
        assert self.peer.call(Trigger, 'simulator/reset', Trigger.Request()).success

    def send(self, plan=None, on_feedback=None):
        message = plan_to_message(plan or self.plan, Time(), 'odom')
        handle = self.peer.send_goal(self.client, ExecutePlan.Goal(plan=message), on_feedback)
        assert handle.accepted
        return handle

    def execute(self, plan=None):
        return self.peer.result(self.send(plan), 180.0)

    def hold(self):
        """
        Have it held upright at its place, after a plan to stay there for a moment.

        It is sent again where the robot fell too far before it came, on a busy machine.
        """
        still = np.tile(self.plan.states[0], (2, 1))
        controls = np.zeros((2, self.plan.controls.shape[1]))
        rest = replace(
            self.plan,
            times=np.array([0.0, 0.2]),
            states=still,
            controls=controls,
            contact_wrenches=np.zeros((0, 6)),
        )
        ended = None
        for _ in range(5):
            self.reset()
            ended = self.execute(rest)
            if ended.error_code == CODES.NONE:
                break
        assert ended.error_code == CODES.NONE, ended.error_string
        self.says('holding')

    def push(self, size, pushed):
        """Strike it along x [N s], and wait until its state shows that."""
        impulse = Impulse(self.scenario.system, self.scenario.p)
        pushes = self.peer.node.create_publisher(Vector3, 'simulator/push', EVENT)
        end = Deadline(60.0)
        while not pushes.get_subscription_count():
            assert end.left > 0.0
            self.after(0.01)
        pushes.publish(Vector3(x=size / impulse.mass))
        self.until(pushed)

    def driven(self):
        """Drive it to the left while this is entered."""
        wish = TwistStamped()
        wish.twist.linear.y = 0.2
        velocities = self.peer.node.create_publisher(TwistStamped, 'cmd_vel', COMMAND)
        return self.peer.every(0.05, lambda: velocities.publish(wish))

    def goes(self, far):
        """Drive it so far [m], to the left of where it headed last."""
        place = self.after(0.1)
        with self.driven():
            self.until(lambda x: np.hypot(*(x - place)[:2]) > far)

    def until(self, accepted):
        """Wait for a state; return it."""
        accept = lambda m: accepted(np.array(m.position))  # noqa: E731
        found = self.peer.collect(JointState, 'robot/state', EVENT, accept=accept, timeout=180)
        return np.array(found[0].position)

    def from_there(self, x):
        """Return the plan, begun where it stands in a state."""
        states, ball = self.plan.states.copy(), self.scenario.system.state.slice('q_WS')
        states[:, :2] += x[:2]
        states[:, ball] = [qmult(q, x[ball]) for q in states[:, ball]]
        return replace(self.plan, states=states)

    def after(self, duration):
        """Return the state a duration of simulated time later [s]."""
        first = []

        def late(message):
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            first.append(stamp)
            return stamp >= first[0] + duration

        message = self.peer.collect(JointState, 'robot/state', EVENT, accept=late, timeout=180)[0]
        return np.array(message.position)

    def stands(self):
        """Wait until it has stood still for two seconds of simulated time."""
        since = []  # stamp and state from which on it stands still

        def still(message):
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            x = np.array(message.position)
            if not since or np.abs(self.error(x, since[1])).max() > STILL:
                since[:] = stamp, x
            return stamp >= since[0] + 2.0

        self.peer.collect(JointState, 'robot/state', EVENT, accept=still, timeout=180)

    def error(self, x, wanted):
        """Return place [m] and tilt [rad] of a state less those of another."""
        d = np.array(self.scenario.system.difference(x, wanted)).ravel()
        return np.array([*d[:2], *d[5:7]])

    def says(self, text):
        def accept(message):
            return any(s.name.endswith('controller') and text in s.message for s in message.status)

        self.peer.collect(DiagnosticArray, '/diagnostics', STREAM_READER, accept=accept)


@pytest.fixture(scope='module')
def robot(run_process, peer, scenario, plan, ballbot_installed):
    path = ballbot_installed / 'ballbot' / 'ballbot.yaml'
    common = {'scenario_file': str(path), 'use_sim_time': 'true', 'rate': 125.0}
    controller = run_process(
        'rolling_controller.nodes.controller_node',
        params={**common, 'state_timeout': 5.0, 'start_tolerance': 0.5, 'hold_at_start': True},
    )
    simulator = run_process(
        'rolling_dynamics.nodes.simulator_node',
        params={**common, 'rate_factor': 10.0, 'diagnostics_period': 0.2},
    )
    for node in (controller, simulator):
        node.wait_for('steps per second')
    yield Ballbot(peer, scenario, plan)
    for node in (simulator, controller):
        assert node.stop() == 0, node.text


def test_it_is_held_before_any_plan(robot, scenario):
    robot.says('holding')  # from a lean of 0.02, with which it would fall in a second
    assert np.abs(robot.error(robot.after(2.0), scenario.x0)).max() < 0.05


def test_it_stands_after_its_plan_and_starts_the_next_from_there(robot):
    robot.reset()
    ended = robot.execute()
    assert ended.error_code == CODES.NONE, ended.error_string
    end = robot.plan.states[-1]
    assert np.abs(robot.error(robot.after(2.0), end)).max() < STILL
    robot.says('holding')
    plan = robot.from_there(end)  # another metre
    ended = robot.execute(plan)
    assert ended.error_code == CODES.NONE, ended.error_string
    assert np.abs(robot.error(robot.after(2.0), plan.states[-1])).max() < STILL


def test_it_is_held_where_a_plan_is_cancelled(robot):
    robot.reset()
    running = threading.Event()
    handle = robot.send(on_feedback=lambda _: running.set())
    assert running.wait(60)
    assert robot.peer.cancel(handle).error_code == CODES.CANCELLED
    robot.stands()
    robot.says('holding')


def test_it_is_driven_from_its_hold_to_the_left_and_held_again(robot):
    robot.hold()
    place = robot.after(0.5)[:2]
    with robot.driven():
        away = robot.until(lambda x: x[1] > place[1] + 0.3)
        robot.says('driving')
    assert abs(away[0] - place[0]) < 0.05
    robot.stands()
    robot.says('holding')


def test_it_stands_through_goals_that_come_after_it_was_driven(robot):
    """Neither a goal that is refused nor the design for one that is accepted lets it fall."""
    robot.hold()
    robot.goes(0.3)
    robot.after(3.0)
    far = robot.plan.states.copy()
    far[:, 0] += 5.0
    assert robot.execute(replace(robot.plan, states=far)).error_code == CODES.INVALID_GOAL
    robot.goes(0.3)
    ended = robot.execute(robot.from_there(robot.after(3.0)))
    assert ended.error_code == CODES.NONE, ended.error_string
    robot.stands()


def test_it_is_held_where_a_restart_puts_it_once_it_was_driven(robot, scenario):
    robot.hold()
    robot.goes(0.5)
    assert robot.peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    assert np.abs(robot.error(robot.after(4.0), scenario.x0)).max() < 0.05


def test_it_is_driven_until_the_guard_ends_that(robot):
    robot.hold()
    with robot.driven():
        robot.goes(0.2)
        robot.push(40.0, lambda x: np.abs(robot.error(x, robot.plan.states[0])[2:]).max() > 0.3)
        robot.says('driving ended: it cannot be held any more: tilt')


def test_it_is_held_where_a_restart_of_the_plant_puts_it(robot, scenario):
    """Not about where it stood, a metre away, which would pull it there."""
    robot.reset()
    assert robot.execute().error_code == CODES.NONE
    assert robot.peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    x = robot.after(4.0)
    assert np.abs(robot.error(x, scenario.x0)).max() < 0.05
    robot.says('holding')


@pytest.mark.parametrize('size', [pytest.param(2.0, marks=pytest.mark.slow), 10.0])  # N s
def test_it_recovers_from_a_push(robot, size):
    robot.hold()
    robot.after(1.0)
    place = robot.plan.states[0]
    robot.push(size, lambda x: np.abs(robot.error(x, place)[:2]).max() > 0.01 * size)
    robot.stands()
    assert np.abs(robot.error(robot.after(1.0), place)).max() < 5 * STILL
    robot.says('holding')


@pytest.mark.parametrize(
    ('size', 'ended'),
    [
        pytest.param(0.0, '', marks=pytest.mark.slow),
        pytest.param(10.0, '', marks=pytest.mark.slow),
        (40.0, 'tilt'),
    ],
)
def test_a_trial_pushes_it_on_its_way_as_in_lockstep(robot, domain, scenario, size, ended):
    """The same plan and push, by the nodes and in this process, end alike."""
    impulse = Impulse(scenario.system, scenario.p)
    trial = Trial(
        task=None,
        criterion=GoalReached(),
        pushes=[(1.0, (size / impulse.mass, 0.0, 0.0))] if size else [],
        settings={'goal_tolerance': 0.2},
    )
    record = PlanLockstep(PLUGIN_EXAMPLE, PLUGIN_EXAMPLE).execute(trial, robot.plan)
    assert ended in record.ended
    robot.reset()
    with TrialClient(domain=domain) as client:
        client._plan = plan_to_message(robot.plan, Time(), 'odom')
        by_nodes = client.execute(trial)
    assert ended in by_nodes.ended
    assert bool(by_nodes.ended) == bool(record.ended)


def test_a_push_that_is_too_great_ends_the_hold_by_the_guard(robot):
    robot.hold()
    robot.push(40.0, lambda x: np.abs(robot.error(x, robot.plan.states[0])[2:]).max() > 0.3)
    robot.says('cannot be held any more: tilt')


def test_it_falls_once_it_is_stopped(robot):
    robot.hold()
    assert robot.peer.call(Trigger, 'controller/stop', Trigger.Request()).success
    robot.until(lambda x: np.abs(robot.error(x, robot.plan.states[0])[2:]).max() > 0.3)


@pytest.mark.slow
def test_it_stands_for_a_minute(robot):
    robot.reset()
    assert robot.execute().error_code == CODES.NONE
    assert np.abs(robot.error(robot.after(MINUTE), robot.plan.states[-1])).max() < STILL


@pytest.mark.slow  # a quadratic program at each of 750 states
def test_it_stands_after_a_plan_that_predictive_control_follows(robot):
    robot.reset()
    robot.peer.set_parameters('controller', law='predictive')
    try:
        ended = robot.execute()
    finally:
        robot.peer.set_parameters('controller', law='lqr')
    assert ended.error_code == CODES.NONE, ended.error_string
    assert np.abs(robot.error(robot.after(2.0), robot.plan.states[-1])).max() < STILL

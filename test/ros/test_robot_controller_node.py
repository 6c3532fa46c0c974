"""The robot controller beside a simulated robot: plans under feedback, driving, every refusal."""

import dataclasses
from pathlib import Path
import signal
import sys
import threading

from builtin_interfaces.msg import Time
from deadline import Deadline
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped
from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from rcl_interfaces.srv import ListParameters
from rclpy.action import ActionClient
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_dynamics.plugin import roles
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import COMMAND, EVENT
from rolling_planner.nodes.conversions import plan_to_message
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

sys.path.append(str(Path(__file__).resolve().parents[1] / 'controller'))

from robot_cases import CASES

CODES = ExecutePlan.Result
LONG = 60.0
FOLLOWED = 15.0  # of a plan [s], longer than what ends it takes; it is simulated before
# spin_rolling meets the failures; the laws of the others are tried without nodes, too
NAMES = (*(pytest.param(n, marks=pytest.mark.slow) for n in ('pendulum', 'ball')), 'spin_rolling')
FAST = 50.0  # the real-time factor while a whole plan is followed


class Robot:
    """A robot with its simulator and controller, in lockstep."""

    def __init__(self, name, folder, run_process, peer):
        case = CASES[name]
        self.name, self.case, self.peer = name, case, peer
        self.scenario, path = case.load(folder)
        self.plan = case.planned(self.scenario)
        common = {'scenario_file': str(path), 'use_sim_time': 'true', 'rate': case.rate}
        self.controller = run_process(
            'rolling_controller.nodes.controller_node',
            params={**common, 'state_timeout': 2.0, 'start_tolerance': 0.5},
        )
        self.simulator = run_process(
            'rolling_dynamics.nodes.simulator_node',
            params={
                **common,
                'perturbation_position': str(list(case.position)),
                'perturbation_rotation': str(list(case.rotation)),
            },
        )
        for process in (self.controller, self.simulator):
            process.wait_for('steps per second')
        self.client = ActionClient(peer.node, ExecutePlan, 'execute_plan')
        self.velocities = peer.node.create_publisher(TwistStamped, 'cmd_vel', COMMAND)
        end = Deadline(60.0)
        while self.execute(self.still(0.1)).error_code == CODES.STALE_STATE:
            assert end.left > 0.0, 'the controller never saw the robot'

    def still(self, duration, **changes):
        """Return a plan in which nothing moves."""
        values = {
            'times': np.linspace(0.0, duration, 3),
            'states': np.tile(self.plan.states[0], (3, 1)),
            'controls': np.zeros((3, self.plan.controls.shape[1])),
            'contact_wrenches': np.zeros((0, 6)),
        }
        return dataclasses.replace(self.plan, **values | changes)

    def send(self, plan, on_feedback=None):
        message = plan_to_message(plan, Time(), 'odom')
        return self.peer.send_goal(self.client, ExecutePlan.Goal(plan=message), on_feedback)

    def execute(self, plan, on_feedback=None):
        handle = self.send(plan, on_feedback)
        assert handle.accepted
        return self.peer.result(handle, 180.0)

    def follow(self, on_feedback=None):
        """Execute the plan of the case, faster than time goes."""
        self.peer.set_parameters('simulator', rate_factor=FAST)
        result = self.execute(self.plan, on_feedback)
        self.peer.set_parameters('simulator', rate_factor=1.0)
        return result

    def begin(self, plan):
        """
        Send a plan; return its handle once it is followed.

        It is sent again where states came late, or where its own repetition superseded it.
        """
        end = Deadline(60.0)
        while True:
            running = threading.Event()
            handle = self.send(plan, lambda _, running=running: running.set())
            ended = self.peer.result_or(running, handle)
            if ended is None:
                return handle
            again = ended.error_code in (CODES.STALE_STATE, CODES.PREEMPTED)
            assert again, ended.error_string
            assert end.left > 0.0, ended.error_string

    def outcome(self, handle):
        return self.peer.result(handle)

    def reset(self):
        assert self.peer.call(Trigger, 'simulator/reset', Trigger.Request()).success

    def set(self, **values):
        self.peer.set_parameters('controller', **values)

    def change(self, *transitions):
        return self.peer.transit('controller', *transitions)

    def want(self, forward, turn=0.0, frame='base_link', up=0.0):
        message = TwistStamped()
        message.header.frame_id, message.twist.linear.z = frame, up
        message.twist.linear.x, message.twist.angular.z = forward, turn
        self.velocities.publish(message)

    def controls(self, count, accept=lambda _: True):
        return self.peer.collect(JointState, 'robot/control', EVENT, count, accept=accept)

    def complaint(self, text, **wish):
        """Wish for a motion until the diagnostics of the controller say a text."""

        def says(message):
            return any('controller' in s.name and text in s.message for s in message.status)

        with self.peer.every(0.05, lambda: self.want(**wish)):
            self.peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=says)

    def close(self):
        self.client.destroy()
        self.peer.node.destroy_publisher(self.velocities)
        if self.simulator.popen.poll() is None:
            self.simulator.stop()
        return self.controller.stop(signal.SIGINT, signal.SIGTERM)


@pytest.fixture(scope='module', params=NAMES)
def robot(request, tmp_path_factory, run_process, peer):
    made = Robot(request.param, tmp_path_factory.mktemp('scenario'), run_process, peer)
    yield made
    status = made.close()
    assert (status, 'Traceback' in made.controller.text) == (0, False), made.controller.text


def rolls(control):
    """Return whether a control of the spin-rolling sphere makes it roll fast."""
    return np.hypot(*control.effort[:2]) > 1.0


only = pytest.mark.parametrize('robot', ['spin_rolling'], indirect=True)


@pytest.mark.slow
def test_feedback_is_better_than_none_from_a_perturbed_start(robot):
    """The errors that the action says, without and with feedback, the robot really moving."""
    errors = {}
    for open_loop in (True, False):
        robot.set(open_loop=open_loop, settle_time=robot.case.settle, goal_tolerance=100.0)
        robot.reset()
        feedback = []
        result = robot.follow(lambda m, f=feedback: f.append(m.feedback))
        assert (result.error_code, result.error_string) == (CODES.NONE, '')
        assert list(result.final_state_names) == list(robot.plan.state_names)
        assert feedback[0].state_error > 0.0
        assert 'control' in feedback[0].margin_names
        errors[open_loop] = result.final_error
    assert errors[False] < errors[True] / robot.case.better


@only
def test_missed_goal_is_told(robot):
    robot.set(open_loop=True, goal_tolerance=1e-3)
    robot.reset()
    result = robot.follow()
    assert result.error_code == CODES.NOT_CONVERGED
    assert 'goal_tolerance is 0.001' in result.error_string
    robot.set(open_loop=False)


@only
@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'system': 'contact'}, "plan.system must be 'spin_rolling_sphere', got 'contact'"),
        ({'model_hash': 'other'}, 'plan again with the scenario of this node'),
        ({'state_names': tuple('abcdef')}, 'plan.state_names must be u_s, v_s'),
        ({'states': np.full((3, 6), 0.5)}, 'start_tolerance allows'),
        ({'states': np.full((3, 6), np.nan)}, 'states must be finite'),
    ],
)
def test_plan_that_does_not_fit_is_answered(robot, changes, text):
    plan = robot.still(1.0)
    for name, value in changes.items():
        object.__setattr__(plan, name, value)  # past the checks of the plan itself
    result = robot.execute(plan)
    assert result.error_code == CODES.INVALID_GOAL
    assert text in result.error_string


@only
def test_cancel_leaves_a_safe_command(robot):
    robot.reset()
    handle = robot.begin(robot.still(FOLLOWED))
    assert robot.peer.cancel(handle).error_code == CODES.CANCELLED
    result = robot.execute(robot.still(0.1))  # the node lives on
    assert result.error_code in (CODES.NONE, CODES.NOT_CONVERGED)


@only
def test_newer_plan_supersedes(robot):
    first = robot.begin(robot.still(FOLLOWED))
    second = robot.execute(robot.still(0.1))
    assert second.error_code in (CODES.NONE, CODES.NOT_CONVERGED)
    assert robot.outcome(first).error_code == CODES.PREEMPTED


@only
def test_lost_contact_aborts(robot):
    publisher = robot.peer.node.create_publisher(RollingContact, 'contact/state', EVENT)
    handle = robot.begin(robot.still(FOLLOWED))
    with robot.peer.every(0.05, lambda: publisher.publish(RollingContact(mode='separated'))):
        result = robot.outcome(handle)
    robot.peer.node.destroy_publisher(publisher)
    assert result.error_code == CODES.CONTACT_LOST
    assert 'it is separated' in result.error_string


@only
def test_cmd_vel_drives_and_stops_when_it_is_stale(robot):
    robot.reset()  # heads along x again
    robot.set(command_timeout=30.0)
    with robot.peer.every(0.05, lambda: robot.want(0.04)):
        driven = robot.controls(1, rolls)[0]
    radius = 0.02
    assert driven.effort == pytest.approx([0.0, 0.04 / radius, 0.0], abs=1e-9)
    assert list(driven.name) == list(robot.plan.control_names)
    robot.set(command_timeout=0.1)
    stopped = robot.controls(3, lambda m: not any(m.effort))
    assert len(stopped) == 3


@only
def test_plan_has_precedence_over_cmd_vel(robot):
    robot.set(command_timeout=30.0)
    with robot.peer.every(0.05, lambda: robot.want(0.04)):
        robot.controls(1, rolls)
        robot.reset()
        handle = robot.begin(robot.still(FOLLOWED))
        assert not any(rolls(m) for m in robot.controls(50))
    assert robot.peer.cancel(handle).error_code == CODES.CANCELLED


@only
@pytest.mark.parametrize(
    ('wish', 'text'),
    [
        ({'forward': float('nan')}, 'cmd_vel rejected: it is not finite'),
        ({'forward': 0.1, 'frame': 'map'}, "cmd_vel in frame 'map' rejected, 'base_link'"),
        ({'forward': 0.0, 'up': 0.1}, 'cmd_vel: linear.z moves nothing: the robot cannot do that'),
    ],
)
def test_bad_cmd_vel_is_refused_in_words(robot, wish, text):
    robot.complaint(text, **wish)


@pytest.mark.slow
@pytest.mark.parametrize('robot', ['ball'], indirect=True)
def test_robot_that_cannot_be_driven_says_so(robot):
    robot.complaint('two masses on rails or more', forward=0.1)


@only
def test_it_has_the_parameters_of_its_own_machine_alone(robot):
    listed = robot.peer.call(
        ListParameters, 'controller/list_parameters', ListParameters.Request()
    ).result.names
    kind = robot_kind(robot.plan.system)
    assert {f'{kind.group}.{option.name}' for option in kind.options} <= set(listed)
    others = {other.group for _, other in roles('law')} - {kind.group}
    assert not [name for name in listed if name.partition('.')[0] in others]


@only
def test_deactivated_it_stops_and_refuses(robot):
    robot.reset()
    handle = robot.begin(robot.still(FOLLOWED))
    assert robot.change(Transition.TRANSITION_DEACTIVATE) == [True]
    assert robot.outcome(handle).error_code == CODES.INACTIVE
    assert not robot.send(robot.still(0.1)).accepted
    robot.complaint('cmd_vel ignored: the node is not active', forward=0.1)
    anew = 'CLEANUP', 'CONFIGURE', 'ACTIVATE'
    assert all(robot.change(*(getattr(Transition, f'TRANSITION_{name}') for name in anew)))
    codes = (CODES.NONE, CODES.NOT_CONVERGED)
    assert robot.execute(robot.still(0.1)).error_code in codes


@only
def test_lost_state_aborts(robot):
    """The last test of this robot: its simulator ends."""
    robot.set(state_timeout=0.5)
    handle = robot.begin(robot.still(FOLLOWED))
    robot.simulator.stop()
    result = robot.outcome(handle)
    assert result.error_code == CODES.STALE_STATE
    assert 'state_timeout is 0.5 s' in result.error_string
    result = robot.execute(robot.still(0.1))
    assert result.error_code == CODES.STALE_STATE

"""The controller node beside a real plant: executions, refusals and every way to end."""

import signal
import threading
import time

from builtin_interfaces.msg import Time
from deadline import Deadline
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped
import numpy as np
import pytest
from rclpy.action import ActionClient
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.action import ExecutePlan
from rolling_node_kit.qos import EVENT, STREAM_READER
from rolling_planner import plan_rolling
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.plan import Plan
from rolling_planner.problem.scenario import read_problem
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

LONG = 6.0
CODES = ExecutePlan.Result
SCENARIO = {'scenario_file': 'ball_on_plate_hard.yaml', 'use_sim_time': 'true', 'rate': 500.0}


@pytest.fixture(scope='module')
def model():
    return load_model(SCENARIO['scenario_file'])


@pytest.fixture(scope='module')
def controller(run_process):
    return run_process(
        'rolling_controller.nodes.controller_node',
        params={
            **SCENARIO,
            'open_loop': 'true',
            'state_timeout': 1.0,
            'diagnostics_period': 0.05,
        },
    ).wait_for('steps per second')


@pytest.fixture(scope='module')
def client(controller, peer):
    return ActionClient(peer.node, ExecutePlan, 'execute_plan')


@pytest.fixture(scope='module')
def simulator(run_process, peer, client, model):
    process = run_process('rolling_dynamics.nodes.simulator_node', params=SCENARIO).wait_for(
        'steps per second'
    )
    end = Deadline(60.0)
    while execute(peer, client, rest_plan(model)).error_code == CODES.STALE_STATE:
        assert end.left > 0.0, 'the controller never saw the plant'
    return process


def rest_plan(model, duration=0.3, **changes):
    system, count = model.system, round(duration / 0.05) + 1
    values = {
        'system': 'contact',
        'model_hash': model.system.model_hash,
        'state_names': tuple(system.state.names),
        'control_names': tuple(system.control.names),
        'times': np.linspace(0.0, duration, count),
        'states': np.tile(model.start, (count, 1)),
        'controls': np.zeros((count, 6)),
        **changes,
    }
    return plan_to_message(Plan(**values), Time(), 'world')


def execute(peer, client, plan, on_feedback=None):
    handle = peer.send_goal(client, ExecutePlan.Goal(plan=plan), on_feedback)
    assert handle.accepted
    return peer.result(handle, 120.0)


def test_without_a_state_nothing_starts(peer, client, model):
    result = execute(peer, client, rest_plan(model))
    assert result.error_code == CODES.STALE_STATE
    assert 'no pair of hand/odometry and object/odometry' in result.error_string


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'system': 'pendulum_sphere'}, "plan.system must be 'contact'"),
        ({'model_hash': 'other'}, 'plan again with the scenario of this node'),
        ({'state_names': tuple(f's{k}' for k in range(22))}, 'plan.state_names must be q_WH_w'),
    ],
)
def test_plan_of_another_system_is_answered(peer, client, model, changes, text):
    result = execute(peer, client, rest_plan(model, **changes))
    assert result.error_code == CODES.INVALID_GOAL
    assert text in result.error_string


def test_plan_that_is_none_is_answered(peer, client, model):
    message = rest_plan(model)
    message.controls = message.controls[:-1]
    result = execute(peer, client, message)
    assert result.error_code == CODES.INVALID_GOAL
    assert 'plan.controls must have 42 numbers, got 41' in result.error_string


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'times': np.linspace(0, 1e6, 7)}, 'max_plan_duration allows 200 s'),
        ({'times': np.linspace(0.05, 0.35, 7)}, 'plan.times must start at 0'),
        ({'model_hash': ''}, 'plan.model_hash is empty'),
        ({'states': np.zeros((7, 22))}, 'q_WH must be a unit quaternion'),
    ],
)
def test_plan_that_is_not_meant_is_answered(peer, client, model, changes, text, fault_row):
    told = fault_row(f'a plan is sent whose {next(iter(changes))} are not meant')
    result = execute(peer, client, rest_plan(model, **changes))
    told(f'refused: {result.error_string}')
    assert result.error_code == CODES.INVALID_GOAL
    assert text in result.error_string


def test_plan_for_another_time_is_answered(peer, client, model, fault_row):
    message = rest_plan(model)
    message.header.stamp = Time(sec=10_000)
    told = fault_row('a plan is sent whose stamp is of 1970')
    result = execute(peer, client, message)
    told(f'refused: {result.error_string}')
    assert result.error_code == CODES.INVALID_GOAL
    assert 'plan_stamp_tolerance allows 5 s' in result.error_string


def test_plan_is_executed_with_feedback(peer, client, model, simulator):
    feedback = []
    result = execute(peer, client, rest_plan(model), lambda m: feedback.append(m.feedback))
    assert (result.error_code, result.error_string) == (CODES.NONE, '')
    assert result.final_error < 1e-6
    peer.until(lambda: feedback)
    assert 'normal_force' in feedback[0].margin_names
    assert 'control' in feedback[0].margin_names


def test_plan_that_starts_elsewhere_is_answered(peer, client, model, simulator):
    start = model.start.copy()
    start[model.system.state.slice('w_HO_H')] = 3.0
    result = execute(peer, client, rest_plan(model, states=np.tile(start, (7, 1))))
    assert result.error_code == CODES.INVALID_GOAL
    assert 'start_tolerance' in result.error_string


@pytest.mark.parametrize(
    ('law', 'open_loop', 'least', 'most'),
    [
        ('lqr', False, 0.0, 5e-3),
        pytest.param('predictive', False, 0.0, 5e-3, marks=pytest.mark.slow),
        pytest.param('lqr', True, 1.0, 10.0, marks=pytest.mark.slow),
    ],
    ids=['lqr', 'predictive', 'none'],
)
def test_plan_from_a_perturbed_start(peer, client, simulator, law, open_loop, least, most):
    """The main job in lockstep: the ball's loop, 2 mm and 0.03 rad off at the start."""
    scenario = load_scenario(SCENARIO['scenario_file'])
    plan = plan_to_message(plan_rolling(read_problem(scenario)), Time(), 'world')
    off = {'perturbation_position': [2e-3, 0.0], 'perturbation_rotation': [0.0, 0.03, 0.0]}
    peer.set_parameters('simulator', **off)
    peer.set_parameters('controller', open_loop=open_loop, goal_tolerance=10.0, law=law)
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    result = execute(peer, client, plan)
    assert (result.error_code, result.error_string) == (CODES.NONE, '')
    assert least <= result.final_error < most
    peer.set_parameters('controller', open_loop=True, goal_tolerance=0.05, law='lqr')
    peer.set_parameters('simulator', **{name: [0.0] * len(value) for name, value in off.items()})
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success


@pytest.mark.slow
def test_the_ball_is_held_after_its_plan(peer, client, simulator):
    """A minute in which it would roll off without: it stays where the plan ended, and says so."""
    scenario = load_scenario(SCENARIO['scenario_file'])
    plan = plan_rolling(read_problem(scenario))
    peer.set_parameters('controller', open_loop=False)
    peer.set_parameters('simulator', rate_factor=20.0)
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    result = execute(peer, client, plan_to_message(plan, Time(), 'world'))
    assert (result.error_code, result.error_string) == (CODES.NONE, '')
    stamps = []

    def late(message):
        stamps.append(message.header.stamp.sec)
        return stamps[-1] > stamps[0] + 60

    held = peer.collect(
        JointState, 'contact/coordinates', STREAM_READER, accept=late, timeout=600.0
    )[0]
    place = [held.position[held.name.index(name)] for name in ('u_h', 'v_h')]
    goal = plan.states[-1][scenario.system.state.slice('contact_h')]
    assert place == pytest.approx(goal, abs=1e-3)
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=lambda m: says(m, 'holding'))
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=lambda m: says(m, 'holding'))
    assert peer.call(Trigger, 'controller/stop', Trigger.Request()).success
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=lambda m: says(m, 'waiting'))
    peer.set_parameters('simulator', rate_factor=1.0)
    peer.set_parameters('controller', open_loop=True)


def test_cancel_leaves_a_safe_command(peer, client, model, simulator):
    """The plan lifts the plate all the time; what comes after it does not, and is the last."""
    pushed, commands, lift = threading.Event(), [], 1e-6

    def take(message):
        # a hold before the plan may have left the plate sinking: what brakes it lifts it as well
        commands.append(message.accel.linear.z == pytest.approx(lift, rel=1e-9))
        if commands[-1]:
            pushed.set()

    plan = rest_plan(model, LONG)
    plan.controls = [0.0, 0.0, 0.0, 0.0, 0.0, lift] * len(plan.times)
    subscription = peer.node.create_subscription(AccelStamped, 'hand/accel_command', take, EVENT)
    handle = peer.send_goal(client, ExecutePlan.Goal(plan=plan))
    assert pushed.wait(60)
    assert peer.cancel(handle).error_code == CODES.CANCELLED
    peer.until(lambda: not commands[-1], what='another command than the plan')
    peer.node.destroy_subscription(subscription)
    planned = commands[commands.index(True) :]
    assert True not in planned[planned.index(False) :]


def test_stop_ends_an_execution_by_the_safe_command(peer, client, model, simulator):
    running = threading.Event()
    goal = ExecutePlan.Goal(plan=rest_plan(model, LONG))
    handle = peer.send_goal(client, goal, lambda _: running.set())
    assert running.wait(60)
    assert peer.call(Trigger, 'controller/stop', Trigger.Request()).success
    result = peer.result(handle, 120.0)
    assert result.error_code == CODES.INACTIVE
    assert result.error_string == 'stopped by ~/stop'


def test_plan_of_two_points_over_a_million_seconds_is_refused(
    peer, client, model, simulator, fault_row
):
    """Whatever the parameters allow: feedback itself is bounded."""
    ends = {'times': [0.0, 1e6], 'states': [model.start] * 2, 'controls': np.ones((2, 6))}
    peer.set_parameters('controller', open_loop=False, max_plan_duration=1e6)
    told = fault_row('a plan of two points over 1e6 s is sent, and parameters allow its duration')
    result = execute(peer, client, rest_plan(model, **ends))
    told(f'refused: {result.error_string}')
    peer.set_parameters('controller', open_loop=True, max_plan_duration=200.0)
    assert result.error_code == CODES.INVALID_GOAL
    assert 'the plan lasts 1e+06 s; feedback keeps at most 100000 knots' in result.error_string


def test_held_controls_are_executed(peer, client, model, simulator):
    """
    The plate goes up under a held push, and is braked.

    Every command is one of the plan's controls, where linear ones would be between them. Both
    processes run by the plant's clock, and a busy machine moves the changes by some ticks;
    linear controls end below the start.
    """
    system, times = model.system, np.array([0.0, 0.1, 0.2, 0.3])
    states, controls = np.tile(model.start, (4, 1)), np.zeros((4, 6))
    controls[:, 5] = [0.2, -0.2, 0.0, 0.0]
    height, sent = 0.2 * 0.1**2, []
    states[2:, system.state.names.index('p_WH_z')] += height
    plan = rest_plan(model, times=times, states=states, controls=controls, interpolation='hold')
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    subscription = peer.node.create_subscription(
        AccelStamped,
        'hand/accel_command',
        lambda m: sent.append(round(m.accel.linear.z, 9)),
        EVENT,
    )
    result = execute(peer, client, plan)
    peer.node.destroy_subscription(subscription)
    assert (result.error_code, result.error_string) == (CODES.NONE, '')
    assert set(sent) <= {0.2, -0.2, 0.0}
    end = dict(zip(result.final_state_names, result.final_state_values, strict=True))
    assert end['p_WH_z'] - states[0][6] == pytest.approx(height, rel=0.5)
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success


def says(controllers, text):
    return any(s.message == text for s in controllers.status)


def designing(controllers):
    return says(controllers, 'designing the feedback')


def test_cancel_ends_a_long_design(peer, client, controller, model, simulator, fault_row):
    """A design that goes on to its end does not say that it was interrupted."""
    given_up = 'the design of the feedback was interrupted'
    plan = rest_plan(model, 199.0)
    plan.controls = [1e-6] * len(plan.controls)
    peer.set_parameters('controller', open_loop=False)
    before = controller.text.count(given_up)
    handle = peer.send_goal(client, ExecutePlan.Goal(plan=plan))
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=designing)
    begin = time.monotonic()
    told = fault_row('a plan of 199 s is sent and cancelled while its feedback is designed')
    assert peer.cancel(handle).error_code == CODES.CANCELLED
    told('the design is interrupted and the cancel answered')
    while controller.text.count(given_up) == before:
        assert time.monotonic() < begin + 60.0, controller.text
    peer.collect(
        DiagnosticArray,
        '/diagnostics',
        EVENT,
        accept=lambda m: not designing(m),
    )
    peer.set_parameters('controller', open_loop=True)


def test_newer_plan_supersedes(peer, client, model, simulator):
    first = peer.send_goal(client, ExecutePlan.Goal(plan=rest_plan(model, LONG)))
    assert execute(peer, client, rest_plan(model)).error_code == CODES.NONE
    assert peer.result(first).error_code == CODES.PREEMPTED


def test_lost_state_aborts(peer, client, model, simulator, fault_row):
    running = threading.Event()
    handle = peer.send_goal(
        client, ExecutePlan.Goal(plan=rest_plan(model, LONG)), lambda _: running.set()
    )
    assert running.wait(60)
    told = fault_row('the process that gives the states ends in the midst of a plan')
    simulator.stop()
    result = peer.result(handle)
    told(f'the execution ended: {result.error_string}')
    assert result.error_code == CODES.STALE_STATE
    assert 'state_timeout' in result.error_string


def test_stops_cleanly(controller):
    status = controller.stop(signal.SIGINT, signal.SIGTERM)
    assert (status, 'Traceback' in controller.text) == (0, False), controller.text

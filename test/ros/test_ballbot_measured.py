"""The robot that falls, on nodes that know of it by emulated IMU and encoders alone."""

from contextlib import contextmanager
from dataclasses import replace
import os
from pathlib import Path
import sys
import time

from builtin_interfaces.msg import Time
from deadline import Deadline
from geometry_msgs.msg import TwistStamped, Vector3
import numpy as np
import pytest
from rclpy.action import ActionClient
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario import load_scenario
from rolling_interfaces.action import ExecutePlan
from rolling_node_kit.qos import COMMAND, EVENT
from rolling_planner import plan_rolling
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.arrays import layout_series
from rolling_robotics.trials.standing import Stands
from rolling_robotics.trials.trial import Record
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

NEAR = 5e-3  # m, rad, from where the plan ends
# of the estimate where the plan ends, by the noise of the instruments alone: 0.01 to 0.04 over 40
# random seeds in lockstep; which one a run draws depends on when its goal comes
NOISE = 0.2
PLACE, UPRIGHT = {'p_WS': NEAR}, {'d_WB_x': NEAR, 'd_WB_y': NEAR}
RESTING = {'w_WS_W': 0.05, 'w_WB_B': 0.05}  # rad/s
BUSY = 0.02  # of the time of a test, for which a thread may wait for a processor


@pytest.fixture(scope='module')
def ros_environment(domain, ballbot_installed):
    folders = os.pathsep.join([str(ballbot_installed), str(Path(__file__).parent)])
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': folders}


@pytest.fixture(scope='module')
def scenario():
    sys.path.insert(0, str(Path(__file__).parents[2] / 'examples' / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    return load_scenario(PLUGIN.example)


@pytest.fixture
def simulated_time(request):
    """Return whether the simulator publishes the time; else the nodes keep the time of a clock."""
    return getattr(request, 'param', True)


@pytest.fixture
def nodes(run_process, ballbot_installed, tmp_path, request, simulated_time):
    """Start a simulator with a lean, and a controller that estimates the state and holds it."""
    path, lean = tmp_path / 'measured.yaml', getattr(request, 'param', 0.0)
    given = (ballbot_installed / 'ballbot' / 'ballbot.yaml').read_text()
    start = f'lean: [0.0, {lean}, 0.0]\nmeasured: true'
    path.write_text(given.replace('lean: [0.0, 0.02, 0.0]', start))
    common = {'scenario_file': str(path), 'use_sim_time': simulated_time}
    faster = {'rate_factor': 10.0, 'lockstep_timeout': 20.0} if simulated_time else {}
    patient = {'noisy_states': True, 'goal_tolerance': NOISE, 'state_timeout': 20.0}
    patient |= {'hold_at_start': bool(lean), 'command_timeout': 5.0}
    made = [
        run_process(
            'rolling_controller.nodes.controller_node',
            params={**common, 'rate': 500.0, **patient, 'estimate_state': True},
        ),
        run_process(
            'rolling_dynamics.nodes.simulator_node',
            params={**common, 'rate': 500.0, **faster},
        ),
    ]
    for node in made:
        node.wait_for('steps per second')
    yield
    for node in reversed(made):
        assert node.stop() == 0, node.text


def later(peer, duration, count=1):
    """Return true states (count, n) from a duration of simulated time later on [s]."""
    first = []

    def late(message):
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        first.append(stamp)
        return stamp >= first[0] + duration

    truth = peer.collect(JointState, 'robot/state', EVENT, count, accept=late, timeout=300)
    return np.array([message.position for message in truth])


def missed(peer, system, duration, x, **within):
    """Return what it misses of a state later on, without the noise that its instruments make."""
    states = later(peer, duration, 250)  # half a second: velocities of 0.02 by noise alone
    arrays, times = layout_series(system.state, states), np.arange(250) / 500
    record = Record(times=times, arrays=arrays, end=times[-1])
    return Stands(system=system, x=x, within=within, last=0.5).outcome(record).failure


def executed(peer, scenario):
    """Execute a plan of a metre; return the upright start, and the plan."""
    x = scenario.x0.copy()
    x[scenario.system.state.slice('q_WB')] = [1, 0, 0, 0]
    plan = plan_rolling(replace(read_problem(scenario), x_start=x, horizon=3.0))
    client = ActionClient(peer.node, ExecutePlan, 'execute_plan')
    goal = ExecutePlan.Goal(plan=plan_to_message(plan, Time(), 'odom'))
    handle = peer.send_goal(client, goal)
    assert handle.accepted
    ended = peer.result(handle, 180.0)
    assert ended.error_code == ExecutePlan.Result.NONE, ended.error_string
    client.destroy()
    return x, plan


@contextmanager
def served(simulated_time):
    """Skip a test by the clock, at 500 Hz, that fails where its nodes wait for a processor."""
    begun, waits = time.monotonic(), Deadline(0.0)
    try:
        yield
    except AssertionError as error:
        waited, lasted = waits.starved, time.monotonic() - begun
        if simulated_time or waited < BUSY * lasted:
            raise
        pytest.skip(f'{waited:.1f} s of {lasted:.1f} s without a processor: {error}'[:200])


BY_BOTH = pytest.mark.parametrize(
    'simulated_time', [True, False], indirect=True, ids=['simulated', 'by the clock']
)


@pytest.mark.slow  # 25 CPU s; test/test_ballbot.py has the same in lockstep
@pytest.mark.parametrize('hold_for', [5.0, 60.0])
@BY_BOTH
def test_it_follows_its_plan_and_stands(peer, scenario, nodes, hold_for, simulated_time):
    with served(simulated_time):
        system, (x, plan) = scenario.system, executed(peer, scenario)
        assert not missed(peer, system, hold_for, plan.states[-1], **PLACE, **UPRIGHT)
        # put at its start: its place is not measured, but it goes on to stand, its heading kept
        assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
        assert not missed(peer, system, hold_for, x, **UPRIGHT, **RESTING)


@pytest.mark.slow
@pytest.mark.parametrize('nodes', [0.1, 0.3], indirect=True)  # rad
@BY_BOTH
def test_it_recovers_from_a_lean_by_what_its_instruments_measure(
    peer, scenario, nodes, simulated_time
):
    system, x = scenario.system, scenario.x0.copy()
    x[system.state.slice('q_WB')] = [1, 0, 0, 0]
    with served(simulated_time):
        later(peer, 14.0)
        assert not missed(peer, system, 0.0, x, **UPRIGHT, **RESTING)


@pytest.mark.slow
@pytest.mark.parametrize('nodes', [0.02], indirect=True)
@BY_BOTH
def test_it_leans_inward_on_a_circle_by_what_its_instruments_measure(
    peer, scenario, nodes, simulated_time
):
    """At 0.4 m/s round 1 m; the steady motion of its equations leans by 1.64 degrees."""
    layout, wanted = scenario.system.state, TwistStamped()
    wanted.twist.linear.x = wanted.twist.angular.z = 0.4
    with served(simulated_time):
        later(peer, 4.0)
        drive = peer.node.create_publisher(TwistStamped, 'cmd_vel', COMMAND)
        with peer.every(0.05, lambda: drive.publish(wanted)):
            later(peer, 16.0)
            # a whole round, in which the noise of the instruments has no mean
            states = later(peer, 0.0, round(500 * 2 * np.pi / 0.4))
        q, place = states[:, layout.slice('q_WB')], states[:, layout.slice('p_WS')]
        w, i, j, k = q.T
        up = np.column_stack([2 * (i * k + w * j), 2 * (j * k - w * i)])
        inward = place.mean(axis=0) - place
        radius = np.linalg.norm(inward, axis=1)
        assert radius == pytest.approx(1.0, abs=0.05)
        lean = np.degrees(np.arcsin((up * inward).sum(axis=1) / radius))
        assert lean.mean() == pytest.approx(1.639, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize('size', [2.0, 10.0])  # N s
@BY_BOTH
def test_it_recovers_from_a_push_by_what_its_instruments_measure(
    peer, scenario, nodes, size, simulated_time
):
    with served(simulated_time):
        struck_and_standing(peer, scenario, size)


def struck_and_standing(peer, scenario, size):
    """Assert that it stands at the end of its plan again, after an impulse [N s]."""
    system, (_, plan) = scenario.system, executed(peer, scenario)
    impulse = Impulse(system, scenario.p)
    (place,) = later(peer, 2.0)
    pushes = peer.node.create_publisher(Vector3, 'simulator/push', EVENT)
    while not pushes.get_subscription_count():
        later(peer, 0.01)
    pushes.publish(Vector3(x=size / impulse.mass))

    def struck(message):
        d = np.array(system.difference(np.array(message.position), place)).ravel()
        return np.abs(d[:2]).max() > 0.01 * size

    peer.collect(JointState, 'robot/state', EVENT, accept=struck, timeout=180)
    assert not missed(peer, system, 8.0, plan.states[-1], **PLACE, **UPRIGHT, **RESTING)

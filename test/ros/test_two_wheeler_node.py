"""A machine from a scenario file on the nodes, by its IMU and encoders alone."""

import os
from pathlib import Path
import sys

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterEvent
from rclpy.action import ActionClient
from rolling_dynamics.configuration import find_config
from rolling_dynamics.scenario import load_scenario
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, LOG
from rolling_planner import plan_rolling
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.laws import replay_recording
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

sys.path.append(str(Path(__file__).parent))

from bags import recording_of

NEAR = 0.03  # m, rad: what encoders leave unknown of the place
# of the estimate where the plan ends, mostly of the wheels' rates [rad/s], by the noise of the
# sensors alone: 0.09 to 2.1 over 8 random seeds in lockstep
NOISE = 3.0


@pytest.fixture(scope='module')
def ros_environment(domain):
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain)}


KINDS = {
    '': 'sensor_msgs/msg/JointState',
    'wheels/command': 'trajectory_msgs/msg/JointTrajectory',
    'effort_controller/commands, carrier: array': 'std_msgs/msg/Float64MultiArray',
}


@pytest.fixture(params=KINDS, ids=['efforts', 'own-topic', 'array'])
def path(request, tmp_path):
    """The machine; its drives take commands as the robot's efforts, or by a topic of their own."""
    text = find_config('two_wheeler.yaml').read_text()
    if request.param:
        text = text.replace('dead_time: 0.002', f'dead_time: 0.002, topic: {request.param}')
    own = tmp_path / 'two_wheeler.yaml'
    own.write_text(text)
    return own


@pytest.fixture
def nodes(run_process, path):
    """Start a simulator, and a controller that estimates the state."""
    common = {'scenario_file': str(path), 'use_sim_time': 'true', 'rate': 500.0}
    patient = {'noisy_states': True, 'goal_tolerance': NOISE, 'state_timeout': 20.0}
    made = [
        run_process(
            'rolling_controller.nodes.controller_node',
            params={**common, **patient, 'estimate_state': True, 'hold_at_start': True},
        ),
        run_process(
            'rolling_dynamics.nodes.simulator_node',
            params={**common, 'rate_factor': 10.0, 'lockstep_timeout': 20.0},
        ),
    ]
    for node in made:
        node.wait_for('steps per second')
    yield
    for node in reversed(made):
        assert node.stop() == 0, node.text


@pytest.fixture
def logged(peer):
    """Return what a replay needs, by topic, as it comes."""
    topics = {
        'execution/plan': (RollingPlan, LATCHED),
        'execution/settings': (ParameterEvent, LOG),
        'controller/steps': (Float64MultiArray, LOG),
    }
    came = {topic: [] for topic in topics}
    readers = [
        peer.node.create_subscription(kind, topic, came[topic].append, qos)
        for topic, (kind, qos) in topics.items()
    ]
    yield came
    for reader in readers:
        peer.node.destroy_subscription(reader)


@pytest.mark.slow  # nodes by sensors; test/test_two_wheeler.py has the same in lockstep
def test_it_drives_to_its_goal_and_then_by_velocities(
    peer, nodes, path, request, logged, tmp_path
):
    """All commands come out of a replay: of holds, the plan and the velocities."""
    scenario = load_scenario(path)
    state = scenario.system.state
    plan = plan_rolling(read_problem(scenario))
    client = ActionClient(peer.node, ExecutePlan, 'execute_plan')
    goal = ExecutePlan.Goal(plan=plan_to_message(plan, Time(), 'odom'))
    handle = peer.send_goal(client, goal)
    assert handle.accepted
    topic = scenario.actuators[0].topic
    commands = peer.node.get_publishers_info_by_topic(topic or 'robot/control')
    kind = KINDS[request.node.callspec.params['path']]
    assert [c.topic_type for c in commands] == [kind]
    assert not topic or not peer.node.get_publishers_info_by_topic('robot/control')
    ended = peer.result(handle, 180.0)
    assert ended.error_code == ExecutePlan.Result.NONE, ended.error_string

    def at(message):
        return state.unpack(np.array(message.position))

    end = peer.collect(JointState, 'robot/state', EVENT, timeout=180)[0]
    assert at(end)['p_body'] == pytest.approx([0.5, 0, 0.08], abs=NEAR)
    velocity = peer.node.create_publisher(TwistStamped, 'cmd_vel', COMMAND)
    command = TwistStamped()
    command.twist.linear.x, command.twist.angular.z = 0.3, 0.5

    def turned(message):
        command.header.stamp = message.header.stamp
        velocity.publish(command)
        return abs(at(message)['q_body'][3]) > np.sin(1.0)

    x = at(peer.collect(JointState, 'robot/state', EVENT, accept=turned, timeout=300)[0])
    assert abs(x['q_body'][2]) < NEAR
    assert np.hypot(*x['v_body'][:2]) == pytest.approx(0.3, abs=0.08)  # at an instant
    client.destroy()
    count = len(logged['controller/steps'])
    assert peer.call(Trigger, 'controller/stop', Trigger.Request()).success
    peer.until(lambda: len(logged['controller/steps']) > count)
    with Recorded(recording_of(tmp_path / 'bag', logged), path) as recorded:
        runs = replay_recording(recorded)
    titles = [run.title for run in runs]
    assert titles == ['hold 1', 'execution 1, closed loop', 'hold 2', 'drive 1']
    assert all(run.same for run in runs)
    assert min(runs[1].equal, runs[3].equal) > 100

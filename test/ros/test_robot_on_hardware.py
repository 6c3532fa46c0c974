"""A stranger's robot as `hardware:=real` runs it: only sensors come, only commands go."""

from dataclasses import replace
import os
from pathlib import Path
import sys

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rolling_dynamics.plugin import register_plugin
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, STREAM_READER
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.cli import main
from rolling_robotics.experiments import find_experiment, NodeEntry
from rolling_robotics.hardware import REAL
from rolling_robotics.nodes.client import Client
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

pytestmark = [pytest.mark.ros, pytest.mark.slow]  # a plan and seconds of motion by sensors
LONG = 180.0
TOPICS = 'robot/state', 'odom', '/tf', 'contact/wrench', 'contact/state', 'robot_description'
DRAWN = 'simulator/surfaces', 'simulator/markers'


@pytest.fixture(scope='module')
def scenario(ballbot_installed, tmp_path_factory):
    sys.path.insert(0, str(Path(__file__).parents[2] / 'examples' / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    path = tmp_path_factory.mktemp('ballbot') / 'measured.yaml'
    given = (ballbot_installed / 'ballbot' / 'ballbot.yaml').read_text()
    path.write_text(given.replace('lean: [0.0, 0.02, 0.0]', 'measured: true'))
    return path


@pytest.fixture(scope='module')
def domain(scenario, ballbot_installed, tmp_path_factory):
    """Run its nodes, and a simulator that keeps the true state to itself in place of the robot."""
    robot = NodeEntry(
        name='robot',
        module='rolling_dynamics.nodes.simulator_node',
        remaps={topic: f'truth/{topic.strip("/")}' for topic in TOPICS},
        parameters={'scenario_file': str(scenario), 'rate': 500.0, 'lockstep_timeout': 20.0},
    )
    experiment = find_experiment(str(scenario))
    nodes = robot, *experiment.nodes_on(REAL)
    patient = {'goal_tolerance': 0.2, 'state_timeout': 20.0, 'noisy_states': True}
    with private_domain() as (domain, environment):
        found = os.pathsep.join([str(ballbot_installed), str(Path(__file__).parents[2])])
        bringup = Bringup(
            experiment=replace(experiment, nodes=nodes, hardware={}),
            environment={**environment, 'PYTHONPATH': found},
            use_sim_time=True,
            overrides={'controller': {**patient, 'command_timeout': 5.0}},
            log_folder=tmp_path_factory.mktemp('logs'),
        )
        with bringup, Client(domain=domain, check=bringup.check) as client:
            client.wait_until_served(LONG)
            yield domain


def place(peer, topic='truth/robot/state', accept=lambda _: True):
    """Return where the ball is, in a state that is accepted."""
    message = peer.collect(JointState, topic, EVENT, accept=accept, timeout=LONG)[0]
    return np.array(message.position)[[message.name.index(f'p_WS_{axis}') for axis in 'xy']]


def test_its_controller_alone_publishes_what_a_simulator_does(peer):
    for topic in (*TOPICS, *DRAWN):

        def names(topic=topic):
            return [p.node_name for p in peer.node.get_publishers_info_by_topic(topic)]

        peer.until(lambda names=names: names() == ['controller'], what=topic)
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    chain = [(t.header.frame_id, t.child_frame_id) for t in frames]
    assert chain[:2] == [('odom', 'base_footprint'), ('base_footprint', 'base_link')]
    assert {'ball_link', 'body_link'} <= {child for _, child in chain}
    assert 'ball_link' in peer.collect(String, 'robot_description', LATCHED)[0].data
    assert peer.collect(MarkerArray, DRAWN[0], LATCHED)[0].markers


def test_it_goes_to_a_goal_and_on_by_velocities(peer, capfd):
    assert main(['execute', '--goal', 'p_WS_x=0', 'p_WS_y=0.5', '--horizon', '3']) == 0
    assert 'the goal was reached' in capfd.readouterr().out
    assert place(peer) == pytest.approx([0.0, 0.5], abs=0.02)
    assert place(peer, 'robot/state') == pytest.approx([0.0, 0.5], abs=0.02)
    pose = peer.collect(Odometry, 'odom', STREAM_READER)[0].pose.pose
    heads = 2 * np.arctan2(pose.orientation.z, pose.orientation.w)
    assert heads == pytest.approx(np.pi / 2, abs=0.2)  # where it went
    drive = peer.node.create_publisher(TwistStamped, 'cmd_vel', COMMAND)
    ahead = TwistStamped()
    ahead.twist.linear.x = 0.3

    def went(message):
        return message.position[message.name.index('p_WS_y')] > 0.8

    with peer.every(0.05, lambda: drive.publish(ahead)):
        assert abs(place(peer, accept=went)[0]) < 0.2

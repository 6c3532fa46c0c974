"""Rates at which nodes publish, frames with a prefix, and rigs that have no odometry."""

from types import SimpleNamespace

import numpy as np
import pytest
from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.scenario_model import load_robot

pytest.importorskip('rclpy')
pytest.importorskip('rolling_interfaces')

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from rolling_dynamics.nodes.robot_topics import RobotTopics
from rolling_node_kit.loop_node import LoopNode


class Listener:
    """Stands for a node; keeps what is published, by topic."""

    def __init__(self):
        self.messages = {}

    def writer(self, _kind, name, _qos):
        self.messages[name] = []
        return SimpleNamespace(publish=self.messages[name].append)


def published(scenario, prefix):
    robot = emulated_robot(load_robot(scenario))
    listener = Listener()
    topics = RobotTopics(listener, robot.shown, world='odom', prefix=prefix)
    seen = robot.observe()
    topics.state(seen, 0)
    for publish in (topics.contact, topics.frames, topics.markers):
        publish(seen, Time())
    topics.contact_state(seen, Time())
    return listener.messages


def due(rate, lower, turns, offset=0):
    node = SimpleNamespace(values={'rate': rate, 'lower': lower})
    return [k for k in range(1, turns + 1) if LoopNode.due(node, k, 'lower', offset)]


@pytest.mark.parametrize(('rate', 'lower'), [(250.0, 100.0), (445.5, 100.0), (553.0, 100.0)])
def test_a_lower_rate_is_kept_where_it_does_not_divide_the_rate_of_the_loop(rate, lower):
    turns = due(rate, lower, round(10 * rate))
    assert len(turns) == pytest.approx(10 * lower, abs=1)
    assert set(np.diff(turns)) <= {np.floor(rate / lower), np.ceil(rate / lower)}


def test_a_rate_that_divides_it_is_evenly_spaced_and_shifted():
    assert due(1000.0, 200.0, 20) == [5, 10, 15, 20]
    assert due(1000.0, 200.0, 20, 2) == [2, 7, 12, 17]
    assert due(100.0, 500.0, 4) == [1, 2, 3, 4]  # at most once a turn


def test_every_frame_of_a_robot_has_its_prefix():
    messages = published('point_mass_straight', 'left/')
    odometry = deserialize_message(messages['odom'][0], Odometry)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ('left/odom', 'left/base_link')
    frames = [(t.header.frame_id, t.child_frame_id) for t in messages['/tf'][0].transforms]
    drawn = [
        m.header.frame_id for n in ('~/markers', '~/surfaces') for m in messages[n][0].markers
    ]
    assert ('left/odom', 'left/base_footprint') in frames
    for name in (*np.ravel(frames), *drawn, messages['robot/state'][0].header.frame_id):
        assert name.startswith('left/')
    assert '"left/odom"' in messages['robot_description'][0].data
    assert '"odom"' not in messages['robot_description'][0].data


@pytest.mark.parametrize('scenario', ['ball_balancer', 'labyrinth'])
def test_a_fixed_rig_publishes_no_odometry(scenario):
    messages = published(scenario, '')
    assert 'odom' not in messages
    assert messages['robot/state']

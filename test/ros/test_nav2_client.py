"""A client that sends over ROS what the controller server of Nav2 sends, to a robot that falls."""

import os
from pathlib import Path
import sys
import threading

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.qos import COMMAND, STREAM_READER
import yaml

sys.path.append(str(Path(__file__).parents[1] / 'controller'))

from nav2_pursuit import PATH, pursuit

ROOT = Path(__file__).parents[2]
SERVER = yaml.safe_load((ROOT / 'examples' / 'nav2' / 'nav2.yaml').read_text())[
    'controller_server'
]['ros__parameters']


class ControllerServer:
    """Follows a path by regulated pure pursuit: ``odom`` in, velocities in ``base_link`` out."""

    def __init__(self, peer, *, stamped):
        self._stamped = stamped
        self._node, self.reached, self.places = peer.node, threading.Event(), []
        self._next, self._end, self.stood = 0, None, threading.Event()
        self._velocities = peer.node.create_publisher(
            TwistStamped if stamped else Twist, 'cmd_vel', COMMAND
        )
        self._odometry = peer.node.create_subscription(
            Odometry, SERVER['odom_topic'], self._take, STREAM_READER
        )

    def close(self):
        self._node.destroy_subscription(self._odometry)
        self._node.destroy_publisher(self._velocities)

    def _take(self, message):
        stamp, p, q = time_to_nanoseconds(message.header.stamp), *self._pose(message)
        if stamp < self._next:
            return
        self._next = stamp + round(1e9 / SERVER['controller_frequency'])
        self.places.append(p)
        if np.linalg.norm(PATH[-1] - p) < SERVER['goal_checker']['xy_goal_tolerance']:
            self._end = self._end or stamp
            self.reached.set()
        if self._end is not None and stamp > self._end + 5_000_000_000:
            self.stood.set()
        command = TwistStamped()
        command.header.stamp, command.header.frame_id = message.header.stamp, 'base_link'
        if self._end is None:
            speed, turn = pursuit(SERVER['FollowPath'], PATH, p, 2 * np.arctan2(q.z, q.w))
            command.twist.linear.x, command.twist.angular.z = float(speed), float(turn)
        self._velocities.publish(command if self._stamped else command.twist)

    def _pose(self, message):
        p = message.pose.pose.position
        return np.array([p.x, p.y]), message.pose.pose.orientation


@pytest.fixture(scope='module')
def ros_environment(domain, ballbot_installed):
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': str(ballbot_installed)}


@pytest.mark.slow  # 15 s of motion, at four times the pace of the clock
@pytest.mark.parametrize('stamped', [True, False])
def test_it_follows_a_path_with_a_bend(peer, run_process, ballbot_installed, stamped):
    path = ballbot_installed / 'ballbot' / 'ballbot.yaml'
    common = {'scenario_file': str(path), 'use_sim_time': 'true', 'rate': 250.0}
    made = [
        run_process(
            'rolling_controller.nodes.controller_node',
            params={
                **common,
                'state_timeout': 20.0,
                'command_timeout': 20.0,
                'enable_stamped_cmd_vel': stamped,
            },
        ),
        run_process(
            'rolling_dynamics.nodes.simulator_node',
            params={**common, 'rate_factor': 4.0, 'lockstep_timeout': 20.0},
        ),
    ]
    for node in made:
        node.wait_for('steps per second')
    server = ControllerServer(peer, stamped=stamped)
    assert server.reached.wait(120.0), server.places[-1:]
    assert server.stood.wait(60.0)
    off = [np.linalg.norm(PATH - p, axis=1).min() for p in server.places]
    assert max(off) < 0.15  # it cuts the bend
    within = SERVER['goal_checker']['xy_goal_tolerance']
    assert np.linalg.norm(PATH[-1] - server.places[-1]) < within + 0.05
    server.close()
    for node in reversed(made):
        assert node.stop() == 0, node.text

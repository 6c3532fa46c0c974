"""The robot simulator: what it publishes of every kind of robot, refuses, and does on its own."""

import math

from nav_msgs.msg import Odometry
import pytest
from rolling_dynamics.nodes.qos import COMMAND, STREAM_READER
from rolling_dynamics.nodes.robot_model import load_robot
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

SIMULATOR = 'rolling_dynamics.nodes.robot_simulator_node'
ROBOTS = {
    'point_mass_ball': ('point_mass_straight.yaml', {'shell_link', 'mass_1_link'}),
    'point_mass_disk': (
        'point_mass_disk.yaml',
        {'shell_link', *(f'mass_{k}_link' for k in (1, 2, 3, 4))},
    ),
    'pendulum_sphere': ('pendulum_torque.yaml', {'shell_link', 'pendulum_link'}),
    'spin_rolling_sphere': (
        'spin_rolling_ball.yaml',
        {'shell_link', 'contact_plane', 'contact_shell'},
    ),
}


@pytest.fixture(scope='module', params=ROBOTS)
def robot(request, run_process):
    """A running simulator of each kind of robot; the model is what it ought to run."""
    scenario, links = ROBOTS[request.param]
    node = run_process(SIMULATOR, params={'scenario_file': scenario}).wait_for('steps a second')
    yield load_robot(scenario), links
    assert node.stop()[0] == 0, node.text


def command(model, value):
    names = list(model.system.control.names)
    return JointState(name=names, effort=[value] * len(names))


class TestEveryRobot:
    def test_full_state_has_the_names_of_the_layout(self, peer, robot):
        state = peer.collect(JointState, 'robot/state', STREAM_READER)[0]
        assert list(state.name) == robot[0].system.state.names
        assert len(state.position) == robot[0].system.state.size

    def test_odometry_is_level_and_in_the_frame_of_the_floor(self, peer, robot):
        odometry = peer.collect(Odometry, 'odom', STREAM_READER)[0]
        assert (odometry.header.frame_id, odometry.child_frame_id) == ('odom', 'base_link')
        q = odometry.pose.pose.orientation
        assert (q.x, q.y) == (0.0, 0.0)
        assert odometry.pose.pose.position.z == pytest.approx(robot[0].view.radius)

    def test_frames_form_one_tree_below_odom(self, peer, robot):
        frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
        parents = {t.child_frame_id: t.header.frame_id for t in frames}
        assert len(parents) == len(frames)
        assert set(parents) == {'base_footprint', 'base_link', *robot[1]}
        assert (parents['base_footprint'], parents['base_link']) == ('odom', 'base_footprint')
        for parent in parents.values():
            above = parent
            while above != 'odom':
                above = parents[above]

    def test_a_command_moves_it(self, peer, robot):
        model = robot[0]
        publisher = peer.node.create_publisher(JointState, 'robot/control', COMMAND)
        first = peer.collect(JointState, 'robot/state', STREAM_READER)[0].position

        def moved(message):
            publisher.publish(command(model, 0.05))
            return max(abs(a - b) for a, b in zip(message.position, first, strict=True)) > 1e-3

        assert peer.collect(JointState, 'robot/state', STREAM_READER, accept=moved)
        peer.node.destroy_publisher(publisher)
        assert math.isfinite(first[0])

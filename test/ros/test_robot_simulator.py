"""The robot simulator: what it publishes of every kind of robot."""

from xml.etree import ElementTree as ET

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rolling_dynamics.scenario_model import load_robot
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, STREAM_READER
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

SIMULATOR = 'rolling_dynamics.nodes.simulator_node'
MASSES = {'shell', 'mass', 'rail'}
ROBOTS = {  # scenario, links, joints, namespaces of its parts
    'point_mass_ball': (
        'point_mass_straight.yaml',
        {'shell_link', 'mass_1_link'},
        ['mass_1_joint'],
        MASSES,
    ),
    'point_mass_disk': (
        'point_mass_disk.yaml',
        {'shell_link', *(f'mass_{k}_link' for k in (1, 2, 3, 4))},
        [f'mass_{k}_joint' for k in (1, 2, 3, 4)],
        MASSES,
    ),
    'pendulum_sphere': (
        'pendulum_start.yaml',
        {'shell_link', 'pendulum_link'},
        ['pendulum_pitch_joint', 'pendulum_roll_joint'],
        {'shell', 'pendulum'},
    ),
    'spin_rolling_sphere': (
        'spin_rolling_ball.yaml',
        {'shell_link', 'contact_plane', 'contact_shell'},
        [],
        set(),  # the ball is a surface
    ),
}
CONTACT = {'contact/wrench', 'contact/state'}


# the disk has the parts of the ball
KINDS = [
    pytest.param(name, marks=pytest.mark.slow) if name == 'point_mass_disk' else name
    for name in ROBOTS
]


@pytest.fixture(scope='module', params=KINDS)
def robot(request, run_process):
    """A running simulator of each kind of robot, what it runs, and what it ought to show."""
    scenario, links, joints, parts = ROBOTS[request.param]
    node = run_process(SIMULATOR, params={'scenario_file': scenario, 'rate': 200.0})
    node.wait_for('steps per second', 60.0)
    yield load_robot(scenario), links, joints, parts
    assert node.stop() == 0, node.text


@pytest.fixture(autouse=True)
def _at_start(peer, robot):
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success


def publishers(peer, names):
    return {n for n in names if peer.node.get_publishers_info_by_topic(n)}


def command(model, value):
    names = list(model.system.control.names)
    return JointState(name=names, effort=[value] * len(names))


def test_full_state_has_the_names_of_the_layout(peer, robot):
    state = peer.collect(JointState, 'robot/state', STREAM_READER)[0]
    layout = robot[0].system.state
    assert list(state.name) == layout.names
    x = layout.unpack(state.position)
    for entry in layout.entries:
        if entry.kind == 'quaternion':
            assert np.linalg.norm(x[entry.name]) == pytest.approx(1.0)


def test_odometry_is_level_and_in_the_frame_of_the_floor(peer, robot):
    odometry = peer.collect(Odometry, 'odom', STREAM_READER)[0]
    assert (odometry.header.frame_id, odometry.child_frame_id) == ('odom', 'base_link')
    q, w = odometry.pose.pose.orientation, odometry.twist.twist.angular
    assert (q.x, q.y, w.x, w.y) == (0.0, 0.0, 0.0, 0.0)
    assert odometry.pose.pose.position.z == pytest.approx(robot[0].view.radius)


def test_frames_form_one_tree_below_odom(peer, robot):
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    parents = {t.child_frame_id: t.header.frame_id for t in frames}
    assert len(parents) == len(frames)
    assert set(parents) == {'base_footprint', 'base_link', *robot[1]}
    assert (parents['base_footprint'], parents['base_link']) == ('odom', 'base_footprint')
    for parent in parents.values():
        above = parent
        while above != 'odom':
            above = parents[above]


def test_description_has_the_frames_that_are_published(peer, robot):
    text = peer.collect(String, 'robot_description', LATCHED)[0].data
    described = ET.fromstring(text)  # noqa: S314, our own text
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    assert {
        (j.find('parent').get('link'), j.find('child').get('link'))
        for j in described.findall('joint')
    } == {(t.header.frame_id, t.child_frame_id) for t in frames}
    assert described.findall(".//link[@name='shell_link']/visual")


def test_frames_put_the_shell_where_the_odometry_is(peer, robot):
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    shell = next(t for t in frames if t.child_frame_id == 'shell_link')
    p = shell.transform.translation
    assert (p.x, p.y, p.z) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert shell.header.frame_id == 'base_link'


def test_joints_are_those_of_what_moves_inside(peer, robot):
    names = robot[2]
    if not names:
        assert not publishers(peer, ['joint_states'])
        return
    joints = peer.collect(JointState, 'joint_states', STREAM_READER)[0]
    assert list(joints.name) == names
    assert len(joints.position) == len(joints.velocity) == len(names)


def test_contact_carries_the_weight_where_the_model_has_forces(peer, robot):
    model = robot[0]
    if model.system.mode.wrench is None:
        assert not publishers(peer, CONTACT)
        return
    wrench = peer.collect(WrenchStamped, 'contact/wrench', STREAM_READER)[0]
    state = peer.collect(RollingContact, 'contact/state', EVENT)[0]
    assert wrench.header.frame_id == state.header.frame_id == 'base_footprint'
    assert state.mode == RollingContact.MODE_ROLLING
    assert state.wrench.force.z == pytest.approx(wrench.wrench.force.z, rel=0.2)
    mu = model.params[model.system.parameters.slice('mu')][0]
    assert state.friction_utilisation == pytest.approx(state.required_friction / mu)
    assert 0.0 <= state.friction_utilisation < 1.0
    assert state.gap == 0.0


def test_markers_show_every_part_in_frames_that_exist(peer, robot):
    moving = peer.collect(MarkerArray, 'simulator/markers', STREAM_READER)[0].markers
    assert {m.ns for m in moving} == {'contact'}
    still = peer.collect(MarkerArray, 'simulator/surfaces', LATCHED)[0].markers
    assert len({(m.ns, m.id) for m in still}) == len(still)
    assert all(m.frame_locked for m in still)
    surfaces = [m for m in still if m.ns == 'surface']
    parts = [m for m in still if m.ns != 'surface']
    assert {m.ns for m in parts} == robot[3]
    shells = [m for m in parts if m.ns == 'shell']
    assert [m.scale.x for m in shells] == pytest.approx([2 * robot[0].view.radius] * len(shells))
    assert {m.header.frame_id for m in (*moving, *parts)} <= {'odom', 'base_footprint', *robot[1]}
    rails = [m for m in parts if m.ns == 'rail']
    assert all(m.type == Marker.LINE_STRIP and len(m.points) == 100 for m in rails)
    flat = robot[0].system.name == 'point_mass_disk'
    frames = {'odom'} if flat else {'odom', 'shell_link'}
    assert {m.header.frame_id for m in surfaces} == frames
    assert all(len(m.points) == len(m.colors) > 0 for m in surfaces)
    if not shells:  # drawn as it is, and not seen through
        ball = next(m for m in surfaces if m.header.frame_id == 'shell_link')
        assert max(p.z for p in ball.points) == pytest.approx(robot[0].view.radius, rel=0.01)
        assert {c.a for c in ball.colors} == {1.0}


def test_a_command_moves_it(peer, robot):
    model = robot[0]
    publisher = peer.node.create_publisher(JointState, 'robot/control', COMMAND)
    before = peer.collect(JointState, 'robot/state', STREAM_READER, 100)
    first = before[0].position

    def moved(message):
        return max(abs(a - b) for a, b in zip(message.position, first, strict=True))

    assert max(map(moved, before)) < 1e-9  # at rest until then

    def on_command(message):
        publisher.publish(command(model, 0.05))
        return moved(message) > 1e-3

    assert peer.collect(JointState, 'robot/state', STREAM_READER, accept=on_command)
    peer.node.destroy_publisher(publisher)

"""Force, cone and shadow of any robot stand where it touches, live and in a recording."""

from types import SimpleNamespace

from geometry_msgs.msg import Transform, Vector3
import numpy as np
import pytest
import rclpy
from rclpy.serialization import serialize_message
from rolling_dynamics.nodes.robot_topics import RobotTopics
from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.scenario_model import load_robot
from rolling_node_kit.conversions import nanoseconds_to_time, vector_to_list
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.recorded_scene import recorded_scene
from rolling_robotics.recordings.writer import Recording, Topic
from rolling_robotics.scene.scene import NewestFrames, rotation_matrices
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from transforms3d.quaternions import rotate_vector

pytest.importorskip('viser')

from rolling_robotics.nodes.live_view import LiveScene, LiveTopics, standing_scene
from rolling_robotics.viewer.scene_server import served

pytestmark = pytest.mark.ros
STEP = 0.02
ROBOTS = {  # the scenario, and the frame that is drawn
    'ball_balancer': 'contact_link',
    'labyrinth': 'contact_link',
    'hamster_ball': 'contact_link',
    'two_wheeler': 'contact_link',
    'pendulum_turn': 'base_footprint',
    'point_mass_straight': 'base_footprint',
}
ROLLS = {  # the frame whose goal is dragged and whose plan is drawn
    'ball_balancer': 'ball_link',
    'labyrinth': 'ball_link',
    'hamster_ball': 'shell_link',
    'two_wheeler': 'body_link',
    'pendulum_turn': 'shell_link',
    'point_mass_straight': 'shell_link',
}
RECORDED = {
    '/tf': 'tf2_msgs/msg/TFMessage',
    '/simulator/surfaces': 'visualization_msgs/msg/MarkerArray',
    '/contact/wrench': 'geometry_msgs/msg/WrenchStamped',
}


class Heard:
    """Takes what a robot publishes: a node without a network."""

    def __init__(self):
        self.newest = {}

    def writer(self, _, name, qos):  # noqa: ARG002
        topic = '/' + name.replace('~', 'simulator').lstrip('/')
        return SimpleNamespace(publish=lambda message: self.newest.update({topic: message}))


@pytest.fixture(scope='module', params=ROBOTS)
def moved(request):
    """A robot that moved, what it published meanwhile, and the frame at its contact."""
    plant, heard = emulated_robot(load_robot(request.param)), Heard()
    topics, messages = RobotTopics(heard, plant.shown, world='odom', prefix=''), []
    u = 0.05 * np.ones(plant.view.system.control.size)
    for k in range(8):
        plant.step(u, STEP)
        stamp = nanoseconds_to_time(round(k * STEP * 1e9))
        topics.frames(plant.observe(), stamp)
        topics.contact(plant.observe(), stamp)
        topics.markers(plant.observe(), stamp)
        messages.append(dict(heard.newest))
    return plant, messages, ROBOTS[request.param]


def contact_of(plant):
    """Return pose of the contact in W, and the direction of its force, from the equations."""
    state, system, u = plant.emulation.state, plant.emulation.system, plant.emulation.u
    X = np.array(system.contact_frame(state.x, state.p))
    wrench = np.array(system.modes[state.mode].wrench(state.x, u, state.t, state.p)).ravel()
    return X[:3, 3], X[:3, :3] @ wrench[3:] / np.linalg.norm(wrench[3:])


def test_force_stands_at_the_contact_of_the_state(moved, peer):
    plant, messages, name = moved
    place, force = contact_of(plant)
    node = rclpy.create_node('viewer', context=peer.context)
    with served('127.0.0.1', 0) as server:
        live = LiveScene(node, server)
        live._topics.frames.take(messages[-1]['/tf'].transforms)
        live._topics._draw(messages[-1]['/simulator/surfaces'])
        live._topics.wrench = messages[-1]['/contact/wrench']
        live.update(0.0)
        stage = live._stage
        (frame,) = (h for h in stage._moving if h.name.startswith('/frames/'))
        assert frame.name == f'/frames/{name}'
        assert np.abs(frame.position - place).max() < 1e-9
        R = rotation_matrices(np.array([frame.wxyz]))[0]
        arrow, cone = stage._forces[name]
        drawn = R @ np.asarray(arrow.points)[0, 1]
        assert drawn / np.linalg.norm(drawn) == pytest.approx(force, abs=1e-6)
        assert cone.visible
        assert not [m for m in stage._solid if m.name.startswith('/bodies/plate_link')]
    node.destroy_node()


def test_goal_and_plan_are_of_what_rolls(moved, peer, request):
    _, messages, _ = moved
    rolling = ROLLS[request.node.callspec.params['moved']]
    node = rclpy.create_node('viewer', context=peer.context)
    topics = LiveTopics(node)
    topics.frames.take(messages[-1]['/tf'].transforms)
    topics._draw(messages[-1]['/simulator/surfaces'])
    end = MultiDOFJointTrajectoryPoint(transforms=[Transform(translation=Vector3(x=7.0))])
    topics.plan = MultiDOFJointTrajectory(joint_names=['object'], points=[end])
    ghosts = {body.name: body.position[0, 0] for body in standing_scene(topics).ghosts}
    assert ghosts == {rolling: 7.0}
    assert topics.rolling == rolling
    node.destroy_node()


def test_markers_stand_there_too(moved):
    plant, messages, name = moved
    place, force = contact_of(plant)
    frames = NewestFrames()
    frames.take(messages[-1]['/tf'].transforms)
    dot, *others = messages[-1]['/simulator/markers'].markers
    trails = [m for m in others if m.type == m.LINE_STRIP]
    arrows = [m for m in others if m.type == m.ARROW]
    wrench = messages[-1]['/contact/wrench']
    for message in (dot, wrench, messages[-1]['/contact/state']):
        assert message.header.frame_id == name
    at = frames.pose(name)
    assert np.abs(np.subtract(at[:3], place)).max() < 1e-9
    starts, ends = (np.array([vector_to_list(m.points[k]) for m in arrows]) for k in (0, 1))
    outside = np.abs(starts[:, 2]) < 1e-9  # of a machine: the others are between its bodies
    if plant.view.system.name == 'machine':
        assert len(arrows) > 1
        assert {m.header.frame_id for m in arrows} == {'odom'}
        assert np.abs(starts - place).max(axis=1).min() < 1e-9
        along = (ends - starts)[outside].sum(axis=0)
    else:
        assert [(m.id, m.header.frame_id) for m in arrows] == [(2, name)]
        along = rotate_vector((ends - starts)[0], at[3:])
    assert along / np.linalg.norm(along) == pytest.approx(force, abs=1e-9)
    for trail in trails:  # the path ends there, on the board or floor, once it is long enough
        drawn_on = frames.pose(trail.header.frame_id)
        end = np.add(rotate_vector(vector_to_list(trail.points[-1]), drawn_on[3:]), drawn_on[:3])
        assert np.abs(end - place).max() < trail.scale.x


def test_force_of_a_recording_stands_there_too(moved, tmp_path):
    plant, messages, name = moved
    place, force = contact_of(plant)
    out = Recording(tmp_path / 'bag', (), longest_queue=1000)
    for topic, kind in RECORDED.items():
        out.add(Topic(topic, kind, latched=False))
    for k, newest in enumerate(messages):
        for topic in RECORDED:
            out.put(topic, round(k * STEP * 1e9), serialize_message(newest[topic]))
    out.close()
    with Recorded(tmp_path / 'bag') as recorded:
        scene = recorded_scene(recorded)
    (frame,) = scene.frames
    assert frame.name == name
    assert np.abs(frame.position[-1] - place).max() < 1e-9
    drawn = rotation_matrices(frame.attitude[-1:])[0] @ frame.wrench.force[-1]
    assert drawn / np.linalg.norm(drawn) == pytest.approx(force, abs=1e-9)
    for trace in scene.traces:  # the path ends under the robot, on each body that it is drawn on
        body = scene.body(trace.body)
        end = rotation_matrices(body.attitude[-1:])[0] @ trace.points[-1] + body.position[-1]
        assert np.abs(end - place).max() < 1e-9

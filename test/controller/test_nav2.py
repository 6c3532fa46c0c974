"""A robot driven as the controller server of Nav2 drives it, by the parameters of its example."""

import ast
from pathlib import Path
import sys

import numpy as np
import pytest
from rolling_controller.robot_laws.steering import VelocityHold
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.scenario_model import load_robot
import yaml

EXAMPLES = Path(__file__).parents[2] / 'examples'
PERIOD = 2e-3  # s, of the controller of the robot


@pytest.fixture(scope='module')
def parameters():
    return yaml.safe_load((EXAMPLES / 'nav2' / 'nav2.yaml').read_text())


@pytest.fixture(scope='module')
def model():
    sys.path.insert(0, str(EXAMPLES / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    return load_robot(PLUGIN.example)


def pursuit(follow, path, place, yaw):
    """
    Return forward velocity and turning rate, as the regulated pure pursuit of Nav2 has them.

    Macenski et al., 2023: the arc to the point of the path at the distance of lookahead; slower on
    tight arcs, and near the end.
    """
    nearest = int(np.argmin(np.linalg.norm(path - place, axis=1)))
    ahead = path[nearest:]
    far = np.linalg.norm(ahead - place, axis=1) >= follow['lookahead_dist']
    d = (ahead[int(np.argmax(far))] if far.any() else ahead[-1]) - place
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = c * d[0] + s * d[1], c * d[1] - s * d[0]
    curvature = 2 * y / max(x * x + y * y, 1e-6)
    speed = follow['desired_linear_vel']
    radius, tightest = 1 / max(abs(curvature), 1e-9), follow['regulated_linear_scaling_min_radius']
    if radius < tightest:
        speed *= 1 - (tightest - radius) / tightest
        speed = max(speed, follow['regulated_linear_scaling_min_speed'])
    left = np.linalg.norm(path[-1] - place)
    if left < follow['approach_velocity_scaling_dist']:
        slow = follow['desired_linear_vel'] * left / follow['approach_velocity_scaling_dist']
        speed = min(speed, max(slow, follow['min_approach_linear_velocity']))
    return speed, speed * curvature


def test_it_follows_a_path_with_a_bend_to_the_tolerance_of_its_goal(model, parameters):
    server = parameters['controller_server']['ros__parameters']
    along = np.linspace(0.0, 1.5, 151)[:, None]
    path = np.vstack([along * [1.0, 0.0], [1.5, 0.0] + along[1:] * [0.8, 0.6]])
    robot, x = emulated_robot(model), model.start.copy()
    law = VelocityHold(model.scenario, x, robot.observe().yaw)
    memory, command, places = law.start(), np.zeros(3), []
    every = round(1 / server['controller_frequency'] / PERIOD)
    reached = None
    for k in range(round(60.0 / PERIOD)):
        seen = robot.observe()
        place = seen.centre[:2]
        if k % every == 0:  # what it knows of the robot is in odom
            near = np.linalg.norm(path[-1] - place) < server['goal_checker']['xy_goal_tolerance']
            reached = k if near and reached is None else reached
            speed, turn = pursuit(server['FollowPath'], path, place, seen.yaw)
            command = np.zeros(3) if reached is not None else np.array([speed, 0.0, turn])
            places.append(place.copy())
        memory, u = law.step(memory, np.append(seen.x, command), k * PERIOD)
        robot.step(u, PERIOD)
        assert not robot.fault
        if reached is not None and k > reached + round(8.0 / PERIOD):
            break
    assert reached is not None
    off = [np.linalg.norm(path - p, axis=1).min() for p in places]
    assert max(off) < 0.12  # it cuts the bend
    within = server['goal_checker']['xy_goal_tolerance']
    assert np.linalg.norm(path[-1] - places[-1]) < within + 0.05  # it comes back to its reference
    assert np.linalg.norm(robot.observe().velocity[:2]) < 0.01


def test_its_servers_use_the_frames_and_topics_of_a_robot(parameters):
    server = parameters['controller_server']['ros__parameters']
    assert server['enable_stamped_cmd_vel']
    assert not server['FollowPath']['use_rotate_to_heading']  # base_link does not turn at rest
    for name in ('local_costmap', 'global_costmap'):
        costmap = parameters[name][name]['ros__parameters']
        assert (costmap['global_frame'], costmap['robot_base_frame']) == ('odom', 'base_link')
    assert server['odom_topic'] == 'odom'


def test_each_server_that_is_launched_has_parameters(parameters):
    tree = ast.parse((EXAMPLES / 'nav2' / 'navigation.launch.py').read_text())
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    servers = ast.literal_eval(named['SERVERS'])
    assert set(servers) <= set(parameters)
    for name in servers:
        assert parameters[name]['ros__parameters']['use_sim_time']

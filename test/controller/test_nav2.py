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

sys.path.append(str(Path(__file__).parent))

from nav2_pursuit import PATH, pursuit

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


def test_it_follows_a_path_with_a_bend_to_the_tolerance_of_its_goal(model, parameters):
    server = parameters['controller_server']['ros__parameters']
    path = PATH
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

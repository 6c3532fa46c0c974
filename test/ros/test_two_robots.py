"""Two robots in two namespaces of one domain, planning and executing at the same time."""

from concurrent.futures import ThreadPoolExecutor
import contextlib
import os

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.bringup import Bringup, free_domain, isolated_environment
from rolling_robotics.experiments import find_experiment

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('rolling_interfaces')

ROBOTS = ('left', 'right')
PATIENT = {  # the machine has other work; in simulated time that is not a fault
    'simulator': {'lockstep_timeout': 20.0},
    'controller': {'state_timeout': 5.0},
}


def overrides(robot):
    prefixed = {name: {'frame_prefix': f'{robot}/'} for name in ('simulator', 'controller')}
    return {name: {**values, **PATIENT.get(name, {})} for name, values in prefixed.items()}


def plan_and_execute(client, problem, goal, shift):
    client.wait_until_served(120.0)
    client.reset((0.0, 0.0), (0.0, 0.0, 0.0))
    planned = client.plan(goal, problem.horizon, lambda _: None, 120.0)
    assert planned.error_code == 0, planned.error_string
    client.reset(shift, (0.0, 0.0, 0.0))
    return planned.plan, client.follow(planned.plan, lambda _: None, 120.0)


@pytest.mark.slow
def test_each_robot_reaches_its_own_goal(tmp_path, monkeypatch):
    from rolling_robotics.nodes.client import Client

    experiment = find_experiment('ball_on_plate')
    problem = read_problem(load_scenario(experiment.scenario_file))
    start = dict(zip(problem.system.state.names, problem.x_start, strict=True))
    goals = {'left': {'u_h': start['u_h'] + 0.05}, 'right': {'u_h': start['u_h'] - 0.03}}
    shifts = {'left': (0.002, 0.0), 'right': (0.0, -0.002)}
    with contextlib.ExitStack() as stack:
        domain = stack.enter_context(free_domain())
        environment = isolated_environment(domain)
        for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
            monkeypatch.setitem(os.environ, name, environment[name])
        clients = {}
        for robot in ROBOTS:
            bringup = Bringup(
                experiment=experiment,
                environment=environment,
                namespace=robot,
                use_sim_time=True,
                overrides=overrides(robot),
                log_folder=tmp_path / robot,
            )
            stack.enter_context(bringup)
            clients[robot] = stack.enter_context(
                Client(namespace=robot, domain=domain, check=bringup.check)
            )
        with ThreadPoolExecutor(len(ROBOTS)) as pool:
            runs = {
                robot: pool.submit(
                    plan_and_execute, clients[robot], problem, goals[robot], shifts[robot]
                )
                for robot in ROBOTS
            }
            done = {robot: run.result() for robot, run in runs.items()}
    index = problem.system.state.names.index('u_h')
    size = problem.system.state.size
    for robot, (plan, run) in done.items():
        assert run.error_code == 0, run.error_string
        end = np.array(plan.states).reshape(-1, size)[-1]
        assert end[index] == pytest.approx(goals[robot]['u_h'], abs=1e-3)


@pytest.mark.slow
def test_frames_of_two_robots_differ(tmp_path, monkeypatch):
    from rclpy.executors import SingleThreadedExecutor
    from rolling_node_kit.qos import STREAM_READER
    from tf2_msgs.msg import TFMessage

    experiment = find_experiment('ball_on_plate')
    with contextlib.ExitStack() as stack:
        domain = stack.enter_context(free_domain())
        environment = isolated_environment(domain)
        for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
            monkeypatch.setitem(os.environ, name, environment[name])
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=domain, args=[])
        stack.callback(rclpy.try_shutdown, context=context)
        node = rclpy.create_node('listener', context=context)
        stack.callback(node.destroy_node)
        parents = {}
        node.create_subscription(
            TFMessage,
            '/tf',
            lambda m: parents.update({t.child_frame_id: t.header.frame_id for t in m.transforms}),
            STREAM_READER,
        )
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        stack.callback(executor.shutdown, timeout_sec=0.0)
        for robot in ROBOTS:
            bringup = Bringup(
                experiment=experiment,
                environment=environment,
                namespace=robot,
                overrides=overrides(robot),
                log_folder=tmp_path / robot,
            )
            stack.enter_context(bringup)
        wanted = {f'{robot}/{frame}' for robot in ROBOTS for frame in ('hand', 'object')}
        for _ in range(2400):
            executor.spin_once(timeout_sec=0.05)
            if wanted <= set(parents):
                break
    assert wanted <= set(parents)
    assert all(parents[f] == 'world' for f in wanted)
    assert all(
        child.partition('/')[0] == parent.partition('/')[0]
        for child, parent in parents.items()
        if parent != 'world'
    )

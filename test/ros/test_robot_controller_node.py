"""The robot controller beside a simulated robot: plans under feedback, driving, every refusal."""

import dataclasses
from pathlib import Path
import signal
import threading
import time

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from rolling_dynamics.nodes.qos import COMMAND, EVENT, STREAM_READER
from rolling_dynamics.scenario import load_scenario
from rolling_interfaces.action import ExecutePlan
from rolling_planner import plan_rolling
from rolling_planner.gait_planner import plan_gaits
from rolling_planner.gait_planner.scenario import read_gait_problem
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.scenario import read_problem
from rolling_planner.spin_rolling import plan_spin_rolling
from rolling_planner.spin_rolling.scenario import read_spin_rolling_problem
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

CODES = ExecutePlan.Result
SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'
BALL = """\
system: point_mass_ball
ball: {mass: 1, radius: 0.3, inertia: 0.04}
masses:
  - {mass: 1, rail: {kind: circle, radius: 0.2}, theta: -pi/2}
friction: {mu: 0.5}
initial: {}
duration: 3
limits: {theta_acceleration: 100}
plan:
  goal: {p: [1, 0], theta: [-pi/2+1/0.3]}
  goal_tolerance: 0.001
  segments: 40
"""
SPHERE = """\
system: pendulum_sphere
floor: {mu: 0.6}
duration: 3
plan:
  waypoints: [{position: [0.8, 0.3]}]
  limits: {torque: 0.6}
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A robot, how it is planned for and perturbed, and what feedback has to reach."""

    text: str
    planned: object
    position: tuple
    rotation: tuple
    rate: float
    better: float
    settle: float = 0.0


CASES = {
    'point_mass_ball': Case(
        text=BALL,
        planned=lambda s: plan_rolling(read_problem(s)),
        position=(0.02, 0.0),
        rotation=(0.0, 0.1, 0.0),
        rate=500.0,
        better=10.0,
    ),
    'pendulum_sphere': Case(
        text=SPHERE,
        planned=lambda s: plan_gaits(read_gait_problem(s)).to_plan(),
        position=(0.05, -0.05),
        rotation=(0.0, 0.0, 0.0),
        rate=250.0,
        better=4.0,
        settle=2.0,
    ),
    'spin_rolling_sphere': Case(
        text=(SCENARIOS / 'spin_rolling_plan.yaml').read_text(),
        planned=lambda s: plan_spin_rolling(read_spin_rolling_problem(s)),
        position=(1e-3, -1e-3),
        rotation=(0.05, 0.05, 0.05),
        rate=250.0,
        better=10.0,
    ),
}


class Robot:
    """A robot with its simulator and controller."""

    def __init__(self, name, case, folder, run_process, peer):
        self.case, self.peer = case, peer
        path = folder / f'{name}.yaml'
        path.write_text(case.text)
        self.scenario = load_scenario(path)
        self.plan = case.planned(self.scenario)
        common = {'scenario_file': str(path), 'use_sim_time': 'true', 'rate': case.rate}
        self.controller = run_process(
            'rolling_controller.nodes.robot_controller_node',
            params={**common, 'state_timeout': 2.0, 'start_tolerance': 0.5},
        ).wait_for('steps a second')
        self.simulator = run_process(
            'rolling_dynamics.nodes.robot_simulator_node',
            params={
                **common,
                'rate_factor': 50.0,
                'perturbation_position': f'[{case.position[0]}, {case.position[1]}]',
                'perturbation_rotation': str(list(case.rotation)),
            },
        ).wait_for('steps a second')
        self.client = ActionClient(peer.node, ExecutePlan, 'execute_plan')
        end = time.monotonic() + 20.0
        while self.execute(self.still(0.1)).error_code == CODES.STALE_STATE:
            assert time.monotonic() < end, 'the controller never saw the robot'

    def still(self, duration, **changes):
        """Return a plan in which nothing moves."""
        rest = np.tile(self.plan.states[0], (3, 1))
        return dataclasses.replace(
            self.plan,
            times=np.linspace(0.0, duration, 3),
            states=rest,
            controls=np.zeros((3, self.plan.controls.shape[1])),
            **changes,
        )

    def send(self, plan, on_feedback=None):
        message = plan_to_message(plan, Time(), 'odom')
        return self.peer.send_goal(self.client, ExecutePlan.Goal(plan=message), on_feedback)

    def execute(self, plan, on_feedback=None):
        handle = self.send(plan, on_feedback)
        assert handle.accepted
        return self.peer.wait(handle.get_result_async(), 40.0).result

    def reset(self):
        assert self.peer.call(Trigger, 'simulator/reset', Trigger.Request()).success

    def set(self, **values):
        request = SetParameters.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        answer = self.peer.call(SetParameters, 'controller/set_parameters', request)
        assert all(r.successful for r in answer.results), answer

    def close(self):
        self.client.destroy()
        self.simulator.stop()
        return self.controller.stop(signal.SIGINT)


@pytest.fixture(scope='module', params=CASES)
def robot(request, tmp_path_factory, run_process, peer):
    made = Robot(
        request.param,
        CASES[request.param],
        tmp_path_factory.mktemp('scenario'),
        run_process,
        peer,
    )
    yield made
    status, _ = made.close()
    assert (status, 'Traceback' in made.controller.text) == (0, False), made.controller.text


def test_feedback_is_better_than_none_from_a_perturbed_start(robot):
    errors = {}
    for open_loop in (True, False):
        robot.set(open_loop=open_loop, settle_time=robot.case.settle, goal_tolerance=100.0)
        robot.reset()
        result = robot.execute(robot.plan)
        assert (result.error_code, result.error_string) == (CODES.NONE, '')
        errors[open_loop] = result.final_error
    print(errors)
    assert errors[False] < errors[True] / robot.case.better

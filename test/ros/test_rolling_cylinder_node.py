"""A system from outside in nodes: one simulates the example package, one runs a law of its own."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Twist
import numpy as np
import pytest
from rcl_interfaces.srv import DescribeParameters
from rclpy.action import ActionClient
from rolling_interfaces.action import ExecutePlan
from rolling_node_kit.qos import COMMAND, STREAM_READER
from rolling_planner import Plan
from rolling_planner.nodes.conversions import plan_to_message
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

LAW = '''
"""A law of the package: the rotor keeps a velocity, and a regulator follows plans."""

from rolling_controller import TimeVaryingLqr
from rolling_controller.law import COMMANDED, Following, FunctionLaw, state_inputs, StateFeedback
from rolling_controller.time_varying_lqr import Option
from rolling_controller.robot_laws.regulator import RobotKind
from rolling_controller.robot_laws.regulator import RegulatedRobot


class CylinderLaws(RegulatedRobot):

    def __init__(self, scenario, values):
        super().__init__(scenario, values)
        self.scenario, self.values = scenario, values
        self.arm = scenario.p[1] - scenario.p[0]

    def follow(self, plan, interrupted=lambda: False):
        known = self.scenario
        law = TimeVaryingLqr(known.system, known.p, plan, interrupted=interrupted)
        return Following(law, law.times, law.states, law.warning)

    def drive(self, x, yaw):
        system = self.scenario.system
        return FunctionLaw(state_inputs(system, COMMANDED), system.control, self.driven)

    def driven(self, memory, given, t, _):
        return memory, -self.values['velocity_gain'] * (given[-3] - self.arm * given[2])


GAIN = Option('velocity_gain', 0.0, 'velocity gain', limits=(0.0, 9.0))
MORE = {'steady': f'{__name__}:steady'}
KIND = RobotKind(group='cylinder', laws=f'{__name__}:CylinderLaws', options=(GAIN,), more=MORE)


def steady(wanted):
    gain = wanted.settings.get('cylinder.velocity_gain', 0.0)
    return StateFeedback(wanted.model.system, lambda t, x, given: given, [1e-6 * gain])
'''


@pytest.fixture(scope='module')
def package(cylinder_installed, tmp_path_factory):
    """Return a copy of the installed package whose plug-in names a law."""
    site = shutil.copytree(cylinder_installed, tmp_path_factory.mktemp('law') / 'site')
    (site / 'rolling_cylinder' / 'laws.py').write_text(LAW)
    plugin = site / 'rolling_cylinder' / 'plugin.py'
    text = plugin.read_text()
    named = text.replace('protocol=2,', "protocol=2, law='rolling_cylinder.laws:KIND',")
    assert named != text
    plugin.write_text(named)
    return site


@pytest.fixture(scope='module')
def ros_environment(domain, package):
    folders = os.pathsep.join([str(package), str(Path(__file__).parent)])
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': folders}


@pytest.fixture(scope='module')
def start(run_process, package):
    """Return a function that starts a node of the scenario and waits until it runs."""
    scenario = package / 'rolling_cylinder' / 'trough.yaml'
    nodes = []

    def begin(module, **params):
        node = run_process(module, params={'scenario_file': str(scenario), **params})
        nodes.append(node)
        node.wait_for('steps per second', 60.0)

    yield begin
    for node in reversed(nodes):
        assert node.stop() == 0, node.text


@pytest.fixture
def demo(package, tmp_path):
    """Return a function that demonstrates the scenario under a law, given further words."""
    path = os.pathsep.join([str(package), str(Path(__file__).parents[2])])

    def run(law, *words):
        scenario = str(package / 'rolling_cylinder' / 'trough.yaml')
        command = [sys.executable, '-m', 'rolling_robotics.cli', 'demo', scenario]
        return subprocess.run(
            [*command, '--law', law, '--out', str(tmp_path), *words],
            check=False,
            env=os.environ | {'PYTHONPATH': path},
            capture_output=True,
            text=True,
            timeout=200,
        )

    return run


DRIVERS = '--no-ros', pytest.param('--simulated-time', marks=pytest.mark.slow)


@pytest.mark.parametrize('driver', DRIVERS)
@pytest.mark.parametrize(('law', 'status'), [('lqr', 0), ('steady', 1)])
def test_a_demonstration_runs_a_law_of_the_package_by_its_name(demo, law, status, driver):
    """The steady law does not move it, so that it misses the goal."""
    done = demo(law, driver)
    assert done.returncode == status, done.stdout + done.stderr
    assert ('closed_loop: failure: the goal was missed' in done.stdout) == (law == 'steady')


def test_a_demonstration_names_the_laws_of_the_package(demo):
    done = demo('stiff', '--no-ros')
    assert "law: trough has lqr, predictive, steady, got 'stiff'" in done.stderr


@pytest.fixture(scope='module')
def simulator(start):
    start('rolling_dynamics.nodes.simulator_node', command_timeout=5.0)


@pytest.fixture(scope='module')
def controller(start, simulator):
    name = 'rolling_controller.nodes.controller_node'
    patience = {'state_timeout': 5.0, 'command_timeout': 60.0, 'prediction_horizon': 0.0}
    patience['enable_stamped_cmd_vel'] = False
    start(name, law='steady', **patience, **{'cylinder.velocity_gain': 2.0})


def test_the_cylinder_is_published_and_moves_where_it_is_driven(peer, simulator):
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    before = peer.collect(JointState, 'robot/state', STREAM_READER)[0]
    assert list(before.name) == ['place', 'rotor', 'place_rate', 'rotor_rate']
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    assert {'cylinder_link', 'rotor_link', 'contact_link'} <= {t.child_frame_id for t in frames}
    axis = next(t.transform.translation for t in frames if t.child_frame_id == 'cylinder_link')
    assert np.hypot(axis.x, axis.z - 0.3) == pytest.approx(0.25, abs=1e-9)
    torque = peer.node.create_publisher(JointState, 'robot/control', COMMAND)
    given = JointState(name=['torque'], effort=[0.02])
    with peer.every(0.02, lambda: torque.publish(given)):
        driven = peer.collect(
            JointState, 'robot/state', STREAM_READER, accept=lambda m: m.position[3] > 1.0
        )[0]
    assert driven.position[0] < 0  # the torque reacts on the cylinder


def execute_still(peer):
    """Return the result of the execution of a plan in which the cylinder rests."""
    still = Plan(
        system='rotor_cylinder',
        model_hash='rotor-cylinder-1',
        state_names=('place', 'rotor', 'place_rate', 'rotor_rate'),
        control_names=('torque',),
        times=np.array([0.0, 0.2]),
        states=np.zeros((2, 4)),
        controls=np.zeros((2, 1)),
        contact_wrenches=np.zeros((0, 6)),
    )
    client = ActionClient(peer.node, ExecutePlan, 'execute_plan')
    goal = ExecutePlan.Goal(plan=plan_to_message(still, Time(), 'odom'))
    handle = peer.send_goal(client, goal)
    assert handle.accepted
    ended = peer.result(handle)
    client.destroy()
    return ended


@pytest.mark.usefixtures('controller')
def test_a_law_of_the_package_is_chosen_by_its_name(peer):
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    refused = peer.ask_parameters('controller', law='stiff')[0]
    assert refused.reason == "law must be one of lqr, predictive, steady, got 'stiff'"
    asked = DescribeParameters.Request(names=['law'])
    shown = peer.call(DescribeParameters, 'controller/describe_parameters', asked).descriptors[0]
    assert shown.additional_constraints == 'one of lqr, predictive, steady'
    sent = []
    listener = peer.node.create_subscription(JointState, 'robot/control', sent.append, COMMAND)
    ended = execute_still(peer)
    peer.node.destroy_subscription(listener)
    assert ended.error_code == ExecutePlan.Result.NONE, ended.error_string
    assert sum(list(message.effort) == [2e-6] for message in sent) > 5


@pytest.mark.usefixtures('controller')
def test_the_law_of_the_package_follows_a_plan_and_drives(peer):
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    peer.set_parameters('controller', law='lqr')
    ended = execute_still(peer)
    assert ended.error_code == ExecutePlan.Result.NONE, ended.error_string
    wish = Twist()
    wish.linear.x = 0.05
    velocities = peer.node.create_publisher(Twist, 'cmd_vel', COMMAND)
    with peer.every(0.05, lambda: velocities.publish(wish)):
        sent = peer.collect(
            JointState, 'robot/control', STREAM_READER, accept=lambda m: m.effort[0] < -0.01
        )[0]
        moved = peer.collect(
            JointState, 'robot/state', STREAM_READER, accept=lambda m: m.position[0] > 0.01
        )
    assert list(sent.name) == ['torque']
    assert moved

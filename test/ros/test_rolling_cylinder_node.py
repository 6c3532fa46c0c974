"""A system from outside in a node: the simulator publishes the installed example package."""

import os
from pathlib import Path

import numpy as np
import pytest
from rolling_node_kit.qos import COMMAND, STREAM_READER
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage


@pytest.fixture(scope='module')
def ros_environment(domain, cylinder_installed):
    folders = os.pathsep.join([str(cylinder_installed), str(Path(__file__).parent)])
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': folders}


@pytest.fixture(scope='module')
def simulator(run_process, cylinder_installed):
    scenario = cylinder_installed / 'rolling_cylinder' / 'trough.yaml'
    node = run_process(
        'rolling_dynamics.nodes.robot_simulator_node', params={'scenario_file': str(scenario)}
    )
    node.wait_for('steps a second', 60.0)
    yield node
    assert node.stop(timeout=30.0) == 0, node.text


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

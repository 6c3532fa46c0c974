"""The description of the arm moves as its equations do."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.arm_urdf import arm_urdf
from transforms3d.axangles import axangle2mat
from transforms3d.euler import euler2mat
from transforms3d.quaternions import quat2mat

MODEL = ArmModel(lengths=(0.3, 0.5, 0.2), base=(-0.4, 0.1))
CHAIN = MODEL.chain
NAMES = ['shoulder', 'elbow', 'wrist']


def numbers(element, name):
    return np.array([float(v) for v in element.get(name).split()])


def hand_pose(text, angles):
    """Return the pose of the hand in the world by the description alone."""
    root = ET.fromstring(text)  # noqa: S314, our own text
    joints = {j.find('child').get('link'): j for j in root.findall('joint')}
    X, link = np.eye(4), 'left_hand'
    while link != 'world':
        joint = joints[link]
        step = np.eye(4)
        step[:3, :3] = euler2mat(*numbers(joint.find('origin'), 'rpy'), 'sxyz')
        step[:3, 3] = numbers(joint.find('origin'), 'xyz')
        if joint.get('type') == 'revolute':
            turn = axangle2mat(numbers(joint.find('axis'), 'xyz'), angles[joint.get('name')])
            step[:3, :3] = step[:3, :3] @ turn
        X, link = step @ X, joint.find('parent').get('link')
    return X


@pytest.fixture(scope='module')
def text():
    return arm_urdf(CHAIN, NAMES, world='world', prefix='left_')


@pytest.mark.parametrize('seed', range(5))
def test_hand_is_where_the_equations_put_it(text, seed):
    q = np.random.default_rng(seed).uniform(MODEL.low, MODEL.high)
    X = hand_pose(text, dict(zip(NAMES, q, strict=True)))
    state = Arm(CHAIN).hand_state(q)
    assert X[:3, :3] == pytest.approx(quat2mat(state[:4]), abs=1e-7)
    assert X[:3, 3] == pytest.approx(state[4:7], abs=1e-7)


def test_limits_and_inertias_are_those_of_the_model(text):
    root = ET.fromstring(text)  # noqa: S314, our own text
    for k, name in enumerate(NAMES):
        limit = root.find(f"joint[@name='{name}']/limit")
        assert float(limit.get('lower')) == MODEL.low[k]
        assert float(limit.get('upper')) == MODEL.high[k]
        assert float(limit.get('velocity')) == MODEL.speed[k]
        assert float(limit.get('effort')) == MODEL.torque[k]
        inertial = root.find(f"link[@name='left_link_{k + 1}']/inertial")
        assert float(inertial.find('mass').get('value')) == MODEL.masses[k]
        assert float(inertial.find('inertia').get('iyy')) == MODEL.inertias[k]
        assert numbers(inertial.find('origin'), 'xyz') == pytest.approx([MODEL.centres[k], 0, 0])

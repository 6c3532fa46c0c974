"""Every parameter of a node stands on its page."""

from importlib import import_module
from pathlib import Path

import pytest
from rolling_dynamics.nodes.suite_node import COMMON

PAGES = Path(__file__).resolve().parents[2] / 'docs' / 'nodes'
NODES = {
    'simulator': 'rolling_dynamics.nodes.simulator_node',
    'robot_simulator': 'rolling_dynamics.nodes.robot_simulator_node',
    'planner': 'rolling_planner.nodes.planner_node',
    'controller': 'rolling_controller.nodes.controller_node',
    'robot_controller': 'rolling_controller.nodes.robot_controller_node',
    'motor_bridge': 'rolling_hw_interface.nodes.motor_bridge_node',
    'vision_bridge': 'rolling_hw_interface.nodes.vision_bridge_node',
    'estimator': 'rolling_hw_interface.nodes.estimator_node',
    'emulated_motors': 'rolling_hw_interface.nodes.emulated_motors_node',
    'emulated_camera': 'rolling_hw_interface.nodes.emulated_camera_node',
    'recorder': 'rolling_robotics.nodes.recorder_node',
}


@pytest.mark.parametrize('name', NODES)
def test_page_has_every_parameter(name):
    text = (PAGES / f'{name}.md').read_text()
    for entry in (*COMMON, *import_module(NODES[name]).TABLE):
        assert f'| `{entry.name}` |' in text

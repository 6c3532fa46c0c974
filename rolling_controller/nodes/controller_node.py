"""
Controller of any machine: which node it is follows from its scenario, the law from its parameters.

A plug-in names the node of its systems by the role ``controller``; one that names none is a robot.
"""

from __future__ import annotations

from collections.abc import Mapping
import sys
from typing import Any

from rclpy.node import Node
from rolling_controller.nodes.robot_controller_node import RobotControllerNode
from rolling_dynamics.errors import RollingError
from rolling_dynamics.plugin import role_of
from rolling_dynamics.scenario.document import read_document
from rolling_node_kit.process import run_node
from rolling_node_kit.suite_node import SuiteNode

CHOOSING = ('scenario_file', 'experiment')  # parameters by which the node is chosen


def controller_of(given: Mapping[str, Any]) -> type[SuiteNode]:
    """Return the class of the controller of the machine that parameters name."""
    try:
        system = str(read_document(str(given.get('scenario_file', ''))).get('system'))
        choose = role_of(system, 'controller')
    except RollingError:  # which the node reports as it is configured
        choose = None
    found: type[SuiteNode] = RobotControllerNode if choose is None else choose(given)
    return found


def make_node() -> SuiteNode:
    """Return the controller of the machine that the parameters at the start name."""
    return controller_of(_parameters())()  # type: ignore[call-arg]  # each fills in the others


def _parameters() -> Mapping[str, Any]:
    """Return the parameters that the process was given for its node."""
    reader = Node(
        'controller',
        enable_rosout=False,
        start_parameter_services=False,
        automatically_declare_parameters_from_overrides=True,
    )
    try:
        return {
            name: reader.get_parameter(name).value
            for name in CHOOSING
            if reader.has_parameter(name)
        }
    finally:
        reader.destroy_node()


def main() -> int:
    """Run the node."""
    return run_node(make_node)


if __name__ == '__main__':
    sys.exit(main())

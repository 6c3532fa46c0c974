"""
Controller of any machine: which node it is follows from its scenario, the law from its parameters.

A plug-in names the node of its systems by the role ``controller``; one that names none is a robot.
"""

from __future__ import annotations

from collections.abc import Mapping
import sys
from typing import Any

from rolling_controller.nodes.execution_node import ExecutionNode
from rolling_controller.nodes.machine import Controlled
from rolling_controller.nodes.robot_machine import ROBOT
from rolling_dynamics.nodes.chosen import chosen, given_parameters
from rolling_node_kit.process import run_node
from rolling_node_kit.suite_node import SuiteNode


def controller_of(given: Mapping[str, Any]) -> Controlled | type[SuiteNode]:
    """Return the kind of machine that parameters name, or the class of its controller."""
    found: Controlled | type[SuiteNode] = chosen('controller', given) or ROBOT
    return found


def make_node() -> SuiteNode:
    """Return the controller of the machine that the parameters at the start name."""
    given = given_parameters('controller', ('scenario_file', 'experiment'))
    found = controller_of(given)
    return ExecutionNode(found) if isinstance(found, Controlled) else found()  # type: ignore[call-arg]


def main() -> int:
    """Run the node."""
    return run_node(make_node)


if __name__ == '__main__':
    sys.exit(main())

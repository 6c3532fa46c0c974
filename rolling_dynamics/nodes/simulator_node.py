"""
Simulator of any machine in place of the hardware.

It takes commands and publishes the true state and what sensors measure. What machine it runs
follows from its scenario: a plug-in names it by the role ``simulator``, else it is a robot. In
simulated time it is the clock, and waits for the command that answers its state.
"""

from __future__ import annotations

from collections.abc import Mapping
import sys
from typing import Any

from rolling_dynamics.nodes.chosen import chosen, given_parameters
from rolling_dynamics.nodes.simulated import Simulated, SimulatorNode
from rolling_dynamics.nodes.simulated_robot import SimulatedRobot
from rolling_node_kit.process import run_node


def machine_of(given: Mapping[str, Any]) -> type[Simulated]:
    """Return the machine that parameters name, as a simulator runs it."""
    found: type[Simulated] = chosen('simulator', given) or SimulatedRobot
    return found


def make_node() -> SimulatorNode:
    """Return the simulator of the machine that the parameters at the start name."""
    return SimulatorNode(machine_of(given_parameters('simulator', ('scenario_file', 'motion'))))


def main() -> int:
    """Run the node."""
    return run_node(make_node)


if __name__ == '__main__':
    sys.exit(main())

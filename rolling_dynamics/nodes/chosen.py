"""Nodes that differ with the machine of their scenario, and those that compile functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.node import Node
from rolling_dynamics import compiled
from rolling_dynamics.errors import RollingError
from rolling_dynamics.plugin import role_of
from rolling_dynamics.scenario.document import read_document
from rolling_node_kit.suite_node import SuiteNode


class CompilingNode(SuiteNode):
    """A lifecycle node that becomes active once what its loop evaluates is machine code."""

    @property
    def preparing(self) -> str:
        """Functions that are being compiled, in words; empty if everything is there."""
        names = compiled.pending(awaited=True)
        return f'compiling {", ".join(names)}' if names else ''

    def renew(self) -> None:
        """Evaluate machine code from now on."""
        compiled.renew()


def system_of(given: Mapping[str, Any]) -> str:
    """Return the kind of system of the ``scenario_file``; empty where that cannot be read."""
    try:
        return str(read_document(str(given.get('scenario_file', ''))).get('system'))
    except RollingError:
        return ''


def chosen(role: str, given: Mapping[str, Any]) -> Any:
    """
    Return the object of a machine's plug-in for a role of nodes.

    Parameters
    ----------
    role
        Role of the plug-in: a function of the parameters.
    given
        Parameters of the node, ``scenario_file`` among them.

    Returns
    -------
    object
        None where the plug-in has no such role, or the scenario cannot be read; the node reports
        this when it is configured.

    """
    try:
        choose = role_of(system_of(given), role)
    except RollingError:
        return None
    return None if choose is None else choose(given)


def given_parameters(name: str, wanted: Sequence[str]) -> Mapping[str, Any]:
    """Return which of some parameters the process was given for its node of a name."""
    reader = Node(
        name,
        enable_rosout=False,
        start_parameter_services=False,
        automatically_declare_parameters_from_overrides=True,
    )
    try:
        return {n: reader.get_parameter(n).value for n in wanted if reader.has_parameter(n)}
    finally:
        reader.destroy_node()

"""
Write the SROS2 policy of every experiment into `config/security`.

    .venv/bin/python tools/security_policies.py

Each node of an experiment is configured, with the experiment's parameters, in simulated and in
real time, and what it may do is read from the ROS graph. The recorder may read what the experiment
records, the operator may call every service and action, read every topic, and publish what the
nodes read and none of them publishes. Needs rclpy; see `docs/security.md`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
import contextlib
from importlib import import_module
import itertools
from pathlib import Path
import threading
import time
from typing import Any, TYPE_CHECKING
from xml.etree import ElementTree as ET

from rolling_dynamics.configuration import find_config
from rolling_robotics.bringup import node_command, private_domain
from rolling_robotics.experiments import (
    Experiment,
    EXPERIMENTS,
    NodeEntry,
    OPERATOR,
    OWN_CLOCK,
    PLANNER,
    RECORDER,
)

if TYPE_CHECKING:
    from rclpy.node import Node
    from rolling_node_kit.suite_node import SuiteNode

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'config' / 'security'
DEADLINE = 10.0  # for the graph to hold what a node has made [s]
VIEWER = 'viewer'  # node of `rolling view`, in the enclave of the operator
COMMAND_LINE = '/_ros2cli_*/get_type_description'  # service of a node that a command of ros2 makes
KINDS = {  # right -> element, and the element of an entry
    'call': ('actions', 'action'),
    'execute': ('actions', 'action'),
    'reply': ('services', 'service'),
    'request': ('services', 'service'),
    'publish': ('topics', 'topic'),
    'subscribe': ('topics', 'topic'),
}
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by tools/security_policies.py from the graph of the nodes; see docs/security.md. -->
"""
_numbers = itertools.count()
Rights = dict[str, set[str]]  # right -> names, as a policy writes them


def relative(name: str, node: str, namespace: str) -> str:
    """Return a name as a policy writes it: below the node, relative to its namespace, absolute."""
    own = f'{namespace}/{node}/'
    if name.startswith(own):
        return f'~/{name.removeprefix(own)}'
    return name.removeprefix(f'{namespace}/')


def read_graph(reader: Node, node: str, namespace: str) -> Rights:
    """
    Return what a node does on the ROS graph.

    Parameters
    ----------
    reader
        Node of rclpy that looks.
    node, namespace
        Whom it looks at; in a namespace, so that relative names are distinguished from absolute
        ones.

    """
    found = {
        'publish': reader.get_publisher_names_and_types_by_node,
        'subscribe': reader.get_subscriber_names_and_types_by_node,
        'reply': reader.get_service_names_and_types_by_node,
        'request': reader.get_client_names_and_types_by_node,
    }
    out: Rights = defaultdict(set)
    for right, names_and_types in found.items():
        for name, _ in names_and_types(node, namespace):
            action, is_action, _ = name.partition('/_action/')
            if not is_action:
                out[right].add(relative(name, node, namespace))
            elif right == 'reply':
                out['execute'].add(relative(action, node, namespace))
            elif right == 'request':
                out['call'].add(relative(action, node, namespace))
    return out


@contextlib.contextmanager
def _ros(arguments: list[str]) -> Iterator[str]:
    """Initialise ROS; yield a namespace that no node had before, since the graph forgets late."""
    rclpy: Any = import_module('rclpy')  # the package says little about its types

    namespace = f'/number_{next(_numbers)}'
    rclpy.init(args=['--ros-args', *arguments, '-r', f'__ns:={namespace}'])
    try:
        yield namespace
    finally:
        rclpy.try_shutdown()


def own_rights(node: Node, namespace: str) -> Rights:
    """Return what a node of this process does, once the graph holds all that it has made."""
    own = {
        *(('publish', made.topic_name) for made in node.publishers),
        *(('subscribe', made.topic_name) for made in node.subscriptions),
        *(('reply', made.service_name) for made in node.services),
    }
    needed = {(right, relative(name, node.get_name(), namespace)) for right, name in own}
    end = time.monotonic() + DEADLINE
    while True:
        rights = read_graph(node, node.get_name(), namespace)
        missing = {(right, name) for right, name in needed if name not in rights[right]}
        if not missing:
            return rights
        if time.monotonic() > end:
            raise RuntimeError(f'{node.get_name()}: the graph lacks {sorted(missing)}')
        time.sleep(0.01)


@contextlib.contextmanager
def configured(
    entry: NodeEntry, params_file: Path, *, use_sim_time: bool
) -> Iterator[tuple[SuiteNode, str]]:
    """
    Configure a node of the suite in this process.

    The planner listens to the state of the plant while a goal without a start waits for it: that
    is asked for here too.

    Yields
    ------
    SuiteNode, str
        The node, and its namespace.

    Raises
    ------
    RuntimeError
        The node cannot be configured.

    """
    command = node_command(entry, params_file, use_sim_time=use_sim_time)
    others = set(threading.enumerate())
    with _ros(command[command.index('--ros-args') + 1 :]) as namespace:
        module = import_module(entry.module)
        made = [
            c for c in vars(module).values() if getattr(c, '__module__', '') == module.__name__
        ]
        classes = (c for c in made if hasattr(c, 'trigger_configure'))
        node = module.make_node() if hasattr(module, 'make_node') else next(classes)()
        try:
            if entry != RECORDER and node.trigger_configure().name != 'SUCCESS':
                raise RuntimeError(f'{entry.name} of {params_file.name} cannot be configured')
            if entry == PLANNER:
                _listen(node)
            yield node, namespace
        finally:
            node.release()
            node.destroy_node()
            for thread in set(threading.enumerate()) - others:
                thread.join()  # it gets ready for a first plan


def rights_of(entry: NodeEntry, params_file: Path, *, use_sim_time: bool) -> Rights:
    """Return what a node of the suite does once it is configured."""
    with configured(entry, params_file, use_sim_time=use_sim_time) as (node, namespace):
        return own_rights(node, namespace)


def _listen(planner: SuiteNode) -> None:
    from rolling_dynamics.nodes.measurements import states_of  # noqa: PLC0415  (needs rclpy)
    from rolling_planner.nodes.present_state import subscribe  # noqa: PLC0415
    from rolling_planner.planners.job import planning_model  # noqa: PLC0415

    scenario = planning_model(planner.values['scenario_file']).scenario
    states = states_of(scenario.system, scenario.p, scenario.x0)
    subscribe(planner, states, lambda _: None)


def rights_of_plain_node(name: str) -> Rights:
    """Return what a node does of which nothing was asked."""
    rclpy: Any = import_module('rclpy')

    clock = [part for old, new in OWN_CLOCK.items() for part in ('-r', f'{old}:={new}')]
    with _ros([*clock, '-p', 'use_sim_time:=true']) as namespace:
        node = rclpy.create_node(name)
        try:
            return own_rights(node, namespace)
        finally:
            node.destroy_node()


def joined(*parts: Rights) -> Rights:
    """Return all rights of several."""
    out: Rights = defaultdict(set)
    for part in parts:
        for right, names in part.items():
            out[right] |= names
    return out


def visible_from_outside(rights: Rights, node: str) -> Rights:
    """Return rights with names that another node of the namespace understands."""
    return {right: {n.replace('~', node, 1) for n in names} for right, names in rights.items()}


def rights_of_operator(nodes: dict[str, Rights]) -> Rights:
    """Return what the operator of these nodes may do."""
    every = joined(*(visible_from_outside(rights, node) for node, rights in nodes.items()))
    return {
        'call': every['execute'],
        'request': every['reply'],
        'reply': {COMMAND_LINE},
        'subscribe': every['publish'],
        'publish': every['subscribe'] - every['publish'],
    }


def policy(experiment: Experiment) -> str:
    """Return the text of the policy of an experiment."""
    params = find_config(experiment.params_file)
    nodes = {
        entry.name: joined(
            *(rights_of(entry, params, use_sim_time=simulated) for simulated in (False, True))
        )
        for entry in (*experiment.every_node, RECORDER)
    }
    nodes[RECORDER.name]['subscribe'] |= set(experiment.recorded)
    root = ET.Element('policy', version='0.2.0')
    enclaves = ET.SubElement(root, 'enclaves')
    for name, rights in nodes.items():
        _add_enclave(enclaves, experiment.enclave(name), {name: rights})
    tools = {
        OPERATOR: joined(rights_of_plain_node(OPERATOR), rights_of_operator(nodes)),
        VIEWER: rights_of_plain_node(VIEWER),
    }
    _add_enclave(enclaves, experiment.enclave(OPERATOR), tools)
    ET.indent(root)
    return HEAD + ET.tostring(root, encoding='unicode') + '\n'


def _add_enclave(enclaves: ET.Element, path: str, profiles: dict[str, Rights]) -> None:
    enclave = ET.SubElement(enclaves, 'enclave', path=path)
    parent = ET.SubElement(enclave, 'profiles')
    for node, rights in profiles.items():
        profile = ET.SubElement(parent, 'profile', ns='/', node=node)
        for right, (group, item) in KINDS.items():
            if rights.get(right):
                element = ET.SubElement(profile, group, {right: 'ALLOW'})
                for name in sorted(rights[right]):
                    ET.SubElement(element, item).text = name


def main() -> None:
    """Write every policy."""
    FOLDER.mkdir(exist_ok=True)
    with private_domain():
        for name, experiment in EXPERIMENTS.items():
            path, text = FOLDER / f'{name}.policy.xml', policy(experiment)
            if not path.exists() or path.read_text(encoding='utf-8') != text:
                path.write_text(text, encoding='utf-8')
                print(path.relative_to(ROOT))


if __name__ == '__main__':
    main()

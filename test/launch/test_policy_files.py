"""Policies of SROS2: in the form of its schema, for every node, and no wider than needed."""

from pathlib import Path
import re
from xml.etree import ElementTree as ET

import pytest
from rolling_dynamics.configuration import find_config
from rolling_robotics.bringup import Bringup
from rolling_robotics.experiments import EXPERIMENTS, OPERATOR

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {  # element of a profile -> (its entries, its rights)
    'topics': ('topic', {'publish', 'subscribe'}),
    'services': ('service', {'reply', 'request'}),
    'actions': ('action', {'call', 'execute'}),
}
NAME = re.compile(r'(?:~/|/)?[a-z_*][a-z0-9_*]*(?:/[a-z0-9_]+)*', re.ASCII)
COMMANDS = {  # who alone may move something
    'hand/accel_command': 'controller',
    'robot/control': 'controller',
    'robot_joint_command': 'motor_bridge',
    'servo_command': 'controller',
}


def policy(name):
    return ET.parse(find_config(f'security/{name}.policy.xml')).getroot()  # noqa: S314, our own


def rights(name):
    """Return {(node, right): names}, of all profiles of an enclave together."""
    out = {}
    for enclave in policy(name).iter('enclave'):
        node = enclave.get('path').rpartition('/')[2]
        for group in enclave.findall('profiles/profile/*'):
            (right,) = group.attrib
            out.setdefault((node, right), set()).update(entry.text for entry in group)
    return out


def owners(name, right, wanted):
    return {node for (node, r), names in rights(name).items() if r == right and wanted in names}


@pytest.mark.parametrize('name', EXPERIMENTS)
class TestEveryExperiment:
    def test_structure_is_that_of_the_schema(self, name):
        root = policy(name)
        assert (root.tag, root.attrib) == ('policy', {'version': '0.2.0'})
        assert [child.tag for child in root] == ['enclaves']
        for enclave in root[0]:
            assert (enclave.tag, set(enclave.attrib)) == ('enclave', {'path'})
            assert [child.tag for child in enclave] == ['profiles']
            assert len(enclave[0]) >= 1
            for profile in enclave[0]:
                assert (profile.tag, set(profile.attrib)) == ('profile', {'ns', 'node'})

    def test_entries_are_those_of_the_schema(self, name):
        groups = policy(name).findall('.//profile/*')
        assert groups
        for group in groups:
            entry, allowed = GROUPS[group.tag]
            assert set(group.attrib) <= allowed
            assert set(group.attrib.values()) == {'ALLOW'}
            assert {child.tag for child in group} == {entry}
            texts = [child.text for child in group]
            assert all(NAME.fullmatch(text) for text in texts), texts
            assert texts == sorted(set(texts))

    def test_every_node_has_the_enclave_that_it_is_started_in(self, name):
        experiment = EXPERIMENTS[name]
        paths = [enclave.get('path') for enclave in policy(name).iter('enclave')]
        assert len(set(paths)) == len(paths)
        started = set()
        for hardware in experiment.hardware or ('',):
            bringup = Bringup(
                experiment=experiment, environment={}, hardware=hardware, record=Path('r')
            )
            for command in bringup.commands().values():
                started.add(command[command.index('--enclave') + 1])
        assert set(paths) == started | {experiment.enclave(OPERATOR)}

    def test_one_node_alone_may_command(self, name):
        found = {command: owners(name, 'publish', command) for command in COMMANDS}
        assert any(found.values())
        for command, nodes in found.items():
            assert nodes <= {COMMANDS[command]}, command

    def test_recorder_reads_what_is_recorded_and_commands_nothing(self, name):
        table = rights(name)
        assert set(EXPERIMENTS[name].recorded) <= table['recorder', 'subscribe']
        own = {'/diagnostics', '/parameter_events', '/rosout', '~/transition_event'}
        assert table['recorder', 'publish'] == own
        assert not {('recorder', 'request'), ('recorder', 'call')} & set(table)

    def test_operator_may_call_every_action_and_stop(self, name):
        table = rights(name)
        served = {names for (_, right), n in table.items() if right == 'execute' for names in n}
        assert table.get((OPERATOR, 'call'), set()) == served
        stops = {
            f'{node}/stop'
            for (node, right), names in table.items()
            if right == 'reply' and '~/stop' in names
        }
        assert stops
        assert stops <= table[OPERATOR, 'request']


def test_policies_are_those_of_the_experiments_and_are_installed():
    folder = ROOT / 'config' / 'security'
    found = {path.name for path in folder.glob('*.policy.xml')}
    assert found == {f'{n}.policy.xml' for n in EXPERIMENTS}
    assert "files('config/security', '.xml')" in (ROOT / 'setup.py').read_text()


def test_documented_keys_are_those_of_the_nodes_on_real_hardware():
    text = (ROOT / 'docs' / 'security.md').read_text()
    (nodes,) = re.findall(r'for node in (.+); do', text)
    real = {entry.name for entry in EXPERIMENTS['flip_up'].nodes_on('real')}
    assert set(nodes.split()) == real | {'recorder', OPERATOR}

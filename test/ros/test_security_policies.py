"""The policies of SROS2 allow what the nodes do, and nothing else."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import time
from xml.etree import ElementTree as ET

from deadline import Deadline
import pytest
from rolling_controller.nodes.controlled_laboratory import ControlledLaboratory
from rolling_robotics.bringup import Bringup
from rolling_robotics.experiments import EXPERIMENTS, RECORDER

ROOT = Path(__file__).resolve().parents[2]
SPEC = spec_from_file_location('security_policies', ROOT / 'tools' / 'security_policies.py')
security_policies = module_from_spec(SPEC)
SPEC.loader.exec_module(security_policies)

# what they do in simulated time alone, or the planner while a goal waits for the present state
SELDOM = {
    'simulator': {('publish', 'clock'), ('subscribe', 'clock')},
    'planner': {
        ('subscribe', 'clock'),
        ('subscribe', 'hand/odometry'),
        ('subscribe', 'object/odometry'),
    },
    'controller': {('subscribe', 'clock')},
    'recorder': {('subscribe', 'clock')},
}


def text_of(name):
    return (security_policies.FOLDER / f'{name}.policy.xml').read_text()


# the others have the nodes of one of these
FIRST = {'ball_balancer', 'ball_on_plate', 'flip_up', 'pendulum_sphere'}


@pytest.mark.parametrize(
    'name', [n if n in FIRST else pytest.param(n, marks=pytest.mark.slow) for n in EXPERIMENTS]
)
def test_policy_is_up_to_date(name, domain, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    # the plan of its laws needs no rights
    monkeypatch.setattr(ControlledLaboratory, 'prepare', lambda *_: None)
    wanted = security_policies.policy(EXPERIMENTS[name])
    assert text_of(name) == wanted, 'run .venv/bin/python tools/security_policies.py'


def test_running_nodes_do_what_the_policy_allows(ros_environment, peer, tmp_path):
    experiment = EXPERIMENTS['ball_on_plate']
    allowed = {
        profile.get('node'): {
            (right, entry.text) for group in profile for right in group.attrib for entry in group
        }
        for profile in ET.fromstring(text_of(experiment.name)).iter('profile')  # noqa: S314
    }
    names = [entry.name for entry in (*experiment.nodes, RECORDER)]
    bringup = Bringup(
        experiment=experiment,
        environment={**ros_environment, 'ROLLING_COMPILE': 'never', 'PYTHONPATH': str(ROOT)},
        namespace='here',
        overrides={node: {'rate': 50.0} for node in ('simulator', 'controller')},
        record=tmp_path / 'recording',
        log_folder=tmp_path,
    )
    with bringup:
        unused, end = {}, Deadline(200)
        while unused != SELDOM and end.left > 0.0:
            bringup.check()
            time.sleep(0.05)
            present = peer.node.get_node_names_and_namespaces()
            for name in names:
                if (name, '/here') not in present:
                    continue
                found = security_policies.read_graph(peer.node, name, '/here')
                done = {(right, n) for right, those in found.items() for n in those}
                assert done <= allowed[name], name
                unused[name] = allowed[name] - done
        assert unused == SELDOM
        nodes = peer.node.get_node_names_and_namespaces_with_enclaves()
    enclaves = {name: enclave for name, namespace, enclave in nodes if namespace == '/here'}
    assert enclaves == {name: experiment.enclave(name) for name in names}

"""Before its process ends, a node has given back everything that the middleware made for it."""

import json
from pathlib import Path
import re
import subprocess
import sys

import pytest
from rolling_robotics.bringup import Bringup
from rolling_robotics.experiments import EXPERIMENTS

sys.path.insert(0, str(Path(__file__).parent))

from runs import await_active

WATCHDOG = 'dds.shm.wdog'  # one for all participants of a process; its library joins it
ROOT = Path(__file__).parents[2]
SETUP = (ROOT / 'setup.py').read_text()
NODES = re.findall(r"^    '\w+_node = ([\w.]+_node):main',$", SETUP, re.MULTILINE)
SHORT = ('motor_bridge_node', 'vision_bridge_node')  # of either executor
CASES = [
    pytest.param(m, marks=() if m.endswith(SHORT) else pytest.mark.slow, id=m.split('.')[-1])
    for m in NODES
]


def commands_with(module, folder):
    """Return a node's name and the commands of an experiment that has the node."""
    for experiment in EXPERIMENTS.values():
        for hardware in experiment.hardware or ('',):
            options = {'hardware': hardware, 'record': folder / 'recording'}
            bringup = Bringup(experiment=experiment, environment={}, **options)
            commands = bringup.commands()
            for name, command in commands.items():
                if command[2] == module:
                    return name, commands
    raise AssertionError(f'no experiment has a node of {module}')


def left_behind(text):
    """Return the threads of the middleware and the handles that a node left."""
    left = json.loads(text.splitlines()[-1])
    threads = [name for name in left['threads'] if name.startswith('dds.') and name != WATCHDOG]
    # a clock belongs to no node
    return threads, [kind for kind in left['handles'] if kind != 'Clock']


def test_table_has_every_program_that_is_a_node():
    files = [path.relative_to(ROOT) for path in ROOT.glob('rolling_*/**/nodes/*_node.py')]
    nodes = {
        '.'.join(f.with_suffix('').parts) for f in files if 'run_node(' in (ROOT / f).read_text()
    }
    assert nodes == set(NODES)


@pytest.mark.timeout(300)
@pytest.mark.parametrize('module', CASES)
def test_no_thread_handle_or_participant_is_left(module, peer, run_process, tmp_path):
    name, commands = commands_with(module, tmp_path)
    others = ['simulator'] if name == 'controller' else []  # which waits for its plant
    others = [run_process(commands[n][2], arguments=commands[n][3:]) for n in others]
    node = run_process('last_words', arguments=commands[name][2:])
    await_active(peer, name, 280)  # a law may be designed first
    assert node.stop() == 0, node.text
    assert left_behind(node.text) == ([], []), node.text
    assert all(other.stop() == 0 for other in others)


def test_a_node_that_cannot_be_made_leaves_nothing(ros_environment):
    module = 'rolling_dynamics.nodes.simulator_node'
    done = subprocess.run(
        [sys.executable, '-m', 'last_words', module, '--ros-args', '-p', 'rate:=-1.0'],
        env=ros_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, left_behind(done.stdout)) == (2, ([], [])), done.stderr

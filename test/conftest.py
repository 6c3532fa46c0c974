"""
What all tests share: where the independent derivations stand, SIGINT, the mark of nodes, the rows
of docs/faults.md, and the system that the documentation shows.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
import gc
import json
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import time

from hypothesis import HealthCheck, settings
import numpy as np
import pytest
from rolling_dynamics import plugin, simulate
from rolling_dynamics.scenario import scenario

_DYNAMICS = str(Path(__file__).parent / 'dynamics')
if _DYNAMICS not in sys.path:
    sys.path.insert(0, _DYNAMICS)

# The virtual machine gives the same bits and needs no compiler; a test that compiles says so.
# What runs the tests side by side passes its environment on to its workers.
_BY_DEFAULT = os.environ.setdefault('ROLLING_COMPILE', 'never') == 'never'

SHIPPED = Path(__file__).parents[1] / 'config' / 'scenarios'


def _built_once(build):
    """Return a builder to which a shipped scenario that is loaded again is the same system."""
    shipped = {path.stem for path in SHIPPED.glob('*.yaml')}
    made = {}

    def load(document, name='scenario'):
        if name not in shipped:
            return build(document, name)
        way = [os.environ.get(f'ROLLING_{kind}') for kind in ('COMPILE', 'CACHE_DIR')]
        key = repr((document, name, way))
        if key not in made:
            made[key] = build(document, name)
        found = made[key]
        return replace(found, p=found.p.copy(), x0=found.x0.copy(), raw=document)

    return load


# Many tests are of the same scenarios, whose equations take long to derive. Under tools/mutate.py
# each test builds its own: a change in what builds them is tried by the tests that call it.
if 'mutmut' not in sys.modules:
    scenario.load_plain = _built_once(scenario.load_plain)

# A shell has its background jobs ignore SIGINT, and programs started by the tests inherit that:
# those that are to end by Ctrl-C would never hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope='module', autouse=True)
def _only_its_own_plugins():
    """Take back the plug-ins that a module registers: later tests do not know them."""
    before = set(plugin._KNOWN)
    yield
    for name in set(plugin._KNOWN) - before - set(plugin._shipped_names()):
        del plugin._KNOWN[name]


@pytest.fixture
def machine_code(monkeypatch):
    """Compile what the test builds: a run of minutes costs a third."""
    monkeypatch.setenv('ROLLING_COMPILE', 'now')


# How long a generated case takes says nothing on a busy machine.
settings.register_profile('busy', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile('short', settings.get_profile('busy'), max_examples=30)

_WITH_NODES = tuple(Path(__file__).parent / name for name in ('ros', 'launch'))


# Modules with nodes that take longest: started first, the workers end together.
LONGEST = (
    *('test_demo_nodes', 'test_ballbot_node', 'test_ballbot_measured', 'test_execute_command'),
    *('test_demo_data', 'test_controller_faults'),
    *('test_robot_controller_node', 'test_overruns', 'test_controller_node'),
    *('test_planner_systems', 'test_recordings', 'test_robot_simulator_commands'),
    *('test_simulator_node', 'test_laboratory_nodes', 'test_compiling', 'test_security_policies'),
)

SLOW = 3600  # s, after which a slow test fails: busy machines take many times as long


def pytest_configure(config):
    """Try fewer generated cases where the slow tests are left out."""
    settings.load_profile('short' if 'not slow' in config.option.markexpr else 'busy')


def pytest_collection_finish():
    """Have the collector leave out what stays until the end, and go through the rest rarely."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(items):
    """Mark what starts nodes, by its folder, and faults; put the longest modules first."""
    for item in items:
        if item.get_closest_marker('slow') and not item.get_closest_marker('timeout'):
            item.add_marker(pytest.mark.timeout(SLOW))
        if 'fault_row' in getattr(item, 'fixturenames', ()):
            item.add_marker(pytest.mark.fault)
        if any(folder in item.path.parents for folder in _WITH_NODES):
            item.add_marker(pytest.mark.ros)
    turn = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.path.stem, len(turn)))


@pytest.fixture
def fault_row(request):
    """
    Return a function that begins a row of docs/faults.md: what was done to the system.

    What it returns ends the row: what the system did, and after how long, if that is not the time
    since then [s]. The file that ROLLING_FAULTS names gets the rows as lines of JSON.
    """

    def begin(done):
        begun = time.monotonic()

        def end(did, seconds=None):
            took = time.monotonic() - begun if seconds is None else float(seconds)
            row = {'test': request.node.nodeid, 'done': done, 'did': did, 'seconds': took}
            if file := os.environ.get('ROLLING_FAULTS'):
                with Path(file).open('a') as rows:
                    rows.write(json.dumps(row) + '\n')

        return end

    return begin


@pytest.fixture
def sweeps_here(monkeypatch):
    """Have the workers of a sweep be threads: a fork of this process is large."""
    pytest.importorskip('pyarrow')
    from rolling_robotics.sweep import run

    monkeypatch.setattr(run, '_fork', lambda: ThreadPoolExecutor(1))


EXAMPLES = Path(__file__).parents[1] / 'examples'


@pytest.fixture(scope='session')
def cylinder_installed(tmp_path_factory):
    """Return the folder that pip installed the example package into; nothing else is there."""
    return _installed('rolling_cylinder', tmp_path_factory.mktemp('cylinder'))


@pytest.fixture(scope='session')
def ballbot_installed(tmp_path_factory):
    """Return the folder of the other one, the robot that balances."""
    return _installed('ballbot', tmp_path_factory.mktemp('ballbot'))


@pytest.fixture(scope='session')
def stranger_installed(tmp_path_factory):
    """Return the folder of a copy of it with no role but the scenario: it has no view."""
    folder = tmp_path_factory.mktemp('stranger')
    package = shutil.copytree(EXAMPLES / 'ballbot', folder / 'copy') / 'ballbot'
    (package / 'view.py').unlink()
    plugin = package / 'plugin.py'
    lines = plugin.read_text().splitlines(keepends=True)
    plugin.write_text(''.join(line for line in lines if 'robot_view' not in line))
    assert 'view' not in plugin.read_text()
    return _installed(folder / 'copy', folder)


def _installed(name, folder):
    source = shutil.copytree(EXAMPLES / name, folder / 'source')  # a build leaves files there
    options = ('--no-deps', '--no-build-isolation', '--no-index', '--target', folder / 'site')
    pip = (sys.executable, '-m', 'pip', 'install', '--quiet', *options, source)
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    return folder / 'site'


EXTENDING = Path(__file__).parents[1] / 'docs' / 'extending.md'


def _example(first_words):
    """Return the Python example of docs/extending.md that holds these words."""
    found = re.findall(r'^```python\n(.*?)^```', EXTENDING.read_text(), re.DOTALL | re.MULTILINE)
    return compile(next(text for text in found if first_words in text), str(EXTENDING), 'exec')


@pytest.fixture(scope='session')
def wheel():
    """Return the names that the documentation's example of a system defines."""
    names = {'__name__': 'example', 'np': np, 'simulate': simulate}
    exec(_example('class DrivenWheel'), names)  # noqa: S102
    return names


@pytest.fixture(scope='session')
def wheel_plan(wheel):
    """Return the plan that the documentation makes for it."""
    names = dict(wheel)
    exec(_example('plan = plan_rolling'), names)  # noqa: S102
    return names['plan']

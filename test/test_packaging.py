"""What pip, colcon and rosidl are given agrees with what is there."""

import ast
from importlib import import_module
from importlib.util import find_spec
import json
import os
from pathlib import Path
import re
import runpy
import subprocess
import sys
from unittest import mock
from xml.etree import ElementTree as ET

import pytest
from rolling_dynamics.extras import EXTRAS
from setuptools import find_packages

ROOT = Path(__file__).resolve().parents[1]
INTERFACES = ROOT / 'rolling_interfaces'
OF_ROS = re.compile('evidence$|rolling_|rcl|ros(graph|_)|launch|.*_(msgs|srvs|interfaces)$')
ALWAYS = {'yaml': 'PyYAML', 'PIL': 'matplotlib', 'mpl_toolkits': 'matplotlib'}  # are part of it
ALWAYS |= {'pydantic_core': 'pydantic', 'typing_extensions': 'pydantic'}
# engines that are compared, decompression where rosbags brings it, connections where viser does
OTHERS = {'backports', 'compression', 'lz4', 'mujoco', 'pybullet', 'websockets'}
LOCKS = ['jazzy', 'kilted', 'develop', 'bench', 'docs']

needs_ros = pytest.mark.skipif(find_spec('rclpy') is None, reason='needs rclpy')


def setup_arguments():
    """Return the arguments of the call of setup() that the tests need."""
    with mock.patch('setuptools.setup') as setup:
        runpy.run_path(str(ROOT / 'setup.py'))
    return setup.call_args.kwargs


def imported():
    """Return the libraries that the packages import anywhere."""
    found = set()
    for path in (*ROOT.glob('rolling_*/**/*.py'), *ROOT.glob('evidence/papers/**/*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.partition('.')[0])
    return found - sys.stdlib_module_names


def test_each_library_that_is_imported_is_installed_by_an_extra_or_always():
    arguments = setup_arguments()
    extras = arguments['extras_require']
    for library, extra in EXTRAS.items():
        assert library in {re.match(r'[\w.-]+', asked).group() for asked in extras[extra]}
    assert set(extras['all']) == {
        asked for extra in {*EXTRAS.values()} - {'jax'} for asked in extras[extra]
    }
    always = {canonical(re.match(r'[\w.-]+', r).group()) for r in arguments['install_requires']}
    libraries = {name for name in imported() if not OF_ROS.match(name)} - {*EXTRAS}
    assert {n for n in libraries if canonical(ALWAYS.get(n, n)) not in always} == OTHERS


def test_wheel_holds_the_packages_and_nothing_else():
    tree = ast.parse((ROOT / 'setup.py').read_text(encoding='utf-8'))
    call = next(
        n
        for n in ast.walk(tree)
        if getattr(n, 'func', None)
        and n.args == []
        and getattr(n.func, 'id', '') == 'find_packages'
    )
    found = find_packages(ROOT, **{k.arg: ast.literal_eval(k.value) for k in call.keywords})
    assert {name.partition('.')[0] for name in found} == {
        'evidence',
        *(path.parent.name for path in ROOT.glob('rolling_*/__init__.py')),
    }
    assert not [name for name in found if name.startswith('evidence.benchmarks')]


def entry_points():
    """Return (command, module, function) of each program, those that colcon alone installs too."""
    tree = ast.parse((ROOT / 'setup.py').read_text(encoding='utf-8'))
    lists = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    scripts = ast.literal_eval(lists['COMMANDS']) + ast.literal_eval(lists['NODES'])
    return [tuple(re.split(r'\s*[=:]\s*', script)) for script in scripts]


def manifest(path):
    return ET.parse(path / 'package.xml').getroot()  # noqa: S314, the project's own file


def canonical(name):
    return re.sub(r'[-_.]+', '-', name).lower()


def requirement_names(path):
    """Return the names that a requirements file asks for, those of included files too."""
    names = set()
    for line in path.read_text(encoding='utf-8').splitlines():
        if line.startswith('-r '):
            names |= requirement_names(path.parent / line.removeprefix('-r '))
        elif line and not line.startswith('#'):
            names.add(canonical(re.match(r'[\w.-]+', line).group()))
    return names


def locked_versions(name):
    text = (ROOT / 'requirements' / f'{name}.txt').read_text(encoding='utf-8')
    lines = [line for line in text.splitlines() if line and not line.startswith('#')]
    return dict(line.split('==') for line in lines)


# Commands.


def test_commands_lead_to_functions():
    for command, module, function in entry_points():
        path = ROOT.joinpath(*module.split('.')).with_suffix('.py')
        assert path.is_file(), f'{command}: setup.py names {module}, which is not there'
        tree = ast.parse(path.read_text(encoding='utf-8'))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in defined, command


IMPORT_EACH_ALONE = """
import importlib, sys, traceback
for argument in sys.argv[1:]:
    module, function = argument.split(':')
    for name in [n for n in sys.modules if n.startswith('rolling_') and 'interfaces' not in n]:
        del sys.modules[name]  # nothing but what other packages loaded stays
    try:
        assert callable(getattr(importlib.import_module(module), function)), function
    except Exception:
        print(argument, traceback.format_exc(), file=sys.stderr)
"""


def test_commands_can_be_imported():
    """In a process of their own: importing rclpy must not colour the other tests."""
    with_ros = find_spec('rclpy') is not None
    modules = [f'{m}:{f}' for _, m, f in entry_points() if with_ros or '.nodes.' not in m]
    result = subprocess.run(
        [sys.executable, '-c', IMPORT_EACH_ALONE, *modules],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (result.returncode, result.stderr) == (0, '')


def has_main(path):
    tree = ast.parse(path.read_text(encoding='utf-8'))
    return any(isinstance(node, ast.FunctionDef) and node.name == 'main' for node in tree.body)


def test_every_node_has_a_command():
    modules = {module for _, module, _ in entry_points()}
    nodes = {
        '.'.join(path.relative_to(ROOT).with_suffix('').parts)
        for path in ROOT.glob('rolling_*/nodes/*_node.py')
        if has_main(path)
    }
    assert nodes - modules == set()


def test_command_names_are_unique():
    commands = [command for command, _, _ in entry_points()]
    assert len(set(commands)) == len(commands)


# Metadata.


def test_versions_agree():
    assert {
        setup_arguments()['version'],
        manifest(ROOT).findtext('version'),
        manifest(INTERFACES).findtext('version'),
    } == {setup_arguments()['version']}


def test_changelog_has_the_version():
    changelog = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    version = setup_arguments()['version']
    assert re.search(rf'^{re.escape(version)}\b|^Forthcoming$', changelog, flags=re.MULTILINE)


def test_name_and_licence_agree():
    arguments = setup_arguments()
    root = manifest(ROOT)
    assert root.findtext('name') == 'rolling_robotics'
    assert root.findtext('license') == arguments['license'] == 'Apache-2.0'
    assert manifest(INTERFACES).findtext('license') == 'Apache-2.0'
    assert (ROOT / 'resource' / 'rolling_robotics').is_file()


def test_build_types():
    assert manifest(ROOT).findtext('export/build_type') == 'ament_python'
    assert manifest(INTERFACES).findtext('export/build_type') == 'ament_cmake'


def test_no_ros_package_is_asked_of_pip():
    assert not [r for r in setup_arguments()['install_requires'] if re.match(r'ros-|rclpy', r)]


@pytest.mark.parametrize('package', sorted(ROOT.glob('rolling_*/__init__.py')), ids=str)
def test_package_is_marked_as_typed(package):
    assert (package.parent / 'py.typed').is_file()


def message_packages_imported():
    """Return the message packages that the nodes import."""
    names = set()
    for path in (*ROOT.glob('rolling_*/nodes/**/*.py'), *ROOT.glob('rolling_node_kit/*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.partition('.')[0])
            elif isinstance(node, ast.Import):
                names |= {alias.name.partition('.')[0] for alias in node.names}
    return {n for n in names if n.endswith(('_msgs', '_interfaces', '_srvs')) or n == 'rclpy'}


def test_package_xml_names_every_ros_package_that_the_nodes_import():
    named = {element.text for element in manifest(ROOT).findall('exec_depend')}
    assert message_packages_imported() - named == set()


# Lock files.


@pytest.mark.parametrize('name', LOCKS)
def test_lock_holds_exact_versions_and_no_address(name):
    text = (ROOT / 'requirements' / f'{name}.txt').read_text(encoding='utf-8')
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    assert [line for line in lines if not re.fullmatch(r'[a-z0-9-]+==[\w.!+]+', line)] == []
    assert '/' not in text.replace('tools/lock.py', '')


@pytest.mark.parametrize('name', LOCKS)
def test_lock_holds_what_is_asked_for(name):
    held = set(locked_versions(name))
    if name in ('develop', 'bench', 'docs'):
        held |= {*locked_versions('jazzy'), *locked_versions('develop')}
    assert requirement_names(ROOT / 'requirements' / f'{name}.in') - held == set()


@pytest.mark.parametrize('name', ['jazzy', 'kilted'])
def test_environment_holds_what_the_package_needs(name):
    arguments = setup_arguments()
    asked = arguments['install_requires'] + arguments['extras_require']['test']
    asked += [
        r for e in ('record', 'viewer', 'completion') for r in arguments['extras_require'][e]
    ]
    names = {canonical(re.match(r'[\w.-]+', requirement).group()) for requirement in asked}
    assert names - {*locked_versions(name), *locked_versions('develop')} == set()


@pytest.mark.parametrize('name', [*LOCKS, 'python'])
def test_each_dependency_says_why(name):
    lines = (ROOT / 'requirements' / f'{name}.in').read_text(encoding='utf-8').splitlines()
    blocks = '\n'.join(line for line in lines if not line.startswith('-r ')).split('\n\n')
    for block in blocks:
        asked = [line for line in block.splitlines() if not line.startswith('#')]
        assert not asked or block.startswith('#'), f'{asked[0]} has no comment'


# Interfaces.


def interface_files():
    return sorted(
        path.relative_to(INTERFACES).as_posix()
        for kind in ('action', 'msg', 'srv')
        for path in (INTERFACES / kind).iterdir()
    )


def test_cmake_lists_every_interface_file():
    text = (INTERFACES / 'CMakeLists.txt').read_text(encoding='utf-8')
    assert re.findall(r'"((?:action|msg|srv)/\w+\.\w+)"', text) == interface_files()


def test_cmake_and_package_xml_name_the_same_dependencies():
    text = (INTERFACES / 'CMakeLists.txt').read_text(encoding='utf-8')
    found = set(re.findall(r'find_package\((\w+) REQUIRED\)', text))
    root = manifest(INTERFACES)
    named = {e.text for tag in ('buildtool_depend', 'depend') for e in root.findall(tag)}
    assert found == named - {'action_msgs'}  # rosidl finds the packages of actions by itself


def test_every_field_has_a_line_that_fits():
    for file in interface_files():
        lines = (INTERFACES / file).read_text(encoding='utf-8').splitlines()
        assert lines[0].startswith('# '), file
        assert max(map(len, lines)) <= 99, file


EXPECTED_FIELDS = {
    'msg.RollingPlan': {
        'header': 'std_msgs/Header',
        'system': 'string',
        'model_hash': 'string',
        'state_names': 'sequence<string>',
        'control_names': 'sequence<string>',
        'times': 'sequence<double>',
        'states': 'sequence<double>',
        'controls': 'sequence<double>',
        'interpolation': 'string',
        'contact_wrenches': 'sequence<geometry_msgs/Wrench>',
    },
    'msg.RollingContact': {
        'header': 'std_msgs/Header',
        'mode': 'string',
        'wrench': 'geometry_msgs/Wrench',
        'gap': 'double',
        'friction_utilisation': 'double',
        'spin_utilisation': 'double',
        'required_friction': 'double',
        'object_chart': 'string',
        'hand_chart': 'string',
    },
    'action.PlanRolling.Goal': {
        'system': 'string',
        'start_names': 'sequence<string>',
        'start_values': 'sequence<double>',
        'goal_names': 'sequence<string>',
        'goal_values': 'sequence<double>',
        'goal_tolerances': 'sequence<double>',
        'waypoints': 'sequence<geometry_msgs/PoseStamped>',
        'keep_out_centers': 'sequence<geometry_msgs/Point>',
        'keep_out_radii': 'sequence<double>',
        'horizon': 'double',
        'time_budget': 'double',
        'planner_id': 'string',
    },
    'action.PlanRolling.Result': {
        'error_code': 'int32',
        'error_string': 'string',
        'plan': 'rolling_interfaces/RollingPlan',
        'planning_time': 'double',
    },
    'action.PlanRolling.Feedback': {
        'iteration': 'uint32',
        'segments': 'uint32',
        'cost': 'double',
        'violation': 'double',
        'goal_error': 'double',
    },
    'action.ExecutePlan.Goal': {'plan': 'rolling_interfaces/RollingPlan'},
    'action.ExecutePlan.Result': {
        'error_code': 'int32',
        'error_string': 'string',
        'final_error': 'double',
        'final_state_names': 'sequence<string>',
        'final_state_values': 'sequence<double>',
    },
    'action.ExecutePlan.Feedback': {
        'time': 'double',
        'state_error': 'double',
        'margin_names': 'sequence<string>',
        'margin_values': 'sequence<double>',
    },
    'action.RunExperiment.Goal': {
        'experiment': 'string',
        'law': 'string',
        'duration': 'double',
    },
    'action.RunExperiment.Result': {
        'error_code': 'int32',
        'error_string': 'string',
        'run': 'uint32',
        'law': 'string',
        'start': 'builtin_interfaces/Time',
        'duration': 'double',
        'balancing_since': 'double',
    },
    'action.RunExperiment.Feedback': {
        'phase': 'string',
        'time': 'double',
        'contact_mode': 'string',
        'state_names': 'sequence<string>',
        'state_values': 'sequence<double>',
        'margin_names': 'sequence<string>',
        'margin_values': 'sequence<double>',
    },
    'srv.CheckPlan.Request': {
        'system': 'string',
        'plan': 'rolling_interfaces/RollingPlan',
        'start_names': 'sequence<string>',
        'start_values': 'sequence<double>',
        'hand_trajectory': 'trajectory_msgs/MultiDOFJointTrajectory',
    },
    'srv.CheckPlan.Response': {
        'ok': 'boolean',
        'margin_names': 'sequence<string>',
        'margins': 'sequence<double>',
        'first_failure_time': 'double',
        'reason': 'string',
    },
}

ERROR_CODES = [
    'NONE',
    'INVALID_GOAL',
    'INFEASIBLE',
    'TIMEOUT',
    'CANCELLED',
    'NOT_CONVERGED',
    'PREEMPTED',
    'INACTIVE',
    'CONTACT_LOST',
    'STALE_STATE',
    'CONTROL_LIMIT',
    'INTERNAL',
]


def interface(name):
    """Return the class behind a dotted name such as `msg.RollingPlan`."""
    module, *attributes = name.split('.')
    found = import_module(f'rolling_interfaces.{module}')
    for attribute in attributes:
        found = getattr(found, attribute)
    return found


@needs_ros
@pytest.mark.ros
@pytest.mark.parametrize('name', EXPECTED_FIELDS)
def test_interface_has_the_documented_fields(name):
    fields = interface(name).get_fields_and_field_types()
    assert {k: v for k, v in fields.items() if k != 'check_fields'} == EXPECTED_FIELDS[name]


# A change of one of these breaks every client that was built before: it takes a new version, and a
# line in the CHANGELOG.
TYPE_HASHES = {
    'action/ExecutePlan': 'b77569c2f7beff2c557342bd94a129e1e6351bb5a6ac04445215df4de43a816f',
    'action/PlanRolling': 'a6de42a5f77e7a97c209e40180f2e6a425a696e6909f83797f0ff19d7e53afec',
    'action/RunExperiment': '8276e317fd0df49d7d0c0684bff02efca1a5aa76698c55a04951e8bfdeaa5438',
    'msg/RollingContact': '7dab23419d06f1741d3294393c5342465f8c8ce54548a1aec2c9a1d39bfcc540',
    'msg/RollingPlan': 'f5c7ac1acf84b433cb4f909b9895b6d5887a52603e07293afab039e262d8b297',
    'srv/CheckPlan': 'affbdf9fda3bbcc263371e204e51fefd80f701d39d977417fc42efbfd31664ed',
}


@needs_ros
@pytest.mark.ros
@pytest.mark.parametrize('name', TYPE_HASHES)
def test_types_are_those_of_this_version(name):
    import rolling_interfaces

    root = Path(rolling_interfaces.__file__).parents[4]  # PREFIX/lib/pythonX/site-packages
    file = root / 'share' / 'rolling_interfaces' / f'{name}.json'
    hashes = {
        entry['type_name']: entry['hash_string']
        for entry in json.loads(file.read_text())['type_hashes']
    }
    assert hashes[f'rolling_interfaces/{name}'] == f'RIHS01_{TYPE_HASHES[name]}'


def test_every_type_has_its_hash():
    files = {
        str(path.relative_to(INTERFACES).with_suffix(''))
        for path in INTERFACES.glob('*/*')
        if path.suffix in {'.action', '.msg', '.srv'}
    }
    assert set(TYPE_HASHES) == files


@needs_ros
@pytest.mark.ros
@pytest.mark.parametrize('name', ['action.PlanRolling.Result', 'action.ExecutePlan.Result'])
def test_both_actions_share_the_error_codes(name):
    result = interface(name)
    assert [getattr(result, code) for code in ERROR_CODES] == list(range(len(ERROR_CODES)))


@needs_ros
@pytest.mark.ros
def test_tf_message_has_the_type_hash_of_the_real_one():
    """The generated tf2_msgs talks to every other ROS 2 program."""
    installed = Path(import_module('tf2_msgs').__file__).parents
    path = next(
        found
        for parent in installed
        if (found := parent / 'share/tf2_msgs/msg/TFMessage.json').is_file()
    )
    hashes = json.loads(path.read_text(encoding='utf-8'))['type_hashes']
    assert {entry['type_name']: entry['hash_string'] for entry in hashes}[
        'tf2_msgs/msg/TFMessage'
    ] == 'RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087'


# The Makefile.


@pytest.mark.parametrize('distribution', ['lyrical', 'humble'])
def test_make_refuses_another_distribution_by_name(distribution):
    variables = {**os.environ, 'ROS_DISTRO': distribution}
    result = subprocess.run(
        ['make', 'setup'],  # noqa: S607
        cwd=ROOT,
        env=variables,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode != 0
    assert f'"{distribution}"' in result.stderr
    assert 'ROS_DISTRO=jazzy' in result.stderr


def test_every_test_with_nodes_is_in_the_files_that_make_names():
    """Those of README and of the first hour are slow: `make test-all` reads all files."""
    text = (ROOT / 'Makefile').read_text(encoding='utf-8')
    folders = re.search(r'^ROS_TESTS := (.*)$', text, re.MULTILINE)[1]
    (more,) = re.findall(r'^\t +\$\(ROS_TESTS\) (.*)$', text, re.MULTILINE)
    named = [ROOT / name for name in f'{folders} {more}'.split()]
    marked = {p for p in (ROOT / 'test').rglob('test_*.py') if 'mark.ros' in p.read_text()}
    inside = {p for p in marked for name in named if p == name or name in p.parents}
    assert marked - inside == {ROOT / 'test' / f'test_{n}.py' for n in ('readme', 'first_hour')}


def test_longest_modules_are_there():
    conftest = ast.parse((ROOT / 'test' / 'conftest.py').read_text(encoding='utf-8'))
    (names,) = (
        [c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant)]
        for node in conftest.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == 'LONGEST'
    )
    assert set(names) <= {path.stem for path in (ROOT / 'test').rglob('test_*.py')}

"""What pip and colcon install: programs, examples and metadata, from a copy of the source tree."""

from email.parser import Parser
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from rolling_robotics.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
FILES = ('setup.py', 'setup.cfg', 'pyproject.toml', 'package.xml', 'README.md', 'LICENSE')
FOLDERS = ('config', 'launch', 'resource', *(path.parent.name for path in ROOT.glob('*/py.typed')))
NODES = {node.executable for e in EXPERIMENTS.values() for node in e.every_node} | {
    'recorder_node'
}


def run(*command, **settings):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        **settings,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A clean checkout."""
    folder = tmp_path_factory.mktemp('source')
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns('__pycache__'))
    return folder


@pytest.fixture(scope='module')
def wheel(source, tmp_path_factory):
    """What `pip wheel` makes of it, without the network."""
    out = tmp_path_factory.mktemp('wheel')
    options = ('--quiet', '--no-deps', '--no-index', '--no-build-isolation', '--wheel-dir')
    run('-m', 'pip', 'wheel', *options, out, source)
    (path,) = out.glob('*.whl')
    return path


@pytest.fixture(scope='module')
def installed(wheel, tmp_path_factory):
    """A prefix with the wheel."""
    prefix = tmp_path_factory.mktemp('prefix')
    options = ('--quiet', '--no-deps', '--no-index', '--no-warn-script-location', '--prefix')
    run('-m', 'pip', 'install', '--ignore-installed', *options, prefix, wheel)
    return prefix


def in_wheel(wheel, suffix):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(suffix))
        return archive.read(name).decode()


def elsewhere(installed, folder):
    """Return the settings of a process that knows the wheel and not the source tree."""
    (site,) = installed.glob('**/site-packages')
    environment = {**os.environ, 'PYTHONPATH': str(site), 'ROLLING_COMPILE': 'never'}
    environment.pop('AMENT_PREFIX_PATH', None)
    return {'cwd': folder, 'env': environment}


@pytest.mark.slow
def test_pip_puts_one_program_on_the_path(wheel, installed):
    text = in_wheel(wheel, 'entry_points.txt')
    assert text.split() == '[console_scripts] rolling = rolling_robotics.cli:main'.split()  # noqa: SIM905
    assert [path.name for path in (installed / 'bin').iterdir()] == ['rolling']


@pytest.mark.slow
def test_wheel_says_what_it_is(wheel):
    metadata = Parser().parsestr(in_wheel(wheel, 'METADATA'))
    assert metadata['Name'] == 'rolling_robotics'
    assert metadata['Author'] == metadata['Maintainer'] == 'Rolling Robotics maintainers'
    assert metadata['Description-Content-Type'] == 'text/markdown'
    names = {url.partition(',')[0] for url in metadata.get_all('Project-URL')}
    assert names == {'Source', 'Documentation', 'Changelog', 'Issues'}
    assert 'Programming Language :: Python :: 3.11' in metadata.get_all('Classifier')
    text = metadata.get_payload()
    assert text.startswith('# Rolling robotics')
    links = re.findall(r'\]\(([^)]*)\)', text)
    assert len(links) > 20
    assert [link for link in links if not link.startswith('https://')] == []


@pytest.mark.slow
def test_installed_elsewhere_it_finds_its_examples_and_runs(installed, tmp_path):
    settings = elsewhere(installed, tmp_path)
    listed = run(installed / 'bin' / 'rolling', 'examples', **settings).splitlines()
    assert len(listed) == len(list((ROOT / 'config' / 'scenarios').glob('*.yaml')))
    command = ('rolling', 'simulate', 'spinning_plate', '--out', 's.json')
    run(installed / 'bin' / command[0], *command[1:], **settings)
    assert (tmp_path / 's.json').is_file()
    code = 'import rolling_dynamics; print(rolling_dynamics.__file__)'
    assert run('-c', code, **settings).startswith(str(installed))


@pytest.mark.slow
@pytest.mark.parametrize('folder', ['launch', 'config'])
def test_pip_installs_what_launch_needs(installed, folder):
    share = installed / 'share' / 'rolling_robotics' / folder
    wanted = {path.name for path in (ROOT / folder).glob('*.*') if path.is_file()}
    assert {path.name for path in share.glob('*.*') if path.is_file()} == wanted


def test_colcon_puts_every_executable_where_ros2_run_looks(source, tmp_path):
    """The steps that colcon asks of setup.py."""
    prefix = tmp_path / 'install'
    build = ('egg_info', '--egg-base', tmp_path, 'build', '--build-base', tmp_path / 'build')
    install = ('install', '--prefix', prefix, '--record', tmp_path / 'log')
    how = ('--single-version-externally-managed',)
    run('-W', 'ignore', 'setup.py', *build, *install, *how, cwd=source)
    programs = {path.name for path in (prefix / 'lib' / 'rolling_robotics').iterdir()}
    assert programs >= NODES
    assert programs >= {'rolling'}
    first = {path.read_text().splitlines()[0] for path in (prefix / 'bin').iterdir()}
    first |= {
        (prefix / 'lib' / 'rolling_robotics' / name).read_text().splitlines()[0] for name in NODES
    }
    assert first == {'#!/usr/bin/env python3'}  # of the virtual environment that is active
    assert [path.name for path in (prefix / 'bin').iterdir()] == [
        'rolling'
    ]  # colcon puts it on PATH


@pytest.mark.parametrize('missing', ['rclpy', 'rolling_interfaces'])
def test_a_node_without_ros_ends_with_a_line(tmp_path, missing):
    """As a module and as a program; the finder hides what is installed here."""
    (tmp_path / 'sitecustomize.py').write_text(
        'from importlib import util\n'
        'found = util.find_spec\n'
        f'util.find_spec = lambda n, *a: None if n == {missing!r} else found(n, *a)\n'
    )
    program = tmp_path / 'planner_node'
    program.write_text('from rolling_planner.nodes.planner_node import main\nmain()\n')
    environment = {**os.environ, 'PYTHONPATH': f'{tmp_path}{os.pathsep}{ROOT}'}
    for command in (['-m', 'rolling_planner.nodes.planner_node'], [str(program)]):
        done = subprocess.run(
            [sys.executable, *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        (line,) = done.stderr.splitlines()
        assert done.returncode == 2
        assert line.startswith('planner_node: needs ROS 2, but ')
        assert missing in line

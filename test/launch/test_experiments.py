"""The table of experiments, and what the two starters make of it."""

import ast
import importlib
import importlib.util
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
from time import sleep as pause

import pytest
from rolling_dynamics.configuration import find_config, find_scenario
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_robotics import bringup
from rolling_robotics.bringup import (
    Bringup,
    BringupError,
    free_domain,
    isolated_environment,
    node_command,
)
from rolling_robotics.experiments import Experiment, EXPERIMENTS, find_experiment, NodeEntry
from rolling_robotics.rviz_view import view_file
import yaml

ROOT = Path(__file__).resolve().parents[2]
SLEEP = [sys.executable, '-c', 'import time; time.sleep(600)']
SLEEPER = NodeEntry(name='sleeper', module='asyncio', executable='none')


def experiment(*nodes):
    return Experiment(
        name='test',
        text='',
        nodes=nodes,
        params_file='ball_on_plate.yaml',
        scenario_file='',
        rviz_file='',
        recorded=(),
    )


@pytest.mark.parametrize('name', EXPERIMENTS)
class TestEveryExperiment:
    def test_modules_exist(self, name):
        for entry in EXPERIMENTS[name].every_node:
            assert importlib.util.find_spec(entry.module) is not None

    def test_executables_are_installed_by_setup(self, name):
        text = (ROOT / 'setup.py').read_text()
        for entry in EXPERIMENTS[name].every_node:
            assert f"'{entry.executable} = {entry.module}:main'" in text

    def test_files_exist(self, name):
        e = EXPERIMENTS[name]
        for file in (e.params_file, e.scenario_file, e.rviz_file):
            assert find_config(file).is_file()

    def test_parameter_file_has_a_section_for_each_node_and_no_other(self, name):
        sections = yaml.safe_load(find_config(EXPERIMENTS[name].params_file).read_text())
        names = {entry.name for entry in EXPERIMENTS[name].every_node} | {'recorder'}
        assert {key.rpartition('/')[2] for key in sections} == names

    def test_parameters_are_those_that_the_nodes_take(self, name):
        pytest.importorskip('rclpy')
        from rolling_node_kit.suite_node import COMMON

        sections = yaml.safe_load(find_config(EXPERIMENTS[name].params_file).read_text())
        for entry in EXPERIMENTS[name].every_node:
            given = sections[f'/**/{entry.name}']['ros__parameters']
            module = importlib.import_module(entry.module)
            if hasattr(module, 'machine_of'):
                table = module.machine_of({**given, **entry.parameters}).table
            else:
                table = module.TABLE
            known = {parameter.name: parameter for parameter in (*COMMON, *table)}
            for key, value in given.items():
                assert key in known, f'{entry.name} has no parameter {key}'
                assert type(value) is type(known[key].default), key
                assert known[key].problem(value) is None

    def test_every_node_runs_the_scenario_of_the_experiment(self, name):
        sections = yaml.safe_load(find_config(EXPERIMENTS[name].params_file).read_text())
        found = 0
        for entry in EXPERIMENTS[name].every_node:
            parameters = sections[f'/**/{entry.name}']['ros__parameters']
            if 'scenario_file' in parameters or entry in EXPERIMENTS[name].nodes:
                assert parameters['scenario_file'] == EXPERIMENTS[name].scenario_file
                found += 1
        assert found >= 2

    def test_view_has_standard_displays_of_topics_that_are_published(self, name):
        view = yaml.safe_load(find_config(EXPERIMENTS[name].rviz_file).read_text())
        manager = view['Visualization Manager']
        displays = manager['Displays']
        assert {d['Class'].partition('/')[0] for d in displays} == {'rviz_default_plugins'}
        shown = {d['Topic']['Value'] for d in displays if 'Topic' in d}
        assert {'simulator/markers', 'simulator/surfaces'} <= shown
        recorded = EXPERIMENTS[name].recorded
        assert ('plan/object_path' in shown) == ('plan/object_path' in recorded)
        robot = 'robot/state' in EXPERIMENTS[name].recorded
        assert manager['Global Options']['Fixed Frame'] == ('odom' if robot else 'world')
        own = {'simulator/markers', 'simulator/surfaces'}
        assert shown - own <= set(EXPERIMENTS[name].recorded)

    def test_view_shows_robots_by_their_description(self, name):
        view = yaml.safe_load(find_config(EXPERIMENTS[name].rviz_file).read_text())
        models = [
            d['Description Topic']
            for d in view['Visualization Manager']['Displays']
            if d['Class'].endswith('/RobotModel')
        ]
        described = 'robot_description' in EXPERIMENTS[name].recorded
        assert [m['Value'] for m in models] == ['robot_description'] * described
        assert all(m['Durability Policy'] == 'Transient Local' for m in models)

    def test_view_of_a_robot_with_a_prefix_names_its_frames(self, name):
        path = find_config(EXPERIMENTS[name].rviz_file)
        assert view_file(path, '') == path
        copy = view_file(path, 'left/')
        before, after = (yaml.safe_load(p.read_text()) for p in (path, copy))
        copy.unlink()
        plain, prefixed = (
            (v['Global Options']['Fixed Frame'], v['Views']['Current']['Target Frame'])
            for v in (before['Visualization Manager'], after['Visualization Manager'])
        )
        own = [f'left/{f}' if f in ('base_footprint', 'odom') else f for f in plain]
        assert list(prefixed) == own
        assert set(own) <= {'world', '<Fixed Frame>', 'left/odom', 'left/base_footprint'}

    def test_launch_file_names_the_experiment(self, name):
        source = (ROOT / 'launch' / f'{name}.launch.py').read_text()
        tree = ast.parse(source)
        functions = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
        assert functions == ['generate_launch_description']
        assert f"launch_description('{name}')" in source

    def test_launch_file_runs_where_launch_is_installed(self, name):
        pytest.importorskip('launch_ros')
        spec = importlib.util.spec_from_file_location(
            'launch_file', ROOT / 'launch' / f'{name}.launch.py'
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        arguments = {a.name for a in module.generate_launch_description().get_launch_arguments()}
        usual = {'namespace', 'use_sim_time', 'params_file', 'rviz', 'record'}
        assert arguments >= usual | {'frame_prefix'}


def test_a_recording_of_a_scenario_holds_the_topics_of_its_instruments(tmp_path):
    text = find_scenario('two_wheeler').read_text()
    (tmp_path / 'robot.yaml').write_text(
        text.replace('kind: motor,', 'kind: motor, topic: motors,')
    )
    recorded = find_experiment(str(tmp_path / 'robot.yaml')).recorded
    sensors = {sensor.topic for sensor in load_scenario('two_wheeler').sensors}
    assert sensors
    assert {'motors', *sensors} <= {*recorded}


def test_unknown_experiment_names_those_that_exist():
    with pytest.raises(ParameterError, match='there are: ball_balancer, ball_on_plate'):
        find_experiment('ball_on_moon')


def test_command_carries_namespace_time_overrides_and_enclave():
    command = node_command(
        SLEEPER,
        Path('p.yaml'),
        namespace='/robot/',
        use_sim_time=True,
        overrides={'folder': 'x', 'topics': ['a', 'b'], 'rate': 5.0},
        enclave='/test/sleeper',
    )
    text = ' '.join(command)
    assert '-r __ns:=/robot' in text
    assert '--enclave /test/sleeper' in text
    assert '-p use_sim_time:=true' in text
    assert '-p folder:="x" -p topics:=["a", "b"] -p rate:=5.0' in text


def test_a_domain_is_given_once():
    with free_domain() as one, free_domain() as other:
        assert one != other
    with free_domain() as again:
        assert again == one


def test_a_domain_whose_discovery_port_is_in_use_is_not_given(monkeypatch):
    with free_domain() as given:  # others may hold any fixed one
        pass
    monkeypatch.setattr(bringup, 'DOMAINS', range(given, given + 1))
    with socket.socket(type=socket.SOCK_DGRAM) as node:
        node.bind(('', 7400 + 250 * given))
        text = f'from {given} to {given} is in use'
        with pytest.raises(BringupError, match=text), free_domain():
            pass
    with free_domain() as found:
        assert found == given


def test_a_domain_is_free_again_once_its_process_was_killed():
    code = (
        'from rolling_robotics.bringup import free_domain\n'
        'with free_domain() as domain: print(domain, flush=True); input()'
    )
    with subprocess.Popen(
        [sys.executable, '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        given = int(holder.stdout.readline())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bringup, 'DOMAINS', range(given, given + 1))
            with pytest.raises(BringupError), free_domain():
                pass
            holder.kill()
            holder.wait(60)
            with free_domain() as found:
                assert found == given


def test_environment_stays_on_this_machine():
    environment = isolated_environment(7)
    assert environment['ROS_DOMAIN_ID'] == '7'
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


def test_a_process_that_ends_is_noticed_with_its_last_words(tmp_path):
    broken = NodeEntry(name='broken', module='no_such_module', executable='none')
    with Bringup(
        experiment=experiment(broken), environment=os.environ, log_folder=tmp_path
    ) as bringup:
        bringup.processes['broken'].wait(60)
        with pytest.raises(BringupError, match=r'broken ended with status 1.*no_such_module'):
            bringup.check()


@pytest.mark.parametrize('number', [signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_a_process_that_crashes_fails_what_ran_it(tmp_path, monkeypatch, number):
    """As a crash while it ends, which is not its own doing if it was asked to end."""
    bringup = Bringup(experiment=experiment(SLEEPER), environment=os.environ, log_folder=tmp_path)
    monkeypatch.setattr(bringup, 'commands', lambda: {'sleeper': SLEEP})

    def ended():
        with bringup:
            bringup.processes['sleeper'].send_signal(number)
            bringup.processes['sleeper'].wait(60)

    if number in (signal.SIGSEGV, signal.SIGABRT):
        with pytest.raises(BringupError, match=f'crashed.*sleeper.*{signal.strsignal(number)}'):
            ended()
    else:
        ended()
    assert bringup.processes['sleeper'].returncode == -number


def test_everything_is_gone_after_an_exception(tmp_path):
    bringup = Bringup(experiment=experiment(SLEEPER), environment=os.environ, log_folder=tmp_path)
    with pytest.raises(KeyboardInterrupt), bringup:
        raise KeyboardInterrupt
    assert all(p.returncode is not None for p in bringup.processes.values())


def test_ctrl_c_in_the_midst_of_a_start_is_heard_and_leaves_no_process(tmp_path, monkeypatch):
    """Where a process is forked, an exception is lost, or the process is not yet noted."""
    monkeypatch.setattr(
        bringup, 'die_with_parent', lambda: os.kill(os.getppid(), signal.SIGINT) or pause(0.1)
    )
    started = Bringup(experiment=experiment(SLEEPER), environment=os.environ, log_folder=tmp_path)
    monkeypatch.setattr(started, 'commands', lambda: {'sleeper': SLEEP})
    with pytest.raises(KeyboardInterrupt), started:
        pytest.fail('Ctrl-C was lost')
    assert started.processes['sleeper'].poll() == -signal.SIGTERM


def test_one_more_interrupt_does_not_leave_processes_behind():
    """It is put off until everything was stopped, and counts then."""
    done = []

    def stop():
        with bringup._interrupted_later():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

"""The command itself: help, versions, statuses, bad input, files, interruption."""

import contextlib
import io
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import pytest
from rolling_dynamics.configuration import examples
from rolling_robotics.cli import EPILOG, main
from rolling_robotics.commands import command, FAMILIES
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / 'config' / 'scenarios' / 'spinning_plate.yaml'
ROLLING = [sys.executable, '-m', 'rolling_robotics.cli']


def test_help_names_every_command(rolling):
    ended = rolling('--help')
    assert ended.status == 0
    for name in FAMILIES:
        assert f'    {name} ' in ended.out


@pytest.mark.parametrize('name', FAMILIES)
def test_every_command_has_help_with_an_example(rolling, name):
    ended = rolling(name, '--help')
    assert ended.status == 0
    assert f'  rolling {name} ' in ended.out.partition('example:')[2]
    assert all(len(line) <= 99 for line in ended.out.splitlines())


def test_help_shows_examples_that_exist():
    taking = 'simulate|plan|sweep|compile|controllability|check'
    docs = (command(name)[1].__doc__ for name in FAMILIES)
    texts = ' '.join([EPILOG, *(doc.partition('example:')[2] for doc in docs)])
    shown = re.findall(rf'(?:rolling (?:{taking})|--scenario) (\w+)\b(?!\.)', texts)
    assert len(shown) > 10
    assert set(shown) <= set(examples())


def test_help_imports_nothing_heavy():
    code = (
        'import sys\n'
        'from rolling_robotics.cli import build_parser\n'
        'build_parser().format_help()\n'
        'heavy = {"numpy", "casadi", "scipy", "matplotlib", "yaml", "jsonschema", "rclpy"}\n'
        'heavy.add("dataclasses")  # a quarter of the time of --help\n'
        'sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_version(rolling):
    ended = rolling('--version')
    assert ended.status == 0
    assert re.match(r'rolling \S+', ended.out)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ([], ''),
        (['simulat'], "no command 'simulat'; did you mean 'simulate'"),
        (['simulate'], 'SCENARIO, --out'),
        (['simulate', 'none.yaml', '--out', 'x.json', '--fast'], '--fast'),
        (['simulate', 'none.yaml', '--out', 'x.json'], "no file 'none.yaml', and no example"),
        (
            ['simulate', 'none.yaml', '--out', 'x.txt'],
            r'--out: a file \*.json is needed',
        ),
        (
            ['simulate', 'none.yaml', '--out', '/dev/null/x/y.json'],
            "--out: '/dev/null' is not a folder",
        ),
        (['plan', 'none.yaml', '--out', 'no/x.json'], "no file 'none.yaml'"),
        (['plot', 'none.json', '--out', '/dev/null'], "--out: '/dev/null' is not a folder"),
        (['controllability', 'x', '--json', 'x.txt'], r'--json: a file \*.json is needed'),
        (
            ['animate', 'none.json', '--out', '-'],
            r"--out: a file \*.gif or \*.mp4 or \*.png is needed, got '-'",
        ),
        (
            ['simulate', 'point_mass_straight', '--out', '/proc/none/x.json'],
            'cannot be written|not writable',
        ),
        (['demo', 'spin_rolling', '--out', '/proc/none/x'], "the folder '/proc' is not writable"),
        (['export', 'lqr', '--out', '/proc/none/x'], "the folder '/proc' is not writable"),
        (['sweep', 'x', '--out', '/proc/none/x.parquet'], "the folder '/proc' is not writable"),
        (
            ['reproduce', 'ivanova-pivovarova', '--figures', '/proc/none'],
            "--figures: the folder '/proc' is not writable",
        ),
        (['plot', SCENARIO], 'is not JSON: .*by `rolling simulate` first'),
        (['plot', 'none.json'], 'none.json: cannot be read'),
        (['view', '--speed', '0'], '--speed: must lie between 0.001 and 1000, got 0'),
        (['view', '--speed', 'x'], "--speed: invalid float value: 'x'"),
        (['sweep', 'x', '--out', 'x.parquet', '--workers', '0'], '--workers: must be at least 1'),
        (['execute', '--timeout', '-1'], '--timeout: must lie between'),
        (['execute', '--goal', 'u_h'], '--goal: NAME=VALUE, .* is needed, got .u_h'),
        (['execute', '--goal', 'u_h=nan'], "NAME=VALUE, .* got 'u_h=nan'"),
        (
            ['identify', 'x', '--scenario', 'x', '--fit', 'mu=0'],
            "--fit: NAME=LOW:HIGH with two numbers is needed, got 'mu=0'",
        ),
        (
            ['identify', 'x', '--scenario', 'x', '--moving', 'ball=-1'],
            "--moving: NAME=NUMBER with a positive number is needed, got 'ball=-1'",
        ),
        (
            ['identify', 'x', '--scenario', 'x', '--window', '0'],
            '--window: must be at least 1e-09',
        ),
        (['demo', 'flip_up', '--rate', '50'], '--rate: must lie between 100 and 2000, got 50'),
        (['controllability', 'x', '--depth', '9'], '--depth: must lie between 1 and 8, got 9'),
        (['check', 'none.yaml'], "no file 'none.yaml', and no example"),
    ],
)
def test_bad_arguments(rolling, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    ended = rolling(*arguments)
    assert ended.status == 2
    if words:
        assert re.search(words, ended.err)
        assert all(line.startswith('rolling: ') for line in ended.err.splitlines())
    assert list(tmp_path.iterdir()) == []


BAD = {
    'negative mass': ({'object.mass': -0.1}, 'object.mass: must be positive [kg], got -0.1'),
    'inertia of no body': ({'object.inertia': [1, 1, 3]}, 'object.inertia: no body has'),
    'not a number': ({'duration': float('nan')}, 'duration: must be a finite number, got nan'),
    'apart': (
        {'initial': {'object': {'position': [0, 0, 0.3]}}},
        'initial.object.position: the object does not touch the hand, the gap is 0.1 m; it',
    ),
    'overlap': (
        {'initial': {'object': {'position': [0, 0, 0.15]}}},
        'initial.object.position: the object cuts into the hand by 0.05 m',
    ),
    'zero time': ({'duration': 0}, 'duration: must be positive [s], got 0'),
    'unknown surface': ({'object.surface.kind': 'cube'}, "object.surface.kind: got 'cube'"),
    'misspelt': ({'hand.sufrace': {}}, "hand.sufrace: unknown entry; did you mean 'surface'?"),
    'missing': ({'initial': None}, 'initial: must be a mapping, got None'),
    'off the hand': (
        {'hand.edges': {'u': [1, 2]}},
        'initial.contact: (u_h, v_h) = (0, 0) lies off the hand',
    ),
    'code': ({'object.mass': '().__class__'}, 'object.mass: '),
}


@pytest.mark.parametrize('name', BAD)
def test_bad_scenario(rolling, tmp_path, scenarios, name):
    """The message names path, value and remedy; nothing is written; both commands say the same."""
    changes, words = BAD[name]
    document = yaml.safe_load((scenarios / 'spinning_plate.yaml').read_text())
    for path, value in changes.items():
        *parents, last = path.split('.')
        inner = document
        for key in parents:
            inner = inner[key]
        inner[last] = value
    file, out = tmp_path / 'bad.yaml', tmp_path / 'out.json'
    file.write_text(yaml.safe_dump(document))
    for arguments in (
        ('simulate', file, '--out', out),
        ('plan', file, '--out', out),
        ('check', file),
    ):
        ended = rolling(*arguments)
        assert ended.status == 2
        assert f'rolling: {words}' in ended.err
        assert not out.exists()


def test_bad_goal(rolling, tmp_path, scenarios):
    document = yaml.safe_load((scenarios / 'ball_on_plate_hard.yaml').read_text())
    document['plan']['goal']['contact_h'] = [0, -1]
    file = tmp_path / 'bad.yaml'
    file.write_text(yaml.safe_dump(document))
    ended = rolling('plan', file, '--out', tmp_path / 'out.json')
    assert ended.status == 2
    assert 'rolling: plan.goal.v_h: ' in ended.err
    assert '-1' in ended.err


def test_scenario_without_a_plan(rolling, tmp_path, scenarios):
    ended = rolling('plan', scenarios / 'spinning_plate.yaml', '--out', tmp_path / 'out.json')
    assert ended.status == 2
    assert 'rolling: plan: is missing' in ended.err


def test_check_reads_all_and_says_which_is_bad(rolling, tmp_path, scenarios):
    bad = tmp_path / 'bad.yaml'
    bad.write_text('system: contact\n')
    good = scenarios / 'spinning_plate.yaml'
    ended = rolling('check', bad, good)
    assert ended.status == 2
    assert f'rolling: {bad}: object: is missing' in ended.err
    assert f'{good}: good' in ended.out


def test_a_fault_of_the_program_shows_no_traceback(rolling, monkeypatch):
    def broken(_):
        raise ZeroDivisionError('oops')

    monkeypatch.setattr('rolling_robotics.commands.checks.run_check', broken)
    ended = rolling('check', 'x')
    assert ended.status == 3
    assert 'fault of the program: ZeroDivisionError: oops' in ended.err


def test_demo_without_ros_runs_in_this_process(rolling, monkeypatch, tmp_path):
    monkeypatch.setattr('importlib.util.find_spec', lambda _: None)
    monkeypatch.setattr('rolling_robotics.commands.running.find_spec', lambda _: None)
    ended = rolling('demo', 'spin_rolling', '--out', str(tmp_path))
    assert ended.status == 0
    assert 'in this process, without ROS' in ended.out
    assert (tmp_path / 'spin_rolling.png').is_file()


def test_demo_on_nodes_without_ros_says_so(rolling, monkeypatch, tmp_path):
    monkeypatch.setattr('importlib.util.find_spec', lambda _: None)
    ended = rolling('demo', 'ball_on_plate', '--ros', '--out', str(tmp_path))
    assert ended.status == 2
    assert 'demo: needs ROS 2, but rclpy and rolling_interfaces' in ended.err


def test_demo_without_a_goal_is_rejected_before_it_starts(rolling, tmp_path):
    path = tmp_path / 'aimless.yaml'
    path.write_text(examples()['two_wheeler'].read_text().split('\nplan:')[0])
    ended = rolling('demo', str(path), '--out', str(tmp_path / 'out'))
    assert ended.status == 2
    assert 'plan: is missing; add this section, with the goal of the plan' in ended.err
    assert not (tmp_path / 'out').exists()


LONG = {
    'simulate': ('spinning_plate', {'duration': 500000, 'output': {'rate': 1}}, 'simulating '),
    'plan': (
        'ball_on_plate_hard',
        {
            'object': {
                'surface': {'kind': 'ellipsoid', 'a': 0.05, 'b': 0.06, 'c': 0.04, 'pole': 'x'},
                'mass': 0.1,
                'inertia': 'solid',
            },
            'initial': {'object': {'position': [0, 0, 0.04]}},
        },
        'planning ',
    ),
}


@pytest.mark.parametrize(
    'command',
    [pytest.param(c, marks=pytest.mark.slow) if c == 'plan' else c for c in LONG],
)
def test_interrupted_at_work(tmp_path, scenarios, command):
    """Ctrl-C ends at once, with a word, no traceback, no half a file; progress was shown."""
    name, changes, words = LONG[command]
    document = yaml.safe_load((scenarios / f'{name}.yaml').read_text()) | changes
    document.get('plan', {})['segments'] = 1000
    file, out, errors = (tmp_path / n for n in ('long.yaml', 'out.json', 'stderr'))
    file.write_text(yaml.safe_dump(document))
    with errors.open('w') as stderr:
        process = subprocess.Popen(
            [*ROLLING, command, str(file), '--out', str(out)], cwd=ROOT, stderr=stderr
        )
        try:
            while words not in errors.read_text():
                assert process.poll() is None, errors.read_text()
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
            process.wait()
    said = errors.read_text()
    assert said.endswith('rolling: stopped by Ctrl-C; nothing was written\n')
    assert 'Traceback' not in said
    assert 'Interrupt' not in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ['long.yaml', 'stderr']


TWICE = """
import os, signal, sys
from rolling_robotics import cli
from rolling_robotics.commands import checks

class Again:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)  # the interpreter has taken its handlers away by now

def interrupted(_):
    raise KeyboardInterrupt

again, checks.run_check = Again(), interrupted
sys.argv = ['rolling', 'check', 'x']
sys.exit(cli.main())
"""


def test_one_more_interrupt_at_the_end_changes_nothing():
    done = subprocess.run(
        [sys.executable, '-c', TWICE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == 'rolling: stopped by Ctrl-C; nothing was written\n'


def test_a_command_imports_no_other_family():
    code = (
        'import sys; from rolling_robotics.cli import main; main(["examples"]); '
        'print(*(m for m in sys.modules if m.startswith("rolling_robotics.commands.")))'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == 'rolling_robotics.commands.listings'


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='no device that is full')
def test_a_full_disk_is_reported_as_one(monkeypatch, capsys):
    with contextlib.suppress(OSError), Path('/dev/full').open('w') as full:
        monkeypatch.setattr(sys, 'stdout', full)
        status = main(['examples'])
    assert status == 2
    assert capsys.readouterr().err == 'rolling: cannot be written: No space left on device\n'


def test_letters_that_a_terminal_lacks_are_written_by_their_codes(monkeypatch, tmp_path):
    short = SCENARIO.read_text().replace('system:', 'name: "μ"\nsystem:', 1)
    (tmp_path / 'a.yaml').write_text(short.replace('duration: 10', 'duration: 0.01'))
    monkeypatch.setattr(sys, 'stdout', io.TextIOWrapper(io.BytesIO(), encoding='ascii'))
    assert main(['simulate', str(tmp_path / 'a.yaml'), '--out', str(tmp_path / 'r.json')]) == 0
    sys.stdout.flush()
    assert b'\\u03bc: 0.01 of 0.01 s' in sys.stdout.buffer.getvalue()

"""
What README and docs show works as it stands: commands, code, scenarios and links of every page.

Each line of a block of commands is of a kind that is known here; a line of another kind fails.
`rolling` commands of a page are run one after the other in a folder of their own, in this process;
those that start nodes are slow tests of their own, and those that go on until Ctrl-C are tested
where their nodes and browsers are. A command ends with status 0, or with the one that a comment
on its line states (`# exit status 1`). A page whose YAML begins with the name of a file is walked
from top to bottom: files, code and commands in their order. There Python names its file too; a
second block of a file is appended to it, and each file runs as a program of its own.
"""

from importlib.util import find_spec
from pathlib import Path
import re
import runpy
import shlex
import subprocess
import sys

import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.cli import build_parser, main
from rolling_robotics.commands import FAMILIES
from rolling_robotics.experiments import EXPERIMENTS
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]
MAKEFILE = (ROOT / 'Makefile').read_text()
SETUP = (ROOT / 'setup.py').read_text()
UNTIL_CTRL_C = {'view', 'record', 'execute'}  # or with nodes that are there: test/viewer, test/ros
NEEDS_NODES = {'demo', 'replay'}  # replay: of what a demonstration recorded
ONLY_HERE = ('cd ', 'mkdir ', 'source ', 'rosdep ', 'colcon ', 'export ', '#', 'git ', 'apt-get ')
ONLY_HERE += ('python3 -m venv ',)
LONG = {'point_mass_s_path', 'point_mass_straight'}  # plans of more than ten seconds


def name(path):
    return str(path.relative_to(ROOT))


def label(value):
    """Return the name of a page, and of anything else its first word."""
    return name(value) if isinstance(value, Path) else str(value).split()[0]


def steps(path):
    """Return kind and text of all blocks of a page, in their order."""
    return re.findall(r'^```(\w*)\n(.*?)^```', path.read_text(), re.DOTALL | re.MULTILINE)


def blocks(path, kind):
    """Return the blocks of a kind on a page."""
    return [text for k, text in steps(path) if k == kind]


def lines(path):
    """Return the command lines of a page: of its blocks, and `rolling ...` inside tables."""
    text = '\n'.join(blocks(path, 'sh')).replace('\\\n', ' ')
    text = re.sub(r'  # .*', '', text)
    rows = [row for row in path.read_text().splitlines() if row.startswith('|')]
    cells = re.findall(r'`(rolling \w+ [^`]*--out [^`]*)`', '\n'.join(rows))
    return [line.strip() for line in text.splitlines() if line.strip()] + cells


def rolling_lines(path):
    return [line for line in lines(path) if line.startswith('rolling ')]


def subcommand(line):
    return shlex.split(line)[1]


def needs_nodes(line):
    """Return whether a command starts nodes, or takes what a demonstration recorded."""
    return subcommand(line) in NEEDS_NODES or line.endswith('/recording')


def is_long(line):
    return any(word in line for word in LONG) and subcommand(line) == 'plan'


def file_name(text):
    """Return the name of the file that a block of YAML or Python is to be, if it names one."""
    first = re.match(r'# (\w+\.(?:yaml|py))\n', text)
    return first and first.group(1)


def takes_long(line):
    return is_long(line) or subcommand(line) == 'identify'


WALKED = [p for p in PAGES if any(map(file_name, blocks(p, 'yaml')))]
WALKED += [p for p in PAGES if p.parent.name == 'tutorials' and blocks(p, 'python')]
WALKED = list(dict.fromkeys(WALKED))
SEVERAL_SECONDS = (
    *('README.md', 'ball_balancer.md', 'coming_from.md', 'contact.md', 'files.md'),
    *('from_page_to_robot.md', 'machine.md', 'mechanism.md', 'page.md', 'pendulum_sphere.md'),
    'point_mass_disk.md',
)
WITH_LINES = [p for p in PAGES if lines(p)]
WITH_ROLLING = [p for p in PAGES if rolling_lines(p)]
WITH_LONG = [p for p in PAGES if any(map(takes_long, rolling_lines(p)))]
WITH_NODES = [
    p
    for p in PAGES
    if any(needs_nodes(c) and subcommand(c) not in UNTIL_CTRL_C for c in rolling_lines(p))
]
WITH_PYTHON = [p for p in PAGES if blocks(p, 'python') and p not in WALKED]
SCENARIOS = [
    (p, text)
    for p in PAGES
    for text in blocks(p, 'yaml')
    if re.match(r'(#.*\n)*system: ', text) and p not in WALKED
]
TARGETS = sorted(
    {
        (p, t)
        for p in PAGES
        for t in re.findall(r'(?:`|^)make ([a-z-]+)', p.read_text(), re.MULTILINE)
    }
)
LINKS = sorted(
    {
        (p, link)
        for p in PAGES
        for link in re.findall(r'\]\(([^)#]+)\)', p.read_text())
        if not link.startswith('http')
    }
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder, as the present folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def known(line):
    """Return whether a command line is right, as far as it can be reported without running it."""
    words = shlex.split(line)
    checks = {
        'rolling': lambda: words[1] in FAMILIES,
        'make': lambda: re.search(rf'^{words[1]}:', MAKEFILE, re.MULTILINE),
        'ros2': lambda: known_to_ros2(words[1:]),
        'pip': lambda: all(f"'{e}': [" in SETUP for e in re.findall(r'\[(\w+)\]', line)),
        '.venv/bin/python': lambda: (ROOT / words[1]).is_file() or words[1] == '-m',
    }
    if words[0] in checks:
        return bool(checks[words[0]]())
    return line.startswith(ONLY_HERE)


def known_to_ros2(words):
    if words[:2] == ['launch', 'rolling_robotics']:
        return (ROOT / 'launch' / words[2]).is_file()
    if words[:2] == ['run', 'rolling_robotics']:
        return f"'{words[2]} = " in SETUP
    return words[0] in ('topic', 'action', 'service', 'bag', 'param', 'lifecycle')


@pytest.mark.parametrize('path', WITH_LINES, ids=name)
def test_every_line_is_a_command_that_there_is(path):
    assert [line for line in lines(path) if not known(line)] == []


@pytest.mark.parametrize('path', WITH_ROLLING, ids=name)
def test_rolling_commands_are_spelt_right(path):
    parser = build_parser()
    for line in rolling_lines(path):
        parser.parse_args(shlex.split(line.partition(' > ')[0])[1:])


def stated_statuses(path):
    """Return the exit statuses other than 0 that a page states, by command."""
    found = re.findall(r'^(rolling .*?) +# exit status (\d)\b', path.read_text(), re.MULTILINE)
    return {line: int(status) for line, status in found}


def run_lines(path, found):
    """Run those commands that need no nodes and end by themselves."""
    stated = stated_statuses(path)
    for line in found:
        if needs_nodes(line) or subcommand(line) in UNTIL_CTRL_C:
            continue
        try:
            status = main(shlex.split(line.partition(' > ')[0])[1:])
        except SystemExit as end:
            status = end.code
        assert (status or 0) == stated.get(line, 0), line


def paced(path):
    """Return a page as a parameter: some run for several seconds."""
    marks = [pytest.mark.slow] if path.name in SEVERAL_SECONDS else []
    return pytest.param(path, id=name(path), marks=marks)


@pytest.mark.parametrize('path', [paced(p) for p in WITH_ROLLING])
def test_rolling_commands_run_in_their_order(path, folder, capsys):
    if path.name == 'first_hour.md':
        pytest.skip('test_first_hour.py walks it, in an empty home')
    if path in WALKED:
        pytest.skip('the slow test walks it')
    if any(map(is_long, rolling_lines(path))):
        pytest.skip('holds a plan of more than ten seconds; the slow test runs this page')
    run_lines(path, rolling_lines(path))
    assert 'Traceback' not in capsys.readouterr().err


@pytest.mark.slow  # plans and an identification of half a minute
@pytest.mark.parametrize('path', WITH_LONG, ids=name)
def test_rolling_commands_that_take_long_run(path, folder):
    run_lines(path, rolling_lines(path))


@pytest.mark.slow  # equations of new bodies, and plans
@pytest.mark.parametrize('path', WALKED, ids=name)
def test_walked_pages_do_what_they_say(path, folder):
    if 'import trimesh' in path.read_text():
        pytest.importorskip('trimesh')
    for kind, text in steps(path):
        if kind == 'yaml':
            (folder / file_name(text)).write_text(text)
        elif kind == 'python':
            with (folder / file_name(text)).open('a') as file:
                file.write(text)
            runpy.run_path(file.name, run_name='__main__')
        elif kind == 'sh':
            run_lines(path, (line for line in text.splitlines() if line.startswith('rolling ')))


@pytest.mark.slow  # starts simulator, planner, controller and recorder as processes
@pytest.mark.ros
@pytest.mark.skipif(find_spec('rclpy') is None, reason='needs rclpy')
@pytest.mark.parametrize('path', WITH_NODES, ids=name)
def test_demonstrations_reach_their_goal(path, folder):
    for line in rolling_lines(path):
        if needs_nodes(line) and subcommand(line) not in UNTIL_CTRL_C:
            assert main(shlex.split(line)[1:]) == 0, line


@pytest.mark.parametrize('path', WITH_PYTHON, ids=name)
def test_python_examples_run(path, folder):
    """
    Blocks of a page run one after the other, as in a notebook.

    A fragment that needs names which the page does not define is marked as ``py`` instead.
    """
    names = {'__name__': 'example'}
    for code in blocks(path, 'python'):
        exec(compile(code, name(path), 'exec'), names)  # noqa: S102


@pytest.mark.parametrize(
    ('path', 'text'), SCENARIOS, ids=lambda v: name(v) if isinstance(v, Path) else ''
)
def test_scenarios_are_good(path, text):
    load_scenario(yaml.safe_load(text))


@pytest.mark.parametrize(
    ('path', 'target'), TARGETS, ids=lambda v: name(v) if isinstance(v, Path) else v
)
def test_make_knows_every_target(path, target):
    assert re.search(rf'^{target}:', MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize(
    ('path', 'link'), LINKS, ids=lambda v: name(v) if isinstance(v, Path) else v
)
def test_links_lead_somewhere(path, link):
    assert (path.parent / link).exists()


def test_pages_of_the_documentation_are_in_its_index():
    """A page that no table of contents names is found by nobody; `make docs` builds them all."""
    index = (ROOT / 'docs' / 'index.md').read_text()
    for path in (ROOT / 'docs').rglob('*.md'):
        page = path.relative_to(ROOT / 'docs').with_suffix('')
        assert page.name == 'index' or str(page) in index or f'{page.parent}/*' in index


@pytest.mark.slow  # builds every page
@pytest.mark.skipif(find_spec('myst_parser') is None, reason='needs what `make docs` installs')
def test_documentation_is_built_without_a_warning(tmp_path):
    command = [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html']
    done = subprocess.run(
        [*command, str(ROOT / 'docs'), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_examples_of_extending_are_short():
    for code in blocks(ROOT / 'docs' / 'extending.md', 'python'):
        assert len(code.strip().splitlines()) < 40


def test_readme_shows_every_system_and_a_moving_picture():
    text = (ROOT / 'README.md').read_text()
    for picture in ('contact', 'point_mass_ball', 'point_mass_disk', 'pendulum_sphere'):
        assert f'docs/images/{picture}.png' in text
    moving = ROOT / re.search(r'!\[[^\]]*\]\((docs/images/\w+\.gif)\)', text).group(1)
    assert moving.stat().st_size < 1_000_000
    assert text.index('.gif') < text.index('```')


def test_every_picture_of_the_docs_is_made_by_something_here():
    source = (ROOT / 'tools' / 'pictures.py').read_text()
    frames = re.findall(
        r"^    '(\w+)': \(", (ROOT / 'tools' / 'frames.py').read_text(), re.MULTILINE
    )
    made = {*EXPERIMENTS, *(p.stem for p in WALKED), *(f'frames_{name}' for name in frames)}
    made |= {f'nodes_{name}' for name in EXPERIMENTS}  # by tools/diagrams.py
    made |= {p.stem for p in (ROOT / 'docs' / 'images').glob('architecture_*.svg')}  # by hand
    made.add('beside_mujoco')  # a page of the gallery, in a browser
    for benchmark in (ROOT / 'evidence' / 'benchmarks').glob('*.py'):
        made.update(re.findall(r"Path\('build/(\w+)\.png'\)", benchmark.read_text()))
    for example in (ROOT / 'examples').rglob('*.py'):
        made.update(re.findall(r"'(\w+)\.png'", example.read_text()))
    for path in (ROOT / 'docs' / 'images').iterdir():
        assert f"'{path.name}'" in source or path.stem in made

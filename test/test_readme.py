"""What the README shows works as it stands."""

from pathlib import Path
import re
import shlex
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / 'README.md').read_text()
BLOCKS = re.findall(r'```(\w+)\n(.*?)```', README, re.DOTALL)
ROLLING = [
    line
    for kind, block in BLOCKS
    if kind == 'sh'
    for line in block.splitlines()
    if line.startswith('rolling ')
]
TARGETS = sorted(set(re.findall(r'(?:`|^)make ([a-z-]+)(?:`|$)', README, re.MULTILINE)))
LINKS = sorted(set(re.findall(r'\]\(([^)#]+)\)', README)))


@pytest.mark.parametrize(
    'code', [block for kind, block in BLOCKS if kind == 'python'], ids=lambda _: 'python'
)
def test_python_example_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, 'README.md', 'exec'), {})  # noqa: S102


def test_rolling_commands_run_in_their_order(tmp_path):
    assert ROLLING
    (tmp_path / 'config').symlink_to(ROOT / 'config')
    for line in ROLLING:
        command = [sys.executable, '-m', 'rolling_robotics.cli', *shlex.split(line)[1:]]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f'{line}\n{done.stdout}{done.stderr}'


@pytest.mark.parametrize('target', TARGETS)
def test_make_knows_every_target(target):
    assert re.search(rf'^{target}:', (ROOT / 'Makefile').read_text(), re.MULTILINE)


@pytest.mark.parametrize('link', LINKS)
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()

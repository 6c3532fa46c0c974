"""`rolling completion`: a script that the shell takes, and that completes what there is."""

import shutil
import subprocess
import sys

import pytest
from rolling_robotics.commands import FAMILIES

TRY = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
handler=$(complete -p rolling | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$handler rolling "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope='module')
def script(tmp_path_factory):
    pytest.importorskip('shtab')
    path = tmp_path_factory.mktemp('completion') / 'rolling.bash'
    with path.open('w') as file:
        command = [sys.executable, '-m', 'rolling_robotics.cli', 'completion', 'bash']
        subprocess.run(command, check=True, stdout=file)
    return path


@pytest.mark.skipif(shutil.which('bash') is None, reason='bash is not installed')
@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (('rolling', ''), set(FAMILIES)),
        (('rolling', 'pl'), {'plan', 'plot'}),
        (('rolling', 'animate', '--el'), {'--elevation'}),
        (('rolling', 'plot', '--format', ''), {'png', 'pdf', 'svg'}),
    ],
)
def test_bash_completes(script, words, expected):
    done = subprocess.run(
        ['bash', '-c', TRY, 'bash', script, *words],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    assert expected <= set(done.stdout.split()), done.stderr
    if words[-1]:
        assert set(done.stdout.split()) == expected


@pytest.mark.parametrize('shell', ['zsh', 'tcsh'])
def test_other_shells_get_every_command(rolling, shell):
    pytest.importorskip('shtab')
    ended = rolling('completion', shell)
    assert ended.status == 0
    assert all(name in ended.out for name in FAMILIES)


def test_unknown_shell_and_missing_package(rolling, monkeypatch):
    ended = rolling('completion', 'fish')
    assert (ended.status, "invalid choice: 'fish'" in ended.err) == (2, True)
    monkeypatch.setitem(sys.modules, 'shtab', None)
    monkeypatch.setattr('importlib.util.find_spec', lambda _: None)
    ended = rolling('completion', 'bash')
    assert (ended.status, 'rolling_robotics[completion]' in ended.err) == (2, True)

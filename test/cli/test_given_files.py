"""What a command is given to read is a file: it never waits at a pipe, nor reads without end."""

import os

import pytest

pytestmark = pytest.mark.timeout(60)  # which ends a command that waits
COMMANDS = {
    'check': ('check', '{}'),
    'simulate': ('simulate', '{}', '--out', '{}.json'),
    'plan': ('plan', '{}', '--out', '{}.json'),
    'controllability': ('controllability', '{}'),
    'sweep': ('sweep', '{}', '--out', '{}.parquet'),
    'identify': ('identify', '{}', '--scenario', 'ball_balancer'),
}


@pytest.fixture
def given(tmp_path):
    """Return a function that makes a file of a kind and returns its path."""

    def make(kind):
        path = tmp_path / 'given'
        if kind == 'pipe':
            os.mkfifo(path)
        elif kind == 'device':
            path.symlink_to('/dev/zero')
        elif kind == 'folder':
            path.mkdir()
        else:
            with path.open('wb') as file:
                file.truncate(2 * 10**9)  # holes, which take no place on the disk
        return path

    return make


@pytest.mark.parametrize('kind', ['pipe', 'device', 'folder', 'file of 2 GB'])
@pytest.mark.parametrize('command', COMMANDS)
def test_what_is_no_file_of_bounded_size_is_refused(
    command, kind, given, rolling, fault_row, tmp_path
):
    path, columns = given(kind), tmp_path / 'columns.yaml'
    columns.write_text('{ball_x: "vision/object_pose:pose.pose.position.x"}')
    told = fault_row(f'`rolling {command}` of a {kind}')
    words = [word.format(path) for word in COMMANDS[command]]
    recording = command == 'identify' and kind == 'folder'
    ended = rolling(*words, *recording * ('--columns', str(columns)))
    (line,) = (line for line in ended.err.splitlines() if line.startswith('rolling: '))
    assert ended.status == 2
    why = 'is not a readable recording' if recording else 'cannot be read'
    assert f'{path}: {why}' in line
    told(f'status 2: {line.replace(str(path), "given")}')


def test_parameters_of_motors_are_such_a_file(given):
    from rolling_dynamics.errors import ParameterError
    from rolling_robotics.calibration_report import read_parameters

    with pytest.raises(ParameterError, match='cannot be read'):
        read_parameters(given('pipe'))

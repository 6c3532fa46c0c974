"""Where results go: standard output, and folders that are made."""

import json
import os

import pytest


def test_a_result_on_standard_output(rolling, tmp_path, monkeypatch):
    """It is the file, and all that is said beside it goes to stderr."""
    monkeypatch.chdir(tmp_path)
    to_file = rolling('simulate', 'spinning_plate', '--out', 'plate.json')
    written = json.loads((tmp_path / 'plate.json').read_text())
    ended = rolling('simulate', 'spinning_plate', '--out', '-')
    assert ended.status == 0
    result = json.loads(ended.out)
    assert result['arrays'] == written['arrays']
    assert ended.err.endswith(to_file.out.replace('written to plate.json\n', ''))
    assert [path.name for path in tmp_path.iterdir()] == ['plate.json']


def test_a_report_on_standard_output(rolling):
    ended = rolling('controllability', 'spin_rolling_ball', '--json', '-')
    assert ended.status == 0
    assert json.loads(ended.out)['rank_at_start'] == 5
    assert 'rank' in ended.err


def test_a_plan_on_standard_output(rolling):
    ended = rolling('plan', 'spin_rolling_pure', '--out', '-')
    assert ended.status == 0
    assert json.loads(ended.out)['reached']


@pytest.fixture
def result(rolling, tmp_path):
    """A result in a folder that was not there."""
    out = tmp_path / 'of' / 'results' / 'plate.json'
    assert rolling('simulate', 'spinning_plate', '--out', out).status == 0
    return out


@pytest.mark.parametrize(
    ('command', 'out', 'options', 'written'),
    [
        ('plot', 'new/figures', ['--only', 'paths'], 'new/figures/plate_paths.png'),
        ('animate', 'new/pictures/x.png', [], 'new/pictures/x.png'),
    ],
)
def test_folders_are_made(rolling, tmp_path, result, command, out, options, written):
    assert rolling(command, result, '--out', tmp_path / out, *options).status == 0
    assert (tmp_path / written).stat().st_size > 1000


def test_a_sweep_makes_its_folder(rolling, tmp_path, sweeps_here):
    pytest.importorskip('pyarrow')
    out = tmp_path / 'of' / 'sweeps' / 'x.parquet'
    vary = ('--vary', 'floor.mu=0.4,0.6')
    assert rolling('sweep', 'pendulum_start', '--out', out, '--workers', 1, *vary).status == 0
    assert out.is_file()


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(rolling, tmp_path):
    tmp_path.chmod(0o500)
    ended = rolling('simulate', 'spinning_plate', '--out', tmp_path / 'a' / 'x.json')
    tmp_path.chmod(0o700)
    assert ended.status == 2
    assert f"--out: the folder '{tmp_path}' is not writable" in ended.err

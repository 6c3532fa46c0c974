"""A damaged result is one clear error, and nothing is opened that it names."""

from collections import Counter
import json
import os
from pathlib import Path
import sys

from damage import damaged_bytes, damaged_document, often, told_or_read
from hypothesis import given
from hypothesis import strategies as st
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_robotics.animation.movie import Shot, write_movie
from rolling_robotics.cli import main
from rolling_robotics.files import read_result
from rolling_robotics.plot import draw, FIGURES
from rolling_robotics.scene.general import scene_of
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = {'spinning_plate': 0.5, 'pendulum_turn': 0.5, 'spin_rolling_ball': 0.5}
KINDS = sorted(FIGURES)
DEEP = '{"format": "rolling/simulation", "arrays": ' + '[' * 100_000 + ']' * 100_000 + '}'


@pytest.fixture(scope='module')
def results(tmp_path_factory):
    """Return results of several systems, each a document."""
    folder, out = tmp_path_factory.mktemp('results'), []
    for name, duration in SCENARIOS.items():
        document = yaml.safe_load((ROOT / 'config' / 'scenarios' / f'{name}.yaml').read_text())
        document = {**document, 'duration': duration, 'output': {'rate': 60}}
        (folder / 'scenario.yaml').write_text(yaml.safe_dump(document))
        path = folder / f'{name}.json'
        assert main(['simulate', str(folder / 'scenario.yaml'), '--out', str(path)]) in {0, 1}
        out.append(json.loads(path.read_text()))
    return out


def use(path, figure):
    """Read a result as `rolling animate`, `rolling view` and `rolling plot` do."""
    result = read_result(path)
    scene_of(result)
    return draw(figure, result, path.with_suffix('.png'))


def check_damaged(data, results, folder):
    document = data.draw(st.sampled_from(results))
    whole = data.draw(st.booleans())
    kinds = damaged_document(document) if whole else damaged_bytes(json.dumps(document).encode())
    path = folder / 'damaged.json'
    path.write_bytes(data.draw(kinds))
    _, told = told_or_read(lambda: use(path, data.draw(st.sampled_from(KINDS))))
    return 'refused' if told else 'read'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('damaged')


@pytest.mark.slow
def test_damaged_results_are_told(results, folder, fault_row):
    ended, told = Counter(), fault_row('50 results damaged at random')

    @given(data=st.data())
    @often(50)
    def check(data):
        ended[check_damaged(data, results, folder)] += 1

    check()
    told(f'{ended["read"]} still make sense and are drawn, {ended["refused"]} refused in one line')


@pytest.mark.slow
@given(data=st.data())
@often(10_000)
def test_many_damaged_results_are_told(data, results, folder):
    check_damaged(data, results, folder)


def test_whole_results_are_read(results, folder):
    path = folder / 'whole.json'
    for document in results:
        path.write_text(json.dumps(document))
        assert use(path, 'states')


def opened(event, arguments, seen=[]):  # noqa: B006  (kept between calls)
    if event == 'open' and seen:
        seen[0].append(str(arguments[0]))


@pytest.mark.parametrize('entry', ['scenario', 'system', 'name', 'plan'])
def test_nothing_is_opened_that_a_result_names(results, folder, entry, capsys, fault_row):
    """A FIFO would be waited at for ever, a device read without end."""
    named = folder / f'named_{entry}'
    os.mkfifo(named)
    document = {**results[0], entry: str(named)}
    path = folder / f'names_{entry}.json'
    path.write_text(json.dumps(document))
    seen = []
    hook = opened.__defaults__[0]
    if not hook:
        sys.addaudithook(opened)
    hook[:] = [seen]
    told = fault_row(f'a result gives the path of a FIFO as its {entry}')
    status = main(['animate', str(path), '--out', str(folder / 'out.png'), '--width', '100'])
    hook[:] = [[]]
    assert status == (0 if entry == 'name' else 2)
    assert str(path) in seen
    assert str(named) not in seen
    assert 'fault of the program' not in capsys.readouterr().err
    told('not opened, ' + ('drawn all the same' if status == 0 else 'status 2 and one line'))


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (DEEP, 'is not JSON'),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"a": NaN}', 'NaN is not a number'),
        ('{"a": -Infinity}', '-Infinity is not a number'),
        ('{"a": ' + '9' * 10_000 + '}', 'is not JSON'),
        ('\ud800'.encode('utf-8', 'surrogatepass'), 'is not JSON'),
        (b'', 'is not JSON'),
    ],
    ids=range(7),
)
@pytest.mark.parametrize('command', ['plot', 'animate'])
def test_command_line_ends_with_one_line(tmp_path, capsys, command, text, words, fault_row):
    path = tmp_path / 'bad.json'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    out = ['--out', str(tmp_path / 'out.gif')] if command == 'animate' else []
    told = fault_row(f'`rolling {command}` of a result that holds {str(text)[:24]!r}')
    assert main([command, str(path), *out]) == 2
    err = capsys.readouterr().err.splitlines()  # of long work one line says, too
    said = [line for line in err if line.startswith('rolling: ')]
    assert len(said) == 1
    assert words in said[0]
    assert str(path) in said[0]
    told(f'status 2: {said[0].replace(str(tmp_path), "...")}')


@pytest.mark.parametrize('kind', ['fifo', 'device', 'folder', 'large', 'missing'])
def test_only_regular_files_of_bounded_size_are_read(tmp_path, kind, fault_row):
    path = tmp_path / 'given.json'
    if kind == 'fifo':
        os.mkfifo(path)
    elif kind == 'device':
        path = Path('/dev/zero')
    elif kind == 'folder':
        path.mkdir()
    elif kind == 'large':
        with path.open('wb') as file:
            file.truncate(2 * 10**9)  # holes, which take no place on the disk
    told = fault_row(f'a result that is {kind}')
    with pytest.raises(ParameterError, match='cannot be read') as failure:
        read_result(path)
    told(str(failure.value).replace(str(tmp_path), '...'))


def test_a_film_without_end_is_refused(results, tmp_path):
    document = json.loads(json.dumps(results[0]))
    document['arrays']['time']['values'][-1] = 1e9
    path = tmp_path / 'long.json'
    path.write_text(json.dumps(document))
    scene = scene_of(read_result(path))
    with pytest.raises(ParameterError, match='give --speed'):
        write_movie(scene, Shot(), tmp_path / 'out.gif', lambda *_: None)
    assert list(tmp_path.iterdir()) == [path]


def test_no_link_beside_the_picture_is_followed(results, tmp_path):
    """As somebody would lay them who knows how the unfinished file was called."""
    precious, path = tmp_path / 'precious', tmp_path / 'result.json'
    precious.write_text('precious')
    path.write_text(json.dumps(results[0]))
    (tmp_path / '.out.partial.png').symlink_to(precious)
    write_movie(
        scene_of(read_result(path)), Shot(width=100), tmp_path / 'out.png', lambda *_: None
    )
    assert precious.read_text() == 'precious'

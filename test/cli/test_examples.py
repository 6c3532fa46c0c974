"""Examples: found by name wherever a scenario is asked for, listed, and copied to be changed."""

import pytest
from rolling_dynamics import configuration
from rolling_dynamics.configuration import examples, find_installed, find_scenario
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_model
import yaml


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder that holds nothing, as the present one."""
    (tmp_path / 'here').mkdir()
    monkeypatch.chdir(tmp_path / 'here')
    return tmp_path / 'here'


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation that is not the source tree: one example in the folder of pip's data."""
    site = tmp_path / 'lib' / 'python3' / 'site-packages'
    (site / 'rolling_dynamics').mkdir(parents=True)
    folder = tmp_path / 'share' / 'rolling_robotics' / 'config' / 'scenarios'
    folder.mkdir(parents=True)
    (folder / 'only_here.yaml').write_text('system: contact\n')
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    monkeypatch.setattr(configuration, '__file__', str(site / 'rolling_dynamics' / 'x.py'))
    monkeypatch.setattr('sys.prefix', str(tmp_path / 'another'))
    return folder / 'only_here.yaml'


def test_every_example_is_listed_with_what_it_shows(rolling, scenarios):
    ended = rolling('examples')
    rows = dict(line.split(maxsplit=1) for line in ended.out.splitlines())
    assert list(rows) == sorted(path.stem for path in scenarios.glob('*.yaml'))
    for name, text in rows.items():
        assert text == yaml.safe_load((scenarios / f'{name}.yaml').read_text())['description']
        assert text[0].isupper()
        assert text.endswith('.')


@pytest.mark.parametrize('name', ['spinning_plate', 'spinning_plate.yaml'])
def test_commands_nodes_and_python_find_an_example_by_name(rolling, elsewhere, name):
    assert rolling('simulate', name, '--out', 'plate.json').status == 0
    assert (elsewhere / 'plate.json').is_file()
    assert load_model(name).title == load_scenario(name).name == 'spinning_plate'
    assert find_installed(name) == find_scenario(name)


@pytest.mark.parametrize(
    'arguments',
    [
        ('simulate', 'NAME', '--out', 'x.json'),
        ('plan', 'NAME', '--out', 'x.json'),
        ('sweep', 'NAME', '--out', 'x.parquet'),
        ('compile', 'NAME'),
        ('controllability', 'NAME'),
        ('check', 'NAME'),
        ('examples', 'NAME'),
    ],
    ids=lambda a: a[0],
)
def test_an_unknown_name_is_one_line_with_the_nearest_one(
    rolling, elsewhere, monkeypatch, arguments
):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')  # else `compile` says that it may not
    ended = rolling(*(a.replace('NAME', 'ball_on_plate_hrad') for a in arguments))
    assert ended.status == 2
    (line,) = ended.err.splitlines()
    assert "'ball_on_plate_hrad'" in line
    assert "did you mean 'ball_on_plate_hard'? `rolling examples` lists them" in line
    assert list(elsewhere.iterdir()) == []


def test_a_file_goes_before_an_example_and_a_folder_does_not(elsewhere):
    (elsewhere / 'spinning_plate').mkdir()
    assert find_scenario('spinning_plate') == examples()['spinning_plate']
    (elsewhere / 'spinning_plate').rmdir()
    (elsewhere / 'spinning_plate').write_text('system: contact\n')
    assert find_scenario('spinning_plate').resolve() == elsewhere / 'spinning_plate'


@pytest.mark.parametrize('folder', ['scenarios', 'config/scenarios'])
def test_an_example_is_found_by_its_path_in_the_source_tree(folder):
    assert find_scenario(f'{folder}/spinning_plate.yaml') == examples()['spinning_plate']


def test_another_path_is_never_an_example():
    with pytest.raises(ScenarioError, match=r"no file 'of/spinning.* 'spinning_plate'"):
        find_scenario('of/spinning_plate.yaml')


def test_an_installation_by_pip_is_found(installed):
    """Also one into a user's folder, which is not below sys.prefix."""
    assert examples() == {'only_here': installed}
    assert find_scenario('only_here') == installed


def test_examples_are_copied_and_nothing_is_overwritten(rolling, elsewhere, scenarios):
    assert rolling('examples', '--copy', 'a/b').status == 0
    copied = {path.name: path.read_text() for path in (elsewhere / 'a' / 'b').iterdir()}
    assert copied == {path.name: path.read_text() for path in scenarios.glob('*.yaml')}

    mine = elsewhere / 'mine' / 'spinning_plate.yaml'
    mine.parent.mkdir()
    mine.write_text('system: contact\n')
    ended = rolling('examples', 'curved_hand', 'spinning_plate', '--copy', 'mine')
    assert ended.status == 2
    assert "--copy: 'mine/spinning_plate.yaml' is there already and differs" in ended.err
    assert mine.read_text() == 'system: contact\n'
    assert list(mine.parent.iterdir()) == [mine]

    assert rolling('examples', 'curved_hand', '--copy').status == 0
    assert rolling('examples', 'curved_hand', '--copy').status == 0  # the same once more
    assert [path.name for path in (elsewhere / 'examples').iterdir()] == ['curved_hand.yaml']


def test_a_copy_where_a_file_stands_is_refused(rolling, elsewhere):
    (elsewhere / 'file').write_text('')
    ended = rolling('examples', '--copy', 'file/in')
    assert (ended.status, 'rolling: --copy: ' in ended.err) == (2, True)

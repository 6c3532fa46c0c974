"""The command that puts a system to the checks of the contract."""

import pytest
from rolling_dynamics.plugin import plugins
from rolling_dynamics.testing import CHECKS
from rolling_robotics.cli import main
from rolling_robotics.named_system import named_system

MODULE = """
from pathlib import Path
import re
import numpy
from rolling_dynamics import simulate

text = Path({page!r}).read_text()
blocks = re.findall(r'^```python\\n(.*?)^```', text, re.DOTALL | re.MULTILINE)
names = {{'np': numpy, 'simulate': simulate}}
exec(next(b for b in blocks if 'class DrivenWheel' in b), names)


def make():
    return names['wheel'], names['params'], [0.0, 0.1]


def make_measured():
    return *make(), None, (), ()


def make_broken():
    names['wheel'].model_hash = ''
    return make()


def make_nothing():
    return None


def make_of_spokes():
    return {{}}['spokes']


def make_an_end():
    raise SystemExit
"""


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    page = request.config.rootpath / 'docs' / 'extending.md'
    (tmp_path / 'my_wheel.py').write_text(MODULE.format(page=str(page)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_system_of_ones_own_is_checked(module, capsys):
    assert main(['check-system', 'my_wheel:make', '--duration', '0.3']) == 0
    out = capsys.readouterr().out
    assert 'passed   planning' in out
    assert out.endswith('driven_wheel: none of 18 checks failed\n')
    assert main(['check-system', 'my_wheel:make_broken']) == 1
    assert named_system('my_wheel:make_measured').sensors == ()
    assert 'failed   contract: name and model_hash must not be empty' in capsys.readouterr().out


def test_sensors_and_actuators_are_checked_with_their_messages(monkeypatch, capsys):
    topics = pytest.importorskip('rolling_dynamics.nodes.topics')
    few = {'instruments': CHECKS['instruments']}
    monkeypatch.setattr('rolling_controller.testing.ALL_CHECKS', few)
    for name in ('labyrinth', 'two_wheeler'):
        assert main(['check-system', name]) == 0
        out = capsys.readouterr().out
        assert 'passed   instruments\npassed   messages\n' in out
    assert main(['check-system', 'spinning_plate']) == 0
    assert capsys.readouterr().out.count('no sensors and no actuators were given') == 2
    read = topics.SensorReader.read
    monkeypatch.setattr(topics.SensorReader, 'read', lambda *a: (read(*a)[0], 2 + read(*a)[1]))
    assert main(['check-system', 'labyrinth']) == 1
    assert "failed   messages: sensor 'camera'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('pendulum_spere', "did you mean 'pendulum_sphere'?"),
        ('no_such_module:make', "No module named 'no_such_module'"),
        ('my_wheel:mak', "module 'my_wheel' has no attribute 'mak'"),
        ('my_wheel:make_of_spokes', "my_wheel:make_of_spokes: KeyError: 'spokes'"),
        ('my_wheel:make_an_end', 'my_wheel:make_an_end: SystemExit'),
        ('my_wheel:make_nothing', 'is expected, got NoneType'),
        ('missing.yaml', 'missing.yaml'),
    ],
)
def test_what_is_no_system_is_one_line(module, capsys, name, text):
    assert main(['check-system', name]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count('\n') == 1


@pytest.mark.parametrize('name', plugins())
def test_every_kind_has_an_example(name):
    given = named_system(name)
    assert given.system.name == name
    assert given.system.state.size == given.x.size

"""Plug-ins: the suite's are complete, others are found by entry points, bad ones are left out."""

from dataclasses import fields, replace
import logging
import sys

import pytest
from rolling_dynamics import errors, plugin
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import (
    plugin_of,
    plugins,
    register_plugin,
    role_of,
    roles,
    SystemPlugin,
)
from rolling_robotics.cli import main
from rolling_robotics.experiments import by_name, EXPERIMENTS

SUITE = [
    'ball_balancer',
    'contact',
    'labyrinth',
    'machine',
    'pendulum_sphere',
    'point_mass_ball',
    'point_mass_disk',
    'spin_rolling_sphere',
]
ROLES = [f.name for f in fields(SystemPlugin) if f.name not in ('name', 'protocol', 'example')]
GOOD = """\
from rolling_dynamics.plugin import SystemPlugin
PLUGIN = SystemPlugin(name='unicycle', protocol=2, scene='json:dumps', law='json:no_law')
"""


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    """Forget what was found before."""
    monkeypatch.setattr(plugin, '_KNOWN', {})
    monkeypatch.setattr(plugin, '_REFUSED', set())


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package with a plug-in, as far as Python knows."""

    def put(name, source, number=1):
        (tmp_path / f'{name}.py').write_text(source)
        info = tmp_path / f'{name}-{number}.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n')
        (info / 'entry_points.txt').write_text(f'[{plugin.GROUP}]\n{name} = {name}:PLUGIN\n')
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return put


@pytest.mark.parametrize('name', SUITE)
def test_every_role_of_the_suite_can_be_imported(name):
    found = plugin_of(name)
    assert found.name == name
    for role in ROLES:
        given, loaded = getattr(found, role), found.load(role)
        assert (loaded is None) == (given is None), role


def test_a_system_of_the_suite_asks_for_no_entry_points(monkeypatch):
    monkeypatch.setattr(plugin, '_entries', lambda: pytest.fail('entry points are scanned'))
    assert plugin_of('contact').name == 'contact'


def test_an_installed_plugin_is_found(install):
    install('unicycle', GOOD)
    assert list(plugins()) == [*SUITE, 'unicycle']
    assert role_of('unicycle', 'scene').__name__ == 'dumps'
    assert role_of('unicycle', 'arrays') is None


def test_a_role_that_cannot_be_imported_is_told_or_left_out(install, caplog):
    install('unicycle', GOOD)
    with pytest.raises(ParameterError, match=r"'unicycle': law 'json:no_law' cannot be imported"):
        role_of('unicycle', 'law')
    assert 'unicycle' not in dict(roles('law'))
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ('role', 'given', 'text'),
    [
        ('planner', "'fails_at_import:X'", 'ZeroDivisionError: division by zero'),
        ('scenario', "'ends_the_process:X'", 'SystemExit: 3'),
        ('scenario', "'json:dumps'", "scenario 'json:dumps' has no build, model_validate"),
        ('law', '4', 'law 4 has no group'),
        ('experiments', '42', 'experiments 42 has no __iter__'),
        ('scene', '3', 'scene 3 has no __call__'),
    ],
)
def test_a_role_of_no_use_stops_no_other_plugin(install, caplog, role, given, text):
    install('fails_at_import', '1 / 0')
    install('ends_the_process', 'import sys; sys.exit(3)')
    install('unicycle', GOOD.replace("scene='json:dumps', law='json:no_law'", f'{role}={given}'))
    others = {name for name in SUITE if getattr(plugin_of(name), role) is not None}
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert set(dict(roles(role))) == others
    (line,) = [r.getMessage() for r in caplog.records if 'system' in r.getMessage()]
    assert text in line
    with pytest.raises(ParameterError, match=r"^plug-in of the system 'unicycle'"):
        role_of('unicycle', role)


def test_no_installed_experiment_takes_the_place_of_one_of_the_suite(install, caplog):
    own = "(7, __import__('types').SimpleNamespace(name='ball_on_plate'), *E)"
    source = f'from rolling_robotics.plugins.contact.experiments import EXPERIMENTS as E\n{GOOD}'
    install('unicycle', source.replace("law='json:no_law'", f'experiments={own}'))
    assert by_name() == EXPERIMENTS
    lines = [r.getMessage() for r in caplog.records if 'unicycle' in r.getMessage()]
    assert len(lines) == 2 + len(plugin_of('contact').load('experiments'))
    assert 'experiment 7 is left out: an Experiment is expected' in lines[0]
    assert 'experiment ball_on_plate is left out: that name is taken' in lines[1]


@pytest.mark.parametrize(
    ('source', 'text'),
    [
        ('import no_such_module', "No module named 'no_such_module'"),
        ('PLUGIN = 1 / 0', 'ZeroDivisionError'),
        ('import sys; sys.exit(3)', 'SystemExit: 3'),
        ('PLUGIN = {}', 'SystemPlugin is expected, got dict'),
        (GOOD.replace('protocol=2', 'protocol=1'), 'protocol 1 of plug-ins, here it is 2; docs'),
        (GOOD.replace('law=', 'identification='), 'of an earlier version: docs/extending.md'),
        (GOOD.replace("name='unicycle'", "name='bicycle'"), "the system 'bicycle'"),
        (GOOD.replace('law=', 'magic='), 'magic'),
    ],
)
def test_a_bad_plugin_is_one_line_and_left_out(install, caplog, source, text):
    install('unicycle', source)
    with caplog.at_level(logging.WARNING):
        assert list(plugins()) == SUITE
        assert list(plugins()) == SUITE
    assert len(caplog.records) == 1
    line = caplog.records[0].getMessage()
    assert text in line
    assert 'unicycle' in line
    assert '\n' not in line


def test_a_plugin_of_another_protocol_is_not_registered():
    with pytest.raises(ParameterError, match=r"'old' is written for protocol 1 .* docs/extending"):
        register_plugin(SystemPlugin(name='old', protocol=1))


def test_no_installed_plugin_takes_the_place_of_one_of_the_suite(install):
    install('contact', GOOD.replace('unicycle', 'contact'))
    assert plugin_of('contact').example == 'ball_on_plate_hard'


def test_an_unknown_system_is_told_what_would_do():
    with pytest.raises(ParameterError, match=r"you mean 'pendulum_sphere'\?.*rolling_robotics"):
        plugin_of('pendulum_spher')


def test_a_plugin_of_this_process_goes_first():
    register_plugin(replace(plugin_of('contact'), example='elsewhere'))
    assert plugin_of('contact').example == 'elsewhere'


FAULTY = """\
from rolling_dynamics.plugin import SystemPlugin
from rolling_dynamics.scenario import ScenarioFile

PLUGIN = SystemPlugin(name='seesaw', protocol=2, scenario='seesaw:SeesawFile')


class SeesawFile(ScenarioFile):
    def build(self, name, raw):
        return 1 / 0
"""


def test_an_exception_of_a_plugin_names_the_plugin_and_the_line(
    install, tmp_path, monkeypatch, capsys
):
    install('seesaw', FAULTY)
    monkeypatch.setattr(errors, 'PLUGIN_OF', errors.PLUGIN_OF.copy())
    monkeypatch.setattr(plugin, 'PLUGIN_OF', errors.PLUGIN_OF)
    (tmp_path / 'seesaw.yaml').write_text('system: seesaw\nduration: 1\n')
    assert main(['simulate', str(tmp_path / 'seesaw.yaml'), '--out', 'x.json']) == 3
    told = capsys.readouterr().err
    assert "plug-in 'seesaw' (seesaw/seesaw.py, line 9, in build): ZeroDivisionError" in told
    assert 'to the author of that plug-in' in told
    assert 'fault of the program' not in told

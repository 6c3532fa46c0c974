"""A kind of surface that a package brings: read, offered by the JSON Schema, or left out."""

import logging

import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.contact import ContactFile
from rolling_dynamics.scenario.faults import schema_of
from rolling_dynamics.scenario.surface_section import SURFACES

MODULE = """
from typing import Literal
from rolling_dynamics.scenario.fields import quantity
from rolling_dynamics.scenario.surface_section import SurfaceSection
from rolling_dynamics.surfaces import Ellipsoid

class EggSection(SurfaceSection):
    kind: Literal['egg']
    width: float = quantity('width of the egg', 'm', positive=True)

    def surface(self, edges):
        return Ellipsoid(self.width / 2, self.width / 2, self.width)

class Egg:
    pass
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package that names this attribute of its module as a surface `egg`."""

    def install(attribute):
        (tmp_path / 'eggs.py').write_text(MODULE, encoding='utf-8')
        info = tmp_path / 'eggs-1.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text('Name: eggs\nVersion: 1\n', encoding='utf-8')
        (info / 'entry_points.txt').write_text(
            f'[rolling_robotics.surfaces]\negg = eggs:{attribute}\n', encoding='utf-8'
        )
        monkeypatch.syspath_prepend(tmp_path)
        forget()

    def forget():
        SURFACES.__dict__.pop('_installed', None)
        schema_of.cache_clear()

    yield install
    forget()


def scenario(**egg):
    return {
        'system': 'contact',
        'object': {'surface': {'kind': 'egg', **egg}, 'mass': 0.1, 'inertia': 1e-4},
        'hand': {'surface': {'kind': 'plane'}},
        'initial': {'object': {'position': [0, 0, 0.2]}},
        'duration': 0.1,
    }


def test_a_surface_of_a_package_is_read_and_checked(installed):
    installed('EggSection')
    assert load_scenario(scenario(width=0.2)).system.object_surface.name == 'ellipsoid'
    with pytest.raises(ScenarioError, match=r'^object\.surface\.width: must be positive \[m\]'):
        load_scenario(scenario(width=-0.2))


def test_an_editor_completes_it(installed):
    installed('EggSection')
    surface = schema_of(ContactFile)['properties']['object']['properties']['surface']
    assert 'egg' in surface['properties']['kind']['enum']
    (egg,) = (
        branch['then']
        for branch in surface['allOf']
        if branch['if']['properties']['kind']['const'] == 'egg'
    )
    width = egg['properties']['width']
    assert (width['description'], width['unit']) == ('width of the egg', 'm')


def test_one_that_will_not_do_is_a_line_and_left_out(installed, caplog):
    installed('Egg')
    with caplog.at_level(logging.WARNING), pytest.raises(ScenarioError, match="got 'egg'"):
        load_scenario(scenario(width=0.2))
    (record,) = caplog.records
    assert 'surface egg (eggs:Egg) is left out: TypeError' in record.getMessage()
    assert load_scenario('spinning_plate').system.name == 'contact'

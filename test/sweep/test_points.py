"""What a sweep visits, and bad input."""

from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_robotics.cli import main
from rolling_robotics.sweep.points import document_at, filled, read_sweep, steps_of, with_entry

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'
BASE = {'system': 'x', 'friction': {'mu': 1}, 'masses': [{'theta': 0}, {'theta': 1}]}


def sweep(**section):
    return read_sweep({**BASE, 'sweep': section})


def test_grid_takes_every_combination():
    found = sweep(
        vary={'friction.mu': [0.1, 0.2], 'masses[1].theta': {'from': 0, 'to': 1, 'count': 3}}
    )
    assert len(found) == 6
    assert [tuple(found.values(k).values()) for k in range(6)] == [
        (mu, theta) for mu in (0.1, 0.2) for theta in (0, 0.5, 1)
    ]
    document = document_at(found.document, found.follows, found.values(4))
    assert document['friction'] == {'mu': 0.2}
    assert document['masses'] == [{'theta': 0}, {'theta': 0.5}]
    assert BASE['masses'][1] == {'theta': 1}
    assert 'sweep' not in document


def test_latin_hypercube_fills_every_slice():
    """One point in each of N slices of each range; the seed gives the same points again."""
    section = {
        'vary': {
            'a': {'from': 2, 'to': 4},
            'b': {'from': 1, 'to': 1e4, 'spacing': 'log'},
            'c': ['x', 'y'],
        },
        'samples': {'count': 40, 'seed': 3},
    }
    found = sweep(**section)
    a, b, c = (np.array(column) for column in found.columns)
    assert sorted(np.floor((a - 2) / 2 * 40).astype(int)) == list(range(40))
    assert sorted(np.floor(np.log10(b) / 4 * 40).astype(int)) == list(range(40))
    assert (c == 'x').sum() == 20
    assert sweep(**section).hash() == found.hash()
    section['samples'] = {'count': 40, 'seed': 4}
    assert sweep(**section).hash() != found.hash()


def test_names_stand_in_formulas():
    assert filled(['-$a', '$a', 'sin($a*t)+$ab', 0], {'$a': 0.5, '$ab': -2}) == [
        -0.5,
        0.5,
        'sin((0.5)*t)+(-2)',
        0,
    ]


def test_missing_mappings_are_made():
    document = {'system': 'x'}
    with_entry(document, 'friction.mu', 0.3)
    assert document == {'system': 'x', 'friction': {'mu': 0.3}}
    assert steps_of('masses[12].drive.values[0]') == ('masses', 12, 'drive', 'values', 0)


CASES = [
    ({}, r'sweep\.vary: is missing'),
    ({'vary': {'friction..mu': [1]}}, r"'friction\.\.mu' is not the path"),
    ({'vary': {'$a': [1]}}, r'\$a is used in no entry of sweep\.set'),
    ({'vary': {'friction.mu': [1]}, 'set': {'mass': '$b'}}, r'\$b is not varied'),
    ({'vary': {'friction.mu': {'from': 1, 'to': 2}}}, r'count: is missing'),
    ({'vary': {'friction.mu': {'from': 1}}}, r'to: is missing'),
    ({'vary': {'a': {'from': 0, 'to': 2, 'count': 3, 'spacing': 'log'}}}, r'log needs ends'),
    ({'vary': {'a': []}}, r'sweep\.vary\.a: takes at least 1'),
    ({'vary': {'a': [1]}, 'samples': {'count': 0}}, r'sweep\.samples\.count: must be at least 1'),
]


@pytest.mark.parametrize(('section', 'message'), CASES)
def test_bad_sections(section, message):
    with pytest.raises(ScenarioError, match=message):
        sweep(**section)


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('masses[2].theta', r'there is no \[2\], the list has 2'),
        ('friction[0]', 'asks for a list'),
    ],
)
def test_paths_that_lead_nowhere(path, message):
    found = sweep(vary={path: [1]})
    with pytest.raises(ScenarioError, match=message):
        document_at(found.document, found.follows, found.values(0))


def test_check_reads_the_sweep_too(tmp_path, capsys):
    path = tmp_path / 'disk.yaml'
    source = (SCENARIOS / 'point_mass_disk_sweep.yaml').read_text()
    path.write_text(source.replace('$drive: {from', '$drove: {from'))
    assert main(['check', str(path)]) == 2
    assert 'sweep.set: $drive is not varied' in capsys.readouterr().err

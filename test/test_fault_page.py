"""The page of faults names every test of a fault, and no other."""

from importlib.util import module_from_spec, spec_from_file_location
import json
from pathlib import Path
import re

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = spec_from_file_location('fault_page', ROOT / 'tools' / 'fault_page.py')
fault_page = module_from_spec(SPEC)
SPEC.loader.exec_module(fault_page)


def row(test, **changes):
    return {'test': test, 'done': 'a | b', 'did': 'it <ended>', 'seconds': 0.1234} | changes


def test_page_names_every_test_of_a_fault():
    """If not, run `make faults`."""
    page = fault_page.PAGE.read_text()
    named = re.findall(r'^`(test/.*?)`: (.*)$', page, re.MULTILINE)
    tests = {module: re.findall(r'`(test_\w+)`', names) for module, names in named}
    assert tests == fault_page.fault_tests()


def test_every_table_has_a_row():
    tables = fault_page.PAGE.read_text().split('\n## ')[1:]
    assert len(tables) == len(fault_page.fault_tests())
    for table in tables:
        assert re.search(r'^\| (?!what was done)\S.* \|$', table, re.MULTILINE), table[:80]


@pytest.fixture
def one_test(monkeypatch):
    monkeypatch.setattr(fault_page, 'fault_tests', lambda: {'test/test_api.py': ['test_it']})
    return 'test/test_api.py::test_it[case]'


def test_rows_become_a_table(one_test):
    text = fault_page.with_rows(f'By hand.\n{fault_page.BEGIN}\nold', [row(one_test)])
    assert text.startswith('By hand.')
    assert 'old' not in text
    assert r'| a \| b | it \<ended\> | 0.12 s |' in text
    assert '`test/test_api.py`: `test_it`' in text


def test_test_that_noted_nothing_is_refused(one_test):
    with pytest.raises(ValueError, match='test_it noted nothing'):
        fault_page.with_rows(fault_page.BEGIN, [row('test/test_api.py::test_other')])


def test_row_is_noted(request, monkeypatch, tmp_path):
    monkeypatch.setenv('ROLLING_FAULTS', str(tmp_path / 'rows'))
    begin = request.getfixturevalue('fault_row')
    begin('asked')('answered', 2)
    begin('timed')('by the clock')
    first, second = map(json.loads, (tmp_path / 'rows').read_text().splitlines())
    assert first == row(request.node.nodeid, done='asked', did='answered', seconds=2.0)
    assert 0 <= second['seconds'] < 60

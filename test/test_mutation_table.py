"""The table of mutants names the code that each row is of, and is compared with today's."""

from pathlib import Path
import sys

import pytest
import tomllib

sys.path.append(str(Path(__file__).parents[1] / 'tools'))

import mutation_table

ROOT = Path(__file__).resolve().parents[1]

CODE = '''"""Module."""
from math import inf
LIMIT = 1.0  # of what is measured


def inside(x):
    """Return whether it is inside."""
    return x <= LIMIT
'''


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with one module, and a page with a row of it."""
    monkeypatch.setattr(mutation_table, 'ROOT', tmp_path)
    (tmp_path / 'rolling_a').mkdir()
    (tmp_path / 'rolling_a' / 'b.py').write_text(CODE)
    return tmp_path


def test_modules_and_tests_are_listed_once_and_exist():
    settings = tomllib.loads((ROOT / 'pyproject.toml').read_text())['tool']['mutation']
    for key in ('modules', 'tests'):
        paths = settings[key]
        assert len(set(paths)) == len(paths)
        for path, _, function in (path.partition(':') for path in paths):
            assert (ROOT / path).exists(), path
            assert not function or f'def {function}(' in (ROOT / path).read_text()


def test_rows_of_the_page_are_of_listed_modules():
    settings = tomllib.loads((ROOT / 'pyproject.toml').read_text())['tool']['mutation']
    page = mutation_table.read_page(mutation_table.PAGE.read_text(), set())
    assert set(page) <= set(settings['modules'])


@pytest.mark.parametrize(
    ('old', 'new', 'same'),
    [
        ('  # of what is measured', '', True),
        ('Return whether it is inside', 'Compare with the limit', True),
        ('from math', 'from numpy', True),
        ('<=', '<', False),
        ('1.0', '1.5', False),
    ],
)
def test_a_digest_is_that_of_the_code_alone(root, old, new, same):
    before = mutation_table.digest('rolling_a/b.py')
    (root / 'rolling_a' / 'b.py').write_text(CODE.replace(old, new))
    assert (mutation_table.digest('rolling_a/b.py') == before) == same


@pytest.mark.parametrize(('of', 'tried'), [(0, '10'), (90, '10 of 90')])
def test_a_page_is_read_as_it_was_written(root, of, tried):
    names = [f'rolling_a.b.x_inside__mutmut_{k}' for k in range(3)]
    module = mutation_table.Module('rolling_a/b.py', 7, names[:1], names[1:], 'abc12345', of)
    page = mutation_table.table([module], {'no difference': names[:1]}, [])
    assert mutation_table.read_page(page, set(names[:1])) == {'rolling_a/b.py': module}
    assert f'| `rolling_a/b.py` | {tried} | 7 | 1 | 2 | 77.8% | `abc12345` |' in page

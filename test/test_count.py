"""What is counted as code, and that its layout does not change the count."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import subprocess

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = spec_from_file_location('count', ROOT / 'tools' / 'count.py')
count = module_from_spec(SPEC)
SPEC.loader.exec_module(count)

MODULE = '''"""Say what it does."""

from math import cos  # comment


class Angle:
    """An angle."""

    def half(self, x):
        """Return half."""
        return [
            cos(x),
            2,
        ]
'''
SHORT = """from math import cos
class Angle:
  def half(self, x): return [cos(x), 2,]
"""


@pytest.fixture
def counted(tmp_path):
    """Return the rows of a repository of given files."""

    def rows(files, *folders):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git = ['git', '-C', str(tmp_path)]
        for command in (['init', '-q'], ['add', '-A', '-f']):
            subprocess.run(git + command, check=True)
        return count.rows(tmp_path, list(folders))

    return rows


def test_docstrings_comments_and_blank_lines_are_not_counted(counted):
    # 4 tokens of import; class and colon 3; def 8; return 1, list 9
    assert counted({'a/a.py': MODULE})['a/'] == (7, 4 + 3 + 8 + 10, 1, 1, 0)


def test_layout_does_not_change_the_count(counted):
    found = counted({'a/a.py': MODULE, 'b/b.py': SHORT})
    assert found['a/'] == found['b/']
    assert found['outside test/'] == count.total([found['a/'], found['b/']])


def test_code_that_is_moved_away_has_a_row(counted):
    text = 'SOURCE = """\nint main(void) {\n  return 0;\n}\n"""\nNAME = "no code; words"\n'
    files = {'a/a.py': text, 'test/test_a.py': 'x = 1\n', 'a/a.c': '/* two\nlines */\nint x;\n'}
    files |= {'test/a/ball_by_hand.py': 'y = 1\n', 'test/oracles/b.py': 'z = 1\n'}
    files |= {'a/s.pyi': 'x: int\n', 'a/p.html': '<!-- a -->\n<p>\n', 'a/w.js': '// a\nf();\n'}
    files |= {'docs/a.yaml': '# a\nx: 1\n', 'config/a.yaml': 'x: 1\ny: 2\n', 'a/s.css': 'a {}\n'}
    files |= {'config/security/a.policy.xml': '<policy>\n</policy>\n'}
    found = counted(files)
    assert found['outside test/'] == (6, 6, 1, 0, 5)
    assert (found['test/'].lines, found['oracles in test/'].lines) == (3, 2)
    others = ('.c', '.pyi', '.html', '.js', '.css', '.yaml outside config/')
    assert [found[name].lines for name in others] == [1] * 6
    assert found['generated'] == (2, 0, 1, 0, 0)


def test_given_folders_have_a_row_each_and_a_sum(counted):
    found = counted(
        {'a/b/a.py': MODULE, 'a/c/a.py': 'x = 1\n', 'a/bc.py': 'x = 1\n'}, 'a/b', 'a/c/'
    )
    assert {name: c.lines for name, c in found.items()} == {'a/b/': 7, 'a/c/': 1, 'in all': 8}

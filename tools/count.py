"""
Count the code outside test/, without docstrings, comments and blank lines.

    .venv/bin/python tools/count.py [FOLDER ...]

Files that git tracks count. Python is counted on a copy formatted with the settings below, so
formatting changes nothing; a line counts that holds a token. Code in other languages, in strings,
in oracles of tests and in generated files has rows of its own. Given folders have a row each, and
one for their sum.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
import io
from pathlib import Path, PurePosixPath
import re
import subprocess
import sys
import tempfile
import tokenize
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Settings of 2aa9762, whose counts are the baseline; pyproject.toml's may change.
FORMAT = [
    'format', '--quiet', '--isolated', '--target-version', 'py310', '--line-length', '99',
    '--config', 'format.quote-style="single"',
]  # fmt: skip
BASELINE = 'on 2aa9762: 64,180 lines, 611,803 tokens, 852 files, 862 classes; test/: 34,919 lines'
MOST = 68_273  # lines outside test/: `make count`, which CI runs, fails beyond it
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
COMMENTS = {'.c': r'/\*.*?\*/|//[^\n]*', '.yaml': r'(?m)^\s*#[^\n]*$', '.html': r'<!--.*?-->'}
COMMENTS |= {'.js': COMMENTS['.c'], '.css': r'/\*.*?\*/', '.yml': COMMENTS['.yaml']}
GENERATED = (
    'config/*.foxglove.json', 'config/*.plotjuggler.xml', 'config/security/*.policy.xml',
    'requirements/*.txt',
)  # fmt: skip
ORACLES = 'oracles/*.py', '*_by_hand.py', '*_oracle.py'  # in test/, second derivations
CODE_IN_TEXT = re.compile(
    r'\S;$|[^{]\{$|^\s*\};?$'  # ends of lines of C, JavaScript and CSS
    r'|^\s*(# *(include|define|if)|def|import|from \S+ import)\b'  # preprocessor, Python
    r'|</?[a-z]+[ >]\S',  # HTML, XML
    re.MULTILINE,
)


class Count(NamedTuple):
    """Sizes of some code; ``strings`` are the lines of strings that hold code, also in lines."""

    lines: int = 0
    tokens: int = 0
    files: int = 0
    classes: int = 0
    strings: int = 0


def total(counts: Iterable[Count]) -> Count:
    """Return the sum of counts."""
    return Count(*map(sum, zip(Count(), *counts, strict=True)))


def count_python(text: str) -> Count:
    """Return the size of a Python file, formatted already."""
    nodes = list(ast.walk(ast.parse(text)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [n.body[0] for n in nodes if isinstance(n, documented) and _docstring(n.body)]
    left_out = {k for n in docstrings for k in _lines(n)}
    code: set[int] = set()
    tokens = 0
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type not in NO_CODE and t.start[0] not in left_out:
            code.update(range(t.start[0], t.end[0] + 1))
            tokens += 1
    strings = {
        k
        for n in nodes
        if isinstance(n, ast.Constant)
        and isinstance(n.value, str)
        and CODE_IN_TEXT.search(n.value)
        for k in _lines(n)
    }
    classes = sum(isinstance(n, ast.ClassDef) for n in nodes)
    return Count(len(code), tokens, 1, classes, len(strings - left_out))


def _docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    constant = first.value if isinstance(first, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def _lines(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def count_other(text: str, suffix: str) -> Count:
    """Return the lines of a file that is not Python, without comments and blank lines."""
    text = re.sub(COMMENTS.get(suffix, '(?!)'), '', text, flags=re.DOTALL)
    return Count(lines=sum(bool(line.strip()) for line in text.splitlines()), files=1)


def formatted(root: Path, paths: list[str]) -> dict[str, str]:
    """Return the text of files by path, as ruff formats it."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            copy = Path(folder, path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((root / path).read_bytes())
        subprocess.run([sys.executable, '-m', 'ruff', *FORMAT, folder], check=True)
        return {path: Path(folder, path).read_text(encoding='utf-8') for path in paths}


def rows(root: Path, folders: list[str]) -> dict[str, Count]:
    """Return the count of every part of a repository, by what it is called."""
    listed = ['git', '-C', str(root), 'ls-files', '-z']
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split('\0')
    paths = [name for name in names if name and (root / name).is_file()]
    python = formatted(root, [path for path in paths if path.endswith(('.py', '.pyi'))])
    counts = {path: count_python(text) for path, text in python.items()}
    left_out = () if folders else 'test/'
    code = {p: c for p, c in counts.items() if p.endswith('.py') and not p.startswith(left_out)}

    def below(*tops: str) -> Count:
        return total(c for p, c in code.items() if p.startswith(tops))

    if folders:
        given = [f'{folder.rstrip("/")}/' for folder in folders]
        return {top: below(top) for top in given} | {'in all': below(*given)}
    tops = sorted({p.partition('/')[0] + '/' for p in code if '/' in p})
    out = {top: below(top) for top in tops}
    out['in no folder'] = total(c for p, c in code.items() if '/' not in p)
    out['outside test/'] = below('')
    out['without evidence/'] = total(c for p, c in code.items() if not p.startswith('evidence/'))
    out['test/'] = total(c for p, c in counts.items() if p.startswith('test/'))
    out['oracles in test/'] = total(
        c for p, c in counts.items() if p.startswith('test/') and _matches(p, ORACLES)
    )
    generated = {p for p in paths if _matches(p, GENERATED)}
    others = {p: PurePosixPath(p).suffix for p in paths if not p.startswith(('test/', 'config/'))}
    for suffix in ('.pyi', *COMMENTS):
        own = [p for p, end in others.items() if end == suffix and p not in generated]
        out[suffix + ' outside config/' * suffix.startswith('.y')] = total(
            counts[p] if p in counts else count_other(_text(root / p), suffix) for p in own
        )
    out['generated'] = total(count_other(_text(root / p), '') for p in generated)
    return out


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(PurePosixPath(path).match(pattern) for pattern in patterns)


def _text(path: Path) -> str:
    return path.read_text(encoding='utf-8')


def main() -> int:
    """Print the table; return 1 if there are more lines outside test/ than the budget."""
    folders = sys.argv[1:]
    counted = rows(ROOT, folders)
    print(f'{"":24}{"lines":>9}{"tokens":>9}{"files":>7}{"classes":>9}{"code in strings":>17}')
    for name, c in counted.items():
        print(f'{name:24}{c.lines:9,}{c.tokens:9,}{c.files:7,}{c.classes:9,}{c.strings:17,}')
    if folders:
        return 0
    print(BASELINE)
    lines = counted['outside test/'].lines
    if lines > MOST:
        print(f'{lines:,} lines outside test/ exceed the budget of {MOST:,}')
    return int(lines > MOST)


if __name__ == '__main__':
    sys.exit(main())

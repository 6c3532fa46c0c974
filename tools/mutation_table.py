"""
Write the table of docs/mutation.md from what `make mutate` found, and judge it.

A mutant that no test sees counts, unless `[[tool.mutation.equivalent]]` in pyproject.toml names
it, with the reason. The exit status is 1 where a module has less than 90 % killed or was not run.
A module that was not run keeps its row. A row holds a digest of the code that was mutated, without
imports, docstrings and comments: with --changed, print the modules whose code is another one now.
A module may be named with one of its functions, as PATH:FUNCTION; then that alone is meant.

    .venv/bin/python tools/mutation_table.py [--changed]
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
import hashlib
import json
from pathlib import Path
import re
import sys
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'mutation.md'
RESULTS = ROOT / 'build' / 'mutation.json'  # of tools/mutate.py
SETTINGS = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['tool']['mutation']
BEGIN, END = '<!-- table: tools/mutation_table.py -->\n', '<!-- end of table -->\n'
ROW = r'^\| `(.+)` \| \d+(?: of (\d+))? \| (\d+) \| .* \| `(\w*)` \|$'
NEEDED = 0.9  # fraction of mutants that tests must kill in each module


@dataclass
class Module:
    """Mutants of a module that were noticed: a number, names, and a digest of its code."""

    path: str
    killed: int
    equivalent: list[str]
    survived: list[str]
    code: str
    of: int = 0  # how many there are, where not all were tried

    @property
    def fraction(self) -> float:
        """Fraction of killed ones among those that change something."""
        return self.killed / max(self.killed + len(self.survived), 1)


def digest(path: str) -> str:
    """Return a digest of the code of a module, without imports, docstrings and comments."""
    path, _, function = path.partition(':')
    tree = ast.parse((ROOT / path).read_text(encoding='utf-8'))
    tree.body = [
        node
        for node in tree.body
        if not isinstance(node, (ast.Import, ast.ImportFrom))
        and function in ('', getattr(node, 'name', None))
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:8]


def read_module(path: str, equivalent: set[str], found: dict[str, Any]) -> Module:
    """Return the result of a module from what tools/mutate.py found."""
    noticed: dict[str, bool] = found['noticed']
    left = [name for name, by in noticed.items() if not by]
    same = [name for name in left if name in equivalent]
    survived = [name for name in left if name not in equivalent]
    return Module(path, len(noticed) - len(left), same, survived, found['code'], found['of'])


def read_page(page: str, equivalent: set[str]) -> dict[str, Module]:
    """Return the results that the page holds, by path."""
    rows = re.findall(ROW, page, re.MULTILINE)
    out = {
        path: Module(path, int(killed), [], [], code, int(of or 0))
        for path, of, killed, code in rows
    }
    by_path = {path.partition(':')[0]: module for path, module in out.items()}
    for name in dict.fromkeys(re.findall(r'`(rolling_[\w.]+\.x[\wǁ]+)`', page)):
        module = by_path.get(name[: name.rindex('.')].replace('.', '/') + '.py')
        if module is not None:
            (module.equivalent if name in equivalent else module.survived).append(name)
    return out


def table(modules: list[Module], reasons: dict[str, list[str]], left: list[str]) -> str:
    """Return the table, and below it the mutants that were not killed, and modules not run."""
    head = ['module', 'mutants', 'killed', 'equivalent', 'survived', 'share', 'code']
    lines = [f'| {" | ".join(head)} |', '|' + '---|' * len(head)]
    for m in modules:
        counts = [m.killed, len(m.equivalent), len(m.survived)]
        tried = f'{sum(counts)} of {m.of}' if m.of > sum(counts) else sum(counts)
        row = [f'`{m.path}`', tried, *counts, f'{m.fraction:.1%}', f'`{m.code}`']
        lines.append('| ' + ' | '.join(map(str, row)) + ' |')
    found = {name for m in modules for name in m.equivalent}
    lines += ['', 'Equivalent mutants, which change nothing that could be seen:', '']
    for reason, names in reasons.items():
        here = ', '.join(f'`{name}`' for name in names if name in found)
        lines += [f'- {reason}: {here}'] if here else []
    lines += ['', 'Mutants that no test sees:', '']
    lines += [f'- `{name}`' for m in modules for name in m.survived]
    lines += ['', f'Not run to the end yet: {", ".join(f"`{path}`" for path in left)}.'] * bool(
        left
    )
    return '\n'.join(lines) + '\n'


def main() -> int:
    """Write the table; return 1 where a module has too few killed."""
    groups = SETTINGS['equivalent']
    reasons: dict[str, list[str]] = {group['reason']: group['mutants'] for group in groups}
    equivalent = {name for names in reasons.values() for name in names}
    paths: list[str] = SETTINGS['modules']
    found = json.loads(RESULTS.read_text(encoding='utf-8')) if RESULTS.exists() else {}
    page = PAGE.read_text(encoding='utf-8')
    results: dict[str, Module | None] = {**read_page(page, equivalent)}
    if '--changed' in sys.argv[1:]:
        names = [p for p in paths if (m := results.get(p)) is None or m.code != digest(p)]
        print(f'{len(names)} of {len(paths)} modules are not as docs/mutation.md shows them:')
        print(*(f'  {name}' for name in names), sep='\n')
        return 0
    results |= {path: read_module(path, equivalent, found[path]) for path in found}
    modules = [module for path in paths if (module := results.get(path)) is not None]
    left = [path for path in paths if path not in results]
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(
        before + BEGIN + '\n' + table(modules, reasons, left) + '\n' + END + after,
        encoding='utf-8',
    )
    few = [f'{m.path} ({m.fraction:.1%})' for m in modules if m.fraction < NEEDED]
    few += [f'{path} (not run)' for path in left]
    if few:
        print(f'less than {NEEDED:.0%} killed: {", ".join(few)}', file=sys.stderr)
    return 1 if few else 0


if __name__ == '__main__':
    sys.exit(main())

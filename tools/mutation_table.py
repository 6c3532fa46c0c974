"""
Write the table of docs/mutation.md from what `make mutate` found, and judge it.

A mutant that no test sees counts, unless `[[tool.mutation.equivalent]]` in pyproject.toml names
it, with the reason. The exit status is 1 where a module has less than 90 % killed or was not run.
With --changed, print the listed modules that the table does not show as they are now.

    .venv/bin/python tools/mutation_table.py [--changed]
"""

from __future__ import annotations

from dataclasses import dataclass
import json
from pathlib import Path
import subprocess
import sys

import tomllib

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'mutation.md'
BEGIN, END = '<!-- table: tools/mutation_table.py -->\n', '<!-- end of table -->\n'
ROW = r'^\| `rolling_'  # of the table
NEEDED = 0.9  # share of mutants that tests must kill in each module
SEEN = {1, 3, 24, -24, 36, 152, 255, -9, -11}  # failed, or brought the process to an end


@dataclass
class Module:
    """What became of the mutants of a module, by name."""

    path: str
    killed: list[str]
    equivalent: list[str]
    survived: list[str]

    @property
    def share(self) -> float:
        """Share of killed ones among those that change something."""
        return len(self.killed) / max(len(self.killed) + len(self.survived), 1)


def read_module(path: str, equivalent: set[str]) -> Module | None:
    """Return the result of a module; None unless every mutant was run."""
    file = ROOT / 'mutants' / f'{path}.meta'
    codes = json.loads(file.read_text(encoding='utf-8')) if file.exists() else {}
    codes = codes.get('exit_code_by_key', {})
    if not codes or None in codes.values():
        return None
    out = Module(path, [], [], [])
    for name, code in codes.items():
        if code in SEEN:
            out.killed.append(name)
        else:
            (out.equivalent if name in equivalent else out.survived).append(name)
    return out


def table(modules: list[Module], reasons: dict[str, list[str]], left: list[str]) -> str:
    """Return the table, and below it the mutants that were not killed, and modules not run."""
    lines = ['| module | mutants | killed | equivalent | survived | share |', '|' + '---|' * 6]
    for m in modules:
        counts = [len(m.killed), len(m.equivalent), len(m.survived)]
        row = [f'`{m.path}`', sum(counts), *counts, f'{m.share:.1%}']
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


def changed(paths: list[str]) -> list[str]:
    """Return the modules without a row, and those with commits since a row was last written."""

    def git(*words: str) -> str:
        command = ['git', *words]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    page = PAGE.read_text(encoding='utf-8')
    written = git('log', '-1', '--format=%H', '-G', ROW, '--', str(PAGE)).strip()
    since = git('diff', '--name-only', written, '--', *paths).split() if written else paths
    return [path for path in paths if path in since or f'| `{path}` |' not in page]


def main() -> int:
    """Write the table; return 1 where a module has too few killed."""
    settings = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['tool']
    groups = settings['mutation']['equivalent']
    reasons: dict[str, list[str]] = {group['reason']: group['mutants'] for group in groups}
    equivalent = {name for names in reasons.values() for name in names}
    paths: list[str] = settings['mutmut']['source_paths']
    if '--changed' in sys.argv[1:]:
        names = changed(paths)
        print(f'{len(names)} of {len(paths)} modules are not as docs/mutation.md shows them:')
        print(*(f'  {name}' for name in names), sep='\n')
        return 0
    results = {path: read_module(path, equivalent) for path in paths}
    modules = [module for module in results.values() if module is not None]
    left = [path for path, module in results.items() if module is None]
    page = PAGE.read_text(encoding='utf-8')
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(
        before + BEGIN + '\n' + table(modules, reasons, left) + '\n' + END + after,
        encoding='utf-8',
    )
    few = [f'{m.path} ({m.share:.1%})' for m in modules if m.share < NEEDED]
    few += [f'{path} (not run)' for path in left]
    if few:
        print(f'less than {NEEDED:.0%} killed: {", ".join(few)}', file=sys.stderr)
    return 1 if few else 0


if __name__ == '__main__':
    sys.exit(main())

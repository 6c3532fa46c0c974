"""
Write the lock files of the requirements: every package, direct or not, at one version.

pip resolves each `requirements/<name>.in` without installing anything; what it would install into
an empty environment becomes `requirements/<name>.txt`. The files of development, benchmarks,
documentation and mutation hold only what they add to those before them.

    .venv/bin/python tools/lock.py
"""

from __future__ import annotations

import json
from pathlib import Path
import re
import subprocess
import sys

REQUIREMENTS = Path(__file__).resolve().parents[1] / 'requirements'
DISTRIBUTIONS = ('jazzy', 'kilted')
ADDITIONS = ('develop', 'bench', 'docs', 'mutate')


def canonical(name: str) -> str:
    """Return the name of a package as every tool writes it."""
    return re.sub(r'[-_.]+', '-', name).lower()


def resolve(name: str, *locked: str) -> dict[str, str]:
    """Return the versions that `requirements/<name>.in` leads to, beside what is locked."""
    command = [sys.executable, '-m', 'pip', 'install', '--quiet', '--dry-run']
    command += ['--ignore-installed', '--report', '-', '-r', str(REQUIREMENTS / f'{name}.in')]
    for other in locked:
        command += ['-c', str(REQUIREMENTS / f'{other}.txt')]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    metadata = [entry['metadata'] for entry in json.loads(report)['install']]
    return {canonical(entry['name']): entry['version'] for entry in metadata}


def write_lock(name: str, versions: dict[str, str]) -> None:
    """Write `requirements/<name>.txt`."""
    lines = [f'# Written by tools/lock.py from {name}.in; do not edit.']
    lines += [f'{package}=={version}' for package, version in sorted(versions.items())]
    (REQUIREMENTS / f'{name}.txt').write_text('\n'.join(lines) + '\n', encoding='utf-8')
    print(f'requirements/{name}.txt: {len(versions)} packages')


def main() -> None:
    """Resolve and write every lock file."""
    common: dict[str, str] = {}
    for name in DISTRIBUTIONS:
        versions = resolve(name)
        write_lock(name, versions)
        common = {k: v for k, v in versions.items() if not common or common.get(k) == v}
    locked = [DISTRIBUTIONS[0]]
    for name in ADDITIONS:
        added = {k: v for k, v in resolve(name, *locked).items() if k not in common}
        write_lock(name, added)
        if name == 'develop':  # the others come on top of it, each by itself
            locked.append(name)
            common |= added


if __name__ == '__main__':
    main()

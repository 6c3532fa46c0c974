"""
Check that a release can be made, and build its sdist and wheel into build/release.

Refused are a placeholder for the address of the project, versions that differ between the files
that state one, and a changelog without the version. Nothing is published.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import re
import sys
from xml.etree import ElementTree as ET

from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDER = '.invalid'  # reserved, so that no address below it can ever exist (RFC 2606)


def faults(root: Path) -> list[str]:
    """Return what keeps a checkout from being released, each with what would do."""
    manifests = [root / 'package.xml', root / 'rolling_interfaces' / 'package.xml']
    first, other = (ET.parse(path).getroot() for path in manifests)  # noqa: S314  own files
    version = str(first.findtext('version'))
    cited = re.search(
        r'^version: (.*)$', (root / 'CITATION.cff').read_text(encoding='utf-8'), re.MULTILINE
    )
    stated = {
        'setup.py': re.search(r"version='(.*)'", (root / 'setup.py').read_text(encoding='utf-8')),
        'CITATION.cff': cited,
    }
    found = [
        f'{file}: version must be {version!r} as in package.xml, got {match and match[1]!r}'
        for file, match in stated.items()
        if match is None or match[1] != version
    ]
    if other.findtext('version') != version:
        found.append(f'rolling_interfaces/package.xml: version must be {version!r}')
    if not re.search(
        rf'^{re.escape(version)} \(', (root / 'CHANGELOG.rst').read_text(), re.MULTILINE
    ):
        found.append(f"CHANGELOG.rst: name the section 'Forthcoming' '{version} (year-month-day)'")
    for path, manifest in zip(manifests, (first, other), strict=True):
        people = [str(e.get('email')) for e in manifest.findall('maintainer')]
        places = [str(e.text) for e in manifest.findall('url')]
        found += [
            f'{path.relative_to(root)}: {given!r} is a placeholder; give the real address'
            for given in (*people, *places)
            if PLACEHOLDER in given
        ]
    return found


def main() -> int:
    """Check the checkout and build; return 1 if it cannot be released."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--check', action='store_true', help='build nothing')
    args = parser.parse_args()
    found = faults(ROOT)
    for text in found:
        print(f'release: {text}', file=sys.stderr)
    if found or args.check:
        return int(bool(found))
    folder = ROOT / 'build' / 'release'
    folder.mkdir(parents=True, exist_ok=True)
    for build in (build_meta.build_sdist, build_meta.build_wheel):
        print(folder / build(str(folder)))
    return 0


if __name__ == '__main__':
    sys.exit(main())

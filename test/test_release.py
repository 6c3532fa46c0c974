"""A release is refused while anything in it is a placeholder or differs."""

from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))

from release import faults, PLACEHOLDER  # noqa: E402

FILES = (
    'package.xml',
    'rolling_interfaces/package.xml',
    'setup.py',
    'CITATION.cff',
    'CHANGELOG.rst',
)


@pytest.fixture
def ready(tmp_path):
    """Return a checkout that can be released, whatever this one is."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (ROOT / name).read_text(encoding='utf-8').replace('.invalid', '.org')
        (tmp_path / name).write_text(text.replace('Forthcoming\n', '0.1.0 (2027-01-01)\n'))
    assert faults(tmp_path) == []
    return tmp_path


def change(path, old, new):
    text = path.read_text(encoding='utf-8')
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding='utf-8')


@pytest.mark.parametrize(
    ('file', 'old', 'new', 'says'),
    [
        (
            'package.xml',
            'https://rolling-robotics.org',
            'https://a.invalid',
            'package.xml: .* placeholder',
        ),
        ('package.xml', '@rolling-robotics.org', '@a.invalid', 'package.xml: .* placeholder'),
        ('rolling_interfaces/package.xml', '@rolling-robotics.org', '@a.invalid', 'placeholder'),
        ('rolling_interfaces/package.xml', '<version>0.1.0', '<version>0.2.0', "must be '0.1.0'"),
        ('setup.py', "version='0.1.0'", "version='0.2.0'", "setup.py: .* got '0.2.0'"),
        ('CITATION.cff', 'version: 0.1.0', 'version: 0.2.0', "CITATION.cff: .* got '0.2.0'"),
        ('CHANGELOG.rst', '0.1.0 (2027-01-01)', 'Forthcoming', 'CHANGELOG.rst'),
    ],
)
def test_what_is_not_ready_is_named(ready, file, old, new, says):
    change(ready / file, old, new)
    (fault,) = faults(ready)
    assert re.search(says, fault)


def test_the_address_is_in_the_manifests_alone():
    """What else needs it reads it there, so that a release is refused for all of it."""
    listed = ['git', 'grep', '-lIF', PLACEHOLDER, '--', ':!test', ':!tools/release.py']
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1:  # 1: nowhere
        pytest.skip('needs a checkout of git')
    assert set(done.stdout.split()) <= {'package.xml', 'rolling_interfaces/package.xml'}

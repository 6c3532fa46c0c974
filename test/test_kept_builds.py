"""Built interface packages are kept by content, and found again in another environment."""

from pathlib import Path
import shutil

import pytest

from tools import kept_builds
from tools.kept_builds import archive_of, keep, restore

BINARY = b'\x7fELF\x00\xff' + bytes(range(256))


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return a package; the cache is empty."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    folder = tmp_path / 'package'
    (folder / 'msg').mkdir(parents=True)
    (folder / 'msg' / 'A.msg').write_text('int32 a\n')
    return folder


@pytest.fixture
def kept(source, tmp_path):
    """Return the archive of what was built from it and installed into an environment."""
    environment, build = tmp_path / 'environment', tmp_path / 'build'
    files = {
        'lib/package.so': BINARY,
        'share/package/setup.sh': f'prefix={environment}/share\n'.encode(),
    }
    for name, content in files.items():
        (environment / name).parent.mkdir(parents=True)
        (environment / name).write_bytes(content)
    (environment / 'lib' / 'package.so').chmod(0o755)
    build.mkdir()
    (build / 'install_manifest.txt').write_text('\n'.join(str(environment / n) for n in files))
    archive = archive_of(source, Path(__file__))
    keep(archive, environment, build)
    shutil.rmtree(environment)
    return archive


def test_what_was_built_is_found_in_another_environment(kept, tmp_path):
    other, build = tmp_path / 'other', tmp_path / 'new' / 'build'
    assert restore(kept, other, build)
    assert (other / 'lib' / 'package.so').read_bytes() == BINARY
    assert (other / 'lib' / 'package.so').stat().st_mode & 0o111
    assert (other / 'share/package/setup.sh').read_text() == f'prefix={other}/share\n'
    manifest = (build / 'install_manifest.txt').read_text().splitlines()
    assert set(manifest) == {str(p) for p in other.rglob('*') if p.is_file()}


@pytest.mark.parametrize(
    'damage',
    [
        lambda b: b[:0],
        lambda b: b[:700],
        lambda b: b[:-1024],
        lambda b: b[:1700] + b'x' + b[1701:],
    ],
)
def test_a_damaged_archive_is_removed(kept, tmp_path, damage):
    kept.write_bytes(damage(kept.read_bytes()))
    assert not restore(kept, tmp_path / 'other', tmp_path / 'new')
    assert not kept.exists()
    assert not restore(kept, tmp_path / 'other', tmp_path / 'new')


def test_another_content_is_another_build(source, monkeypatch):
    tool = Path(__file__)
    first = archive_of(source, tool)
    assert archive_of(source, tool) == first
    (source / 'msg' / 'A.msg').write_text('int32 b\n')
    second = archive_of(source, tool)
    (source / 'msg' / 'A.msg').rename(source / 'msg' / 'B.msg')
    third = archive_of(source, tool)
    monkeypatch.setattr(kept_builds.platform, 'platform', lambda: 'another')
    fourth = archive_of(source, tool)
    monkeypatch.setenv('CXXFLAGS', '-O0')
    assert len({first, second, third, fourth, archive_of(source, tool)}) == 5


def test_a_cache_that_cannot_be_written_keeps_nothing(source, tmp_path):
    (tmp_path / 'cache').write_text('a file')
    (tmp_path / 'install_manifest.txt').write_text('')
    archive = archive_of(source, Path(__file__))
    keep(archive, tmp_path, tmp_path)
    assert not restore(archive, tmp_path / 'other', tmp_path / 'new')

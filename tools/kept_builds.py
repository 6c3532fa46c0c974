"""
Built interface packages, kept by the content that they were made from.

A build takes a minute or two and depends on nothing but its sources, the ROS packages, Python and
the compiler. What it installed is kept as an archive in the user's cache, sealed by its digest,
and taken from there by the next fresh environment.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import hashlib
from importlib.metadata import distributions
import io
import os
from pathlib import Path
import platform
import shutil
import subprocess
import sys
import tarfile

ROOT_NAME = 'prefix'  # of the member that holds the folder which the build was installed into
MANIFEST = 'install_manifest.txt'
# Refuses what leaves the folder; Python 3.11.4 has it first, and the archive is sealed.
FILTER = getattr(tarfile, 'data_filter', None)
FLAGS = ('CFLAGS', 'CXXFLAGS', 'LDFLAGS')  # of the environment, which CMake takes over
SEAL = hashlib.sha256().digest_size  # bytes of the digest that stands before the archive


def cache_folder() -> Path:
    """Return the folder of the archives, below the user's cache."""
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(base) / 'rolling_robotics' / 'interfaces'


def archive_of(source: Path, tool: Path) -> Path:
    """
    Return the archive of a package that is built now.

    Parameters
    ----------
    source
        Folder of the package.
    tool
        The program that builds it.

    """
    digest = hashlib.sha256()
    for text in _circumstances():
        digest.update(f'{text}\n'.encode())
    files = sorted(path for path in source.rglob('*') if path.is_file())
    for path in (tool, *files):
        name = path.relative_to(source) if path.is_relative_to(source) else path.name
        content = path.read_bytes()
        digest.update(f'{name} {len(content)}\n'.encode() + content)
    return cache_folder() / f'{source.name}-{digest.hexdigest()[:32]}.tar'


def _circumstances() -> Iterator[str]:
    """Yield what a build depends on besides its sources."""
    yield from (sys.version, platform.platform())
    yield from (f'{name}={os.environ.get(name, "")}' for name in FLAGS)
    compiler = shutil.which(os.environ.get('CXX') or 'c++')
    if compiler:
        done = subprocess.run([compiler, '--version'], capture_output=True, text=True, check=False)
        yield done.stdout
    found = {(d.metadata['Name'] or '').lower(): d.version for d in distributions()}
    for name in sorted(found):
        if name == 'numpy' or name.startswith('ros-'):
            yield f'{name} {found[name]}'


def keep(archive: Path, environment: Path, build: Path) -> None:
    """
    Keep what a build has installed; where the cache cannot be written nothing is kept.

    Parameters
    ----------
    archive
        Where to, see :func:`archive_of`.
    environment, build
        Folder that it was installed into, and folder of the build with CMake's manifest.

    """
    files = (build / MANIFEST).read_text(encoding='utf-8').split('\n')
    part = archive.with_name(f'{archive.name}.{os.getpid()}')
    buffer, prefix = io.BytesIO(), str(environment).encode()
    with tarfile.open(fileobj=buffer, mode='w') as tar:
        first = tarfile.TarInfo(ROOT_NAME)
        first.size = len(prefix)
        tar.addfile(first, io.BytesIO(prefix))
        for name in filter(None, files):
            tar.add(name, str(Path(name).relative_to(environment)), recursive=False)
    data = buffer.getvalue()
    with contextlib.suppress(OSError):
        archive.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(hashlib.sha256(data).digest() + data)
        part.replace(archive)


def restore(archive: Path, environment: Path, build: Path) -> bool:
    """
    Install what was kept; return whether it was there and whole.

    Parameters
    ----------
    archive
        See :func:`archive_of`; one that is damaged is removed.
    environment, build
        Folder to install into; folder for a manifest of what was installed.

    """
    try:
        sealed = archive.read_bytes()
    except OSError:
        return False
    data = sealed[SEAL:]
    if hashlib.sha256(data).digest() != sealed[:SEAL]:
        archive.unlink()
        return False
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        first, *members = tar.getmembers()
        prefix = data[first.offset_data : first.offset_data + first.size]
        if FILTER is not None:
            tar.extraction_filter = FILTER
        tar.extractall(environment, members)  # noqa: S202 - as the filter allows
    paths = [environment / member.name for member in members]
    for path in paths:
        content = path.read_bytes()
        if prefix in content and not content.startswith(b'\x7fELF'):
            path.write_bytes(content.replace(prefix, str(environment).encode()))
    build.mkdir(parents=True, exist_ok=True)
    (build / MANIFEST).write_text('\n'.join(map(str, paths)), encoding='utf-8')
    return True

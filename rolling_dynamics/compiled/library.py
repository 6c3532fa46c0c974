"""
Shared libraries in the cache folder: written atomically, checked before they are loaded.

A damaged library would crash the process that loads it (SIGBUS, SIGSEGV). Therefore its size and
digest are kept in a file next to it. A library that does not match counts as missing and is built
again.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import hashlib
import json
import logging
import os
from pathlib import Path
import platform
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import casadi as ca
from rolling_dynamics.compiled.policy import cache_folder, Target

FORMAT = 1  # of the C source; increase it when source.py changes
LOG = logging.getLogger(__name__)
TIME_LIMIT = 600.0  # limit for one run of the compiler [s]
LARGE = 40_000  # lines beyond which code is optimised less, which halves the time to compile
FAILURE_KEPT = 3600.0  # a function that could not be compiled is tried again after this time [s]
UNUSED_KEPT = 90 * 86400.0  # a library that nobody loaded for this time is removed [s]
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_BUILDING = 'building_'


class Library:
    """
    Machine code of some functions.

    Attributes
    ----------
    name
        Name of its files, without suffix; it determines the content.
    compiler
        The C compiler.
    target
        Target of the machine code.

    """

    _checked: dict[tuple[str, int, int, int], str] = {}  # noqa: RUF012  file -> its digest
    _warned: set[str] = set()  # noqa: RUF012

    def __init__(self, name: str, compiler: str, target: Target) -> None:
        """Take a name that is unique to the content."""
        self.name, self.compiler, self.target = name, compiler, target

    @classmethod
    def of(cls, name: str, content: str, compiler: str, target: Target) -> Library:
        """Return the library of a content, which determines the functions; name is a prefix."""
        machine = f'{platform.machine()} {os.path.realpath(compiler)}'
        made_by = f'{FORMAT} {ca.__version__} {target.flags} {machine}'
        digest = hashlib.sha256(f'{made_by} {content}'.encode()).hexdigest()[:24]
        return cls(f'{name}_{digest}', compiler, target)

    @property
    def file(self) -> Path:
        """Shared library."""
        return cache_folder() / f'{self.name}.so'

    @property
    def seal(self) -> Path:
        """Size and digest of the library."""
        return cache_folder() / f'{self.name}.json'

    @property
    def failure(self) -> Path:
        """File with the reason why it could not be built."""
        return cache_folder() / f'{self.name}.failed'

    def load(self, names: Sequence[str]) -> tuple[ca.Function, ...] | None:
        """Return its functions; None if the library is missing or damaged."""
        if not self.sound:
            return None
        try:
            return tuple(ca.external(name, str(self.file)) for name in names)
        except RuntimeError as error:  # for example, built by a compiler for another machine
            LOG.warning('%s cannot be loaded and is built again: %s', self.file, error)
            self._remove()
            return None

    @property
    def sound(self) -> bool:
        """True if the library is there and intact, and only its owner may write it."""
        try:
            about = self.file.lstat()
            paths = (cache_folder(), self.seal, self.file)
            if not all(self._trusted(path) for path in paths):
                return False
            sealed = json.loads(self.seal.read_text())
            if about.st_size != sealed['size']:
                return False
            key = (str(self.file), about.st_ino, about.st_size, about.st_mtime_ns)
            if key not in self._checked:
                self._checked[key] = hashlib.sha256(self.file.read_bytes()).hexdigest()
            if time.time() - self.seal.stat().st_mtime > UNUSED_KEPT / 90:
                os.utime(self.seal)  # it is in use
            return bool(self._checked[key] == sealed['sha256'])
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @classmethod
    def _trusted(cls, path: Path) -> bool:
        """Return whether nobody but its owner, who is this user, may write a file or folder."""
        if path == cache_folder():
            about = path.stat()
        else:
            about = path.lstat()
            if not stat.S_ISREG(about.st_mode):
                return False
        if about.st_uid in (os.geteuid(), 0) and not about.st_mode & _OTHERS_WRITE:
            return True
        if str(path) not in cls._warned:
            cls._warned.add(str(path))
            LOG.warning(
                'compiled code is not used: others may write %s; '
                'remove that permission (chmod go-w), or set ROLLING_CACHE_DIR to another folder',
                path,
            )
        return False

    def usable_folder(self) -> bool:
        """Make the cache folder if it is missing, and return whether it may be used."""
        try:
            cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._trusted(cache_folder()) and os.access(cache_folder(), os.W_OK)
        except OSError:
            return False

    @property
    def failed(self) -> bool:
        """True if building it failed recently."""
        try:
            return time.time() - self.failure.stat().st_mtime < FAILURE_KEPT
        except OSError:
            return False

    def build(self, source: str) -> bool:
        """Compile C into the library, and return whether that succeeded."""
        if not self.usable_folder():
            return False
        sweep()
        try:
            with tempfile.TemporaryDirectory(
                dir=cache_folder(), prefix=f'{_BUILDING}{os.getpid()}_'
            ) as folder:
                trouble = self._build_in(Path(folder), source)
            if trouble:
                self.give_up(trouble)
                return False
            self.failure.unlink(missing_ok=True)
        except OSError as error:
            LOG.warning('%s is not compiled: %s', self.name, error)
            return False
        return True

    def give_up(self, trouble: str) -> None:
        """Record why it could not be built; for a while no process tries again."""
        LOG.warning('%s is not compiled: %s', self.name, trouble)
        with contextlib.suppress(OSError):
            self.failure.write_text(trouble)

    def _build_in(self, folder: Path, content: str) -> str:
        """Compile in a folder, then move the library to its path; return the error, if any."""
        source, built = folder / 'code.c', folder / 'code.so'
        source.write_text(content)
        level = ['-O1'] if content.count('\n') > LARGE else []
        given = *self.target.flags, *level, str(source)
        command = [self.compiler, *given, '-o', str(built), '-lm']
        trouble = run_compiler(command, TIME_LIMIT)
        if trouble:
            return trouble
        library = built.read_bytes()
        seal = folder / 'seal'
        seal.write_text(
            json.dumps({'size': len(library), 'sha256': hashlib.sha256(library).hexdigest()})
        )
        for path in (built, seal):
            path.chmod(0o700 if path == built else 0o600)
            synchronise(path)
        built.replace(self.file)
        seal.replace(self.seal)
        synchronise(cache_folder())
        return ''

    def _remove(self) -> None:
        for path in (self.seal, self.file):
            path.unlink(missing_ok=True)


def run_compiler(command: Sequence[str], limit: float) -> str:
    """Run a compiler with a time limit [s]; return the error, or the empty string."""
    try:
        process = subprocess.Popen(  # noqa: S603  the compiler that the user has
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return f'{command[0]} cannot be run: {error}'
    try:
        _, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return f'{command[0]} did not finish within {limit:g} s'
    finally:  # it has children of its own, also when this thread was interrupted
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        lines = errors.decode(errors='replace').strip().splitlines()
        return f'{command[0]} failed: {lines[0][:300] if lines else process.returncode}'
    return ''


def synchronise(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep() -> None:
    """Remove files left by killed compilers, and libraries that are no longer used."""
    with contextlib.suppress(OSError):
        for path in cache_folder().iterdir():
            if path.name.startswith(_BUILDING) and not _alive(path.name.split('_')[1]):
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix == '.json' and time.time() - path.stat().st_mtime > UNUSED_KEPT:
                path.with_suffix('.so').unlink(missing_ok=True)
                path.unlink(missing_ok=True)


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def forget_failures() -> None:
    """Allow functions that failed to compile to be tried again."""
    with contextlib.suppress(OSError):
        for path in cache_folder().glob('*.failed'):
            path.unlink(missing_ok=True)

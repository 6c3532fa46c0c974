"""
A background process that compiles functions for other processes, and outlives them.

A job is a file in the cache folder. A process that writes one starts the compiling process, unless
one is running; that process holds a lock while it runs. A damaged job, on which CasADi may loop
forever, is recognised by its digest. Attempts at a job are counted before it is read: a job that
crashes the process is retried last, and then given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
import fcntl
import hashlib
import json
import logging
import os
from pathlib import Path
import subprocess
import sys
from typing import Any, IO

import casadi as ca
from rolling_dynamics.compiled.library import Library, synchronise
from rolling_dynamics.compiled.policy import cache_folder, Target, USUAL
from rolling_dynamics.compiled.source import c_source

LOG = logging.getLogger(__name__)
NICENESS = 10
MOST_ATTEMPTS = 3  # attempts at one job, by processes that were killed
_SUFFIX = '.job'
_started: dict[Path, subprocess.Popen[bytes]] = {}  # by this process, for a cache folder


def ask_for(library: Library, functions: Sequence[ca.Function], source: str = '') -> bool:
    """
    Have functions, or C source, compiled in another process.

    Parameters
    ----------
    library
        Library for the machine code.
    functions
        Functions to compile.
    source
        C source to compile instead.

    Returns
    -------
    bool
        Whether it is being compiled; False if the folder is unusable, or it failed recently.

    """
    if library.failed or not library.usable_folder():
        return False
    job = cache_folder() / f'{library.name}{_SUFFIX}'
    try:
        if not job.is_file():
            content = json.dumps(
                {
                    'compiler': library.compiler,
                    'target': library.target,
                    'functions': [f.serialize() for f in functions],
                    'source': source,
                }
            )
            written = job.with_name(f'{job.name}_{os.getpid()}')
            written.write_text(f'{_digest(content)}\n{content}')
            synchronise(written)
            written.replace(job)
        start()
    except OSError as error:
        LOG.warning('%s is not compiled: %s', library.name, error)
        return False
    return True


def start() -> None:
    """Start the process that compiles, unless one is at work."""
    running = _started.get(cache_folder())
    if running is not None and running.poll() is None:
        return
    with _lock() as held:
        if not held:
            return
    folder = Path(__file__).resolve().parents[2]
    paths = [str(folder), *filter(None, [os.environ.get('PYTHONPATH')])]
    _started[cache_folder()] = subprocess.Popen(  # noqa: S603
        [sys.executable, '-c', f'from {__name__} import work; work()'],
        cwd='/',
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # not to be interrupted by Ctrl-C
    )


@contextlib.contextmanager
def _lock() -> Iterator[bool]:
    """Hold the lock of the process that compiles, if nobody else does."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(cache_folder() / 'lock', flags, 0o600), 'wb') as file:  # noqa: PTH123
        held = _taken(file)
        try:
            yield held
        finally:
            if held:
                fcntl.flock(file, fcntl.LOCK_UN)


def _taken(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _content(job: Path) -> dict[str, Any]:
    """Return the content of a job; raise ValueError if it is damaged."""
    digest, _, content = job.read_text().partition('\n')
    if digest != _digest(content):
        raise ValueError('it has another digest')
    return dict(json.loads(content))


def waiting() -> list[Path]:
    """Return the jobs, the smallest first, and last those that ended the process."""
    with contextlib.suppress(OSError):
        files = [path for path in cache_folder().glob(f'*{_SUFFIX}') if path.is_file()]
        return sorted(files, key=lambda job: (_size(_attempts(job)), _size(job), job))
    return []


def _attempts(job: Path) -> Path:
    """Return the file that counts the attempts at a job, a byte for each."""
    return job.with_suffix('.attempts')


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def work() -> None:
    """Compile until no job is left; return at once if another process is compiling."""
    os.nice(NICENESS)
    while waiting():
        with _lock() as held:
            if not held:
                return
            while jobs := waiting():  # a loop may wait for a short function: it comes first
                _carry_out(jobs[0])
                jobs[0].unlink(missing_ok=True)
                _attempts(jobs[0]).unlink(missing_ok=True)


def _carry_out(job: Path) -> None:
    """Compile a job, or record why it failed, for the processes that wait for it."""
    library = Library(job.stem, '', USUAL)
    if _size(_attempts(job)) >= MOST_ATTEMPTS:
        library.give_up(f'the process that compiles it ended {MOST_ATTEMPTS} times')
        return
    with _attempts(job).open('ab') as file:
        file.write(b'.')
    try:
        asked = _content(job)
        library.compiler, library.target = asked['compiler'], Target(*asked['target'])
        if library.sound or library.failed:
            return
        functions = [ca.Function.deserialize(text) for text in asked['functions']]
        source = asked['source'] or c_source(functions)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        library.give_up(f'its job is damaged: {error}')
        return
    library.build(source)

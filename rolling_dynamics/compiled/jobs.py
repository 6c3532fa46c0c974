"""
A process that compiles what others ask for, one function after another, and outlives them.

A job is a file in the cache folder. Whoever writes one starts the process if none is at work; it
holds a lock as long as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
import fcntl
import json
import logging
import os
from pathlib import Path
import subprocess
import sys
from typing import IO

import casadi as ca
from rolling_dynamics.compiled.library import Library, synchronise
from rolling_dynamics.compiled.policy import cache_folder, Target
from rolling_dynamics.compiled.source import c_source

LOG = logging.getLogger(__name__)
NICENESS = 10
MOST_ATTEMPTS = 3  # at one job, by processes that were killed
_SUFFIX = '.job'
_started: dict[Path, subprocess.Popen[bytes]] = {}  # by this process, for a cache folder


def ask_for(library: Library, functions: Sequence[ca.Function], source: str = '') -> bool:
    """
    Have functions, or C, compiled in another process.

    Parameters
    ----------
    library
        Where the machine code goes.
    functions
        What it is made of.
    source
        C that takes their place.

    Returns
    -------
    bool
        Whether somebody is at work on it; not where the folder cannot be used, or where it could
        not be compiled a short while ago.

    """
    if library.failed or not library.usable_folder():
        return False
    job = cache_folder() / f'{library.name}{_SUFFIX}'
    try:
        if not job.exists():
            content = {
                'compiler': library.compiler,
                'target': library.target,
                'functions': [f.serialize() for f in functions],
                'source': source,
            }
            written = job.with_name(f'{job.name}_{os.getpid()}')
            written.write_text(json.dumps(content))
            synchronise(written)
            written.replace(job)
        start()
    except OSError as error:
        LOG.warning('%s is not compiled: %s', library.name, error)
        return False
    return True


def start() -> None:
    """Start the process that compiles, unless one is at work."""
    begun = _started.get(cache_folder())
    if begun is not None and begun.poll() is None:
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
        start_new_session=True,  # Ctrl-C is not for it
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


def waiting() -> list[Path]:
    """Return the jobs, smallest first."""
    with contextlib.suppress(OSError):
        jobs = [(path.stat().st_size, path) for path in cache_folder().glob(f'*{_SUFFIX}')]
        return [path for _, path in sorted(jobs)]
    return []


def work() -> None:
    """Compile until there is nothing left to do; return at once if another process does."""
    os.nice(NICENESS)
    while waiting():
        with _lock() as held:
            if not held:
                return
            while jobs := waiting():  # the loop that waits for a short function comes first
                _carry_out(jobs[0])
                jobs[0].unlink(missing_ok=True)


def _carry_out(job: Path) -> None:
    try:
        asked = json.loads(job.read_text())
        library = Library(job.stem, asked['compiler'], Target(*asked['target']))
        functions = [ca.Function.deserialize(text) for text in asked['functions']]
        source = asked['source'] or c_source(functions)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        LOG.warning('%s is not a job: %s', job, error)
        return
    if library.sound or library.failed:
        return
    attempts = job.with_suffix('.attempts')  # a byte for each
    with attempts.open('ab') as file:
        file.write(b'.')
    if attempts.stat().st_size > MOST_ATTEMPTS:
        library.give_up(f'its compiler was killed {MOST_ATTEMPTS} times')
    else:
        library.build(source)
    attempts.unlink()

"""An experiment as processes: its nodes are started, watched and ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import ctypes
from dataclasses import dataclass, field
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO

from rolling_dynamics.configuration import find_config
from rolling_dynamics.errors import RollingError
from rolling_robotics.experiments import Experiment, NodeEntry, OWN_CLOCK, RECORDER

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the system stop this process if the one that started it is killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


STOP_TIMEOUT = 8.0  # from SIGTERM to SIGKILL [s]; a recorder writes its buffer
CLOSE_TIMEOUT = 60.0  # the same for the recorder, which writes what still waits
SENT = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)  # signals by which others end a process
DOMAINS = range(1, 102)  # beyond 101 the ports collide with those the system hands out
PORT_BASE, DOMAIN_GAIN = 7400, 250  # of the DDS standard


class BringupError(RollingError):
    """A node could not be started or has ended."""


@contextlib.contextmanager
def free_domain() -> Iterator[int]:
    """
    Yield a domain id that nothing on this machine uses, reserved while the context lasts.

    It is reserved by the TCP port of the number at which nodes discover each other by UDP. The
    kernel frees that port, whatever ends this process.

    Raises
    ------
    BringupError
        Every domain is in use.

    """
    start = os.getpid() % len(DOMAINS)
    for domain in (*DOMAINS[start:], *DOMAINS[:start]):
        port = PORT_BASE + DOMAIN_GAIN * domain
        with socket.socket() as lock, socket.socket(type=socket.SOCK_DGRAM) as probe:
            try:
                lock.bind(('127.0.0.1', port))
                probe.bind(('', port))
            except OSError:
                continue
            probe.close()
            yield domain
            return
    raise BringupError(f'every ROS domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use')


def realtime_allowed() -> bool:
    """Return whether processes started here may take a real-time priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (OSError, AttributeError):
        return False
    return True


def isolated_environment(domain: int) -> dict[str, str]:
    """Return the environment of processes that only see each other."""
    return {
        **os.environ,
        'ROS_DOMAIN_ID': str(domain),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'PYTHONUNBUFFERED': '1',
    }


@contextlib.contextmanager
def private_domain() -> Iterator[tuple[int, dict[str, str]]]:
    """Move this process to a free domain; yield it, and the environment of what shall see it."""
    with free_domain() as domain:
        environment = isolated_environment(domain)
        for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
            os.environ[name] = environment[name]
        yield domain, environment


def node_command(
    entry: NodeEntry,
    params_file: Path,
    *,
    namespace: str = '',
    use_sim_time: bool = False,
    overrides: Mapping[str, object] | None = None,
    enclave: str = '',
) -> list[str]:
    """
    Return the command that runs a node.

    Parameters
    ----------
    entry
        The node.
    params_file
        File with its parameters.
    namespace
        Namespace of the node; empty for the root.
    use_sim_time
        Whether it takes its time from ``/clock``.
    overrides
        Parameters that override the file's.
    enclave
        Its SROS2 enclave; empty for the environment's.

    """
    command = [
        sys.executable,
        '-m',
        entry.module,
        '--ros-args',
        '-r',
        f'__node:={entry.name}',
        '--params-file',
        str(params_file),
    ]
    if namespace:
        command += ['-r', f'__ns:=/{namespace.strip("/")}']
    if enclave:
        command += ['--enclave', enclave]
    for old, new in {**OWN_CLOCK, **entry.remaps}.items():
        command += ['-r', f'{old}:={new}']
    values = {'use_sim_time': use_sim_time, **(overrides or {}), **entry.parameters}
    for name, value in values.items():
        command += ['-p', f'{name}:={_as_yaml(value)}']
    return command


def _as_yaml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return '[' + ', '.join(_as_yaml(v) for v in value) + ']'
    return f'"{value}"' if isinstance(value, str) else repr(value)


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Put Ctrl-C off until the end, so that one more does not leave processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed and callable(before):
            before(signal.SIGINT, None)


@dataclass(kw_only=True)
class Bringup:
    """
    The processes of an experiment; a context manager.

    Attributes
    ----------
    experiment
        What to start.
    environment
        Environment of the processes, see :func:`isolated_environment`.
    namespace, use_sim_time, params_file
        Passed to every node; the experiment's file if None.
    hardware
        Kind of hardware, where the experiment has a choice; empty for the usual one.
    record
        Folder for a recording, or None for none.
    overrides
        Parameters by node that override the file's.
    log_folder
        Where the output of the nodes goes, ``<node>.log``; None for the terminal.

    """

    experiment: Experiment
    environment: Mapping[str, str]
    namespace: str = ''
    use_sim_time: bool = False
    params_file: Path | None = None
    hardware: str = ''
    record: Path | None = None
    overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    log_folder: Path | None = None
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)
    _logs: list[IO[bytes]] = field(default_factory=list, init=False)

    def __enter__(self) -> Bringup:  # noqa: PYI034  Self needs Python 3.11
        """Start every process."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Stop every process; raise BringupError if one crashed and no other error is raised."""
        statuses = self.stop().items()
        crashed = {n: signal.strsignal(-s) for n, s in statuses if s < 0 and -s not in SENT}
        if crashed and not isinstance(error, Exception):
            raise BringupError(f'nodes that crashed: {crashed}')

    def commands(self) -> dict[str, list[str]]:
        """Return the command of every node by name."""
        file = self.params_file or find_config(self.experiment.params_file)
        entries: list[NodeEntry] = list(self.experiment.nodes_on(self.hardware))
        overrides = {name: dict(values) for name, values in self.overrides.items()}
        if self.record is not None:
            entries.insert(0, RECORDER)
            overrides['recorder'] = {
                'folder': str(self.record),
                'topics': list(self.experiment.recorded),
                **overrides.get('recorder', {}),
            }
        return {
            entry.name: node_command(
                entry,
                file,
                namespace=self.namespace,
                use_sim_time=self.use_sim_time,
                overrides=overrides.get(entry.name),
                enclave=self.experiment.enclave(entry.name),
            )
            for entry in entries
        }

    def start(self) -> None:
        """Start every process."""
        for name in self.commands():
            self.start_node(name)

    def start_node(self, name: str) -> None:
        """Start the process of one node, again where it has ended; its log is cleared."""
        log: IO[bytes] | None = None
        if self.log_folder is not None:
            self.log_folder.mkdir(parents=True, exist_ok=True)
            log = (self.log_folder / f'{name}.log').open('wb')
            self._logs.append(log)
        with _interrupted_later():  # in the midst of a fork an exception is lost, or the process
            self.processes[name] = subprocess.Popen(  # noqa: S603 - our own interpreter
                self.commands()[name],
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT if log else None,
                start_new_session=True,  # Ctrl-C comes to us, and we stop them in order
                preexec_fn=die_with_parent,  # noqa: PLW1509 - no thread runs yet
            )

    def check(self) -> None:
        """Raise BringupError if a process has ended."""
        for name, process in self.processes.items():
            status = process.poll()
            if status is not None:
                raise BringupError(f'{name} ended with status {status}{self._last_words(name)}')

    def _last_words(self, name: str) -> str:
        if self.log_folder is None:
            return ''
        text = (self.log_folder / f'{name}.log').read_text(errors='replace').strip()
        return ': ' + text.splitlines()[-1] if text else ''

    def stop(self) -> dict[str, int]:
        """
        Ask every process to stop, controller first, and see it end; return their statuses.

        Ctrl-C meanwhile is put off until they have ended.
        """
        with _interrupted_later():
            return self._stop()

    def _stop(self) -> dict[str, int]:
        order: Sequence[str] = list(reversed(self.processes))
        for name in order:
            with contextlib.suppress(ProcessLookupError):
                self.processes[name].send_signal(signal.SIGTERM)  # SIGINT may be ignored at start
        begin = time.monotonic()
        for name in order:
            timeout = CLOSE_TIMEOUT if name == RECORDER.name else STOP_TIMEOUT
            try:
                self.processes[name].wait(max(0.0, begin + timeout - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.processes[name].kill()
                self.processes[name].wait()
        for log in self._logs:
            log.close()
        self._logs.clear()
        return {name: process.returncode for name, process in self.processes.items()}

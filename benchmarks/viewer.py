"""The live viewer at a simulator whose frames come a hundred times a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
import os
from pathlib import Path
import subprocess
import tempfile
import threading
import time
from typing import NamedTuple, TYPE_CHECKING

from benchmarks.row import Row
import numpy as np
from rolling_dynamics.configuration import find_config
from rolling_robotics.bringup import node_command, private_domain
from rolling_robotics.experiments import find_experiment

if TYPE_CHECKING:
    from rolling_robotics.nodes.live_view import LiveScene

WINDOW = 6.0  # of one measurement [s]
ROUNDS = 3  # without and with the viewer
STREAM = 100.0  # frames of the simulator [Hz]
LEAST = 29.8  # of 30 updates a second: a window has 180 of them, or at its ends one less
NEEDED = ('rclpy', 'rolling_interfaces', 'viser')


class Seen(NamedTuple):
    """
    One measurement with the viewer.

    Attributes
    ----------
    taken, sent
        Rates [1/s].
    load
        The simulator's share of a core.
    cost
        Time that this process computes per update, all that belongs to it [s].

    """

    taken: float
    sent: float
    load: float
    cost: float


def rows() -> Iterator[Row]:
    """Yield the figures."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield Row(name='live viewer', value=None, unit='', reference=f'needs {missing[0]}')
        return
    with simulator() as process:
        alone, beside = [], []
        for _ in range(ROUNDS):
            alone.append(_load(process.pid))
            beside.append(_viewed(process.pid))
        drawn, sent_to_it = _in_browser()
    taken, sent, after, cost = np.median(np.array(beside), axis=0).tolist()
    before = float(np.median(alone))
    yield Row(
        name='updates a second that the viewer sends',
        value=sent,
        unit='1/s',
        goal=f'at least {LEAST}',
        reference=f'30 wanted; {taken:.3g} of {STREAM:g} transforms a second taken',
    )
    yield Row(
        name='time that the viewer computes per update',
        value=1e3 * cost,
        unit='ms',
        reference=f'all of its process: {100 * cost * sent:.1f} % of a core; no browser looks',
    )
    yield Row(
        name='load that the viewer adds to the simulator',
        value=100 * (after / before - 1),
        unit='%',
        goal='at most 10',
        reference=f'{100 * before:.0f} % of a core alone, {100 * after:.0f} % beside it',
    )
    yield Row(
        name='pictures a second that a headless Chromium draws',
        value=drawn,
        unit='1/s',
        reference=f'in software, on the same cores; {sent_to_it:.3g} updates a second sent to it'
        if drawn is not None
        else 'no Chromium was found',
    )


@contextmanager
def simulator() -> Iterator[subprocess.Popen[bytes]]:
    """Run the simulator of the ball on a plate; yield once it publishes."""
    experiment = find_experiment('ball_on_plate')
    entry = experiment.nodes[0]
    overrides = {'tf_rate': STREAM, 'realtime_priority': 0}
    command = node_command(entry, find_config(experiment.params_file), overrides=overrides)
    with private_domain() as (_, environment):
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            if process.stderr is not None:
                for line in process.stderr:
                    if b'steps a second' in line:
                        break
                threading.Thread(target=process.stderr.read, daemon=True).start()
            time.sleep(1.0)  # the first steps cost more
            yield process
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def shown() -> Iterator[tuple[LiveScene, str]]:
    """Run the live viewer in this process; yield its scene and address."""
    from rolling_robotics.nodes.live_view import live_scene, show_live  # noqa: PLC0415

    stop = threading.Event()
    with live_scene('127.0.0.1', 0) as (live, address):
        worker = threading.Thread(target=show_live, args=(live, stop), daemon=True)
        worker.start()
        while live.sent == 0:
            time.sleep(0.1)
        yield live, address
        stop.set()
        worker.join(5.0)


def _viewed(pid: int) -> Seen:
    """Return rates of the viewer and load of the simulator, without a browser."""
    with shown() as (live, _):
        begin, taken, sent = time.monotonic(), live.taken, live.sent
        computed = time.process_time()
        load = _load(pid)
        computed, passed = time.process_time() - computed, time.monotonic() - begin
        updates = live.sent - sent
        return Seen((live.taken - taken) / passed, updates / passed, load, computed / updates)


def _in_browser() -> tuple[float | None, float]:
    """Return the rates at which a browser draws, and at which it is sent updates."""
    from benchmarks.chromium import Browser, find_chromium  # noqa: PLC0415

    if find_chromium() is None:
        return None, 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        shown() as (live, address),
        Browser(Path(folder, 'profile')) as browser,
    ):
        browser.open(address)
        browser.wait_for('the scene', 'document.querySelector("canvas") !== null')
        begin, sent = time.monotonic(), live.sent
        drawn = browser.frames_a_second(WINDOW)
        return drawn, (live.sent - sent) / (time.monotonic() - begin)


def _load(pid: int) -> float:
    """Return the share of a core that a process takes during a window."""
    before, begin = _cpu_time(pid), time.monotonic()
    time.sleep(WINDOW)
    return (_cpu_time(pid) - before) / (time.monotonic() - begin)


def _cpu_time(pid: int) -> float:
    """Return the time that a process has computed [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

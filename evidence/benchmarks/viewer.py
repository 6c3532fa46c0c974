"""The viewer in a browser: frames, bytes and load."""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
from contextlib import contextmanager
from importlib.util import find_spec
import io
import itertools
import json
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Any, TYPE_CHECKING
import urllib.request

from evidence.benchmarks.row import Row
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rolling_dynamics.configuration import find_config
from rolling_robotics.bringup import node_command, private_domain
from rolling_robotics.experiments import find_experiment
from websockets.sync.client import connect

if TYPE_CHECKING:
    from rolling_robotics.nodes.live_view import LiveScene

WINDOW = 6.0  # of one measurement [s]
ROUNDS = 3  # without and with the viewer
STREAM = 100.0  # frames of the simulator [Hz]
LEAST = 29.8  # of 30 updates per second: a window has 180 of them, or at its ends one less
NEEDED = ('rclpy', 'rolling_interfaces', 'viser')


def rows() -> Iterator[Row]:
    """Yield the figures."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield Row('live viewer', None, reference=f'needs {missing[0]}')
        return
    with simulator() as process:
        alone, beside = [], []
        for _ in range(ROUNDS):
            alone.append(_load(process.pid))
            beside.append(_viewed(process.pid))
        drawn, sent_to_it = _in_browser()
    taken, sent, after, cost = np.median(np.array(beside), axis=0).tolist()
    before = float(np.median(alone))
    title = 'updates per second that the viewer sends'
    against = f'30 wanted; {taken:.3g} of {STREAM:g} transforms a second taken'
    yield Row(title, sent, '1/s', f'at least {LEAST}', against)
    against = f'all of its process: {100 * cost * sent:.1f} % of a core; no browser looks'
    yield Row('time that the viewer computes per update', 1e3 * cost, 'ms', reference=against)
    title = 'load that the viewer adds to the simulator'
    against = f'{100 * before:.0f} % of a core alone, {100 * after:.0f} % beside it'
    yield Row(title, 100 * (after / before - 1), '%', 'at most 10', against)
    yield Row(
        name='pictures per second that a headless Chromium draws',
        value=drawn,
        unit='1/s',
        reference=f'in software, on the same cores; {sent_to_it:.3g} updates per second sent to it'
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
                    if b'steps per second' in line:
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


def _viewed(pid: int) -> tuple[float, float, float, float]:
    """
    Return one measurement with the viewer, without a browser.

    It is the rates at which it takes and sends [1/s], the simulator's fraction of a core, and the
    time that this process computes for each update, all that belongs to it [s].
    """
    with shown() as (live, _):
        begin, taken, sent = time.monotonic(), live.taken, live.sent
        computed = time.process_time()
        load = _load(pid)
        computed, passed = time.process_time() - computed, time.monotonic() - begin
        updates = live.sent - sent
        return (live.taken - taken) / passed, updates / passed, load, computed / updates


def _in_browser() -> tuple[float | None, float]:
    """Return the rates at which a browser draws, and at which it is sent updates."""
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
    """Return the fraction of a core that a process takes during a window."""
    before, begin = _cpu_time(pid), time.monotonic()
    time.sleep(WINDOW)
    return (_cpu_time(pid) - before) / (time.monotonic() - begin)


def _cpu_time(pid: int) -> float:
    """Return the time that a process has computed [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
OPTIONS = (
    '--headless=new',
    '--no-sandbox',
    '--remote-debugging-port=0',
    '--window-size=1000,600',
    '--enable-unsafe-swiftshader',
    '--use-angle=swiftshader',
    '--no-first-run',
    '--no-proxy-server',
    '--disable-extensions',
    '--disable-background-networking',
    '--disable-dev-shm-usage',
)
PATIENCE = 90.0  # with anything that the browser is to do [s]
KEYS = {'ArrowRight': 39, 'ArrowLeft': 37, 'Home': 36, 'End': 35}


class BrowserError(Exception):
    """The browser did not do what it was asked for."""


def find_chromium() -> str | None:
    """Return the path of a browser, or None."""
    return next((path for n in NAMES if (path := shutil.which(n))), None)


class Browser(contextlib.AbstractContextManager['Browser']):
    """
    One page; a context manager.

    Attributes
    ----------
    errors
        What the page wrote to its console as an error.

    """

    def __init__(self, folder: Path) -> None:
        """Start it with an empty profile in a folder."""
        command = [find_chromium() or NAMES[0], *OPTIONS, f'--user-data-dir={folder}']
        self._process = subprocess.Popen(  # noqa: S603 - a browser of this machine
            [*command, 'about:blank'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port = self._port(Path(folder, 'DevToolsActivePort'))
        address = f'http://127.0.0.1:{port}/json/list'
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            page = next(p for p in json.load(answer) if p['type'] == 'page')
        self._socket = connect(page['webSocketDebuggerUrl'], max_size=None)
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        for domain in ('Runtime', 'Log', 'Page'):
            self.call(f'{domain}.enable')

    def _port(self, file: Path) -> str:
        """Return the port that the browser wrote down."""
        end = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text().count('\n')):
            if self._process.poll() is not None or time.monotonic() > end:
                raise BrowserError('the browser does not start')
            time.sleep(0.05)
        return file.read_text().split()[0]

    def __exit__(self, *_: object) -> None:
        """Close it."""
        with contextlib.suppress(Exception):
            self.call('Browser.close')
        self._socket.close()
        self._process.wait(20)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and return its answer; errors on the way are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            self._note(message)
            if message.get('id') == number:
                if 'error' in message:
                    raise BrowserError(f'{method}: {message["error"]}')
                return dict(message['result'])

    def _note(self, message: dict[str, Any]) -> None:
        method, given = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.errors.append(given['exceptionDetails']['text'])
        elif method == 'Runtime.consoleAPICalled' and given['type'] == 'error':
            self.errors.append(str([a.get('value', a.get('description')) for a in given['args']]))
        elif method == 'Log.entryAdded' and given['entry']['level'] == 'error':
            self.errors.append(given['entry']['text'])

    def run(self, code: str) -> Any:  # noqa: ANN401  (whatever the page has)
        """Return the value of an expression on the page, a promise awaited."""
        answer = self.call(
            'Runtime.evaluate', expression=code, awaitPromise=True, returnByValue=True
        )
        if 'exceptionDetails' in answer:
            raise BrowserError(f'{code}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    def wait_for(self, what: str, code: str) -> None:
        """Wait until an expression on the page is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(code):
            if time.monotonic() > end:
                raise BrowserError(f'{what} did not come; errors: {self.errors}')
            self.run('new Promise(done => setTimeout(done, 100))')

    def open(self, address: str) -> None:
        """Go to a page."""
        self.call('Page.navigate', url=address)

    def press(self, key: str, times: int = 1) -> None:
        """Press a key."""
        for _ in range(times):
            for kind in ('keyDown', 'keyUp'):
                self.call(
                    'Input.dispatchKeyEvent',
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode=KEYS[key],
                )

    def frames_a_second(self, duration: float) -> float:
        """Return how many pictures per second the page draws, counted for a time [s]."""
        return float(
            self.run(
                'new Promise(done => { let n = 0; const start = performance.now();'
                'const count = now => { n += 1; const passed = now - start;'
                f'if (passed > {1000 * duration}) done(1000 * n / passed);'
                'else requestAnimationFrame(count); }; requestAnimationFrame(count); })'
            )
        )

    def picture(self, path: Path | None = None) -> NDArray[np.uint8]:
        """Return what is seen, shape (rows, columns, 3), and keep it in a file."""
        data = base64.b64decode(self.call('Page.captureScreenshot', format='png')['data'])
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB'))

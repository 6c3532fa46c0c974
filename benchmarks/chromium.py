"""A headless Chromium, spoken to by its own protocol over a WebSocket."""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
from pathlib import Path
import shutil
import subprocess
import time
from typing import Any
import urllib.request

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from websockets.sync.client import connect

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
        """Return how many pictures a second the page draws, counted for a time [s]."""
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

"""A headless Chromium, spoken to by its own protocol over a WebSocket."""

import base64
import contextlib
import io
import itertools
import json
from pathlib import Path
import shutil
import subprocess
import time
import urllib.request

import numpy as np
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
PATIENCE = 90.0


def find_chromium():
    """Return the path of a browser, or None."""
    return next((path for n in NAMES if (path := shutil.which(n))), None)


class Browser:
    """One page; a context manager."""

    def __init__(self, folder):
        self._process = subprocess.Popen(
            [find_chromium(), *OPTIONS, f'--user-data-dir={folder}', 'about:blank'],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = self._port(Path(folder, 'DevToolsActivePort'))
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/json/list', timeout=20) as answer:
            page = next(p for p in json.load(answer) if p['type'] == 'page')
        self._socket = connect(page['webSocketDebuggerUrl'], max_size=None)
        self._numbers = itertools.count(1)
        self.errors = []
        for domain in ('Runtime', 'Log', 'Page'):
            self.call(f'{domain}.enable')

    def _port(self, file):
        """Return the port that the browser wrote down."""
        end = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text().count('\n')):
            assert self._process.poll() is None, 'the browser ended'
            assert time.monotonic() < end, 'the browser does not start'
            time.sleep(0.05)
        return file.read_text().split()[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.call('Browser.close')
        self._socket.close()
        self._process.wait(20)

    def call(self, method, **parameters):
        """Send a command and return its answer; errors on the way are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            self._note(message)
            if message.get('id') == number:
                assert 'error' not in message, message
                return message['result']

    def _note(self, message):
        method, given = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.errors.append(given['exceptionDetails']['text'])
        elif method == 'Runtime.consoleAPICalled' and given['type'] == 'error':
            self.errors.append(str([a.get('value', a.get('description')) for a in given['args']]))
        elif method == 'Log.entryAdded' and given['entry']['level'] == 'error':
            self.errors.append(given['entry']['text'])

    def run(self, code):
        """Return the value of an expression on the page, a promise awaited."""
        answer = self.call(
            'Runtime.evaluate', expression=code, awaitPromise=True, returnByValue=True
        )
        assert 'exceptionDetails' not in answer, answer
        return answer['result'].get('value')

    def wait_for(self, what, code):
        """Wait until an expression on the page is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(code):
            assert time.monotonic() < end, f'{what} did not come; errors: {self.errors}'
            self.run('new Promise(done => setTimeout(done, 100))')

    def open(self, address):
        """Go to a page."""
        self.call('Page.navigate', url=address)

    def press(self, key, times=1):
        """Press a key."""
        codes = {'ArrowRight': 39, 'ArrowLeft': 37, 'Home': 36, 'End': 35}
        for _ in range(times):
            for kind in ('keyDown', 'keyUp'):
                self.call(
                    'Input.dispatchKeyEvent',
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode=codes[key],
                )

    def picture(self, path=None):
        """Return what is seen, shape (rows, columns, 3), and keep it in a file."""
        data = base64.b64decode(self.call('Page.captureScreenshot', format='png')['data'])
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB'))

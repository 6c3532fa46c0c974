"""The viewer in a headless Chromium: it loads, the ball moves, the slider works, no error."""

from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip('viser')

from evidence.benchmarks.viewer import Browser, find_chromium

PICTURES = Path(__file__).resolve().parents[2] / 'build' / 'screenshots'
SLIDER = 'document.querySelector("[role=slider]")'
PLAY = '[...document.querySelectorAll("label")].find(l => l.innerText.trim() === "play").control'
VALUE = f'Number({SLIDER}.getAttribute("aria-valuenow"))'

pytestmark = [
    pytest.mark.slow,  # WebGL in software: minutes on a busy machine
    pytest.mark.skipif(find_chromium() is None, reason='Chromium is not installed'),
]


@pytest.fixture
def address(rolling_ball):
    command = [sys.executable, '-m', 'rolling_robotics.cli', 'view', str(rolling_ball)]
    with subprocess.Popen(
        [*command, '--port', '0', '--speed', '0.25'], stdout=subprocess.PIPE, text=True
    ) as process:
        yield re.search(r'http://\S+', process.stdout.readline()).group()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def press(browser, key, came):
    """Press a key until it counts: a value that the server sent before the stop may undo it."""
    for _ in range(50):
        browser.press(key)
        if browser.run(f'new Promise(done => setTimeout(() => done({came}), 200))'):
            return
    raise AssertionError(f'{key} does not move the slider')


def test_page_loads_the_ball_moves_and_the_slider_works(address, tmp_path):
    with Browser(tmp_path / 'profile') as browser:
        browser.open(address)
        browser.wait_for('the scene', 'document.querySelector("canvas") !== null')
        browser.wait_for('the slider', f'{SLIDER} !== null')
        before = browser.run(VALUE)
        browser.wait_for('a later time', f'{VALUE} !== {before}')
        browser.picture(PICTURES / 'playing.png')
        browser.run(f'{PLAY}.click()')  # stop
        browser.wait_for('the stop', f'!{PLAY}.checked')
        browser.run(f'{SLIDER}.focus()')
        press(browser, 'End', f'Math.abs({VALUE} - 1) < 1e-6')
        at_end = browser.picture(PICTURES / 'end.png')
        press(browser, 'Home', f'{VALUE} === 0')
        at_start = browser.picture(PICTURES / 'start.png')
        scene = slice(0, at_end.shape[1] // 2)  # the panel is at the right
        moved = abs(at_end[:, scene].astype(int) - at_start[:, scene]).sum(axis=2) > 60
        assert moved.mean() > 0.005, 'the ball did not move'
        assert browser.errors == []

"""How work that takes long is shown: a bar on a terminal, one line elsewhere."""

import contextlib
import io
import re
import signal
import threading
import time

import pytest
from rolling_robotics import console
from rolling_robotics.cli import INTERRUPTED, main
from rolling_robotics.commands import listings
from rolling_robotics.console import Progress


class Terminal(io.StringIO):
    """Says that it is one, and when something was written."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def flush(self):
        self.written.set()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(console, 'PATIENCE', 0.0)


def test_on_a_terminal_there_is_a_bar_that_is_taken_away(monkeypatch):
    monkeypatch.setattr(console, 'PERIOD', 0.01)
    terminal = Terminal()
    monkeypatch.setattr('sys.stderr', terminal)
    shown = Progress('planning a ball')
    shown.say('iteration 3', 0.25)
    with shown:
        assert terminal.written.wait(60)
        first = terminal.getvalue()
        assert '[#####...............] 25 %, about ' in first
        assert first.endswith(', iteration 3')
        assert '\n' not in first
        shown.say('iteration 4', 1.0)
        end = time.monotonic() + 60
        while '[####################] 100 %' not in terminal.getvalue():
            assert time.monotonic() < end
            terminal.written.clear()
            assert terminal.written.wait(60)
    assert terminal.getvalue().endswith('\r\x1b[K')


def test_elsewhere_there_is_one_line(capsys):
    shown = Progress('planning a ball')
    shown.say('iteration 3', 0.5)
    with shown:
        shown._thread.join(60)
        assert not shown._thread.is_alive()
        shown.say('iteration 4', 0.6)
    said = capsys.readouterr().err
    line = r'planning a ball: \d+ s, 50 %, about \d+ s left, iteration 3\n'
    assert re.fullmatch(line, said)


@pytest.mark.slow
def test_commands_that_compute_say_so(tmp_path, capsys):
    assert main(['controllability', 'spin_rolling_published', '--depth', '2']) in {0, 1}
    assert re.search(r'deriving brackets of \w+: 0 s', capsys.readouterr().err)
    assert main(['export', 'pid', '--scenario', 'ball_balancer', '--out', str(tmp_path)]) == 0
    assert 'writing pid: ' in capsys.readouterr().err


def test_short_work_is_not_spoken_of(monkeypatch, capsys):
    monkeypatch.setattr(console, 'PATIENCE', 3600)
    with Progress('planning a ball') as shown:
        shown.say('iteration 3', 0.5)
    assert capsys.readouterr().err == ''


def swallowed(report):
    """Do what a library does that calls Python and loses the exception, then report."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    report()


def test_a_ctrl_c_that_a_library_swallowed_is_raised_by_the_next_report():
    with pytest.raises(KeyboardInterrupt), Progress('simulating') as shown:
        swallowed(lambda: shown.say('after'))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_ctrl_c_that_a_library_made_a_fault_of_is_no_fault(monkeypatch, capsys):
    def run(_):
        raise SystemError('returned a result with an exception set') from KeyboardInterrupt()

    monkeypatch.setattr(listings, 'run_examples', run)
    assert main(['examples']) == INTERRUPTED
    assert 'stopped by Ctrl-C' in capsys.readouterr().err

"""Text on the console: lines, progress, the version, and the end by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING

from rolling_dynamics.errors import printable

if TYPE_CHECKING:
    from typing_extensions import Self

LONGEST_LINE = 2000  # characters


def say(text: str) -> None:
    """Write a text to stderr, each line printable, cut, and behind the name of the program."""
    for line in text.splitlines() or ['']:
        print(f'rolling: {printable(line, LONGEST_LINE)}', file=sys.stderr)


STOPPED = 130  # exit status of a command that Ctrl-C stopped


class InterruptFlag:
    """
    Context in which Ctrl-C raises a flag instead of an exception; a second one ends the process.

    Attributes
    ----------
    raised
        Whether Ctrl-C was pressed.

    """

    def __init__(self) -> None:
        """Start with the flag down."""
        self.raised = False

    def __enter__(self) -> Self:
        """Take over the signal."""
        self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raise KeyboardInterrupt where Ctrl-C was pressed; to be called while waiting."""
        if self.raised:
            raise KeyboardInterrupt

    def _interrupted(self, _: int, __: FrameType | None) -> None:
        if self.raised:
            say('stopped at once; nothing was written')
            os._exit(STOPPED)
        self.raised = True


PATIENCE = 2.0  # s without a word
PERIOD = 0.2  # s between two lines on a terminal
BAR = 20  # characters


class Progress:
    """
    Context in which work is shown, and stopped by Ctrl-C.

    The line is written by a thread, so that work which does not report shows its time at least.
    A library may swallow the exception of Ctrl-C: the next report raises it again.
    """

    def __init__(self, title: str) -> None:
        """
        Start.

        Parameters
        ----------
        title
            Description of the task.

        """
        self._title, self._text = title, ''
        self._fraction: float | None = None
        self._start = time.monotonic()
        self._done = threading.Event()
        self._terminal = sys.stderr.isatty()
        self._shown = self._stopped = False
        self._takes_over = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Self:
        """Start the clock."""
        if self._takes_over:
            signal.signal(signal.SIGINT, self._stop)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        if self._takes_over:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._done.set()
        self._thread.join()
        if self._shown:
            print('\r\x1b[K', end='', file=sys.stderr, flush=True)

    def say(self, text: str, fraction: float | None = None) -> None:
        """
        Report where the work is.

        Parameters
        ----------
        text
            A few words.
        fraction
            Part that is done, 0 to 1, if it is known.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C was pressed and the work went on.

        """
        if self._stopped:
            raise KeyboardInterrupt
        self._text, self._fraction = text, fraction

    def _stop(self, *_: object) -> None:
        self._stopped = True
        raise KeyboardInterrupt

    def _show(self) -> None:
        if self._done.wait(PATIENCE):
            return
        if not self._terminal:
            print(self._line(), file=sys.stderr, flush=True)
            return
        self._shown = True
        while True:
            print(f'\r\x1b[K{self._line()}', end='', file=sys.stderr, flush=True)
            if self._done.wait(PERIOD):
                return

    def _line(self) -> str:
        elapsed = time.monotonic() - self._start
        parts = [f'{self._title}: {elapsed:.0f} s']
        if self._fraction:
            left = elapsed / self._fraction - elapsed
            full = round(BAR * min(self._fraction, 1.0))
            bar = f'[{"#" * full}{"." * (BAR - full)}] ' if self._terminal else ''
            parts.append(f'{bar}{100 * self._fraction:.0f} %, about {left:.0f} s left')
        if self._text:
            parts.append(self._text)
        return ', '.join(parts)


def version() -> str:
    """Return the version, as `rolling --version` shows it."""
    from importlib import metadata  # noqa: PLC0415  (slow to import)

    try:
        return metadata.version('rolling_robotics')
    except metadata.PackageNotFoundError:
        return 'not installed'

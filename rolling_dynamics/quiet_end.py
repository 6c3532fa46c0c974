"""Ctrl-C once more while a process already ends: it changes nothing."""

from __future__ import annotations

import atexit
import signal


def quiet_end(*signals: int) -> None:
    """
    Have signals change nothing from now on; called from the main thread of a process that ends.

    A handler of Python serves until the interpreter goes down and takes it away; from there on
    the signals are ignored, which before would be inherited by programs that are started.
    """
    for number in signals:
        signal.signal(number, lambda *_: None)
        atexit.register(signal.signal, number, signal.SIG_IGN)

"""Ctrl-C while a node still imports its modules: an end without a traceback."""

from __future__ import annotations

import os
from pathlib import PurePath
import signal
import sys
import threading

SUFFIX = '_node'  # of the programs that are nodes


def program() -> str:
    """Return the name of the running program or, with ``python -m``, of its module."""
    given = sys.orig_argv
    if '-m' in given[:-1]:
        return given[given.index('-m') + 1].rpartition('.')[2]
    return PurePath(sys.argv[0]).stem if sys.argv and sys.argv[0] else ''


def quiet_start() -> None:
    """
    Have SIGINT end a node at once, until it takes care of its signals itself.

    Called where the import of a node begins, before rclpy: nothing is to be stopped or saved yet,
    and the status is that of a clean stop. Any other program keeps its handlers.
    """
    if (
        program().endswith(SUFFIX)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, lambda *_: os._exit(0))

"""Priority among threads, and how a program ends without a traceback; needs no ROS."""

from __future__ import annotations

import atexit
import contextlib
from importlib import util
import os
from pathlib import Path, PurePath
import signal
import sys
import threading


def take_priority(priority: int) -> bool:
    """
    Give the threads of Python and of DDS a real-time priority, which new threads inherit.

    Those of numerical libraries stay ordinary: they wait for each other in busy loops.
    """
    threads = {thread.native_id for thread in threading.enumerate()}
    try:
        for task in Path('/proc/self/task').iterdir():
            if int(task.name) in threads or task.joinpath('comm').read_text().startswith('dds'):
                os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True


def drop_priority() -> None:
    """Make the calling thread an ordinary one, if a favoured one: it has long work to do."""
    with contextlib.suppress(OSError):
        if os.sched_getscheduler(0) != os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -15)


SUFFIX = '_node'  # of the programs that are nodes
ROS = ('rclpy', 'rolling_interfaces')
BAD_INPUT = 2  # exit status


def program() -> str:
    """Return the name of the running program or, with ``python -m``, of its module."""
    given = sys.orig_argv
    if '-m' in given[:-1]:
        return given[given.index('-m') + 1].rpartition('.')[2]
    return PurePath(sys.argv[0]).stem if sys.argv and sys.argv[0] else ''


def without_ros(name: str, *more: str) -> str:
    """
    Return what of ROS is missing here and how to get it, or an empty text.

    Parameters
    ----------
    name
        Of the program or command that needs it.
    more
        Modules that it needs besides rclpy and rolling_interfaces.

    """
    missing = [module for module in (*ROS, *more) if util.find_spec(module) is None]
    if not missing:
        return ''
    return (
        f'{name}: needs ROS 2, but {" and ".join(missing)} cannot be imported; run `make setup` '
        'in the source tree, or source a ROS 2 workspace that holds rolling_interfaces and `pip '
        'install rosbags`. `rolling simulate`, `plan`, `plot` and `animate` work without ROS'
    )


def quiet_start() -> None:
    """
    Have SIGINT and SIGTERM end a node at once, until it handles its signals itself.

    Called at the start of a node's import, before rclpy: there is nothing to stop or save yet, and
    the exit status is of a clean stop. Without ROS the node ends here, with a line. Any other
    program keeps its handlers, and may import modules that need no ROS.
    """
    name = program()
    if not name.endswith(SUFFIX):
        return
    fault = without_ros(name)
    if fault:
        print(fault, file=sys.stderr)  # noqa: T201
        raise SystemExit(BAD_INPUT)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                signal.signal(number, lambda *_: os._exit(0))


def quiet_end(*signals: int) -> None:
    """
    Have signals change nothing from now on; called from the main thread of a process that ends.

    A handler of Python serves until the interpreter goes down and takes it away; from there on
    the signals are ignored, which before would be inherited by programs that are started.
    """
    for number in signals:
        signal.signal(number, lambda *_: None)
        atexit.register(signal.signal, number, signal.SIG_IGN)

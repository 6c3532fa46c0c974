"""Priority among the threads of a machine; needs no ROS."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
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

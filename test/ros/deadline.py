"""A deadline that waits for a machine, and not for a node."""

from contextlib import suppress
import os
from pathlib import Path
import time


class Deadline:
    """
    Passes some seconds after its start, and as much later as a thread was kept from a processor.

    Where others take every processor, nothing comes about in time, whatever a node does. Threads
    are those of this process and of all that it started.
    """

    def __init__(self, seconds):
        self._end, self._seconds, self._before = time.monotonic() + seconds, seconds, kept()

    @property
    def left(self):
        """Time until it passes [s]; negative after that."""
        left = self._end - time.monotonic()
        return left if left > 0.0 else left + self.starved

    @property
    def starved(self):
        """Time for which the thread was ready that had to wait longest for a processor [s]."""
        waits = (wait - self._before.get(thread, 0.0) for thread, wait in kept().items())
        return max(waits, default=0.0)

    def __str__(self):
        return f'after {self._seconds:g} s, and {self.starved:.1f} s without a processor'


def kept():
    """Return for how long threads were ready and had no processor [s], by process and thread."""
    out, left = {}, [os.getpid()]
    while left:
        pid = left.pop()
        with suppress(OSError):  # it has ended
            for task in Path(f'/proc/{pid}/task').iterdir():
                with suppress(OSError, IndexError):  # so has this, or the kernel does not count
                    out[pid, task.name] = int((task / 'schedstat').read_text().split()[1]) * 1e-9
                    left += map(int, (task / 'children').read_text().split())
    return out

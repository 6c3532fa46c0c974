"""Ctrl-C during work inside a library that would swallow the exception."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import TYPE_CHECKING

from rolling_robotics.console import say

if TYPE_CHECKING:
    from typing_extensions import Self

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
        """Begin with the flag down."""
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

"""
Turns in simulated time: who sends a state waits for its answer while somebody answers.

An answer carries the stamp of the state that it is to. One without a stamp is the last: its sender
will send no other for now.
"""

from __future__ import annotations

from collections.abc import Callable
import time

LONGEST_WAIT = 0.02  # between two looks whether the waiting is over [s]
LOCKSTEP_REPEAT = 0.05  # until a state without an answer is published again [s]


class TurnTaking:
    """
    Waits for answers.

    Attributes
    ----------
    answered
        Stamp of the newest state that was answered [ns]; 0 while nobody answers.
    over
        Whether nothing is waited for any more: the node is to stop.

    """

    def __init__(self) -> None:
        """Wait for nobody until a first answer has come."""
        self.answered, self.over = 0, False

    def note(self, stamp: int) -> None:
        """Take an answer to the state of this stamp [ns]."""
        self.answered = stamp

    def wait(
        self,
        stamp: int,
        poll: Callable[[], None],
        pause: Callable[[float], None],
        repeat: Callable[[], None] = lambda: None,
        *,
        timeout: float,
    ) -> None:
        """
        Wait for the answer to a state, if somebody is at work.

        Parameters
        ----------
        stamp
            Of the state [ns].
        poll
            Takes what came, and says :meth:`note`.
        pause
            Returns when something came, after the seconds that it is given at the latest.
        repeat
            Publishes the state again: readers take states without acknowledging them.
        timeout
            After which nobody is waited for until an answer comes [s].

        """
        begin = time.monotonic()
        end, again = begin + timeout, begin + LOCKSTEP_REPEAT
        while self.answered < stamp:
            poll()
            if not self.answered or self.over or time.monotonic() > end:
                self.answered = 0
                return
            if self.answered >= stamp:
                return
            if time.monotonic() > again:
                again = time.monotonic() + LOCKSTEP_REPEAT
                repeat()
            pause(LONGEST_WAIT)

"""
The log of a controller's runs: which state each command answered, and when it was to act.

A message of the log holds some steps one after the other, three numbers each: flags, stamp of the
state [ns], and the time [ns] at which the command was to act by the clock of the node. With the
recorded states, and the parameters, that is all on which the commands depend.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rolling_dynamics.errors import ParameterError

BEGIN = 1  # the run begins
TOUCHING = 2  # the object was known to touch
SAFE = 4  # the hand is brought to rest, whatever the law says
RESTARTED = 8  # since the step before, a pose gave no state, and the reading of states began again
NO_STATE = -1  # stamp where none came
SIZE = 3
KEPT = 50  # steps in a message


class Step(NamedTuple):
    """
    One command.

    Attributes
    ----------
    flags
        Sum of BEGIN, TOUCHING, SAFE, RESTARTED.
    stamp
        Of the state that it answered [ns], or NO_STATE.
    acts
        Time at which it was to act [ns]; of a safe one, its stamp.

    """

    flags: int
    stamp: int
    acts: int


class RunLog:
    """Collects the steps of a run into messages."""

    def __init__(self, send: Callable[[array[int]], None]) -> None:
        """Send messages with this; the next step is the first of the run."""
        self._send, self._numbers = send, array('q')
        self._flags = BEGIN

    def restarted(self) -> None:
        """Note that the reading of states began again."""
        self._flags |= RESTARTED

    def note(self, flags: int, stamp: int, acts: int) -> None:
        """Note a step."""
        self._numbers.extend((flags | self._flags, stamp, acts))
        self._flags = 0
        if len(self._numbers) >= SIZE * KEPT:
            self.flush()

    def flush(self) -> None:
        """Send what was collected."""
        if self._numbers:
            self._send(self._numbers)
            self._numbers = array('q')


def steps_in(data: Iterable[int]) -> Iterator[Step]:
    """Yield the steps of a message; raise ParameterError if it is damaged."""
    numbers = list(data)
    if len(numbers) % SIZE:
        raise ParameterError('the log of the controller is damaged')
    for k in range(0, len(numbers), SIZE):
        yield Step(*numbers[k : k + SIZE])

"""
The log of an estimator's steps: what each took and when, so that a replay can take the same.

A message of the log holds some steps one after the other. A step is its time [ns], its flags, the
numbers of commands, joint states and images that it took, and the stamps of these [ns].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rolling_dynamics.errors import ParameterError

BEGIN, ENABLED, FORGET = 1, 2, 4  # flags: starts again, takes images, waits for an image first
HEAD = 5  # numbers before the stamps


@dataclass(frozen=True)
class Step:
    """
    One step.

    Attributes
    ----------
    now
        Its time [ns].
    flags
        Sum of BEGIN, ENABLED, FORGET.
    commands, joints, images
        Stamps of the messages that it took [ns].

    """

    now: int
    flags: int
    commands: tuple[int, ...] = ()
    joints: tuple[int, ...] = ()
    images: tuple[int, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it took nothing and changed nothing by itself."""
        taken = self.commands or self.joints or self.images
        return not taken and not self.flags & (BEGIN | FORGET)

    def numbers(self) -> list[int]:
        """Return it as a message of the log holds it."""
        kinds = (self.commands, self.joints, self.images)
        return [self.now, self.flags, *map(len, kinds), *(s for kind in kinds for s in kind)]


class Stamped(Protocol):
    """A message with its time."""

    @property
    def stamp(self) -> int:
        """Time [ns]."""
        ...


def step_of(now: int, flags: int, inputs: Sequence[Sequence[Stamped]]) -> Step:
    """Return the step that took these commands, joint states and images."""
    return Step(now, flags, *(tuple(taken.stamp for taken in kind) for kind in inputs))


def steps_in(data: Iterable[int]) -> Iterator[Step]:
    """Yield the steps of a message; raise ParameterError if it is damaged."""
    numbers = list(data)
    while numbers:
        counts = numbers[2:HEAD]
        if len(counts) < 3 or min(counts) < 0 or len(numbers) < HEAD + sum(counts):
            raise ParameterError('the log of the steps is damaged')
        now, flags, at, kinds = numbers[0], numbers[1], HEAD, []
        for count in counts:
            kinds.append(tuple(numbers[at : at + count]))
            at += count
        yield Step(now, flags, *kinds)
        numbers = numbers[at:]

"""Commands and estimates of a recording, computed again, with the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.fingerprint import other_machine, PORTABLE


@dataclass(eq=False)
class Replayed:
    """
    One run or stream, computed again.

    Attributes
    ----------
    title
        Name of the run or stream.
    computed, expected
        Its computed and recorded numbers, a row each; NaN where they, or the inputs to compute
        them, are not in the recording.
    fingerprint
        Fingerprint of the computer that recorded; the empty string if unknown.
    noun
        Noun for the computed numbers.

    """

    title: str
    computed: Array
    expected: Array
    fingerprint: str
    noun: str = 'commands'

    @property
    def _pairs(self) -> tuple[Array, Array]:
        both = np.isfinite(self.computed).all(1) & np.isfinite(self.expected).all(1)
        return self.computed[both], self.expected[both]

    @property
    def recorded(self) -> int:
        """Number of rows that are recorded and computed."""
        return len(self._pairs[0])

    @property
    def equal(self) -> int:
        """Number of rows that are equal: bit by bit, or to 1e-9 of another machine's."""
        a, b = self._pairs
        if not self.rounding:
            return int((a.view(np.int64) == b.view(np.int64)).all(1).sum())
        bound = PORTABLE * max(1.0, float(np.abs(b).max(initial=0.0)))  # [SI unit]
        return int((np.abs(a - b) <= bound).all(1).sum())

    @property
    def rounding(self) -> str:
        """Reason why the machine that recorded may round otherwise; empty if it does not."""
        return other_machine(self.fingerprint)

    @property
    def difference(self) -> float:
        """Maximum difference of a component."""
        a, b = self._pairs
        return float(np.abs(a - b).max(initial=0.0))

    @property
    def lost(self) -> int:
        """Number of rows that could not be computed."""
        return int((~np.isfinite(self.computed)).any(1).sum())

    @property
    def same(self) -> bool:
        """True if it was computed whole, and every recorded value came out the same."""
        return not self.lost and 0 < self.equal == self.recorded

    def lines(self) -> Iterator[str]:
        """Yield what to report to a user."""
        how = f'to {PORTABLE:g}' if self.rounding else 'bit by bit'
        yield (
            f'{self.title}: {self.equal} of {self.recorded} {self.noun} equal {how}, '
            f'largest difference {self.difference:.3g}'
        )
        if self.rounding:
            yield f'  not compared bit by bit: {self.rounding}'
        if self.lost:
            yield f'  {self.lost} not computed, a step or a message before is not in the recording'
        missing = len(self.computed) - self.lost - self.recorded
        if missing:
            yield f'  {missing} not compared, they are not in the recording'

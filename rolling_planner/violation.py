"""A constraint that a trajectory breaks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """
    A constraint that a simulated trajectory breaks.

    Attributes
    ----------
    name
        Of the constraint.
    amount
        By how much.
    time
        When most [s].

    """

    name: str
    amount: float
    time: float

    def __str__(self) -> str:
        """Return the constraint, by how much and when."""
        return f'{self.name} by {self.amount:.3g} at t = {self.time:.4g} s'

"""One figure of the benchmarks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import math
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    A figure.

    Attributes
    ----------
    name
        What was measured.
    value
        The figure; None if it could not be measured.
    unit
        Its unit, or the empty string.
    reference
        What it is compared with, in words and with its own figure.
    goal
        Bound of the value: ``at most``, ``at least`` or ``is`` and a number; empty if there is
        none.

    """

    name: str
    value: float | None
    unit: str
    reference: str = ''
    goal: str = ''

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal or without a value."""
        if not self.goal or self.value is None:
            return None
        kind, _, bound = self.goal.rpartition(' ')
        limit = float(bound)
        if not math.isfinite(self.value):
            return False
        return self.value <= limit if kind == 'at most' else self.value >= limit

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON can hold them."""
        value = self.value if self.value is None or math.isfinite(self.value) else None
        return {**asdict(self), 'value': value, 'met': self.met}

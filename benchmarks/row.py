"""One figure of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
import math
import re
from typing import Any

NUMBER = r'[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?'
GOAL = re.compile(rf'(at most|at least|is) ({NUMBER})(?: within ({NUMBER}))?')
KINDS: dict[str, Callable[[float, float, float], bool]] = {
    'at most': lambda value, bound, tolerance: value <= bound + tolerance,
    'at least': lambda value, bound, tolerance: value >= bound - tolerance,
    'is': lambda value, bound, tolerance: abs(value - bound) <= tolerance,
}
ROUNDING = 1e-12  # relative tolerance of a goal that gives none


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    A figure.

    Attributes
    ----------
    name
        What was measured.
    value
        The figure; None, or NaN, if it could not be measured.
    unit
        Its unit, or the empty string.
    reference
        What it is compared with, in words and with its own figure.
    goal
        ``at most``, ``at least`` or ``is``, a number, and ``within`` a tolerance if it is to be
        more than rounding, such as ``is 2 within 0.1``; empty if there is none.

    Raises
    ------
    ValueError
        The goal is not of this form.

    """

    name: str
    value: float | None
    unit: str
    reference: str = ''
    goal: str = ''

    def __post_init__(self) -> None:
        """Check the goal."""
        if self.goal and not GOAL.fullmatch(self.goal):
            raise ValueError(
                f'{self.name}: the goal must be such as "at most 2", "at least 3" or "is 2 within '
                f'0.1", got {self.goal!r}'
            )

    @property
    def measured(self) -> bool:
        """Whether there is a figure."""
        return self.value is not None and not math.isnan(self.value)

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal or without a figure."""
        goal = GOAL.fullmatch(self.goal)
        if goal is None or self.value is None or not self.measured:
            return None
        bound = float(goal[2])
        tolerance = ROUNDING * abs(bound) if goal[3] is None else float(goal[3])
        return bool(KINDS[goal[1]](float(self.value), bound, tolerance))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON can hold them."""
        value = None if self.value is None else float(self.value)
        finite = value is not None and math.isfinite(value)
        plain = {'value': value if finite else None, 'met': self.met, 'measured': self.measured}
        return {**asdict(self), **plain}

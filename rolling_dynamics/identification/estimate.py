"""A number that a log determines, or does not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A parameter: value, unit, half width of its 95 % interval, and why there is none."""

    value: float
    unit: str
    half_width: float | None
    text: str = ''

    def line(self, name: str) -> str:
        """Return what is printed of it."""
        half = '' if self.half_width is None else f'+- {self.half_width:<9.2g}'
        return f'{name:20} {self.value:12.6g} {half:12} {self.unit:14} {self.text}'.rstrip()

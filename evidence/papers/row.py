"""Rows of the tables of reproduced numbers, and their drawings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image
from rolling_robotics.figures.states import STYLE

MET, NOT_MET, REFUTED, COMPUTED = 'met', 'not met', 'refuted', 'computed'
RELATIONS: dict[str, Callable[[float, float, float], bool]] = {
    'equal': lambda computed, printed, tolerance: abs(computed - printed) <= tolerance,
    'above': lambda computed, printed, tolerance: computed > printed + tolerance,
    'at least': lambda computed, printed, tolerance: computed >= printed - tolerance,
    'at most': lambda computed, printed, tolerance: computed <= printed + tolerance,
}


@dataclass(frozen=True)
class Row:
    """
    A number of a paper beside the computed one.

    Attributes
    ----------
    name, unit
        What it is.
    printed
        Number of the paper; None where the paper prints none.
    computed
        Number computed here.
    tolerance
        Largest difference at which two numbers agree, in the unit of the row.
    expected
        Right number, where the printed one does not follow from what the paper says of its model
        (docs/errata.md), or where none is printed; None where the printed one is right.
    relation
        How the computed number compares with the printed one: ``equal``, ``above``, ``at least``,
        ``at most``.

    """

    name: str
    printed: float | None
    computed: float
    tolerance: float
    unit: str = ''
    expected: float | None = None
    relation: str = 'equal'

    @property
    def verdict(self) -> str:
        """
        ``met``, ``not met``, ``refuted`` or ``computed``.

        A printed number is refuted where the computed one is as expected and disagrees with it.
        A number is only computed where nothing is printed or expected. A number that is not
        finite meets nothing.
        """
        if self.printed is None and self.expected is None:
            return COMPUTED if math.isfinite(self.computed) else NOT_MET
        right = self.expected is None or abs(self.computed - self.expected) <= self.tolerance
        if not right:
            return NOT_MET
        if self.printed is None:
            return MET
        agrees = RELATIONS[self.relation](self.computed, self.printed, self.tolerance)
        if self.expected is None:
            return MET if agrees else NOT_MET
        return NOT_MET if agrees else REFUTED

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), 'verdict': self.verdict}


def at_most(
    name: str,
    printed: float,
    computed: float,
    tolerance: float = 0.0,
    unit: str = '',
    expected: float | None = None,
) -> Row:
    """Return a row of a number that shall not exceed the printed one; see :class:`Row`."""
    return Row(name, printed, computed, tolerance, unit, expected, 'at most')


def table(rows: list[Row]) -> str:
    """Return rows as text, one line each."""
    width = max(len(r.name) for r in rows)
    lines = [f'{"":{width}}  {"printed":>9}  {"computed":>9}  {"tolerance":>9}  verdict']
    for r in rows:
        printed = '-' if r.printed is None else f'{r.printed:g}'
        numbers = f'{printed:>9}  {r.computed:>9.6g}  {r.tolerance:>9g}'
        lines.append(f'{r.name:{width}}  {numbers}  {r.verdict:<8}  {r.unit}'.rstrip())
    return '\n'.join(lines)


Drawing = Callable[[], Figure | Image.Image]


def write_drawings(folder: Path, paper: str, drawings: Mapping[str, Drawing]) -> list[Path]:
    """Write what is drawn under each name as a PNG of the paper and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(STYLE):
        for name, draw in drawings.items():
            file = folder / f'{paper}_{name}.png'
            drawn = draw()
            if isinstance(drawn, Figure):
                drawn.savefig(file, dpi=130)
            else:
                drawn.save(file)
            files.append(file)
    return files

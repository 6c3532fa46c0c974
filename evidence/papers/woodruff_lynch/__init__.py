"""
The printed numbers and figures of Woodruff & Lynch, beside what is computed here.

The paper prints no radius of the ball of Table II and no inertia or friction of the laboratory.
"""

from __future__ import annotations

from pathlib import Path

from evidence.papers.row import Row
from evidence.papers.woodruff_lynch import (
    ball_on_plate,
    dish,
    laboratory,
    other_engines,
    spinning_plate,
)

SUMMARY = 'object on a moving hand: dynamics, planning, feedback (Woodruff & Lynch)'
LONG = 'Fig. 13, two flip-ups of each law instead of twelve'


def rows(*, fast: bool = False) -> list[Row]:
    """Return every number, section by section; ``fast`` makes fewer trials."""
    return [
        *spinning_plate.rows(),
        *dish.rows(),
        *ball_on_plate.rows(),
        *laboratory.rows(fast=fast),
    ]


def stated(_: list[Row]) -> list[str]:
    """Return what was chosen, and what the paper describes without a number."""
    absent = ' and '.join(other_engines.missing())
    return [
        *([f'Fig. 6: {absent} not installed, and left out'] if absent else []),
        'Fig. 7: the dimensions of ellipsoid and dish are not printed; chosen, see the scenario',
        f'    {dish.SCENARIO}',
        'Table II: the radius of the ball is not printed; taken as 0.021 m (one straight roll)',
        '    and as 0.1 m (a loop); weights and method: scenario ball_on_plate_table_ii',
        'Fig. 10: the gains of the regulator are not printed; those of this suite',
        *laboratory.stated(),
    ]


def figures(folder: Path, *, fast: bool = False) -> list[Path]:
    """Draw the figures into a folder and return the files."""
    # matplotlib is slow to import
    from evidence.papers.woodruff_lynch.figures import draw_all  # noqa: PLC0415

    return draw_all(folder, fast=fast)

"""
The printed numbers and figures of Woodruff & Lynch, beside what is computed here.

The paper prints no radius of the ball of Table II and no inertia or friction of the laboratory.
"""

from __future__ import annotations

from pathlib import Path

from rolling_robotics.reproduce.row import Row
from rolling_robotics.reproduce.woodruff_lynch import dish, spinning_plate

SUMMARY = 'object on a moving hand: dynamics, planning, feedback (Woodruff & Lynch)'


def rows() -> list[Row]:
    """Return every number, section by section."""
    return [*spinning_plate.rows(), *dish.rows()]


def stated(_: list[Row]) -> list[str]:
    """Return what was chosen."""
    return [
        'Fig. 7: the dimensions of ellipsoid and dish are not printed; chosen, see the scenario',
        f'    {dish.SCENARIO}',
    ]


def figures(folder: Path) -> list[Path]:
    """Draw the figures into a folder and return the files."""
    # matplotlib is slow to import
    from rolling_robotics.reproduce.woodruff_lynch.figures import draw_all  # noqa: PLC0415

    return draw_all(folder)

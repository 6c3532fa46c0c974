"""Fig. 9: path of the contact on the hand, optimised beside a geometric planner's."""

from __future__ import annotations

from collections.abc import Iterator

from evidence.benchmarks.row import Row
from evidence.papers.woodruff_lynch.ball_on_plate import (
    geometric_plans,
    length,
    loop_plan,
    places,
)


def rows() -> Iterator[Row]:
    """Yield the figures; `rolling reproduce woodruff-lynch --figures` draws them."""
    paths, own = geometric_plans(), length(places(loop_plan()))
    turns, triangle = paths['whole turns'], paths['shortest triangle']
    yield Row(
        name='path on the hand, optimised over whole turns',
        value=own / turns.length,
        unit='',
        goal='at most 1',
        reference=f'{own:.3g} m beside {turns.length:.3g} m in closed form',
    )
    yield Row(
        name='path on the hand, optimised over shortest triangle',
        value=own / triangle.length,
        unit='',
        reference=f'{triangle.length:.3g} m; the plan is the one of least control, not of least '
        'length',
    )

"""What the planner is doing is said in words."""

import math

import pytest
from rolling_planner.progress import Iteration


@pytest.mark.parametrize(
    ('iteration', 'line'),
    [
        (
            Iteration(11, 20, 1.0, 6.9e-18, 3e-17),
            'improving a motion that keeps every limit, step 11',
        ),
        (
            Iteration(3, 20, 1.0, 0.2, 0.031),
            'looking for a motion that keeps every limit, step 3, 0.031 from the goal',
        ),
        (Iteration(0, 0, 0.0, 0.5, 0.5, 'guess'), 'looking for a first motion, step 0'),
        (
            Iteration(2, 20, 0.0, 0.5, 0.5, 'diagnose'),
            'found none, looking for the limit that is in the way, step 2',
        ),
        (Iteration(1, 4, 0.3, math.nan, math.nan), 'searching, step 1'),
        (Iteration(0, 0, 0.0, 0.0, 0.0), 'searching, step 0'),
    ],
)
def test_line(iteration, line):
    assert iteration.line == line

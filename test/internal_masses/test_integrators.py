"""Integrators that are compared integrate the same motion: each converges to the suite's."""

from evidence.papers.disk_and_ball import ball
from evidence.papers.putkaradze_rogers import _suite, compare
import numpy as np


def test_every_integrator_converges_to_the_same_motion():
    example, duration = ball(), 1.0  # past both breakpoints of the control
    exact = _suite(example, duration, 1e-13)
    loose, tight = (compare(example, duration, tolerance) for tolerance in (1e-6, 1e-10))
    assert len(loose) == 6
    for name in loose:
        off = [np.abs(found[name][0] - exact).max() for found in (loose, tight)]
        assert off[1] < 1e-7, name
        assert off[1] < max(off[0] / 10, 1e-10), name

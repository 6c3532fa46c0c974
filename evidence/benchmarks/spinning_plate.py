"""
A ball on a spinning plate and its closed solution.

The ball of radius 0.2 m starts in the middle of a plate that turns at 7 rad/s and goes round a
circle of radius 0.1 m, Eqs. (14)-(16); on a plate tilted by 0.01 rad the circle drifts, Eq. (17).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from evidence.benchmarks.row import Row, timed
from evidence.papers.woodruff_lynch.spinning_plate import (
    COMPARED,
    contact_path,
    divergence,
    drift_velocity,
    mujoco_path,
    path,
    PERIOD,
    plate,
    TILTED,
    TUNINGS,
    WEIGHT,
    wrench_of,
)
import numpy as np
from rolling_dynamics.simulation import simulate

DURATION = 120.0  # s


def rows() -> Iterator[Row]:
    """Yield the figures."""
    system, p, x0 = plate()
    simulate(system, p, x0, None, 1.0)  # warm
    times = np.linspace(0.0, DURATION, 2401)
    run = partial(simulate, system, p, x0, None, DURATION, t_eval=times, dense=False, events=())
    (seconds,), motion = timed(run)
    name = 'spinning plate, radius divergence in 120 s'
    against = 'closed solution, Eqs. (14)-(16)'
    yield Row(
        name, divergence(contact_path(system, p, motion.states)), '%', 'at most 1e-8', against
    )
    wrench = motion.evaluate(wrench_of)
    yield Row(
        name='spinning plate, normal force over weight - 1',
        goal='at most 1e-10',
        value=float(np.abs(wrench[:, 5] / WEIGHT - 1).max()),
        reference='closed solution: the weight',
    )
    name = 'spinning plate, faster than real time'
    against = f'{DURATION:g} s in {seconds:.3g} CPU s'
    yield Row(name, DURATION / seconds, 'times', 'at least 200', against)
    for tuning in TUNINGS:
        found = mujoco_path(COMPARED, tuning)
        value = None if found is None else divergence(found)
        said = f'for comparison, {COMPARED:g} s at 1 ms'
        against = said if value is not None else 'mujoco is not installed'
        yield Row(f'the same in MuJoCo, {tuning}', value, '%', reference=against)
    # places that are whole turns apart
    _, points = path(TILTED, 38 * PERIOD, 39)
    drift, exact = np.linalg.norm(np.diff(points, axis=0), axis=1) / PERIOD, drift_velocity()
    name = 'tilted plate, relative error of the drift velocity'
    against = f'Eq. (17): {exact:.6g} m/s'
    yield Row(name, float(np.abs(drift / exact - 1).max()), goal='at most 1e-9', reference=against)

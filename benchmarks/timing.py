"""How long calls take, and the simulation that is timed beside a much more accurate one."""

from __future__ import annotations

from collections.abc import Callable
import statistics
import time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract import RollingSystem
from rolling_dynamics.simulation import simulate

T = TypeVar('T')
RUNS, DURATION = 5, 20.0  # of a simulation [s]
TOLERANCE, EXACT = 1e-10, 3e-14


def timed(
    call: Callable[[], T], repeats: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[list[float], T]:
    """Return the times of calls [s], by default CPU times, and what the last one returned."""
    spent = []
    for _ in range(repeats):
        start = clock()
        found = call()
        spent.append(clock() - start)
    return spent, found


def simulated(
    system: RollingSystem,
    p: ArrayLike,
    x0: ArrayLike,
    control: Any = None,  # noqa: ANN401  (what `simulate` takes)
    **options: Any,  # noqa: ANN401
) -> tuple[float, float]:
    """Return the median time of a run [s], the functions being compiled, and its error."""

    def run(tolerance: float) -> NDArray[np.float64]:
        trajectory = simulate(
            system,
            p,
            x0,
            control,
            DURATION,
            t_eval=[0.0, DURATION],
            dense=False,
            rtol=tolerance,
            atol=tolerance,
            **options,
        )
        return np.array(trajectory.states[-1])

    exact = run(EXACT)
    spent, end = timed(lambda: run(TOLERANCE), RUNS, time.perf_counter)
    return statistics.median(spent), float(np.abs(end - exact).max())

"""Rows of figures, their groups, and the time that calls take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
import math
import re
import statistics
import time
import timeit
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract import RollingSystem
from rolling_dynamics.simulation import simulate

NUMBER = r'[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?'
GOAL = re.compile(rf'(at most|at least|is) ({NUMBER})(?: within ({NUMBER}))?')
KINDS: dict[str, Callable[[float, float, float], bool]] = {
    'at most': lambda value, bound, tolerance: value <= bound + tolerance,
    'at least': lambda value, bound, tolerance: value >= bound - tolerance,
    'is': lambda value, bound, tolerance: abs(value - bound) <= tolerance,
}
ROUNDING = 1e-12  # relative tolerance of a goal that gives none


@dataclass(frozen=True)
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
    goal
        ``at most``, ``at least`` or ``is``, a number, and ``within`` a tolerance if it is to be
        more than rounding, such as ``is 2 within 0.1``; empty if there is none.
    reference
        What it is compared with, in words and with its own figure.

    Raises
    ------
    ValueError
        The goal is not of this form.

    """

    name: str
    value: float | None
    unit: str = ''
    goal: str = ''
    reference: str = ''

    def __post_init__(self) -> None:
        """Check the goal."""
        if self.goal and not GOAL.fullmatch(self.goal):
            raise ValueError(
                f'{self.name}: the goal must be such as "at most 2", "at least 3" or "is 2 within '
                f'0.1", got {self.goal!r}'
            )

    @property
    def measured(self) -> bool:
        """True if there is a figure."""
        return self.value is not None and not math.isnan(self.value)

    @property
    def met(self) -> bool | None:
        """True if the goal is met; None without a goal or without a figure."""
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


T = TypeVar('T')
CALLS, REPEATS = 10_000, 6  # of a function
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


def call_time(
    call: Callable[[], object],
    calls: int = CALLS,
    repeats: int = REPEATS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the time of a call [s], the least of repeats of many calls."""
    return min(timeit.repeat(call, timer=clock, number=calls, repeat=repeats)) / calls


def evaluation_time(function: ca.Function, *values: ArrayLike) -> float:
    """Return the time of an evaluation with these values [s]."""
    fast = FastFunction(function)
    for array, value in zip(fast.inputs, values, strict=True):
        array[:] = value
    return call_time(fast.evaluate)


def simulated(
    system: RollingSystem,
    p: ArrayLike,
    x0: ArrayLike,
    control: Any = None,  # noqa: ANN401  (what `simulate` takes)
    **options: Any,  # noqa: ANN401
) -> tuple[float, float]:
    """Return the median time of a run [s], the functions being compiled, and its error."""

    def run(tolerance: float) -> Array:
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


GROUPS = {
    'first_minute': 'evidence.benchmarks.first_minute:rows',
    'spinning_plate': 'evidence.benchmarks.spinning_plate:rows',
    'dynamics': 'evidence.benchmarks.dynamics:rows',
    'machines': 'evidence.benchmarks.machines:rows',
    'squeezed': 'evidence.benchmarks.machines:squeezed_rows',
    'batch': 'evidence.benchmarks.batch:rows',
    'plans': 'evidence.benchmarks.plans:rows',
    'scaling': 'evidence.benchmarks.dynamics:scaling_rows',
    'control': 'evidence.benchmarks.dynamics:control_rows',
    'predictive': 'evidence.benchmarks.predictive:rows',
    'moved_goals': 'evidence.benchmarks.predictive:moved_goals_rows',
    'predictive_systems': 'evidence.benchmarks.predictive_systems:rows',
    'predictive_flights': 'evidence.benchmarks.predictive_flights:rows',
    'butterfly': 'evidence.benchmarks.butterfly:rows',
    'balance_arm': 'evidence.benchmarks.balance_arm:rows',
    'internal_masses': 'evidence.benchmarks.internal_masses:rows',
    'pendulum_sphere': 'evidence.benchmarks.pendulum_sphere:rows',
    'ball_balancer': 'evidence.benchmarks.ball_balancer:rows',
    'labyrinth': 'evidence.benchmarks.ball_balancer:labyrinth_rows',
    'cortex_m': 'evidence.benchmarks.cortex_m:rows',
    'path_length': 'evidence.benchmarks.dynamics:path_length_rows',
    'spin_rolling': 'evidence.benchmarks.spin_rolling:rows',
    'viewer': 'evidence.benchmarks.viewer:rows',
    'laboratory': 'evidence.benchmarks.laboratory:rows',
    'flip_ups': 'evidence.benchmarks.flip_ups:rows',
}

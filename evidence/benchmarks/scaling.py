"""Growth of the planning time with the number of segments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evidence.benchmarks.plans import hard
from evidence.benchmarks.row import Row, timed
import numpy as np
from rolling_planner import plan_rolling

SEGMENTS = np.array([25, 50, 100, 200, 400])
REPEATS = 2
FIGURE = Path('build/bench_scaling.png')


def rows() -> Iterator[Row]:
    """Yield the figures, and draw them."""
    seconds, iterations = [], []
    for n in SEGMENTS.tolist():
        problem = hard(segments=n, refinements=0)
        plan_rolling(problem)  # warm
        times, plan = timed(partial(plan_rolling, problem), REPEATS)
        seconds.append(min(times))
        iterations.append(plan.report['iterations'])
        yield Row(
            name=f'plan hard on {n} segments, CPU time',
            value=seconds[-1],
            unit='s',
            reference=f'{iterations[-1]} iterations',
        )
    slope = float(np.polyfit(np.log(SEGMENTS), np.log(seconds), 1)[0])
    _draw(np.array(seconds), np.array(iterations), slope)
    each = np.array(seconds) / np.array(iterations)
    yield Row(
        name='planning time against segments, log-log slope',
        value=slope,
        unit='',
        goal='at most 1.2',
        reference=f'of an iteration {np.polyfit(np.log(SEGMENTS), np.log(each), 1)[0]:.3g}; '
        f'figure {FIGURE}',
    )


def _draw(seconds: np.ndarray, iterations: np.ndarray, slope: float) -> None:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(5, 3.6), layout='constrained')
    axes.loglog(SEGMENTS, seconds, 'o-', label=f'whole plan, slope {slope:.2f}')
    axes.loglog(SEGMENTS, seconds / iterations, 's-', label='one iteration')
    axes.loglog(SEGMENTS, seconds[0] * SEGMENTS / SEGMENTS[0], ':', color='grey', label='linear')
    axes.set(xlabel='segments', ylabel='CPU time [s]', title='Planning time, hard goal')
    axes.grid(visible=True, which='both', alpha=0.3)
    axes.legend()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
    plt.close(figure)

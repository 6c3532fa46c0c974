"""Fig. 9: path of the contact on the hand, optimised beside a geometric planner's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.problems import hard
from benchmarks.row import Row
import numpy as np
from numpy.typing import NDArray
from rolling_planner import plan_rolling
from rolling_planner.seeds.geometric_path import GeometricPath, triangle_path, whole_turns_path

FIGURE = Path('build/bench_path_length.png')


def rows() -> Iterator[Row]:
    """Yield the figure, and draw it."""
    problem = hard()
    plan = plan_rolling(problem)
    layout = problem.system.state
    places = plan.states[:, layout.slice('contact_h')]
    goal, _ = problem.goal_state
    where, turn = layout.slice('contact_h'), layout.slice('q_HO')
    ends = problem.x_start[where], goal[where], problem.x_start[turn], goal[turn]
    turns, triangle = whole_turns_path(0.1, *ends), triangle_path(0.1, *ends)
    length = float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())
    _draw(places, {'whole turns': turns, 'shortest triangle': triangle}, length)
    yield Row(
        name='path on the hand, optimised over whole turns',
        value=length / turns.length,
        unit='',
        goal='at most 1',
        reference=f'{length:.3g} m beside {turns.length:.3g} m in closed form; figure {FIGURE}',
    )
    yield Row(
        name='path on the hand, optimised over shortest triangle',
        value=length / triangle.length,
        unit='',
        reference=f'{triangle.length:.3g} m; the plan is the one of least control, not of least '
        'length',
    )


def _draw(places: NDArray[np.float64], paths: dict[str, GeometricPath], length: float) -> None:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(7.5, 3.0), layout='constrained')
    for style, (name, path) in zip(('k--', 'g:'), paths.items(), strict=True):
        axes.plot(*path.corners.T, style, label=f'{name}, {path.length:.2f} m')
        end = path.corners[-1]
    axes.plot(*places.T, 'b-', label=f'optimised, {length:.2f} m')
    axes.plot(*places[0], 'kx', ms=9, label='start')
    axes.plot(*end, 'ko', mfc='none', ms=9, label='goal')
    axes.set(
        xlabel='u_h [m]',
        ylabel='v_h [m]',
        aspect='equal',
        title='Contact on the hand (as Fig. 9)',
    )
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5))
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
    plt.close(figure)

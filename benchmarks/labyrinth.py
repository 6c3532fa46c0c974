"""
The labyrinth: its plan, and 100 runs with noise on random seeds that nothing was tuned on.

Each run appends a line to ``build/labyrinth.jsonl``; one that is in it is not made again, so
delete it after a change. The figure is ``build/labyrinth.png``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import json
from pathlib import Path

from benchmarks.row import Row
import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.labyrinth import run_labyrinth
from rolling_dynamics.ball_balancer.labyrinth import Labyrinth, read_labyrinth
from rolling_planner.ball_balancer.labyrinth import LabyrinthPlan, plan_labyrinth
from rolling_robotics.demo.figures.panels import saved_panels

Array = NDArray[np.float64]
SEEDS = range(1000, 1100)
DRAWN = 10
RUNS, FIGURE = Path('build/labyrinth.jsonl'), Path('build/labyrinth.png')
PUBLISHED = 'published record: 14.48 s for 1.954 m, 0.135 m/s, on another board'


def rows() -> Iterator[Row]:
    """Yield the figures; draw the plan and the first runs."""
    board = read_labyrinth()
    plan = plan_labyrinth(board)
    yield Row(name='planned time', value=plan.times[-1], unit='s')
    places = plan.places(np.arange(0, plan.times[-1], 1e-3))
    length = float(np.hypot(*np.diff(places, axis=0).T).sum())
    yield Row(name='planned way, which cuts corners of the path', value=length, unit='m')
    walls, holes = board.room(places)
    yield Row(name='plan: least room to a wall', value=1e3 * walls.min(), unit='mm')
    yield Row(name='plan: least room to a hole', value=1e3 * holes.min(), unit='mm')
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    runs = _runs(board, plan)
    through = [r for r in runs if r['reached']]
    yield Row(
        name=f'runs of {len(runs)} that reach the end without a fall',
        value=len(through),
        unit='',
        goal='at least 95',
        reference=f'{sum(r["fallen"] for r in runs)} fell',
    )
    yield Row(
        name='walls touched in a run, mean',
        value=float(np.mean([r['walls'] for r in runs])),
        unit='',
    )
    speeds = [board.length / r['time'] for r in through]
    yield Row(
        name=f'mean speed along the path of {board.length:.3f} m',
        value=float(np.mean(speeds)) if speeds else None,
        unit='m/s',
        goal='at least 0.135',
        reference=PUBLISHED,
    )
    draw(board, places, [run_labyrinth(board, plan, s).ball for s in SEEDS[:DRAWN]], FIGURE)


def _runs(board: Labyrinth, plan: LabyrinthPlan) -> list[dict[str, float]]:
    """Return what came of each seed, from the file or by running it."""
    lines = RUNS.read_text().splitlines() if RUNS.exists() else []
    known = {r['seed']: r for r in map(json.loads, lines)}
    with RUNS.open('a') as file:
        for seed in SEEDS:
            if seed in known:
                continue
            run = run_labyrinth(board, plan, seed)
            known[seed] = {
                'seed': seed,
                'reached': run.reached,
                'fallen': run.fallen,
                'time': float(run.times[-1]),
                'walls': sum(m.wall is not None for m in run.met),
            }
            print(json.dumps(known[seed]), file=file, flush=True)
    return [known[seed] for seed in SEEDS]


def draw(board: Labyrinth, plan: Array, driven: Sequence[Array], path: Path) -> None:
    """Write the figure: board, plan and driven paths."""
    from matplotlib.patches import Circle  # noqa: PLC0415  only where it is drawn

    with saved_panels(path, 'a') as axes:
        a = axes['a']
        for hole in board.holes:
            a.add_patch(Circle(1e3 * hole, 1e3 * board.hole_radius, color='#444444'))
        for x1, y1, x2, y2 in 1e3 * board.walls:
            a.plot([x1, x2], [y1, y2], color='#7a4b1e', linewidth=2.5)
        a.plot(*(1e3 * board.path.T), ':', color='gray', linewidth=1, label='path as drawn')
        for k, ball in enumerate(driven):
            label = f'driven, {len(driven)} runs' if k == 0 else None
            a.plot(*(1e3 * ball.T), color='#1f6fb4', linewidth=0.6, label=label)
        a.plot(*(1e3 * plan.T), color='#c1440e', linewidth=1, label='plan')
        a.set(xlabel='$x$ [mm]', ylabel='$y$ [mm]')
        a.set_aspect('equal')

"""
The labyrinth: its plan, and 100 runs with noise on random seeds that nothing was tuned on.

Each run appends a line to ``build/labyrinth.jsonl``; one that is in it is not made again, so
delete it after a change. The figure is ``build/labyrinth.png``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from evidence.benchmarks.row import Row
from evidence.benchmarks.trials import run_missing
import numpy as np
from rolling_controller.ball_balancer.labyrinth import arrived, LabyrinthLaw, run_labyrinth
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.scenario import load_scenario
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth
from rolling_robotics.plugins.labyrinth.demo import draw_runs

SEEDS = range(2000, 2100)
DRAWN = 10
RUNS, FIGURE = Path('build/labyrinth.jsonl'), Path('build/labyrinth.png')
PUBLISHED = 'published record: 14.48 s for 1.954 m, 0.135 m/s, on another board'


def rows() -> Iterator[Row]:
    """Yield the figures; draw the plan and the first runs."""
    file = LabyrinthFile.of(load_scenario('labyrinth'))
    plan = plan_labyrinth(file)
    yield Row('planned time', plan.times[-1], 's')
    places = plan.places(np.arange(0, plan.times[-1], 1e-3))
    length = float(np.hypot(*np.diff(places, axis=0).T).sum())
    yield Row('planned way, which cuts corners of the path', length, 'm')
    walls, holes = file.room(places)
    yield Row('plan: least room to a wall', 1e3 * walls.min(), 'mm')
    yield Row('plan: least room to a hole', 1e3 * holes.min(), 'mm')
    law = LabyrinthLaw(file, plan)
    runs = run_missing(RUNS, 'predictive', SEEDS, partial(_run, law=law))
    through = [r for r in runs if r['reached']]
    yield Row(
        name=f'runs of {len(runs)} that reach the end without a fall',
        value=len(through),
        goal='at least 95',
        reference=f'{sum(r["fallen"] for r in runs)} fell',
    )
    yield Row('walls touched in a run, mean', float(np.mean([r['walls'] for r in runs])))
    speeds = [file.length / r['time'] for r in through]
    yield Row(
        name=f'mean speed along the path of {file.length:.3f} m',
        value=float(np.mean(speeds)) if speeds else None,
        unit='m/s',
        goal='at least 0.135',
        reference=PUBLISHED,
    )
    drawn = [run_labyrinth(law, s).states[:, :2] for s in SEEDS[:DRAWN]]
    draw_runs(file, places, drawn, FIGURE, f'driven, {DRAWN} runs')


def _run(seed: int, law: LabyrinthLaw) -> dict[str, Any]:
    """Return what came of a seed."""
    run = run_labyrinth(law, seed)
    time = arrived(law, run)
    return {
        'reached': time is not None,
        'fallen': run.ended is not None,
        'time': time,
        'walls': sum(e.name == 'wall' for e in run.events),
    }

"""The demonstration of a labyrinth: once from start to end, timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from rolling_controller.ball_balancer.labyrinth import arrival, LabyrinthLaw, SETTLE
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.ball_balancer.rig_file import RigFile
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth
from rolling_robotics.demo.demo import Demo
from rolling_robotics.figures.states import saved_panels
from rolling_robotics.plugins.ball_balancer.demo import BALL, Course, driven, Leg
from rolling_robotics.trials.trial import Criterion, Outcome, Record, Task, Trial

WALL, HOLE, DRIVEN, PLAN = '#7a4b1e', '#444444', '#1f6fb4', '#c1440e'


def draw_board(axes: Any, file: LabyrinthFile) -> None:  # noqa: ANN401  of matplotlib
    """Draw walls, holes and the path in millimetres."""
    from matplotlib.patches import Circle  # noqa: PLC0415  only where it is drawn

    for hole in file.board.holes:
        axes.add_patch(Circle(1e3 * hole, 1e3 * file.board.hole_radius, color=HOLE))
    for x1, y1, x2, y2 in 1e3 * file.board.walls:
        axes.plot([x1, x2], [y1, y2], color=WALL, linewidth=2.5)
    axes.plot(*(1e3 * file.board.path.T), ':', color='gray', linewidth=1, label='path as drawn')
    axes.set(xlabel='$x$ [mm]', ylabel='$y$ [mm]')
    axes.set_aspect('equal')


def draw_runs(
    file: LabyrinthFile, plan: Array, driven: Sequence[Array], path: Path, label: str
) -> None:
    """
    Write a figure, a PNG file: board, plan and driven paths.

    Parameters
    ----------
    file
        The labyrinth.
    plan, driven
        Positions (k, 2) [m] of the plan, and of the ball in each run.
    path
        Path of the figure.
    label
        Legend of the runs.

    """
    with saved_panels(path, 'a') as axes:
        a = axes['a']
        draw_board(a, file)
        for k, ball in enumerate(driven):
            named = label if k == 0 else None
            a.plot(*(1e3 * ball.T), color=DRIVEN, linewidth=0.6, label=named)
        a.plot(*(1e3 * plan.T), color=PLAN, linewidth=1, label='plan')


PATIENCE = 25.0  # s, after which the ball counts as lost
LONGEST = 1.3  # durations of the plan after which a run ends
AFTER = 1.0  # s for which it is watched at the end
RECORD = 0.135  # m/s along the path of another board: the published record


@dataclass(frozen=True, eq=False, kw_only=True)
class Through(Task):
    """
    A law takes the ball through, on the board that the trial's random seed makes of its file's.

    It holds the ball at the start for ``SETTLE`` [s], then sets out.
    """

    law: LabyrinthLaw

    def run(self, trial: Trial) -> Record:
        """Carry out a trial, which starts when the ball sets out; ``walls`` that it touched."""
        file, duration = self.law.file, SETTLE + LONGEST * float(self.law.plan.times[-1])
        start, end = file.board.path[[0, -1]]
        given = file, self.law, lambda t: start if t < SETTLE else end, duration, trial.seed
        record = driven(*given, file.start(trial.seed), begin=SETTLE)
        walls = sum(name == 'wall' for _, name in record.events)
        return replace(record, values={'walls': walls})


def legs(file: RigFile) -> Sequence[Leg]:
    """Let the ball settle at the start of the path, and send it to the end."""
    board = cast('LabyrinthFile', file)
    start, end = board.board.path[[0, -1]]
    return [Leg(start, SETTLE), Leg(end, PATIENCE, board.ball.radius, AFTER)]


class Arrival(Criterion):
    """The ball comes within its radius of the end of the path."""

    def outcome(self, record: Record) -> Outcome:
        """Return the time; the text has speed and least distances from walls and holes."""
        file = _file()
        ball, end = record[BALL], file.board.path[-1]
        walls, holes = file.room(ball)
        time = arrival(record.times, ball, end, file.ball.radius)
        failure = ''
        if time is None:
            what = 'it fell through a hole' if holes.min() <= 0 else 'it did not arrive'
            failure = f'{what}, {1e3 * np.hypot(*(ball[-1] - end)):.0f} mm from the end'
        else:
            speed = file.length / time
            text = (
                f'time: {time:.2f} s for a path of {file.length:.3f} m, {speed:.3f} m/s',
                f'{speed / RECORD:.2f} times the published record on another board, {RECORD} m/s',
            )
        distances = (
            f'least distance of the ball from a wall: {1e3 * max(walls.min(), 0.0):.1f} mm',
            f'least distance of its centre from a hole: {1e3 * max(holes.min(), 0.0):.1f} mm',
        )
        return Outcome(
            failure=failure,
            error=np.nan if time is None else time,
            tolerance=PATIENCE,
            unit='s',
            inconclusive=record.inconclusive or record.missing(),
            time=np.nan if time is None else time,
            text='\n  '.join(distances if time is None else (*text, *distances)),
        )


def draw(records: Sequence[Record], path: Path) -> None:
    """Write the figure, a PNG file: board, plan and driven path."""
    plan = plan_labyrinth(_file())
    places = plan.places(np.arange(0, plan.times[-1], 1e-2))
    draw_runs(_file(), places, [record[BALL] for record in records], path, 'driven')


def _file() -> LabyrinthFile:
    return cast('LabyrinthFile', COURSE.file)


COURSE = Course(experiment='labyrinth', legs=legs)
DEMO = Demo(task=COURSE, criterion=Arrival(), pace=2.0, draw=draw)

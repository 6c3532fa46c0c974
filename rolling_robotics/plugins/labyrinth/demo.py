"""The demonstration of a labyrinth: once from start to end, timed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TYPE_CHECKING

import numpy as np
from rolling_controller.ball_balancer.labyrinth import arrival, SETTLE
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.scenario import load_scenario
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth
from rolling_robotics.demo.rig import RigDemo, Seen, TIMEOUT
from rolling_robotics.demo.verdict import margin_text, MISSED, REACHED, say
from rolling_robotics.experiments import find_experiment
from rolling_robotics.plugins.labyrinth.picture import draw_runs

if TYPE_CHECKING:
    from rolling_robotics.nodes.set_point_client import SetPointClient

PATIENCE = 25.0  # s, after which the ball counts as lost
AFTER = 1.0  # s for which it is watched at the end
RECORD = 0.135  # m/s along the path of another board: the published record


@dataclass(frozen=True, kw_only=True)
class LabyrinthDemo(RigDemo):
    """Takes the ball from the start to the end of the path."""

    experiment: ClassVar[str] = 'labyrinth'

    def drive(self, client: SetPointClient) -> None:
        """Let it settle at the start, send it to the end, and wait until it is there."""
        file = self._file()
        end, radius = file.board.path[-1], file.ball.radius
        client.wait_near(end, 0.0, client.time + SETTLE, TIMEOUT)
        client.judge()
        client.go_to(end, client.time, TIMEOUT)
        client.wait_near(end, radius, client.set_points[-1][0] + PATIENCE, TIMEOUT)
        client.wait_near(end, 0.0, client.time + AFTER, TIMEOUT)

    def conclude(self, seen: Seen, out: Path) -> int:
        """Print time, speed and least distances, draw the figure and return the exit status."""
        return conclude(self._file(), seen, out)

    def _file(self) -> LabyrinthFile:
        scenario = load_scenario(find_experiment(self.experiment).scenario_file)
        return LabyrinthFile.of(scenario)


def conclude(file: LabyrinthFile, seen: Seen, out: Path) -> int:
    """
    Print time, speed and least distances of a run, and draw it.

    Parameters
    ----------
    file
        The labyrinth.
    seen
        What was seen; the last set point is that of the run.
    out
        Folder for the figure.

    Returns
    -------
    int
        REACHED if the ball came within its radius of the end of the path, else MISSED.

    """
    begin, end = seen.changes[-1]
    since = seen.times >= begin
    times, ball = seen.times[since] - begin, seen.ball[since]
    walls, holes = file.room(ball)
    time = arrival(times, ball, end, file.ball.radius)
    if time is None:
        text = 'it fell through a hole' if holes.min() <= 0 else 'it did not arrive'
        say(f'{text}, {1e3 * np.hypot(*(ball[-1] - end)):.0f} mm from the end')
    else:
        speed = file.length / time
        say(f'time: {time:.2f} s for a path of {file.length:.3f} m, {speed:.3f} m/s')
        say(f'{speed / RECORD:.2f} times the published record on another board, {RECORD} m/s')
        say(margin_text(time, PATIENCE, 's'))
    say(f'least distance of the ball from a wall: {1e3 * max(walls.min(), 0.0):.1f} mm')
    say(f'least distance of its centre from a hole: {1e3 * max(holes.min(), 0.0):.1f} mm')
    plan = plan_labyrinth(file)
    figure = out / 'labyrinth.png'
    draw_runs(file, plan.places(np.arange(0, plan.times[-1], 1e-2)), [ball], figure, 'driven')
    say(f'figure: {figure}')
    return MISSED if time is None else REACHED


DEMO = LabyrinthDemo()

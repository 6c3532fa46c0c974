"""Pictures of an episode: the scene of a simulation under the same controls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.simulation import simulate
from rolling_robotics.animation.movie import HEAD, pictures, Shot
from rolling_robotics.learning.tasks import Task
from rolling_robotics.result import arrays, follower_of, heading
from rolling_robotics.scene.general import scene_of

WIDTH, ROWS = 640, 480 + HEAD
RATE = 20.0  # of the scene's times [1/s]
SHORTEST = 1e-3  # what is simulated for the picture of a start [s]


class Filmed:
    """
    An episode that is drawn.

    Attributes
    ----------
    controls
        Those that were held so far, one for each step.

    """

    def __init__(self, task: Task, x0: Array, p: Array) -> None:
        """Begin with the state at the start and the parameters of the episode."""
        self._dt, self._scenario = task.dt, replace(task.scenario, x0=x0, p=p)
        self.controls: list[Array] = []

    def result(self) -> dict[str, Any]:
        """Return the episode so far, as `rolling simulate` writes a motion."""
        s, count = self._scenario, len(self.controls)
        held = np.array(self.controls) if count else np.zeros((1, s.system.control.size))
        end = max(count * self._dt, SHORTEST)
        times = np.linspace(0.0, end, max(count, 1) + 1)
        trajectory = simulate(
            s.system,
            s.p,
            s.x0,
            (np.repeat(times, 2)[1:-1], np.repeat(held, 2, axis=0)),
            end,
            t_eval=np.linspace(0.0, end, max(2, round(end * RATE))),
            events=dict.fromkeys(next(iter(s.system.modes.values())).guards, 'record'),
            follower=follower_of(s),
        )
        return {**heading('rolling/simulation', s), 'arrays': arrays(s, trajectory)}

    def picture(self) -> NDArray[np.uint8]:
        """Return the scene now: pixels [0 to 255], shape (rows, columns, 3)."""
        scene = scene_of(self.result())
        shot = Shot(width=WIDTH, strips=False, at=float(scene.times[-1]))
        (drawn,) = pictures(scene, shot, still=True)
        whole = np.full((ROWS, WIDTH, 3), 255, dtype=np.uint8)
        above = max(0, (ROWS - drawn.shape[0]) // 2)
        whole[above : above + drawn.shape[0]] = drawn[:ROWS]
        return whole

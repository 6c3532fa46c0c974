"""A demonstration on an emulated rig: set points for the ball, and what was seen of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
import math
from pathlib import Path
from typing import ClassVar, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rolling_robotics.demo.run import (
    brought_up,
    fresh_folder,
    HEALTH_PERIOD,
    LOCKSTEP_TIMEOUT,
    START_TIMEOUT,
    time_text,
)
from rolling_robotics.demo.verdict import say, VOID
from rolling_robotics.experiments import find_experiment
from rolling_robotics.recordings.recorded_topics import read_joints

if TYPE_CHECKING:
    from rolling_robotics.nodes.set_point_client import SetPointClient

Array = NDArray[np.float64]
PACE = 2.0  # simulated seconds in a second at most
GAP = 0.1  # s between two states beyond which a run is not judged
TIMEOUT = 120.0  # for a set point [s]


@dataclass(frozen=True, eq=False)
class Seen:
    """
    What was seen of the ball.

    Attributes
    ----------
    times, ball
        Of the states [s], shape (k,), and places of the ball, shape (k, 2) [m].
    changes
        Stamps [s] and set points (2) [m].

    """

    times: Array
    ball: Array
    changes: Sequence[tuple[float, Array]]

    @property
    def gap(self) -> float:
        """Longest time between two states since a set point was asked for [s]."""
        asked = self.changes[min(1, len(self.changes) - 1)][0]
        judged = self.times[self.times >= asked]
        return float(np.diff(judged, prepend=asked).max(initial=0.0)) if judged.size else math.inf


@dataclass(frozen=True, kw_only=True)
class RigDemo(ABC):
    """
    Drives the ball of an experiment by set points.

    Attributes
    ----------
    experiment
        Name of the experiment.
    law
        Law of the controller; empty for its usual one.

    """

    experiment: ClassVar[str]
    law: str = ''

    @abstractmethod
    def drive(self, client: SetPointClient) -> None:
        """Send the set points."""

    @abstractmethod
    def conclude(self, seen: Seen, out: Path) -> int:
        """Print what came of them, draw the figure in a folder, and return the exit status."""

    def perform(self, out: Path, *, use_sim_time: bool) -> int:
        """Run it once; return REACHED, MISSED or VOID."""
        from rolling_robotics.nodes.set_point_client import SetPointClient  # noqa: PLC0415

        experiment, pace = find_experiment(self.experiment), PACE if use_sim_time else None
        recording = fresh_folder(out / 'recording')
        say(experiment.text)
        with (
            brought_up(
                out,
                time_text(pace),
                experiment=experiment,
                record=recording,
                use_sim_time=use_sim_time,
                overrides=self._overrides(use_sim_time=use_sim_time),
            ) as (domain, bringup),
            SetPointClient(domain=domain, check=bringup.check) as client,
        ):
            client.wait_until_balancing(START_TIMEOUT)
            self.drive(client)
            void = client.void
        told = read_joints(recording, 'robot/state', ['ball_x', 'ball_y'])
        seen = Seen(told.times, told.position, client.set_points)
        say(f'recording: {recording}')
        outcome = self.conclude(seen, out)
        if seen.gap > GAP:
            void = f'states of {seen.gap:.2g} s are missing'
        if void:
            say(f'the run is void: {void}')
        return VOID if void else outcome

    def _overrides(self, *, use_sim_time: bool) -> dict[str, dict[str, object]]:
        simulator: dict[str, object] = {'diagnostics_period': HEALTH_PERIOD}
        if use_sim_time:
            simulator |= {'rate_factor': PACE, 'lockstep_timeout': LOCKSTEP_TIMEOUT}
        return {'simulator': simulator, 'controller': {'law': self.law} if self.law else {}}

"""Set points in turn for a ball that servos move: by the nodes of the rig, and in lockstep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.laws import law_on_nodes
from rolling_controller.ball_balancer.rig import run_rig
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import rig_file, RigFile
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.arrays import layout_series
from rolling_robotics.experiments import find_experiment
from rolling_robotics.recordings.recorded_topics import read_joints, read_poses
from rolling_robotics.trials.trial import Record, Task, Trial

if TYPE_CHECKING:
    from rolling_robotics.nodes.trial_client import TrialClient

BALL = 'ball'
LAW = 'predictive'  # of the nodes, where none was chosen


class Leg(NamedTuple):
    """
    A set point and how long it is kept.

    Attributes
    ----------
    place
        On the plate (2) [m].
    seconds
        How long it is kept [s].
    within, after
        From when the ball is within so many metres of it, it is kept for ``after`` [s]; 0 where
        that does not matter.

    """

    place: Array
    seconds: float
    within: float = 0.0
    after: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Course(Task):
    """
    Set points in turn; the trial begins with the second one.

    Attributes
    ----------
    legs
        From the file of the rig to the set points.

    """

    legs: Callable[[RigFile], Sequence[Leg]]

    @property
    def file(self) -> RigFile:
        """File of the rig."""
        return rig_file(load_scenario(find_experiment(self.experiment).scenario_file))

    def ask(self, client: TrialClient, trial: Trial) -> Record:  # noqa: ARG002
        """Send the set points."""
        return client.go_through(self.legs(self.file))

    def read(self, recording: Path, records: Sequence[Record]) -> list[Record]:
        """Return records with the states of the rig and its set points."""
        system, _ = self.file.system_and_parameters()
        seen = read_joints(recording, 'robot/state', list(system.state.names))
        told = read_poses(recording, 'set_point')
        out = []
        for record in records:
            inside = (seen.times >= record.begin) & (seen.times <= record.begin + record.end)
            times = seen.times[inside]
            newest = np.searchsorted(told.stamps, times, side='right') - 1
            goals = told.p[np.maximum(newest, 0), :2]
            states = seen.position[inside]
            out.append(_with_arrays(record, times - record.begin, states, goals, self.file))
        return out

    def in_lockstep(
        self,
        trials: Sequence[Trial],
        records: Sequence[Record] = (),  # noqa: ARG002
    ) -> list[Record]:
        """Run the law on the emulated rig of the file, with its own random seed."""
        return [self._run(trial.settings.get('law', LAW)) for trial in trials]

    def _run(self, law: str) -> Record:
        file, legs = self.file, self.legs(self.file)
        ends = np.cumsum([leg.seconds + leg.after for leg in legs])
        places = np.array([leg.place for leg in legs])

        def set_point(t: ArrayLike) -> Array:
            return np.asarray(places[np.minimum(np.searchsorted(ends, t, 'right'), len(legs) - 1)])

        run = run_rig(file, law_on_nodes(file, law), set_point, ends[-1], file.seed, places[0])
        begin, after = ends[0], run.times >= ends[0]
        fallen = run.ended
        record = Record(
            end=ends[-1] - begin,
            events=[(e.time - begin, e.name) for e in run.events if e.time >= begin],
            ended='' if fallen is None else f'{fallen.name} at {fallen.time - begin:.3f} s',
        )
        times, goals = run.times[after] - begin, set_point(run.times[after])
        return _with_arrays(record, times, run.states[after], goals, file)


def _with_arrays(
    record: Record, times: Array, states: Array, goals: Array, file: RigFile
) -> Record:
    """Return a record with states and set points at its times."""
    system, _ = file.system_and_parameters()
    names = system.state.entry(BALL).components
    return replace(
        record,
        times=times,
        arrays=layout_series(system.state, states),
        planned={name: (times, goal) for name, goal in zip(names, goals.T, strict=True)},
    )

"""Demonstration of a ball balancer: set points in turn, evaluated as for the published rig."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.laws import law_on_nodes
from rolling_controller.ball_balancer.protocol import judged, Jump, LAST, targets, WITHIN
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import rig_file, RigFile
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.arrays import layout_series
from rolling_robotics.demo.demo import Demo
from rolling_robotics.experiments import find_experiment
from rolling_robotics.recordings.recorded_topics import read_joints, read_poses
from rolling_robotics.trials.trial import Criterion, NodesTask, Outcome, Record, Runner, Trial

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
class Course(NodesTask):
    """
    Set points in turn; the trial starts with the second one.

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
        measured = read_joints(recording, 'robot/state', list(system.state.names))
        set_points = read_poses(recording, 'set_point')
        out = []
        for record in records:
            end = record.begin + record.end
            inside = (measured.times >= record.begin) & (measured.times <= end)
            times = measured.times[inside]
            newest = np.searchsorted(set_points.stamps, times, side='right') - 1
            goals = set_points.p[np.maximum(newest, 0), :2]
            states = measured.position[inside]
            out.append(_with_arrays(record, times - record.begin, states, goals, self.file))
        return out

    def runner(self, records: Sequence[Record] = ()) -> Runner:  # noqa: ARG002
        """Run the law on the emulated rig of the file, with its own random seed."""
        return lambda trial: self._run(trial.settings.get('law', LAW))

    def _run(self, law: str) -> Record:
        file, legs = self.file, self.legs(self.file)
        ends = np.cumsum([leg.seconds + leg.after for leg in legs])
        places = np.array([leg.place for leg in legs])

        def set_point(t: float) -> Array:
            return np.asarray(places[min(int(np.searchsorted(ends, t, 'right')), len(legs) - 1)])

        given = (file, law_on_nodes(file, law), set_point, ends[-1], file.seed, places[0])
        return driven(*given, begin=ends[0])


def driven(
    file: RigFile,
    law: Law[Any],
    set_point: Callable[[float], Array],
    duration: float,
    seed: int,
    ball: ArrayLike = (0.0, 0.0),
    begin: float = 0.0,
) -> Record:
    """
    Return the record of a law on the emulated rig of a file; it ends by a fault of its frames too.

    Parameters
    ----------
    file, law, set_point, duration, seed, ball
        See :func:`run_rig`.
    begin
        Start of the record [s].

    """
    run = run_rig(file, law, set_point, duration, seed, ball)
    after, end = run.times >= begin, run.ended
    record = Record(
        end=duration - begin,
        events=[(e.time - begin, e.name) for e in run.events if e.time >= begin],
        ended=run.memory.fault if end is None else f'{end.name} at {end.time - begin:.3f} s',
    )
    goals = np.array([set_point(t) for t in run.times[after]]).reshape(-1, 2)
    return _with_arrays(record, run.times[after] - begin, run.states[after], goals, file)


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


JUMPS = 4
TAKEN = 0.1  # s more than the evaluated time of a jump


def legs(_: RigFile) -> Sequence[Leg]:
    """Return the first set points of the published protocol."""
    return [Leg(place, LAST + TAKEN) for place in targets()[: JUMPS + 1]]


class EveryJump(Criterion):
    """Every jump of the set point ends within 5 mm of it."""

    def jumps(self, record: Record) -> list[Jump]:
        """Return the results of the jumps."""
        if not record.times.size:
            return []
        goals = np.array([goal for _, goal in record.planned.values()]).T
        begins = [0, *np.flatnonzero(np.any(np.diff(goals, axis=0) != 0, axis=1)) + 1]
        points = np.array([targets()[0], *goals[begins]])
        return judged(record.times, record[BALL], record.times[begins], points)

    def outcome(self, record: Record) -> Outcome:
        """Return the maximum end error of a jump; the text has rise and overshoot of each."""
        jumps = self.jumps(record)
        there = sum(j.end_error <= WITHIN for j in jumps)
        text = f'{there} of {JUMPS} jumps ended within {1e3 * WITHIN:g} mm'
        missed = record.ended or ('' if there == len(jumps) == JUMPS else text)
        rows = (
            f'{1e3 * j.length:.0f} mm: 90 % after {j.rise:.2f} s, overshoot '
            f'{1e3 * j.overshoot:.1f} mm, end error {1e3 * j.end_error:.1f} mm'
            for j in jumps
        )
        return Outcome(
            failure=missed,
            error=1e3 * max((j.end_error for j in jumps), default=np.nan),
            tolerance=1e3 * WITHIN,
            unit='mm',
            inconclusive=record.inconclusive or record.missing(),
            text='\n  '.join([text, *rows]),
        )


DEMO = Demo(
    task=Course(experiment='ball_balancer', legs=legs),
    criterion=EveryJump(),
    pace=2.0,
)

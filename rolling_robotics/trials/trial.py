"""Trials: tasks, records, criteria of success, and their report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
import math
import multiprocessing
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import planner_of
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.arrays import Series
from rolling_robotics.hardware import REAL, SIMULATED

if TYPE_CHECKING:
    from rolling_robotics.nodes.trial_client import TrialClient


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """
    A goal of the action ``plan_rolling``.

    Attributes
    ----------
    text
        The goal in words.
    goal
        Values by scalar name; empty for the goal of the planner's own scenario.
    horizon
        Duration of the motion [s]; 0 for the shortest.

    """

    text: str
    goal: dict[str, float] = field(default_factory=dict)
    horizon: float = 0.0


def state_goal(scenario: Scenario) -> PlanRequest:
    """Return the goal of a plan by collocation: values of the state after a given time."""
    problem = read_problem(scenario)
    known = {e.name: e.components for e in planner_of(scenario.system.name).goal_entries(scenario)}
    goal: dict[str, float] = {}
    for name, values in problem.goal.items():
        if values is not None:
            names = known.get(name, (name,))
            goal |= dict(zip(names, np.ravel(values).tolist(), strict=True))
    return PlanRequest(text=listed(goal), goal=goal, horizon=problem.horizon)


def listed(goal: dict[str, float]) -> str:
    """Return a goal in words."""
    return ', '.join(f'{name} = {value:.4g}' for name, value in goal.items())


def progress_text(feedback: Any) -> str:  # noqa: ANN401  a message
    """Return the progress of a planner, without values that it does not report."""
    parts = [f'{feedback.segments:4d} segments, iteration {feedback.iteration:3d}']
    numbers = {
        'cost': f'{feedback.cost:.4g}',
        'violation': f'{feedback.violation:.2e}',
        'goal error': f'{feedback.goal_error:.2e}',
    }
    return ', '.join([*parts, *(f'{k} {v}' for k, v in numbers.items() if v != 'nan')])


Motion = Mapping[str, tuple[Array, Array]]  # scalar name -> times [s] and values
OPEN_LOOP, CLOSED_LOOP = 'open_loop', 'closed_loop'
GAP = 0.1  # s between two samples beyond which a trial is inconclusive


class Outcome(NamedTuple):
    """
    The evaluation of a trial.

    Attributes
    ----------
    failure
        The first failure; empty if the trial has succeeded.
    error, tolerance, unit
        Maximum evaluated error, its tolerance, and the unit of both.
    inconclusive
        Reason why the trial is inconclusive, or the empty string.
    time
        Time from which the goal stays reached [s].
    text
        Further results, in words.

    """

    failure: str = ''
    error: float = math.nan
    tolerance: float = math.nan
    unit: str = ''
    inconclusive: str = ''
    time: float = math.nan
    text: str = ''


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """
    Record of a trial.

    Attributes
    ----------
    law, seed
        Name of the law, and random seed of unknown values.
    times
        Times since its start [s], shape (k,).
    arrays
        States, controls and measurements at these times by name, as in a result file.
    events
        Time [s] and name of each change of the contact, and of the guard that ended the motion.
    planned, plan
        The reference motion, and the executed plan, if any.
    number
        Index of the execution in the recording, from zero; -1 without an execution.
    begin, end
        Start of the trial by the stamps of the nodes, and its duration [s].
    ended
        Reason why it ended early or missed its goal, or the empty string.
    inconclusive
        Reason why it is inconclusive, as reported by the nodes, or the empty string.
    values
        Numbers that were reported with its result, by name.

    """

    law: str = ''
    seed: int = 0
    times: Array = field(default_factory=lambda: np.zeros(0))
    arrays: Mapping[str, Series] = field(default_factory=dict)
    events: Sequence[tuple[float, str]] = ()
    planned: Motion = field(default_factory=dict)
    plan: Plan | None = None
    number: int = -1
    begin: float = 0.0
    end: float = math.nan
    ended: str = ''
    inconclusive: str = ''
    values: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        """Return the values of an array, shape (k,) or (k, n)."""
        return self.arrays[name].values

    def states(self, system: RollingSystem) -> Array:
        """Return the states of a system, shape (k, state.size)."""
        return np.column_stack([self[entry.name] for entry in system.state.entries])

    def motion(self) -> dict[str, tuple[Array, Array]]:
        """Return times [s] and values, shape (k,) each, of every component by scalar name."""
        return {
            name: (self.times, column)
            for array in self.arrays.values()
            for name, column in zip(
                array.components, array.values.reshape(len(self.times), -1).T, strict=True
            )
        }

    def missing(self, gap: float = GAP) -> str:
        """Return which samples are missing, if any are for longer than ``gap`` [s]."""
        end = 0.0 if self.ended or not math.isfinite(self.end) else self.end
        times = np.array([0.0, *self.times, max(end, *self.times[-1:], 0.0)])
        k = int(np.argmax(np.diff(times)))
        if times[k + 1] - times[k] <= gap:
            return ''
        return f'samples are missing from {times[k]:.3f} to {times[k + 1]:.3f} s'


class Criterion:
    """Criterion of success; this one is that the motion lasts."""

    def outcome(self, record: Record) -> Outcome:
        """Evaluate the record."""
        return Outcome(failure=record.ended, inconclusive=record.inconclusive)

    def planned(self, duration: float) -> Motion:  # noqa: ARG002
        """Return the motion that is wanted in a trial of a duration [s], where it is known."""
        return {}


Runner: TypeAlias = 'Callable[[Trial], Record]'


class Task:
    """Task of a machine, carried out in this process, plant and law in turn."""

    def run(self, trial: Trial) -> Record:
        """Carry out a trial; return its record without law and seed."""
        raise NotImplementedError

    def runner(self, records: Sequence[Record] = ()) -> Runner | None:  # noqa: ARG002
        """
        Return the function that carries out a trial: :meth:`run` if trials need no preparation.

        Parameters
        ----------
        records
            Records of the nodes for these trials, if any.

        Returns
        -------
        Callable or None
            None where the nodes found no plan.

        """
        return self.run


@dataclass(frozen=True, kw_only=True)
class NodesTask(Task, ABC):
    """
    Task of a machine, which its nodes can carry out too.

    Attributes
    ----------
    experiment
        Name of the experiment, or a scenario file.
    hardware
        Type of hardware behind the topics.
    named_laws
        Whether a trial names its law, so that several can be compared.

    """

    experiment: str
    hardware: str = SIMULATED
    named_laws: ClassVar[bool] = False

    def check(self) -> None:
        """Raise RollingError, before any node starts, where the scenario lacks an entry."""

    @abstractmethod
    def ask(self, client: TrialClient, trial: Trial) -> Record:
        """Have the nodes do it; return all but the arrays of the record."""

    @abstractmethod
    def read(self, recording: Path, records: Sequence[Record]) -> list[Record]:
        """Return records with their arrays from the recording of all of them."""

    def on(self, hardware: str) -> dict[str, Any]:
        """Return what differs on a kind of hardware; raise ParameterError for real hardware."""
        if hardware == REAL:
            raise ParameterError(
                'a demonstration speaks to this machine only, and knows the truth; drive hardware '
                'by `ros2 launch rolling_robotics` with hardware:=real, and a goal of its action'
            )
        return {'task': replace(self, hardware=hardware)}

    @property
    def is_slow(self) -> bool:
        """True if this machine has too few processors for it in wall-clock time."""
        return False

    def overrides(self, *, use_sim_time: bool, rate: float) -> dict[str, dict[str, object]]:  # noqa: ARG002
        """Return parameters by node that override the experiment's file."""
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Trial:
    """
    A task under a law, from a disturbed start, with disturbances and a criterion.

    Attributes
    ----------
    task, criterion
        The task, and the criterion of success.
    law
        Name of the law.
    seed
        Random seed of unknown values.
    position, rotation
        Error of the start [m], shape (2,), and [rad], shape (3,).
    disturbances
        Parameters of the plant that differ from the assumed ones, by name.
    pushes
        Time into the plan [s], and impulse over the mass of the body that is struck, along x, y
        and z of W [m/s].
    settings
        Parameters of the controller for this trial, by name.
    duration
        Length [s]; 0 where the task has a length of its own.

    """

    task: Task
    criterion: Criterion = field(default_factory=Criterion)
    law: str = CLOSED_LOOP
    seed: int = 0
    position: Sequence[float] = (0.0, 0.0)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    disturbances: Mapping[str, Any] = field(default_factory=dict)
    pushes: Sequence[tuple[float, Sequence[float]]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    duration: float = 0.0

    def text(self) -> str:
        """Return law, seed, start and disturbances in words."""
        parts = [f'seed {self.seed}'] if self.disturbances else []
        if any(self.position):
            parts.append(f'({", ".join(f"{1e3 * v:g}" for v in self.position)}) mm off')
        if any(self.rotation):
            parts.append(f'({", ".join(f"{v:g}" for v in self.rotation)}) rad off')
        parts += [
            f'{name.replace("_factor", "")} {value:g}' for name, value in self.disturbances.items()
        ]
        parts += [f'pushed by {np.linalg.norm(v):g} m/s at {t:g} s' for t, v in self.pushes]
        return f'{self.law} ({", ".join(parts)})' if parts else self.law


def seeded(trial: Trial, seeds: Iterable[int]) -> list[Trial]:
    """Return a trial for each random seed."""
    return [replace(trial, seed=seed) for seed in seeds]


def run_trials(
    trials: Sequence[Trial], records: Sequence[Record] = (), workers: int = 1
) -> Iterator[Record]:
    """
    Carry out trials of one task.

    Parameters
    ----------
    trials
        The trials.
    records
        Records of the nodes for these trials, if any.
    workers
        Number of processes; 1 for this one, in which alone records count.

    Yields
    ------
    Record
        In the order of the trials; none where the nodes found no plan.

    """
    if workers == 1:
        if run := trials[0].task.runner(records):
            yield from map(partial(_carried_out, run=run), trials)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context('spawn'))
    try:
        yield from pool.map(_carried_out, trials)
    finally:  # whoever wants no more trials does not wait for those that have not started
        pool.shutdown(cancel_futures=True)


def _carried_out(trial: Trial, run: Runner | None = None) -> Record:
    record = (run or trial.task.runner() or trial.task.run)(trial)
    planned = record.planned or trial.criterion.planned(record.end)
    return replace(record, law=trial.law, seed=trial.seed, planned=planned)


def tried(trial: Trial, seeds: Iterable[int]) -> tuple[list[Record], int]:
    """Return the records of a trial with each random seed, and how many have succeeded."""
    records = list(run_trials(seeded(trial, seeds)))
    return records, sum(not trial.criterion.outcome(record).failure for record in records)


REACHED, MISSED, INCONCLUSIVE = 0, 1, 4  # exit statuses
ROS, LOCKSTEP = 'through ROS', 'in lockstep'  # what carries trials out


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def outcomes(trials: Sequence[Trial], records: Sequence[Record]) -> list[Outcome]:
    """Return the outcomes of those trials that have a record."""
    return [t.criterion.outcome(r) for t, r in zip(trials, records, strict=False)]


def margin_text(error: float, tolerance: float, unit: str = '') -> str:
    """Return the margin of an error to its tolerance, both in a unit."""
    times = f'{tolerance / error:.3g} times' if error > 0.0 else 'no error'
    return f'margin: {times} ({error:.3g} where {tolerance:g} is allowed) {unit}'.rstrip()


def report(
    trials: Sequence[Trial],
    found: Sequence[Outcome],
    law: str,
    *,
    faster: float = 0.0,
    driver: str = ROS,
    beside: Sequence[Outcome] | None = None,
) -> int:
    """
    Print each trial and the successes of each law; return the exit status.

    Parameters
    ----------
    trials, found
        The trials, and their outcomes.
    law
        The law whose trials have to succeed.
    faster
        How many times sooner than under the last of the other laws the goal has to be reached
        under this one; 0 where that is not asked.
    driver
        What carried them out, in words.
    beside
        Outcomes of the same trials in lockstep as well; None where there are none.

    Returns
    -------
    int
        REACHED if every trial of the law has succeeded, MISSED if one has failed, INCONCLUSIVE if
        none has failed but one is inconclusive.

    """
    by_law: dict[str, list[Outcome]] = {}
    for trial, one in zip(trials, found, strict=True):
        by_law.setdefault(trial.law, []).append(one)
        said = f'inconclusive: {one.inconclusive}' if one.inconclusive else ''
        said = said or (f'failure: {one.failure}' if one.failure else 'success')
        error = f'error {one.error:.4g} {one.unit}'.rstrip() if math.isfinite(one.error) else ''
        say('; '.join(part for part in (f'{trial.text()}: {said}', error, one.text) if part))
    say('')
    say(f'successes           {driver}{"" if beside is None else f"     {LOCKSTEP}"}')
    for name, own in by_law.items():
        row = f'  {name:<14}  {_count(own):>12}'
        if beside is not None:
            same = [one for trial, one in zip(trials, beside, strict=False) if trial.law == name]
            row = f'{row}    {_count(same):>12}'
        say(row)
    counted = list(found) if faster else by_law[law]
    judged = [one for one in by_law[law] if not one.inconclusive]
    rest = sum(bool(one.inconclusive) for one in counted)
    known = [one for one in judged if math.isfinite(one.error)]
    if known:
        worst = max(known, key=lambda one: one.error / one.tolerance)
        say(margin_text(worst.error, worst.tolerance, worst.unit))
    failed = any(one.failure for one in judged)
    if rest and not failed:
        say(f'inconclusive: {rest} of {len(counted)} trials')
        return INCONCLUSIVE
    if failed or (faster and not _is_faster(by_law, law, faster)):
        say('the demonstration has failed')
        return MISSED
    say('every trial under feedback has succeeded')
    return REACHED


def _is_faster(by_law: Mapping[str, Sequence[Outcome]], law: str, faster: float) -> bool:
    """Return, and print, whether a law reaches the goal so many times sooner than the last."""
    slowest = max(one.time for one in by_law[law])
    soonest = min(one.time for one in list(by_law.values())[-1])
    say(
        f'at rest after {slowest:.2f} s at most; without control after {soonest:.2f} s at least: '
        f'{soonest / slowest:.3g} times faster, {faster:g} is asked'
    )
    return slowest * faster <= soonest


def _count(found: Sequence[Outcome]) -> str:
    judged = [one for one in found if not one.inconclusive]
    return f'{sum(not one.failure for one in judged)} of {len(judged)}' if judged else '-'

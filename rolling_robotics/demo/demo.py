"""A demonstration, as data: an experiment, what it is asked, and which laws are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rolling_robotics.trials.trial import CLOSED_LOOP, Criterion, Record, Task, Trial

IDLE_PACE = 0.05  # simulated seconds in a second between trials


@dataclass(frozen=True, kw_only=True)
class Demo:
    """
    Trials of an experiment.

    Attributes
    ----------
    experiment
        Name of the experiment, or a scenario file.
    task, criterion
        What is done in a trial, and what success means.
    law
        The law whose trials have to succeed.
    compared
        Other laws, with the length of a trial [s].
    duration
        Length of a trial under ``law`` [s]; 0 where the task has its own.
    settings
        Parameters of the controller by law.
    start
        From a random seed to fields of a trial: its start, and what disturbs it.
    trials
        Trials of ``law`` by default; of the others there is one for each four.
    faster
        How many times sooner than under the last of the compared laws the goal has to be reached;
        0 where that is not asked.
    plant
        Node that simulates the plant.
    pace, idle_pace
        Simulated seconds in a second at most, in a trial and between trials.
    draw
        Draws the figure, a PNG file, where it is not motions beside what was planned.

    """

    experiment: str
    task: Task
    criterion: Criterion
    law: str = CLOSED_LOOP
    compared: Mapping[str, float] = field(default_factory=dict)
    duration: float = 0.0
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    start: Callable[[int], Mapping[str, Any]] = lambda _: {}
    trials: int = 1
    faster: float = 0.0
    plant: str = 'simulator'
    pace: float = 10.0
    idle_pace: float = IDLE_PACE
    draw: Callable[[Sequence[Record], Path], None] | None = None

    def on(self, hardware: str) -> Demo:
        """Return the demonstration on a kind of hardware; empty for the usual one."""
        return replace(self, **self.task.on(hardware)) if hardware else self

    def under(self, law: str) -> Demo:
        """Return the demonstration of another law, beside the usual one; empty for the usual."""
        if law in ('', self.law):
            return self
        if not self.task.named_laws:
            given = {name: {**self.settings.get(name, {}), 'law': law} for name in self.lengths()}
            return replace(self, settings=given)
        return replace(self, law=law, compared={self.law: self.duration, **self.compared})

    def lengths(self) -> dict[str, float]:
        """Return the length of a trial by law [s]."""
        return {self.law: self.duration, **self.compared}

    def trial(self, law: str, seed: int = 1) -> Trial:
        """Return the trial of a law with a random seed."""
        return Trial(
            experiment=self.experiment,
            task=self.task,
            criterion=self.criterion,
            law=law,
            seed=seed,
            settings=self.settings.get(law, {}),
            duration=self.lengths()[law],
            **self.start(seed),
        )

    def all_trials(self, count: int = 0) -> list[Trial]:
        """Return the trials, ``count`` of the law that has to succeed; 0 for the usual number."""
        count = count or self.trials
        return [
            self.trial(law, seed)
            for law in self.lengths()
            for seed in range(1, 1 + (count if law == self.law else max(1, count // 4)))
        ]

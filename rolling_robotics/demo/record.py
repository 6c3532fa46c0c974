"""What a demonstration has seen: plan and executions as arrays; no ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan
from rolling_robotics.demo.positions import Places

FEEDBACK_PERIOD = 0.02  # s, of an execution


@dataclass
class Stream:
    """
    Samples of a topic.

    Attributes
    ----------
    stamps
        Of their headers [s].
    rows
        A sample each.

    """

    stamps: list[float] = field(default_factory=list)
    rows: list[Sequence[float]] = field(default_factory=list)


@dataclass
class Execution:
    """
    What was seen of an execution.

    Attributes
    ----------
    code, text
        Of the result; code 0 where the goal was reached.
    final_error
        Norm of the goal error at the end.
    final_state
        State at the end by scalar name.
    start
        Stamp that the plan began with [s].
    times, errors
        Of the feedback: time in the plan [s], norm of the state error.
    margins
        Of the feedback, by name.
    seen
        Samples of the topics that were watched.
    tolerance
        Greatest `final_error` with which the goal counts as reached.
    void
        Why it proves nothing; empty if it does.

    """

    code: int = -1
    text: str = ''
    final_error: float = float('nan')
    final_state: dict[str, float] = field(default_factory=dict)
    start: float = math.inf
    times: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    margins: dict[str, list[float]] = field(default_factory=dict)
    seen: dict[str, Stream] = field(default_factory=dict)
    tolerance: float = math.inf
    void: str = ''

    def samples(self, topic: str) -> tuple[Array, Array] | None:
        """Return times in the plan, shape (k,) [s], and rows, shape (k, m); None if none came."""
        stream = self.seen[topic]
        times = np.array(stream.stamps) - self.start
        last = self.times[-1] if self.times else -math.inf
        keep = (times >= 0.0) & (times <= last + FEEDBACK_PERIOD)
        return (times[keep], np.array(stream.rows)[keep]) if keep.any() else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """
    A demonstration that was run.

    Attributes
    ----------
    scenario
        That of the plan.
    places
        From states to points on the floor or on the plate.
    plan
        The plan.
    runs
        Executions by label: ``open loop``, ``closed loop``.

    """

    scenario: Scenario
    places: Places
    plan: Plan
    runs: Mapping[str, Execution]

    def samples(self, topic: str) -> dict[str, tuple[Array, Array]]:
        """
        Return by label times [s] and values seen of a topic, shapes (N,) and (N, k), in its units.

        Executions that saw nothing are left out.
        """
        found = {label: run.samples(topic) for label, run in self.runs.items()}
        return {label: samples for label, samples in found.items() if samples is not None}

    def miss(self, label: str) -> float:
        """Return the distance [m] from the end of an execution to the plan's; nan if unknown."""
        state = self.runs[label].final_state
        if not state:
            return math.nan
        x = [state[name] for name in self.plan.state_names]
        ends = self.places(np.array([x, self.plan.states[-1]]))
        return float(np.linalg.norm(ends[0] - ends[1]))

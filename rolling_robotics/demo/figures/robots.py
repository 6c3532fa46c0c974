"""What the figures of the rolling robots share."""

from __future__ import annotations

import numpy as np
from rolling_robotics.demo.record import Array, Record


def driven_paths(record: Record) -> dict[str, Array]:
    """Return the path of the centre of each execution by label, shape (k, 2) [m]."""
    out = {}
    for label, run in record.runs.items():
        states = run.samples('robot/state')[1]
        out[label] = record.places(states) if len(states) else np.zeros((0, 2))
    return out


def friction_of(record: Record) -> float:
    """Return the coefficient of static friction of the plan's floor."""
    scenario = record.scenario
    return float(scenario.p[scenario.system.parameters.slice('mu')][0])

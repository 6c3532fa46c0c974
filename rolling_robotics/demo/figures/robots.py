"""What the figures of the rolling robots share."""

from __future__ import annotations

from rolling_dynamics.arrays import Array
from rolling_robotics.demo.record import Record


def driven_paths(record: Record) -> dict[str, Array]:
    """Return the path of the centre of each execution by label, shape (k, 2) [m]."""
    seen = record.samples('robot/state')
    return {label: record.places(states) for label, (_, states) in seen.items()}


def friction_of(record: Record) -> float:
    """Return the coefficient of static friction of the plan's floor."""
    scenario = record.scenario
    return float(scenario.p[scenario.system.parameters.slice('mu')][0])

"""The executions of a recording: each plan, and the states and controls that came of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.scenario import load_scenario
from rolling_planner.plan import Plan
from rolling_robotics.figures.beside import Group, Motion
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replaying import executed_plans, source_of


@dataclass(frozen=True)
class Execution:
    """
    One execution.

    Attributes
    ----------
    open_loop
        Whether the plan was played back without feedback.
    plan
        The plan.
    motion
        Executed states and controls by scalar name, times from the start of the plan [s].
    groups
        What of it belongs together.

    """

    open_loop: bool
    plan: Plan
    motion: Motion
    groups: list[Group]


def recorded_executions(recorded: Recorded) -> list[Execution]:
    """Return the executions; raise ParameterError if nothing was executed."""
    settings, plans = executed_plans(recorded)
    source = source_of(settings[0]['scenario_file'])
    states = [
        found
        for topic, _, data in recorded.raw(source.topics)
        if (found := source.take(topic, data)) is not None
    ]
    commands = [source.command(m) for _, _, m in recorded.messages([source.commands])]
    system = load_scenario(settings[0]['scenario_file']).system
    out = []
    for (start, plan), values in zip(plans, settings, strict=True):
        motion: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for names, samples in (
            (system.state.names, states),
            (system.control.names, commands),
        ):
            motion |= _between(names, samples, start, plan.duration)
        out.append(Execution(values['open_loop'], plan, motion, _groups(system)))
    return out


def _between(
    names: list[str], samples: list[tuple[int, np.ndarray]], start: int, duration: float
) -> Motion:
    """Return the samples of an execution by name; none if there are none."""
    chosen = [(t, x) for stamp, x in samples if 0 <= (t := (stamp - start) * 1e-9) <= duration]
    if not chosen:
        return {}
    times = np.array([t for t, _ in chosen])
    table = np.array([x for _, x in chosen])
    return {name: (times, column) for name, column in zip(names, table.T, strict=True)}


def _groups(system: RollingSystem) -> list[Group]:
    entries = (*system.state.entries, *system.control.entries)
    return [Group(e.name, e.components, e.unit) for e in entries]

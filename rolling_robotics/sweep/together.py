"""Points of a sweep that are simulated together, as lanes of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TYPE_CHECKING
import weakref

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiles
from rolling_dynamics.contract.capabilities import offers, StateCheck
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation.guards import chart_guards, margin, margin_names

if TYPE_CHECKING:
    from rolling_dynamics.batch.sampled import Outputs

Array = NDArray[np.float64]
_outputs: weakref.WeakKeyDictionary[RollingSystem, Outputs] = weakref.WeakKeyDictionary()
FEWEST = 16  # points that are worth the wait for a compiler


class Came(NamedTuple):
    """
    What a simulation came to.

    Attributes
    ----------
    times, states, values
        Output times [s], states and outputs there, a row for each.
    end, steps
        When it ended [s], and in how many steps.
    stopped
        Whether an event ended it.
    event, event_time
        The first event, None without any.

    """

    times: Array
    states: Array
    values: Array
    end: float
    steps: int
    stopped: bool
    event: str | None
    event_time: float | None


def outputs_of(system: RollingSystem, guards: list[str]) -> list[ca.Function]:
    """Return margins, energy and contact force of a system."""
    parts = [margin(name, system) for name in guards]
    if 'energy' in system.invariants:
        parts.append(system.invariants['energy'])
    wrench = next(iter(system.modes.values())).wrench
    return parts if wrench is None else [*parts, wrench]


def together(scenarios: Mapping[int, Scenario]) -> dict[int, Came]:
    """
    Simulate what allows it as lanes of one batch.

    Points that are left out, to be simulated one at a time: those with a formula for a control,
    several modes or charts, those that cannot start, and those in which something is to be noted
    on the way.
    """
    if len(scenarios) < FEWEST or not compiles():
        return {}
    groups: dict[tuple[object, ...], dict[int, Scenario]] = {}
    for number, scenario in scenarios.items():
        key = _kind(scenario)
        if key is not None:
            groups.setdefault(key, {})[number] = scenario
    found: dict[int, Came] = {}
    for group in groups.values():
        if len(group) >= FEWEST:
            found |= _simulated(group)
    return found


def _kind(scenario: Scenario) -> tuple[object, ...] | None:
    """Return what lanes of one batch have in common; None for what is no lane."""
    system, samples = scenario.system, scenario.control.samples
    if samples is None or len(system.modes) > 1 or chart_guards(system):
        return None
    checked = offers(system, StateCheck)
    try:
        if checked is not None:
            checked.check_state(scenario.p, scenario.x0)
    except RollingError:
        return None
    times = samples[0].tobytes(), scenario.output_times.tobytes()
    events = tuple(sorted(scenario.events.items()))
    return (id(system), scenario.duration, scenario.tolerances, *times, events)


def _simulated(group: Mapping[int, Scenario]) -> dict[int, Came]:
    from rolling_dynamics.batch.sampled import Outputs, simulate_many  # noqa: PLC0415  (large)

    one, *_ = scenarios = list(group.values())
    if one.system not in _outputs:
        functions = outputs_of(one.system, margin_names(one.system))
        _outputs[one.system] = Outputs(one.system, functions)
    noted = {name for name, action in one.events.items() if action == 'record'}
    samples = [s.control.samples for s in scenarios if s.control.samples is not None]
    motions = simulate_many(
        one.system,
        np.array([s.p for s in scenarios]),
        np.array([s.x0 for s in scenarios]),
        (samples[0][0], np.stack([values for _, values in samples], axis=1)),
        one.output_times,
        _outputs[one.system],
        rtol=one.tolerances.relative,
        atol=one.tolerances.absolute,
        events={name: 'ignore' for name, action in one.events.items() if action == 'ignore'},
    )
    found = {}
    for k, number in enumerate(group):
        event = motions.stopped[k]
        if event in noted or (event and event not in one.events):
            continue
        reached = motions.reached[k]
        found[number] = Came(
            times=one.output_times[:reached],
            states=motions.states[:reached, k],
            values=motions.values[:reached, k],
            end=float(motions.ends[k]),
            steps=int(motions.steps[k]),
            stopped=bool(event),
            event=event or None,
            event_time=float(motions.ends[k]) if event else None,
        )
    return found

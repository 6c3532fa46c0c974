"""Rows of a sweep: outcomes of points, one by one or together in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TYPE_CHECKING, TypeAlias

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, compiles
from rolling_dynamics.contract.capabilities import offers, StateCheck
from rolling_dynamics.contract.contact_forces import contact_forces
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.scenario import load_plain
from rolling_dynamics.simulation.guards import chart_guards, joined, margin, margin_names
from rolling_robotics.arrays import friction_ratio
from rolling_robotics.result import simulate_scenario
from rolling_robotics.sweep.points import document_at

if TYPE_CHECKING:
    from rolling_dynamics.batch.modes import Outputs

FEWEST = 16  # points that are worth the wait for a compiler


Row: TypeAlias = dict[str, Any]
Came: TypeAlias = tuple[Row, Array, Array, Array]  # see :func:`row_of`


def outputs_of(system: RollingSystem, names: Sequence[str] = ()) -> list[ca.Function]:
    """Return margins, those of the names or its own, energy and contact forces of a system."""
    parts = [margin(name, system) for name in names or margin_names(system)]
    if 'energy' in system.invariants:
        parts.append(system.invariants['energy'])
    found = contact_forces(system, next(iter(system.modes)))
    return parts if found is None else [*parts, found.forces]


def together(scenarios: Mapping[int, Scenario]) -> dict[int, Came]:
    """
    Simulate what allows it as trajectories of one batch.

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
    """Return the common data of trajectories of one batch; None without a trajectory."""
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


@once_per_system
def _batch_outputs(system: RollingSystem) -> Outputs:
    from rolling_dynamics.batch.modes import Outputs  # noqa: PLC0415  (large)

    return Outputs(system, outputs_of(system))


def _simulated(group: Mapping[int, Scenario]) -> dict[int, Came]:
    from rolling_dynamics.batch.modes import simulate_many  # noqa: PLC0415  (large)

    one, *_ = scenarios = list(group.values())
    noted = {name for name, action in one.events.items() if action == 'record'}
    samples = [s.control.samples for s in scenarios if s.control.samples is not None]
    motions = simulate_many(
        one.system,
        np.array([s.p for s in scenarios]),
        np.array([s.x0 for s in scenarios]),
        (samples[0][0], np.stack([values for _, values in samples], axis=1)),
        one.output_times,
        _batch_outputs(one.system),
        rtol=one.tolerances.relative,
        atol=one.tolerances.absolute,
        events={name: 'ignore' for name, action in one.events.items() if action == 'ignore'},
    )
    found = {}
    for k, number in enumerate(group):
        event = motions.stopped[k]
        if event in noted or (event and event not in one.events):
            continue
        end, reached = float(motions.ends[k]), motions.reached[k]
        first = (event, end) if event else (None, None)
        head = _head(bool(event), end, int(motions.steps[k]), *first)
        states, values = motions.states[:reached, k], motions.values[:reached, k]
        found[number] = head, one.output_times[:reached], states, values
    return found


def _head(stopped: bool, end: float, steps: int, *event: Any) -> Row:  # noqa: ANN401
    """Return how a motion ended, with the name and the time of its first event."""
    status = 'stopped' if stopped else 'done'
    head = {'status': status, 'error': None, 'end': end, 'steps': steps}
    return head | dict(zip(('event', 'event_time'), event, strict=True))


def run_points(
    document: Mapping[str, Any],
    follows: Mapping[str, Any],
    points: Mapping[int, Mapping[str, Any]],
) -> list[Row]:
    """
    Return the rows of some points; a failed point gives a row with the reason.

    Parameters
    ----------
    document, follows
        See :class:`Sweep`.
    points
        Number of a point -> its values of the varied entries.

    """
    rows: dict[int, Row] = {}
    scenarios: dict[int, Scenario] = {}
    for number, values in points.items():
        with _reported(number, rows):
            scenarios[number] = load_plain(document_at(document, follows, values))
    for number, came in together(scenarios).items():
        with _reported(number, rows):
            rows[number] = {'point': number, **row_of(scenarios.pop(number), *came)}
    for number, scenario in scenarios.items():
        with _reported(number, rows):
            rows[number] = {'point': number, **outcome(scenario)}
    return [rows[number] for number in points]


@contextmanager
def _reported(number: int, rows: dict[int, Row]) -> Iterator[None]:
    """Have what goes wrong at a point reported in its row."""
    try:
        yield
    except RollingError as e:
        rows[number] = failure(number, str(e))
    except Exception as e:  # noqa: BLE001  (one point, whatever ails it, is not the sweep)
        rows[number] = failure(number, f'{type(e).__name__}: {e}')


def failure(number: int, error: str) -> Row:
    """Return the row of a point that failed."""
    return {'point': number, 'status': 'failed', 'error': error}


def outcome(scenario: Scenario) -> Row:
    """Return the result of a scenario, see :func:`row_of`."""
    trajectory = simulate_scenario(scenario)
    hit, first = trajectory.terminal_event, next(iter(trajectory.events), None)
    names = margin_names(scenario.system)  # of all modes; each has its own
    several = partial(_outputs, names=names)
    functions = _compiled_outputs if len(scenario.system.modes) == 1 else several
    values = trajectory.evaluate(functions) if trajectory.times.size else np.zeros((0, 0))
    event = (None, None) if first is None else (first.name, float(first.time))
    end = float(trajectory.segments[-1].end)
    head = _head(hit is not None, end, trajectory.steps, *event)
    return row_of(scenario, head, trajectory.times, trajectory.states, values)


def row_of(scenario: Scenario, head: Row, times: Array, states: Array, values: Array) -> Row:
    """
    Return the row of a scenario.

    Parameters
    ----------
    scenario
        The scenario.
    head
        How it ended; see below.
    times, states, values
        Output times [s], states and outputs there, a row for each.

    Returns
    -------
    dict
        ``status`` is ``done``, or ``stopped`` by an event; ``end`` [s] and ``steps``; ``event``
        and ``event_time`` of the first event; of each margin its least value and when; of the
        contact forces ``mu_needed`` and when, ``greatest_normal_force``; the change of the energy;
        ``final_...`` of each number of the state. Extremes are those at the output times.

    """
    if not times.size:
        return head
    row = head | _extremes(scenario, values, times)
    if scenario.system.state.size:
        names = (f'final_{name}' for name in scenario.system.state.names)
        row |= dict(zip(names, states[-1].tolist(), strict=True))
    return row


def _extremes(scenario: Scenario, values: Array, times: Array) -> Row:
    guards = margin_names(scenario.system)
    row: Row = {}
    for k, name in enumerate(guards):
        row |= _least(name, values[:, k], times)
    rest = values[:, len(guards) :]
    if 'energy' in scenario.system.invariants:
        row['energy_change'] = float(rest[-1, 0] - rest[0, 0])
        rest = rest[:, 1:]
    if rest.size:
        force = rest.reshape(len(times), -1, 3)
        normal, friction = force[..., 2], np.hypot(force[..., 0], force[..., 1])
        ratio = friction_ratio(normal, friction, np.where(friction > 0, np.inf, 0.0)).max(axis=1)
        k = int(np.argmax(ratio))
        row |= {'mu_needed': float(ratio[k]), 'mu_needed_time': float(times[k])}
        row['greatest_normal_force'] = float(normal.max())
    return row


def _least(name: str, values: Array, times: Array) -> Row:
    """Return the minimum of a margin and its time; none where it never exists."""
    if np.isnan(values).all():
        return {f'least_{name}': None, f'least_{name}_time': None}
    k = int(np.nanargmin(values))
    return {f'least_{name}': float(values[k]), f'least_{name}_time': float(times[k])}


def _outputs(system: RollingSystem, names: Sequence[str] = ()) -> ca.Function:
    """Return margins, energy and contact forces of a system as one function."""
    return joined('sweep_outputs', system, outputs_of(system, names))


@once_per_system
def _compiled_outputs(system: RollingSystem) -> ca.Function:
    return compiled(_outputs(system))[0]

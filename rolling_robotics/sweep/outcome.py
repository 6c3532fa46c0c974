"""What comes out at one point of a sweep: a row of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
import weakref

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.registry import load_plain
from rolling_dynamics.simulation.guards import joined, margin_names
from rolling_robotics.arrays import friction_ratio
from rolling_robotics.run_scenario import simulate_scenario
from rolling_robotics.sweep.points import document_at
from rolling_robotics.sweep.together import Came, outputs_of, together

Row = dict[str, Any]
Array = NDArray[np.float64]
_functions: weakref.WeakKeyDictionary[RollingSystem, ca.Function] = weakref.WeakKeyDictionary()


def run_points(
    document: Mapping[str, Any],
    follows: Mapping[str, Any],
    points: Mapping[int, Mapping[str, Any]],
) -> list[Row]:
    """
    Return the rows of some points; a point that fails gives a row that says why.

    Parameters
    ----------
    document, follows
        See :class:`Sweep`.
    points
        Number of a point -> what is varied there.

    """
    rows: dict[int, Row] = {}
    scenarios: dict[int, Scenario] = {}
    for number, values in points.items():
        with _told(number, rows):
            scenarios[number] = load_plain(document_at(document, follows, values))
    for number, came in together(scenarios).items():
        with _told(number, rows):
            rows[number] = {'point': number, **row_of(scenarios.pop(number), came)}
    for number, scenario in scenarios.items():
        with _told(number, rows):
            rows[number] = {'point': number, **outcome(scenario)}
    return [rows[number] for number in points]


@contextmanager
def _told(number: int, rows: dict[int, Row]) -> Iterator[None]:
    """Have what goes wrong at a point told in its row."""
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
    """Return what a scenario comes to, see :func:`row_of`."""
    trajectory = simulate_scenario(scenario)
    hit, first = trajectory.terminal_event, next(iter(trajectory.events), None)
    guards = margin_names(scenario.system)
    of_system = partial(_outputs, guards, compile_it=len(scenario.system.modes) == 1)
    came = Came(
        times=trajectory.times,
        states=trajectory.states,
        values=trajectory.evaluate(of_system) if trajectory.times.size else np.zeros((0, 0)),
        end=float(trajectory.segments[-1].end),
        steps=trajectory.steps,
        stopped=hit is not None,
        event=None if first is None else first.name,
        event_time=None if first is None else float(first.time),
    )
    return row_of(scenario, came)


def row_of(scenario: Scenario, came: Came) -> Row:
    """
    Return the row of a scenario.

    Returns
    -------
    dict
        ``status`` is ``done``, or ``stopped`` by an event; ``end`` [s] and ``steps``; ``event``
        and ``event_time`` of the first event; of each margin its least value and when; of a
        contact force ``mu_needed`` and when, ``least_normal_force``; the change of the energy;
        ``final_...`` of each number of the state. Extremes are those at the output times.

    """
    row: Row = {
        'status': 'stopped' if came.stopped else 'done',
        'error': None,
        'end': came.end,
        'steps': came.steps,
        'event': came.event,
        'event_time': came.event_time,
    }
    if not came.times.size:
        return row
    row |= _extremes(scenario, came.values, came.times)
    if scenario.system.state.size:
        names = (f'final_{name}' for name in scenario.system.state.names)
        row |= dict(zip(names, came.states[-1].tolist(), strict=True))
    return row


def _extremes(scenario: Scenario, values: Array, times: Array) -> Row:
    mode, guards = next(iter(scenario.system.modes.values())), margin_names(scenario.system)
    row: Row = {}
    for k, name in enumerate(guards):
        row |= _least(name, values[:, k], times)
    rest = values[:, len(guards) :]
    if 'energy' in scenario.system.invariants:
        row['energy_change'] = float(rest[-1, 0] - rest[0, 0])
        rest = rest[:, 1:]
    if mode.wrench is not None:
        force = rest[:, 3:]
        normal, friction = force[:, 2], np.hypot(force[:, 0], force[:, 1])
        ratio = friction_ratio(normal, friction, np.where(friction > 0, np.inf, 0.0))
        k = int(np.argmax(ratio))
        row |= {'mu_needed': float(ratio[k]), 'mu_needed_time': float(times[k])}
        row['greatest_normal_force'] = float(normal.max())
    return row


def _least(name: str, values: Array, times: Array) -> Row:
    """Return the least value of a margin and its time; none where it never exists."""
    if np.isnan(values).all():
        return {f'least_{name}': None, f'least_{name}_time': None}
    k = int(np.nanargmin(values))
    return {f'least_{name}': float(values[k]), f'least_{name}_time': float(times[k])}


def _outputs(guards: list[str], system: RollingSystem, *, compile_it: bool) -> ca.Function:
    """Return margins, energy and contact force of a system as one function."""
    if system in _functions:
        return _functions[system]
    function = joined('sweep_outputs', system, outputs_of(system, guards))
    if compile_it:
        (function,) = compiled(function)
        _functions[system] = function
    return function

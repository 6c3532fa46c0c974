"""From a goal of the action ``plan_rolling`` to the job of a worker, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, quoted
from rolling_interfaces.action import PlanRolling
from rolling_planner.nodes.conversions import named_values, whole_entries
from rolling_planner.planners.job import PlanningModel


def goal_job(
    request: PlanRolling.Goal,
    model: PlanningModel,
    options: Mapping[str, Any],
    world_frame: str,
    place_duration: float,
) -> dict[str, Any]:
    """
    Return the arguments that a goal adds to a planning job; the start is read elsewhere.

    Parameters
    ----------
    request
        The goal.
    model
        Scenario of the planner.
    options
        Default options of a goal.
    world_frame
        Frame in which waypoints and keep-out circles are given.
    place_duration
        Duration of the motion to a position [s], where neither goal nor planner has one.

    Returns
    -------
    dict
        ``goal``, ``horizon``, ``method``, ``options``, ``waypoints`` and ``keep_out``, see
        :func:`rolling_planner.planners.job.work`.

    Raises
    ------
    ParameterError
        An entry is invalid; the text names it and valid ones.

    """
    check_system(request.system, model)
    planner = model.planner
    values = named_values('goal', request.goal_names, request.goal_values)
    waypoints = _waypoints(request, world_frame)
    horizon = float(request.horizon)
    if len(waypoints) and not planner.takes_waypoints:
        is_place = len(waypoints) == 1 and not values
        values = planner.goal_at(model.scenario, waypoints[0]) if is_place else {}
        if not values:
            raise ParameterError(
                f'waypoints are not for the planner of {model.scenario.system.name}; leave them '
                'empty and plan from point to point'
            )
        waypoints, horizon = waypoints[:0], horizon or place_duration
    if not (values or len(waypoints) or planner.has_own_goal):
        names = [c for entry in planner.goal_entries(model.scenario) for c in entry.components]
        raise ParameterError(f'goal_names is empty; name states of the goal: {", ".join(names)}')
    _check_method(request.planner_id, model)
    _check_times({'horizon': horizon, 'time_budget': request.time_budget}, model)
    chosen = dict(options)
    if request.time_budget > 0.0:
        chosen['time_budget'] = float(request.time_budget)
    if len(request.goal_tolerances):
        given = named_values('goal_tolerances', request.goal_names, request.goal_tolerances)
        least = min(given.values())
        if not least > 0.0:
            raise ParameterError(f'goal_tolerances must be positive, got {least:g}')
        chosen['goal_tolerance'] = least
    return {
        'goal': whole_entries('goal', values, planner.goal_entries(model.scenario)),
        'horizon': horizon,
        'method': request.planner_id,
        'options': chosen,
        'waypoints': waypoints,
        'keep_out': _keep_out(request, model),
    }


def split_start(
    request: PlanRolling.Goal, model: PlanningModel
) -> tuple[dict[str, float], dict[str, float]]:
    """
    Return the named values of the start: of the state, and of controls in force.

    Raises
    ------
    ParameterError
        A name stands twice, a value is not finite, or the planner takes no such controls.

    """
    given = named_values('start', request.start_names, request.start_values)
    names = model.scenario.system.control.names if model.planner.takes_start_controls else ()
    controls = {name: given.pop(name) for name in names if name in given}
    return given, controls


def check_system(given: str, model: PlanningModel) -> None:
    """Raise ParameterError if a request is for another system than the scenario's."""
    wanted = model.scenario.system.name
    if given not in ('', wanted):
        raise ParameterError(
            f'system must be {wanted!r}, that of the scenario '
            f'{model.scenario.name}, got {quoted(given)}'
        )


def _check_method(given: str, model: PlanningModel) -> None:
    known = model.planner.methods
    if given and given not in known:
        raise ParameterError(
            f'planner_id must be empty or one of {", ".join(known)}, got {quoted(given)}'
        )


def _check_times(given: Mapping[str, float], model: PlanningModel) -> None:
    may_be_zero = {'horizon': model.planner.finds_duration, 'time_budget': True}
    for name, zero in may_be_zero.items():
        value = given[name]
        fine = value >= 0.0 if zero else value > 0.0
        if not (np.isfinite(value) and fine):
            least = 'zero or positive' if zero else 'positive'
            raise ParameterError(f'{name} must be {least} and finite [s], got {value!r}')


def _waypoints(request: PlanRolling.Goal, world_frame: str) -> Array:
    """Return the positions of the waypoints, shape (k, 3) [m]."""
    for k, pose in enumerate(request.waypoints):
        frame = pose.header.frame_id
        if frame not in ('', world_frame):
            raise ParameterError(
                f'waypoints[{k}]: frame_id must be {world_frame!r}, got {quoted(frame)}'
            )
    places = [w.pose.position for w in request.waypoints]
    return _finite('waypoints', [[p.x, p.y, p.z] for p in places])


def _keep_out(request: PlanRolling.Goal, model: PlanningModel) -> Array:
    """Return x, y and radius of the keep-out circles, shape (k, 3) [m]."""
    centers, radii = request.keep_out_centers, request.keep_out_radii
    if len(centers) != len(radii):
        raise ParameterError(
            'keep_out_radii must have one number for each of keep_out_centers, got '
            f'{len(radii)} and {len(centers)}'
        )
    if len(radii) and not model.planner.takes_keep_out:
        raise ParameterError(
            f'keep_out_centers are not for the planner of {model.scenario.system.name}; leave '
            'them empty, and limit states in the section plan of the scenario'
        )
    for k, radius in enumerate(radii):
        if not radius > 0.0:
            raise ParameterError(f'keep_out_radii[{k}] must be positive [m], got {radius!r}')
    circles = [[c.x, c.y, r] for c, r in zip(centers, radii, strict=True)]
    return _finite('keep_out_centers', circles)


def _finite(name: str, rows: list[list[float]]) -> Array:
    out = np.array(rows, dtype=float).reshape(-1, 3)
    if not np.all(np.isfinite(out)):
        k = int(np.argmin(np.isfinite(out).all(axis=1)))
        raise ParameterError(f'{name}[{k}] must be finite [m], got {out[k].tolist()}')
    return out

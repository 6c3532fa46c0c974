"""Law, sensors and actuators of a scenario for a page: functions to be exported, and data."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from rolling_controller.export.c import CSource
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem, tangent_steps
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_robotics.page.modes import Data, Functions


def law_of(scenario: Scenario, source: CSource | None) -> tuple[Functions, Data | None]:
    """
    Return functions and data of a law: its inputs, and the control from its output.

    Raises
    ------
    ParameterError
        It takes inputs other than the state or the numbers of the first sensor.

    """
    if source is None:
        return {}, None
    law, system = source.law, scenario.system
    of_state = law.measurement.names == system.state.names
    if not of_state and not (
        scenario.sensors and scenario.sensors[0].output.size >= law.measurement.size
    ):
        raise ParameterError(
            f'page: the controller {source.name} takes {law.measurement.names}, which are neither '
            'the state nor measured by the first sensor of the scenario'
        )
    gives = system.control.size if source.control is None else source.control.numel_in(0)
    if law.output.size != gives:
        raise ParameterError(
            f'page: the controller {source.name} does not give the control of the system'
        )
    return {} if source.control is None else {'command': source.control}, {
        'name': source.name,
        'text': law.text,
        'period': law.period,
        'nz': law.state.size,
        'nm': law.measurement.size,
        'ns': law.set_point.size,
        'no': law.output.size,
        'sensor': not of_state,
        'mapped': source.control is not None,
        'gains': [
            {'name': c, 'unit': e.unit, 'value': law.tuned[law.gains.names.index(c)]}
            for e in law.gains.entries
            for c in e.components
        ],
        'goal': [
            {'name': c, 'unit': e.unit, 'scale': e.scale}
            for e in law.set_point.entries
            for c in e.components
        ],
    }


def control_at_rest(scenario: Scenario, source: CSource | None) -> Array:
    """Return the control before the first answer, shape (m,), in the units of the control."""
    if source is None or source.control is None:
        return np.asarray(scenario.control(0.0, scenario.x0))
    return np.array(source.control(np.zeros(source.law.output.size), scenario.p)).ravel()


def sensors_of(scenario: Scenario) -> tuple[Functions, list[Data]]:
    """Return what sensors measure in each mode, and their data."""
    functions = {
        f'sense_{k}_{j}': sensor.function(scenario.system, mode)
        for k, sensor in enumerate(scenario.sensors)
        for j, mode in enumerate(scenario.system.modes)
    }
    return functions, [_sensor(sensor) for sensor in scenario.sensors]


def _sensor(s: Sensor) -> Data:
    values, vectors = np.linalg.eigh(s.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return {
        'entries': [
            [at.start, at.stop] for at in (s.output.slice(e.name) for e in s.output.entries)
        ],
        'root': root[:, root.any(axis=0)].tolist() if root.any() else [],
        **{n: v for n, v in vars(s).items() if isinstance(v, int | float)},
    }


def actuators_of(scenario: Scenario) -> Data:
    """Return what limits and delays each control, null where nothing does."""
    size = scenario.system.control.size
    out = {n: np.zeros(size) for n in ('dead_time', 'rate', 'dead_band')}
    out |= {'slew': np.full(size, np.inf), 'limit': np.array(scenario.control_limits, dtype=float)}
    for a in scenario.actuators:
        at = scenario.system.control.slice(a.control)
        for name in ('dead_time', 'rate', 'dead_band', 'slew'):
            out[name][at] = getattr(a, name)
        out['limit'][at] = np.minimum(out['limit'][at], a.limits)
    return {n: [v if np.isfinite(v) else None for v in a.tolist()] for n, a in out.items()}


def grip_of(system: RollingSystem, body: str, still: list[str]) -> tuple[Functions, list[int]]:
    """
    Return how a body is moved and pushed by hand, and which tangent numbers may change for it.

    The function is ``(x, p) -> derivatives (3 n) of place [m] and velocity [m/s] of the body by
    the tangent numbers, place (3) [m]``. Bodies in ``still`` stay where that is possible.
    """
    x, u = ca.SX.sym('x', system.state.size), ca.SX.zeros(system.control.size)
    p = ca.SX.sym('p', system.parameters.size)
    poses = dict(zip(system.pose.name_out(), system.pose.call([x, p]), strict=True))
    place = poses[body][:3, 3]
    rate = next(iter(system.modes.values())).dynamics(x, u, 0, p)
    velocity: Any = ca.jtimes(place, x, rate)
    moved = tangent_steps(system, x)
    J_place, J_velocity = ca.jacobian(place, x) @ moved, ca.jacobian(velocity, x) @ moved
    others = [poses[n] for n in still]
    held = (
        ca.jacobian(ca.vertcat(*map(ca.vec, others)), x) @ moved
        if others
        else ca.SX(0, moved.shape[1])
    )
    free = [k for k in range(moved.shape[1]) if held[:, k].nnz() == 0]
    if sum(J_place[:, k].nnz() > 0 for k in free) < 2:
        free = list(range(moved.shape[1]))
    columns = [ca.densify(ca.vec(J.T)) for J in (J_place, J_velocity)]
    return {'grip': ca.Function('grip', [x, p], [*columns, ca.densify(place)])}, free

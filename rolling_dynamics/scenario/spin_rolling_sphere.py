"""The scenario of a sphere that rolls and spins on a plane."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.formulas import check_finite, formula_of_time
from rolling_dynamics.scenario.plane_path import check_plane_path
from rolling_dynamics.scenario.registry import ScenarioReader
from rolling_dynamics.scenario.scenario import (
    read_events,
    read_output_times,
    read_tolerances,
    Scenario,
)
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.validation import check, load_schema
from rolling_dynamics.spin_rolling_sphere import attitude_from_coordinates, SpinRollingSphere
from rolling_dynamics.suggestion import suggestion
from transforms3d.quaternions import mat2quat

ENTRIES = ('u_s', 'v_s', 'u_o', 'v_o', 'psi')
CHECKED = 201  # times at which inputs are held against their limits


def spin_rolling_schema() -> dict[str, Any]:
    """Return the schema of a scenario with ``system: spin_rolling_sphere``."""
    return load_schema('rolling_dynamics.scenario', 'common', 'spin_rolling_sphere')


def read_spin_rolling(document: dict[str, Any], name: str) -> Scenario:
    """Return the scenario of a plain document with ``system: spin_rolling_sphere``."""
    check(document, spin_rolling_schema())
    top = Section(document)
    duration = top.number('duration')
    system, control = _driven(top)
    with located('radius'):
        p = system.pack_parameters(radius=top.number('radius'))
    limits = _limits(top, system)
    _check_limits(top, control, limits, system, duration)
    _check_path(top, control, system, duration)
    return Scenario(
        name=document.get('name', name),
        description=document.get('description', ''),
        system=system,
        p=p,
        x0=_start(top, system),
        control=control,
        duration=duration,
        output_times=read_output_times(top, duration),
        events=read_events(top, system.mode.guards, {}),
        control_limits=limits,
        tolerances=read_tolerances(top),
        raw=document,
    )


def _driven(top: Section) -> tuple[SpinRollingSphere, Control]:
    """Return the system and what drives it."""
    inputs = top.section('inputs')
    kind = inputs.only()
    if kind == 'angular_velocity':
        given = {'w_SO_S': list(inputs[kind])}
    else:
        given = {name: [value] for name, value in inputs.section(kind).values.items()}
    system = SpinRollingSphere(
        variant=top.get('variant', 'corrected'),
        inputs=kind,
        representation=top.get('representation', 'attitude'),
        independent_variable='time' if 'delta' in given else None,
    )
    x, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
    values = {}
    for entry in system.control.entries:
        path = f'inputs.{kind}' if entry.size > 1 else f'inputs.{kind}.{entry.name}'
        for k, value in enumerate(given.get(entry.name, [0.0] * entry.size)):
            where = f'{path}[{k}]' if entry.size > 1 else path
            with located(where):
                values[where] = formula_of_time(value, t)
    check_finite(values, t, top.number('duration'))
    function = ca.Function('control', [x, t], [ca.densify(ca.vertcat(*values.values()))])
    return system, Control(function, system.control)


def _check_path(
    top: Section, control: Control, system: SpinRollingSphere, duration: float
) -> None:
    """Refuse a path with a kink; the printed model has no such law of direction."""
    kind = top.section('inputs').only()
    if kind == 'angular_velocity' or system.variant != 'corrected':
        return
    x, names = np.zeros(system.state.size), system.control.names

    def inputs(t: float) -> dict[str, float]:
        return dict(zip(names, control(t, x).tolist(), strict=True))

    check_plane_path(kind, inputs, top.number('radius'), duration)


def _start(top: Section, system: SpinRollingSphere) -> NDArray[np.float64]:
    initial = top.section('initial')
    u_s, v_s, u_o, v_o, psi = (initial.number(name, 0.0) for name in ENTRIES)
    if 'contact_o' in system.state:
        x = system.state.pack(contact_s=[u_s, v_s], contact_o=[u_o, v_o], psi=psi)
    else:
        q = mat2quat(attitude_from_coordinates([u_o, v_o], psi))
        x = system.state.pack(contact_s=[u_s, v_s], q_SO=q)
    with located('initial'):
        system.check_state([1.0], x)
    return x


def _limits(top: Section, system: SpinRollingSphere) -> NDArray[np.float64]:
    section, names = top.section('limits'), system.control.names
    for name in section.values:
        if name not in names:
            raise section.fail(name, f'no such input{suggestion(name, names)}')
    return np.array([section.number(n) if n in section else np.inf for n in names])


def _check_limits(
    top: Section,
    control: Control,
    limits: NDArray[np.float64],
    system: SpinRollingSphere,
    duration: float,
) -> None:
    """Refuse inputs outside their limits."""
    x = np.zeros(system.state.size)
    for t in np.linspace(0.0, duration, CHECKED):
        u = control(t, x)
        over = np.flatnonzero(np.abs(u) > limits * (1 + 1e-9))
        if over.size:
            name, k = system.control.names[over[0]], over[0]
            raise top.fail(
                'inputs', f'{name} = {u[k]:g} at t = {t:g} exceeds its limit {limits[k]:g}'
            )


READER = ScenarioReader(schema=spin_rolling_schema, read=read_spin_rolling)

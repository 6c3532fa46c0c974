"""The scenario of a sphere driven by a pendulum."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.pendulum_sphere import (
    paper_parameters,
    PendulumSphere,
    Scales,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for
from rolling_dynamics.pendulum_sphere.torque_expression import swing_torque
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.formulas import check_finite, formula_of_time
from rolling_dynamics.scenario.registry import ScenarioReader
from rolling_dynamics.scenario.scenario import (
    read_events,
    read_output_times,
    read_tolerances,
    Scenario,
)
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.validation import check, load_schema

FLOOR = ('gravity', 'slope', 'azimuth', 'mu', 'rolling_resistance', 'rolling_damping')


class _Motion(NamedTuple):
    """Where a run begins and the units that it is given in."""

    params: SphereParameters
    scales: Scales
    velocity: NDArray[np.float64]
    duration: float


def pendulum_sphere_schema() -> dict[str, Any]:
    """Return the schema of a scenario with ``system: pendulum_sphere``."""
    return load_schema('rolling_dynamics.scenario', 'common', 'pendulum_sphere')


def read_pendulum_sphere(document: dict[str, Any], name: str) -> Scenario:
    """Return the scenario of a plain document with ``system: pendulum_sphere``."""
    check(document, pendulum_sphere_schema())
    top = Section(document)
    params = read_sphere(top)
    scales = Scales(mass=1.0, time=1.0, length=1.0)
    if top.get('units', 'SI') == 'dimensionless':
        scales = scales_of(params)
    system = PendulumSphere()
    initial = top.section('initial')
    V = scales.to_si('velocity', initial.numbers('velocity', [0.0, 0.0]))
    motion = _Motion(params, scales, V, top.number('duration') * scales.time)
    with located('initial'):
        x0 = system.rolling_state(
            params,
            contact=scales.to_si('length', initial.numbers('contact', [0.0, 0.0])),
            velocity=V,
            spin=initial.number('spin', 0.0) / scales.time,
            pendulum=_pendulum(initial),
        )
    turning = initial.section('pendulum').numbers('angular_velocity', np.zeros(3))
    x0[system.state.slice('w_WP_W')] = turning / scales.time
    return Scenario(
        name=document.get('name', name),
        description=document.get('description', ''),
        system=system,
        p=system.pack_parameters(params),
        x0=x0,
        control=_control(top, system, motion),
        duration=motion.duration,
        output_times=read_output_times(top, motion.duration),
        events=read_events(top, system.mode.guards, {'friction': 'record'}),
        control_limits=np.full(3, np.inf),
        tolerances=read_tolerances(top),
        raw=document,
    )


def read_sphere(top: Section) -> SphereParameters:
    """Return the checked parameters of sphere and floor."""
    sphere, floor = top.section('sphere'), top.section('floor')
    given = {k: floor.number(k) for k in FLOOR if k in floor}
    paper = paper_parameters()
    if not sphere.values:
        bodies = {
            k: getattr(paper, k)
            for k in (
                'shell_mass',
                'shell_inertia',
                'shell_radius',
                'pendulum_mass',
                'pendulum_length',
                'pendulum_inertia',
                'pendulum_excess',
            )
        }
    else:
        bodies = {k: sphere.number(k) for k in sphere.values if k != 'disk_radius'}
        M, R = bodies['shell_mass'], bodies['shell_radius']
        bodies.setdefault('shell_inertia', 2 / 3 * M * R**2)
        bodies |= _pendulum_inertia(sphere, bodies['pendulum_mass'])
    with located('sphere' if sphere.values else 'floor'):
        return SphereParameters(**bodies, **given)


def _pendulum_inertia(sphere: Section, mass: float) -> dict[str, float]:
    disk, inertia = 'disk_radius' in sphere, 'pendulum_inertia' in sphere
    if disk == inertia:
        raise sphere.fail(
            'disk_radius',
            'give either the radius of a thin disk, or pendulum_inertia and '
            f'pendulum_excess; got {"both" if disk else "neither"}',
        )
    if inertia:
        return {'pendulum_excess': sphere.number('pendulum_excess', 0.0)}
    i = mass * sphere.number('disk_radius') ** 2 / 4
    return {'pendulum_inertia': i, 'pendulum_excess': i}


def _pendulum(initial: Section) -> NDArray[np.float64] | None:
    if 'pendulum' not in initial:
        return None
    section = initial.section('pendulum')
    theta, phi = section.number('theta'), section.number('phi', 0.0)
    return np.array(
        [math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi), -math.cos(theta)]
    )


def _control(top: Section, system: PendulumSphere, motion: _Motion) -> Control:
    drive = top.section('drive')
    x, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
    u = ca.SX.zeros(3)
    borders: tuple[float, ...] = ()
    if 'torque' in drive:
        unit, clock = motion.scales.unit('torque'), ca.SX.sym('clock')
        values = {}
        for k, value in enumerate(drive['torque']):
            with located(f'drive.torque[{k}]'):
                values[f'drive.torque[{k}]'] = formula_of_time(value, clock)
        check_finite(values, clock, motion.duration / motion.scales.time)
        given = ca.Function('torque', [clock], [unit * ca.vertcat(*values.values())])
        u = given(t / motion.scales.time)
    elif 'gaits' in drive:
        swings = _swings(drive, motion)
        u = swing_torque(t, motion.params, swings)
        borders = tuple(b for start, s in swings for b in (start, start + s.period))
    function = ca.Function('control', [x, t], [ca.densify(u)])
    return Control(function, system.control, borders=borders)


def _swings(drive: Section, motion: _Motion) -> list[tuple[float, SpatialSwing]]:
    """Return start and swing of each gait; the velocity is followed from one to the next."""
    V, clock, out = motion.velocity.copy(), 0.0, []
    for k, entry in enumerate(drive['gaits']):
        gait = Section(entry, f'drive.gaits[{k}]')
        start = gait.number('start') * motion.scales.time
        period = gait.number('period') * motion.scales.time
        if start < clock * (1 - 1e-12):
            raise gait.fail(
                'start',
                f'the gait before ends at {clock / motion.scales.time:.6g}: a gait '
                'begins when the pendulum rests',
            )
        change = _velocity_change(gait, V, motion)
        with located(gait.path):
            swing = swing_for(motion.params, change, period)
        out.append((start, swing))
        clock, V = start + period, V + change
    return out


def _velocity_change(
    gait: Section, V: NDArray[np.float64], motion: _Motion
) -> NDArray[np.float64]:
    if ('speed_change' in gait) == ('turn_angle' in gait):
        raise gait.fail('speed_change', 'give exactly one of speed_change and turn_angle')
    speed = float(np.hypot(*V))
    if 'turn_angle' in gait:
        angle = gait.number('turn_angle')
        if not (abs(angle) < math.pi / 2 and speed > 0):
            raise gait.fail(
                'turn_angle',
                f'one swing turns a motion by less than pi/2; got {angle:.6g} rad '
                f'at a speed of {speed:.6g} m/s; swing along a `direction` instead',
            )
        return np.array([-V[1], V[0]]) * math.tan(angle)
    along = gait.number('direction', math.atan2(V[1], V[0]) if speed > 0 else 0.0)
    change = gait.number('speed_change') * motion.scales.unit('velocity')
    return change * np.array([math.cos(along), math.sin(along)])


READER = ScenarioReader(schema=pendulum_sphere_schema, read=read_pendulum_sphere)

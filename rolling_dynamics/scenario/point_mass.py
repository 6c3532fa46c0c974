"""Scenarios of balls and disks driven by internal masses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.internal_masses import FreeMass, PointMassBall, PointMassDisk, RailMass
from rolling_dynamics.internal_masses.checks import check_apart, check_trajectories
from rolling_dynamics.internal_masses.path import PlanePath
from rolling_dynamics.internal_masses.rails import (
    Circle,
    Ellipse,
    ExpressionRail,
    FigureEight,
    published_frame,
    Rail,
    Spline,
    Straight,
)
from rolling_dynamics.scenario.attitude import read_attitude
from rolling_dynamics.scenario.point_mass_drive import read_drives
from rolling_dynamics.scenario.scenario import (
    read_events,
    read_output_times,
    read_tolerances,
    Scenario,
)
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.validation import check, load_schema
from transforms3d.quaternions import quat2mat

Array = NDArray[np.float64]
DEFAULT_EVENTS = {'friction': 'record'}  # the others stop the simulation
System = PointMassBall | PointMassDisk
NEEDED = {
    'circle': ('radius',),
    'ellipse': ('semi_axes',),
    'straight': ('direction', 'stops'),
    'figure_eight': ('length', 'width'),
    'spline': ('points',),
    'expression': ('position',),
}
ALLOWED = {
    'circle': ('centre', 'frame', 'normal', 'stops'),
    'ellipse': ('centre', 'frame', 'normal', 'stops'),
    'straight': ('centre',),
    'figure_eight': ('centre', 'frame', 'normal', 'stops'),
    'spline': ('closed',),
    'expression': ('dimensions', 'period', 'stops'),
}


def ball_schema() -> dict[str, Any]:
    """Return the schema of a scenario with ``system: point_mass_ball``."""
    return load_schema('rolling_dynamics.scenario', 'common', 'point_mass', 'point_mass_ball')


def disk_schema() -> dict[str, Any]:
    """Return the schema of a scenario with ``system: point_mass_disk``."""
    return load_schema('rolling_dynamics.scenario', 'common', 'point_mass', 'point_mass_disk')


def read_ball(document: dict[str, Any], name: str) -> Scenario:
    """Return the scenario of a plain document with ``system: point_mass_ball``."""
    check(document, ball_schema())
    return _scenario(Section(document), name, PointMassBall, _ball)


def read_disk(document: dict[str, Any], name: str) -> Scenario:
    """Return the scenario of a plain document with ``system: point_mass_disk``."""
    check(document, disk_schema())
    return _scenario(Section(document), name, PointMassDisk, _disk)


def _ball(
    top: Section,
    system: Any,  # noqa: ANN401
    common: dict[str, Any],
) -> tuple[Array, dict[str, Any]]:
    body, initial = top.section('ball'), top.section('initial')
    p = system.pack_parameters(
        mass=body.number('mass'),
        radius=body.number('radius'),
        inertia=body.numbers('inertia'),
        centre_of_mass=body.numbers('centre_of_mass', np.zeros(3)),
        **common,
    )
    return p, {
        'q_WB': read_attitude(initial, 'attitude'),
        'w_WB_B': initial.numbers('angular_velocity', np.zeros(3)),
    } | _place(top, initial)


def _place(top: Section, initial: Section) -> dict[str, Any]:
    """Return where a ball stands: on its path, or on the plane."""
    own, other = ('path', 'position') if 'path' in top else ('position', 'path')
    if other in initial:
        raise initial.fail(other, f'give {own} instead: it is in the state of this ball')
    return {'path' if own == 'path' else 'p': initial.numbers(own, np.zeros(2))}


def _disk(
    top: Section,
    system: Any,  # noqa: ANN401
    common: dict[str, Any],
) -> tuple[Array, dict[str, Any]]:
    body, initial = top.section('disk'), top.section('initial')
    p = system.pack_parameters(
        mass=body.number('mass'),
        radius=body.number('radius'),
        polar_inertia=body.number('polar_inertia'),
        centre_of_mass=body.numbers('centre_of_mass', np.zeros(2)),
        **common,
    )
    return p, {
        'phi': initial.number('angle', 0.0),
        'phi_rate': initial.number('rate', 0.0),
        'p': initial.number('position', 0.0),
    }


def _scenario(
    top: Section,
    name: str,
    kind: type[System],
    body: Callable[[Section, System, dict[str, Any]], tuple[Array, dict[str, Any]]],
) -> Scenario:
    """Return the scenario of a checked document."""
    sections = [Section(m, f'masses[{k}]') for k, m in enumerate(top.get('masses', []))]
    masses = [_mass(s) for s in sections]
    options: dict[str, Any] = {'mass_size': top.number('mass_size', 0.0)}
    if 'path' in top:
        with located('path'):
            options['path'] = PlanePath(top['path'])
    with located('force'):
        system = kind(masses, force=top.get('force'), **options)
    friction = top.section('friction')
    common: dict[str, Any] = {'mu': friction.number('mu', 1.0)}
    if 'mu_kinetic' in friction:
        common['mu_kinetic'] = friction.number('mu_kinetic')
    if 'gravity' in top:
        common['gravity_W'] = top.numbers('gravity')
    with located(kind.name.removeprefix('point_mass_')):
        p, start = body(top, system, common)
    on_rails = [s for s, m in zip(sections, masses, strict=True) if isinstance(m, RailMass)]
    theta = np.array([s.number('theta', 0.0) for s in on_rails])
    with located('masses'):
        check_apart(masses, theta, top.number('mass_size', 0.0))
        radius = float(p[system.parameters.slice('radius')][0])
        check_trajectories(masses, radius, top.number('duration'))
    if on_rails:
        start |= {
            'theta': theta,
            'theta_rate': np.array([s.number('theta_rate', 0.0) for s in on_rails]),
        }
    duration = top.number('duration')
    return Scenario(
        name=top.get('name', name),
        description=top.get('description', ''),
        system=system,
        p=p,
        x0=system.state.pack(**start),
        control=read_drives(on_rails, system.state, system.control, duration),
        duration=duration,
        output_times=read_output_times(top, duration),
        events=read_events(top, system.mode.guards, DEFAULT_EVENTS),
        control_limits=_limits(top, system),
        tolerances=read_tolerances(top),
        raw=top.values,
    )


def _limits(top: Section, system: System) -> Array:
    given = top.section('limits').numbers('theta_acceleration', np.inf)
    if given.size not in (1, system.control.size):
        raise top.section('limits').fail(
            'theta_acceleration',
            f'takes one number or {system.control.size}, got {given.size}',
        )
    return np.array(np.broadcast_to(given.reshape(-1), (system.control.size,)))


def _mass(section: Section) -> RailMass | FreeMass:
    given = [key for key in ('rail', 'trajectory') if key in section]
    if len(given) != 1:
        got = ' and '.join(given) or 'neither'
        raise section.fail('', f'exactly one of rail and trajectory is needed, got {got}')
    with located(section.path):
        if given == ['trajectory']:
            for key in ('theta', 'theta_rate', 'drive'):
                if key in section:
                    raise section.fail(key, 'has no meaning for a mass on a trajectory')
            return FreeMass(section.number('mass'), section['trajectory'])
        return RailMass(section.number('mass'), _rail(section.section('rail')))


def _rail(section: Section) -> Rail:
    kind = section['kind']
    for key in NEEDED[kind]:
        if key not in section:
            raise section.fail(key, f'is missing; a rail of kind {kind} needs it')
    known = {'kind', *NEEDED[kind], *ALLOWED[kind]}
    for key in section.values:
        if key not in known:
            raise section.fail(key, f'has no meaning for a rail of kind {kind}')
    if 'frame' in section and 'normal' in section:
        raise section.fail('normal', 'and frame say the same; leave one of the two out')
    with located(section.path):
        return KINDS[kind](section)


def _placed(section: Section) -> dict[str, Any]:
    frame = quat2mat(read_attitude(section, 'frame'))
    if 'normal' in section:
        frame = published_frame(section.numbers('normal'))
    return {
        'centre': section.numbers('centre', np.zeros(3)),
        'frame': frame,
        'stops': _stops(section),
    }


def _stops(section: Section) -> tuple[float, float] | None:
    if 'stops' not in section:
        return None
    low, high = section.numbers('stops')
    return float(low), float(high)


KINDS: dict[str, Callable[[Section], Rail]] = {
    'circle': lambda s: Circle(s.number('radius'), **_placed(s)),
    'ellipse': lambda s: Ellipse(s.numbers('semi_axes'), **_placed(s)),
    'straight': lambda s: Straight(
        s.numbers('direction'), _stops(s) or (0.0, 0.0), s.numbers('centre', np.zeros(3))
    ),
    'figure_eight': lambda s: FigureEight(s.number('length'), s.number('width'), **_placed(s)),
    'spline': lambda s: Spline(s.numbers('points'), closed=s.get('closed', False)),
    'expression': lambda s: ExpressionRail(
        s['position'],
        {k: s.section('dimensions').number(k) for k in s.get('dimensions', {})},
        stops=_stops(s),
        period=s.number('period') if 'period' in s else None,
    ),
}

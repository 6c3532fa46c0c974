"""Scenarios of balls and disks driven by internal masses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk, RailMass
from rolling_dynamics.internal_masses.checks import check_apart, check_trajectories
from rolling_dynamics.internal_masses.masses import Mass
from rolling_dynamics.internal_masses.obstacles import Box
from rolling_dynamics.internal_masses.path import PlanePath
from rolling_dynamics.scenario.attitude import read_attitude
from rolling_dynamics.scenario.point_mass_drive import read_drives
from rolling_dynamics.scenario.point_mass_hybrid import check_hybrid, hybrid_runner, hybrid_start
from rolling_dynamics.scenario.point_mass_rails import read_mass
from rolling_dynamics.scenario.registry import ScenarioReader
from rolling_dynamics.scenario.scenario import (
    read_events,
    read_output_times,
    read_tolerances,
    Scenario,
)
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.validation import check, load_schema

Array = NDArray[np.float64]
DEFAULT_EVENTS = {'friction': 'record'}  # the others stop the simulation
System = PointMassBall | PointMassDisk


@dataclass(frozen=True)
class Body:
    """
    What the scenarios of a ball and of a disk have of their own.

    Attributes
    ----------
    section
        Name of the section that describes it.
    kind
        Its class.
    inertia
        Name of its inertia, in the section and of the parameter.
    axes
        Components of its centre of mass.
    start
        ``(scenario, initial) -> entries`` of the state of a body that rolls.

    """

    section: str
    kind: type[System]
    inertia: str
    axes: int
    start: Callable[[Section, Section], dict[str, Any]]

    def schema(self) -> dict[str, Any]:
        """Return the schema of its scenarios."""
        return load_schema('rolling_dynamics.scenario', 'common', 'point_mass', self.kind.name)


def _ball_start(top: Section, initial: Section) -> dict[str, Any]:
    """Return attitude, spin and place of a ball: on its path, or on the plane."""
    own, other = ('path', 'position') if 'path' in top else ('position', 'path')
    if other in initial:
        raise initial.fail(other, f'give {own} instead: it is in the state of this ball')
    return {
        'q_WB': read_attitude(initial, 'attitude'),
        'w_WB_B': initial.numbers('angular_velocity', np.zeros(3)),
        'path' if own == 'path' else 'p': initial.numbers(own, np.zeros(2)),
    }


def _disk_start(_top: Section, initial: Section) -> dict[str, Any]:
    return {
        'phi': initial.number('angle', 0.0),
        'phi_rate': initial.number('rate', 0.0),
        'p': initial.number('position', 0.0),
    }


BALL = Body('ball', PointMassBall, 'inertia', 3, _ball_start)
DISK = Body('disk', PointMassDisk, 'polar_inertia', 2, _disk_start)


def _scenario(document: dict[str, Any], name: str, body: Body) -> Scenario:
    """Return the scenario of a plain document."""
    check(document, body.schema())
    top, initial = Section(document), Section(document).section('initial')
    check_hybrid(top)
    sections = [Section(m, f'masses[{k}]') for k, m in enumerate(top.get('masses', []))]
    masses = tuple(read_mass(s) for s in sections)
    system = _system(top, body, masses)
    with located(body.section):
        p = _parameters(top, body, system)
    on_rails = [s for s, m in zip(sections, masses, strict=True) if isinstance(m, RailMass)]
    theta = np.array([s.number('theta', 0.0) for s in on_rails])
    duration = top.number('duration')
    with located('masses'):
        check_apart(masses, theta, system.mass_size)
        check_trajectories(masses, top.section(body.section).number('radius'), duration)
    start = body.start(top, initial)
    if on_rails:
        rates = np.array([s.number('theta_rate', 0.0) for s in on_rails])
        start |= {'theta': theta, 'theta_rate': rates}
    if system.unilateral:
        start = hybrid_start(initial, start, system, p)
    control = read_drives(on_rails, system.state, system.control, duration)
    return Scenario(
        name=top.get('name', name),
        description=top.get('description', ''),
        system=system,
        p=p,
        x0=system.state.pack(**start),
        control=control,
        duration=duration,
        output_times=read_output_times(top, duration),
        events=read_events(top, system.mode.guards, DEFAULT_EVENTS),
        control_limits=_limits(top, system),
        tolerances=read_tolerances(top),
        raw=document,
        runner=hybrid_runner(top) if system.unilateral else None,
    )


def _system(top: Section, body: Body, masses: tuple[Mass, ...]) -> System:
    force = top.get('force')
    with located('force'):
        return _built(
            body.kind,
            masses,
            None if force is None else tuple(force),
            'hybrid' in top,
            top.number('mass_size', 0.0),
            _obstacles(top, body),
            tuple(top['path']) if 'path' in top else None,
        )


@lru_cache(maxsize=16)
def _built(
    kind: type[System],
    masses: tuple[Mass, ...],
    force: tuple[str | float, ...] | None,
    unilateral: bool,
    mass_size: float,
    obstacles: tuple[Box, ...],
    path: tuple[str | float, ...] | None,
) -> System:
    """Return a system; scenarios that differ in numbers only share one."""
    options: dict[str, Any] = {}
    if path is not None:
        with located('path'):
            options['path'] = PlanePath(path)
    return kind(
        masses,
        force=force,
        unilateral=unilateral,
        mass_size=mass_size,
        obstacles=obstacles,
        **options,
    )


def _obstacles(top: Section, body: Body) -> tuple[Box, ...]:
    out = []
    for k, given in enumerate(top.get('obstacles', [])):
        section = Section(given, f'obstacles[{k}]')
        if 'y' in section and body.axes == 2:
            raise section.fail('y', 'has no meaning for a disk, which stays in its plane')
        sides: dict[str, Any] = {n: _pair(section, n) for n in ('x', 'y') if n in section}
        with located(section.path):
            out.append(Box(height=section.number('height'), **sides))
    return tuple(out)


def _pair(section: Section, key: str) -> tuple[float, float]:
    low, high = section.numbers(key)
    return float(low), float(high)


def _parameters(top: Section, body: Body, system: Any) -> Array:  # noqa: ANN401
    own, friction = top.section(body.section), top.section('friction')
    common: dict[str, Any] = {'mu': friction.number('mu', 1.0)}
    if 'mu_kinetic' in friction:
        common['mu_kinetic'] = friction.number('mu_kinetic')
    if 'gravity' in top:
        common['gravity_W'] = top.numbers('gravity')
    p: Array = system.pack_parameters(
        mass=own.number('mass'),
        radius=own.number('radius'),
        centre_of_mass=own.numbers('centre_of_mass', np.zeros(body.axes)),
        **{body.inertia: own.numbers(body.inertia)},
        **common,
    )
    return p


def _limits(top: Section, system: System) -> Array:
    given = top.section('limits').numbers('theta_acceleration', np.inf)
    if given.size not in (1, system.control.size):
        raise top.section('limits').fail(
            'theta_acceleration',
            f'takes one number or {system.control.size}, got {given.size}',
        )
    return np.array(np.broadcast_to(given.reshape(-1), (system.control.size,)))


BALL_READER = ScenarioReader(schema=BALL.schema, read=partial(_scenario, body=BALL))
DISK_READER = ScenarioReader(schema=DISK.schema, read=partial(_scenario, body=DISK))

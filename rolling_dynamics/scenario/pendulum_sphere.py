"""The scenario of a sphere driven by a pendulum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
import math
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.pendulum_sphere.parameters import (
    BODIES,
    FLOOR,
    paper_parameters,
    Scales,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for, swing_torque
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.scenario.control import check_finite, Control
from rolling_dynamics.scenario.faults import check, located
from rolling_dynamics.scenario.fields import (
    described,
    formulas,
    note,
    OneOf,
    pair,
    quantity,
    refused,
    Section,
    section,
    TIME,
    vector,
)
from rolling_dynamics.scenario.scenario import Scenario, ScenarioFile
from rolling_dynamics.scenario.surface_section import sphere_volume


class Sphere(Section):
    """The bodies; left out, those of the paper with a shell of 0.15 m and a pendulum of 1 kg."""

    shell_mass: float = described(BODIES, 'shell_mass')
    shell_inertia: float | None = described(
        BODIES, 'shell_inertia', text='about every axis (default: a thin shell)', default=None
    )
    shell_radius: float = described(BODIES, 'shell_radius')
    pendulum_mass: float = described(BODIES, 'pendulum_mass')
    pendulum_length: float = described(BODIES, 'pendulum_length')
    disk_radius: float | None = quantity(
        'the pendulum is a thin disk of this radius', 'm', positive=True, default=None
    )
    pendulum_inertia: float | None = described(
        BODIES, 'pendulum_inertia', text='across its axis, unless it is a disk', default=None
    )
    pendulum_excess: float = described(BODIES, 'pendulum_excess', default=0.0)

    @model_validator(mode='after')
    def _one_inertia(self) -> Sphere:
        disk, inertia = self.disk_radius is not None, self.pendulum_inertia is not None
        if disk == inertia:
            raise refused(
                'give either the radius of a thin disk, or pendulum_inertia and '
                f'pendulum_excess; got {"both" if disk else "neither"}',
                'disk_radius',
            )
        return self

    def bodies(self) -> dict[str, float]:
        """Return the parameters of shell and pendulum."""
        M, R = self.shell_mass, self.shell_radius
        i, j = self.pendulum_inertia, self.pendulum_excess
        if self.disk_radius is not None:
            i = j = self.pendulum_mass * self.disk_radius**2 / 4
        return {
            'shell_mass': M,
            'shell_inertia': self.shell_inertia or 2 / 3 * M * R**2,
            'shell_radius': R,
            'pendulum_mass': self.pendulum_mass,
            'pendulum_length': self.pendulum_length,
            'pendulum_inertia': i or 0.0,
            'pendulum_excess': j,
        }


class Floor(Section):
    """The floor, level and without resistance by default."""

    gravity: float = described(FLOOR, 'gravity', default=SphereParameters.gravity)
    slope: float = quantity('against the horizontal', 'rad', default=0.0)
    azimuth: float = quantity('direction in which it falls, from x', 'rad', default=0.0)
    mu: float = described(FLOOR, 'mu', default=SphereParameters.mu)
    rolling_resistance: float = described(FLOOR, 'rolling_resistance', default=0.0)
    rolling_damping: float = described(FLOOR, 'rolling_damping', default=0.0)


class Pendulum(Section):
    """Direction of the pendulum, at rest by default."""

    theta: float = quantity('angle from hanging along the normal, 0 to pi', 'rad')
    phi: float = quantity('direction in which it is raised, from x', 'rad', default=0.0)
    angular_velocity: Array = vector('in W', 'rad/s', default=np.zeros(3))

    def direction(self) -> Array:
        """Return the unit vector from the centre to the pendulum, in W."""
        theta, phi = self.theta, self.phi
        return np.array(
            [math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi), -math.cos(theta)]
        )


class Initial(Section):
    """At the start; by default at rest in the origin, the pendulum in its equilibrium."""

    contact: Array = pair('contact point', 'm', default=np.zeros(2))
    velocity: Array = pair('of the contact point', 'm/s', default=np.zeros(2))
    spin: float = quantity('of the shell about the normal', 'rad/s', default=0.0)
    pendulum: Pendulum | None = note(default=None)


class Gait(Section):
    """A swing."""

    start: float = quantity('when it begins', 's', least=0)
    period: float = quantity('how long it takes', 's', positive=True)
    speed_change: float | None = quantity('along `direction`', 'm/s', default=None)
    direction: float | None = quantity('from x (default: that of the motion)', 'rad', default=None)
    turn_angle: float | None = quantity(
        'turn of the motion, to the left; instead of speed_change', 'rad', default=None
    )

    @model_validator(mode='after')
    def _one_change(self) -> Gait:
        if (self.speed_change is None) == (self.turn_angle is None):
            raise refused('give exactly one of speed_change and turn_angle', 'speed_change')
        return self


class DriveSection(OneOf):
    """Drive of the sphere; none by default."""

    torque: list[ca.SX] | None = formulas(
        'on the pendulum, in W, over time', 'N m', count=3, default=None
    )
    gaits: list[Gait] | None = note('swings, one after the other', min_length=1, default=None)


class _Motion(NamedTuple):
    """Start of a run and the units in which it is given."""

    params: SphereParameters
    scales: Scales
    velocity: Array
    duration: float


class PendulumSphereFile(ScenarioFile):
    """A sphere driven by a pendulum. W stands on the floor, z along its normal."""

    units: Literal['SI', 'dimensionless'] = note(
        "units of `initial`, `drive` and `duration`; `dimensionless` are the paper's, t_0 and g "
        't_0^2. Sphere and floor are in SI always',
        default='SI',
    )
    sphere: Sphere | None = note(default=None)
    floor: Floor = section(Floor)
    initial: Initial = section(Initial)
    drive: DriveSection | None = note(default=None)

    def parameters(self) -> SphereParameters:
        """Return the parameters of sphere and floor."""
        if self.sphere is None:
            with located('floor'):
                return replace(paper_parameters(), **dict(self.floor))
        with located('sphere'):
            return SphereParameters(**self.sphere.bodies(), **dict(self.floor))

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario."""
        params = self.parameters()
        scales = Scales(mass=1.0, time=1.0, length=1.0)
        if self.units == 'dimensionless':
            scales = scales_of(params)
        system, initial = PendulumSphere(), self.initial
        V = scales.to_si('velocity', initial.velocity)
        motion = _Motion(params, scales, V, self.duration * scales.time)
        pendulum = initial.pendulum
        with located('initial'):
            x0 = system.rolling_state(
                params,
                contact=scales.to_si('length', initial.contact),
                velocity=V,
                spin=initial.spin / scales.time,
                pendulum=None if pendulum is None else pendulum.direction(),
            )
        turning = np.zeros(3) if pendulum is None else pendulum.angular_velocity
        x0[system.state.slice('w_WP_W')] = turning / scales.time
        return Scenario(
            p=system.pack_parameters(params),
            x0=x0,
            control=self._control(system, motion),
            control_limits=np.full(3, np.inf),
            **self.common(name, raw, system, {'friction': 'record'}, motion.duration),
        )

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return the sphere with the pendulum inside."""
        if self.sphere is None:
            return []
        mass = self.sphere.shell_mass + self.sphere.pendulum_mass
        volume = sphere_volume(self.sphere.shell_radius)
        return [('sphere.shell_mass', mass, volume)]

    def _control(self, system: PendulumSphere, motion: _Motion) -> Control:
        x, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
        u = ca.SX.zeros(3)
        borders: tuple[float, ...] = ()
        torques, gaits = (self.drive.torque, self.drive.gaits) if self.drive else (None, None)
        if torques is not None:
            values = {f'drive.torque[{k}]': value for k, value in enumerate(torques)}
            check_finite(values, TIME, motion.duration / motion.scales.time)
            unit = motion.scales.unit('torque')
            torque = ca.Function('torque', [TIME], [unit * ca.vertcat(*values.values())])
            u = torque(t / motion.scales.time)
        elif gaits is not None:
            swings = _swings(gaits, motion)
            u = swing_torque(t, motion.params, swings)
            borders = tuple(b for start, s in swings for b in (start, start + s.period))
        function = ca.Function('control', [x, t], [ca.densify(u)])
        return Control(function, system.control, borders=borders)


def read_sphere(document: Mapping[str, Any]) -> SphereParameters:
    """Return the parameters of sphere and floor of a scenario as plain data."""
    return check(PendulumSphereFile, document).parameters()


def _swings(gaits: Sequence[Gait], motion: _Motion) -> list[tuple[float, SpatialSwing]]:
    """Return start and swing of each gait; the velocity is followed from one to the next."""
    V, clock, out = motion.velocity.copy(), 0.0, []
    for k, gait in enumerate(gaits):
        path = f'drive.gaits[{k}]'
        start, period = gait.start * motion.scales.time, gait.period * motion.scales.time
        if start < clock * (1 - 1e-12):
            raise ScenarioError(
                f'{path}.start: the gait before ends at {clock / motion.scales.time:.6g}: a gait '
                'begins when the pendulum rests'
            )
        change = _velocity_change(gait, path, V, motion)
        with located(path):
            swing = swing_for(motion.params, change, period)
        out.append((start, swing))
        clock, V = start + period, V + change
    return out


def _velocity_change(gait: Gait, path: str, V: Array, motion: _Motion) -> Array:
    speed = float(np.hypot(*V))
    if gait.speed_change is None:
        angle = gait.turn_angle or 0.0
        if not (abs(angle) < math.pi / 2 and speed > 0):
            raise ScenarioError(
                f'{path}.turn_angle: one swing turns a motion by less than pi/2; got '
                f'{angle:.6g} rad at a speed of {speed:.6g} m/s; swing along a `direction` instead'
            )
        return np.array([-V[1], V[0]]) * math.tan(angle)
    along = gait.direction
    if along is None:
        along = math.atan2(V[1], V[0]) if speed > 0 else 0.0
    change = gait.speed_change * motion.scales.unit('velocity')
    return change * np.array([math.cos(along), math.sin(along)])

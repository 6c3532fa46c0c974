"""Scenarios of balls and disks driven by internal masses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.friction import MU, MU_KINETIC
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import (
    Box,
    check_apart,
    check_trajectories,
    Mass,
    RailMass,
)
from rolling_dynamics.internal_masses.system import RADIUS, SHELL_MASS
from rolling_dynamics.mechanism.rolling import PlanePath
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import (
    described,
    either,
    entry,
    Formula,
    note,
    pair,
    quantity,
    Section,
    section,
    tensors,
    Term,
    terms,
    vector,
)
from rolling_dynamics.scenario.hand_motion import Attitude, quaternion_of
from rolling_dynamics.scenario.point_mass_parts import (
    Breakpoints,
    mass_of,
    MassSection,
    read_drives,
)
from rolling_dynamics.scenario.scenario import Scenario, ScenarioFile
from rolling_dynamics.scenario.surface_section import sphere_volume
from transforms3d.quaternions import quat2mat

DEFAULT_EVENTS = {'friction': 'record'}  # the others stop the simulation
STARTS = ('theta', 'theta_rate', 'drive')  # entries of a mass that are not part of the system
System = PointMassBall | PointMassDisk


class DrivenMass(MassSection):
    """A mass, where it starts and what drives it."""

    theta: float = quantity('place on the rail at the start', default=0.0)
    theta_rate: float = quantity('its rate', default=0.0)
    drive: ca.SX | Breakpoints = entry(
        either(scalar=Formula, mapping=Breakpoints),
        "acceleration theta'' along the rail: a formula of `t`, or `times` and `values`, "
        'straight in between, a repeated time is a jump (default: 0)',
        default=ca.SX(0),
    )


class Obstacle(Section):
    """A box on the plane."""

    x: Array = pair('where it begins and ends along x', 'm')
    y: Array | None = pair('along y (default: without end, and of a disk)', 'm', default=None)
    height: float = quantity('of its top over the plane', 'm', positive=True)


class Friction(Section):
    """The contact."""

    mu: float = described([MU], 'mu', default=1.0)
    mu_kinetic: float | None = described(
        [MU_KINETIC], 'mu_kinetic', text='kinetic (default: that of static)', default=None
    )


class Limits(Section):
    """Maximum magnitudes for a plan and a warning."""

    theta_acceleration: Array = entry(
        tensors(),
        'acceleration of the masses, one number or one for each',
        default=np.array(np.inf),
    )


class Shell(Section):
    """Common fields of the shells of a ball and of a disk."""

    mass: float = described([SHELL_MASS], 'mass')
    radius: float = described([RADIUS], 'radius')


# of the radius: a centre lower than this over its height of rest is on the plane
ON_THE_WAY = 1e-9


class Hybrid(Section):
    """
    The body may leave the plane, fly and land.

    Without this section it rolls only, and the run stops where the normal force vanishes.
    """

    sliding: bool = note(
        'whether the motion goes on after slip begins, with `friction.mu_kinetic`; the papers '
        'leave open what follows, and by default the run ends there',
        default=False,
    )
    mode: Literal['rolling', 'slipping', 'separated'] = note('at the start', default='rolling')


def height() -> Any:  # noqa: ANN401  as fields are
    """Return the field of a height."""
    return quantity(
        'of the centre over the plane, with `hybrid`; the radius by default', 'm', default=None
    )


class MassDrivenFile(ScenarioFile):
    """A ball or a disk driven by internal masses."""

    kind: ClassVar[type[System]]
    body: ClassVar[str]  # name of the section that describes the shell

    masses: list[DrivenMass] = note('masses inside (default: none)', default=[])
    mass_size: float = quantity(
        'masses whose centres come nearer than this meet; not watched if 0',
        'm',
        least=0,
        default=0.0,
    )
    obstacles: list[Obstacle] = note(
        'boxes on the plane; to touch one is the event `obstacle_1` and so on', default=[]
    )
    hybrid: Hybrid | None = note(default=None)
    force: list[Term] | None = terms(
        'force at the geometric centre in the world: formulas of `t`, of its place `x y z` and '
        'velocity `vx vy vz`, of the attitude `qw qx qy qz`, the angular velocity in the world '
        '`wx wy wz`, and of the masses on rails, `theta_1`, `theta_rate_1` and so on',
        'N',
        count=3,
        default=None,
    )
    gravity: Array | None = vector(
        'gravity in the world (default: [0, 0, -9.81])', 'm/s^2', default=None
    )
    friction: Friction = section(Friction)
    limits: Limits = section(Limits)

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario."""
        self._check_hybrid()
        paths = [f'masses[{k}]' for k in range(len(self.masses))]
        masses = tuple(map(mass_of, raw.get('masses', ()), paths))
        moved = {
            path: given
            for path, given, mass in zip(paths, self.masses, masses, strict=True)
            if _on_rail(path, given, mass)
        }
        system = self._system(masses)
        if self.hybrid and not self.hybrid.sliding:
            system = system.ending_at_slip
        with located(self.body):
            p = self._parameters(system)
        theta = np.array([m.theta for m in moved.values()])
        with located('masses'):
            check_apart(masses, theta, system.mass_size)
            check_trajectories(masses, self.shell.radius, self.duration)
        x0 = self.rolling()
        if moved:
            rates = np.array([m.theta_rate for m in moved.values()])
            x0 |= {'theta': theta, 'theta_rate': rates}
        if system.unilateral:
            x0 = _hybrid_start(self.start, x0, system, p)
        drives = {f'{path}.drive': m.drive for path, m in moved.items()}
        return Scenario(
            p=p,
            x0=system.state.pack(**x0),
            control=read_drives(drives, system.state, system.control, self.duration),
            control_limits=self._limits(system),
            mode=self.hybrid.mode if self.hybrid else None,
            **self.common(name, raw, system, DEFAULT_EVENTS),
        )

    @property
    def shell(self) -> Shell:
        """The section that describes the shell."""
        shell: Shell = vars(self)[self.body]
        return shell

    @property
    def start(self) -> BallStart | DiskStart:
        """The section ``initial``."""
        start: BallStart | DiskStart = vars(self)['initial']
        return start

    def _check_hybrid(self) -> None:
        """Reject entries without a meaning with ``hybrid``, or without it."""
        if self.hybrid is not None:
            self.refuse_beside_hybrid(
                events='the modes follow from their margins',
                plan='a plan is made for rolling',
                path='coordinates along a path are for a body that rolls',
            )
            return
        for key in ('velocity', 'height'):
            if key in self.start.given:
                raise ScenarioError(
                    f'initial.{key}: follows from rolling; it is free where there is a section '
                    '`hybrid`'
                )

    def rolling(self) -> dict[str, Any]:
        """Return the entries of the state of a body that rolls."""
        raise NotImplementedError

    def _system(self, masses: tuple[Mass, ...]) -> System:
        path = getattr(self, 'path', None)
        with located('force'):
            return _built(
                self.kind,
                masses,
                None if self.force is None else tuple(self.force),
                self.hybrid is not None,
                self.mass_size,
                tuple(self._boxes()),
                None if path is None else tuple(path),
            )

    def _boxes(self) -> list[Box]:
        out = []
        for k, box in enumerate(self.obstacles):
            if box.y is not None and self.kind is PointMassDisk:
                raise ScenarioError(
                    f'obstacles[{k}].y: has no meaning for a disk, which stays in its plane'
                )
            sides = {
                n: tuple(v.tolist()) for n, v in (('x', box.x), ('y', box.y)) if v is not None
            }
            with located(f'obstacles[{k}]'):
                out.append(Box(height=box.height, **sides))
        return out

    def _parameters(self, system: Any) -> Array:  # noqa: ANN401
        own = {**dict(self.shell), 'mu': self.friction.mu}
        if self.friction.mu_kinetic is not None:
            own['mu_kinetic'] = self.friction.mu_kinetic
        if self.gravity is not None:
            own['gravity_W'] = self.gravity
        p: Array = system.pack_parameters(**own)
        return p

    def _limits(self, system: System) -> Array:
        given = self.limits.theta_acceleration
        if given.size not in (1, system.control.size):
            raise ScenarioError(
                f'limits.theta_acceleration: takes one number or {system.control.size}, got '
                f'{given.size}'
            )
        return np.array(np.broadcast_to(given.reshape(-1), (system.control.size,)))


def _on_rail(path: str, given: DrivenMass, mass: Mass) -> bool:
    """Return whether a mass is on a rail; others have no start and no drive."""
    if isinstance(mass, RailMass):
        return True
    for key in STARTS:
        if key in given.given:
            raise ScenarioError(f'{path}.{key}: has no meaning for a mass on a trajectory')
    return False


def _hybrid_start(
    initial: BallStart | DiskStart, rolling: dict[str, Any], system: System, p: Array
) -> dict[str, Any]:
    """
    Return the entries of the state of a body that can leave the plane.

    Parameters
    ----------
    initial
        The section.
    rolling
        Entries of the state as of a body that rolls.
    system, p
        The unilateral system, and its parameters.

    """
    start = dict(rolling)
    place = np.atleast_1d(start.pop('p'))
    radius = float(p[system.parameters.slice('radius')][0])
    height = radius if initial.height is None else initial.height
    if height < radius * (1 - ON_THE_WAY):
        raise ScenarioError(
            f'initial.height: must be at least the radius, {radius:g} m, got {height:g}: it is '
            'that of the centre over the plane'
        )
    velocity = initial.velocity
    if velocity is None:
        velocity = _rolling_velocity(start, radius)
    return start | {'p_WB': [*place, height], 'v_WB_W': velocity}


def _rolling_velocity(start: dict[str, Any], radius: float) -> Array:
    """Return the velocity of the centre of a body that rolls, in W."""
    if 'phi_rate' in start:
        return np.array([-radius * start['phi_rate'], 0.0])
    w_WB_W = quat2mat(start['q_WB']) @ start['w_WB_B']
    velocity: Array = np.cross(w_WB_W, [0.0, 0.0, radius])
    return velocity


@lru_cache(maxsize=16)
def _built(
    kind: type[System],
    masses: tuple[Mass, ...],
    force: tuple[Term, ...] | None,
    unilateral: bool,
    mass_size: float,
    obstacles: tuple[Box, ...],
    path: tuple[Term, ...] | None,
) -> System:
    """Return a system; scenarios that differ in numbers only share one."""
    with located('path'):
        along = None if path is None else PlanePath(path)
    return kind(
        masses,
        force=force,
        unilateral=unilateral,
        mass_size=mass_size,
        obstacles=obstacles,
        path=along,
    )


class Ball(Shell):
    """The shell with all that is fixed in it; its frame B lies in the geometric centre."""

    inertia: Array = entry(
        tensors(), 'about its centre of mass: a number, 3 moments or a 3x3 matrix', 'kg m^2'
    )
    centre_of_mass: Array = vector('in B', 'm', default=np.zeros(3))


class BallStart(Section):
    """State at the start."""

    position: Array = pair('contact point x, y', 'm', default=np.zeros(2))
    path: Array = pair('path_along and path_aside instead of position', default=np.zeros(2))
    attitude: Attitude | None = note('attitude of the ball (default: upright)', default=None)
    angular_velocity: Array = vector('in B', 'rad/s', default=np.zeros(3))
    velocity: Array | None = vector(
        'of the centre in the world, x, y, z, with `hybrid`; that of rolling by default',
        'm/s',
        default=None,
    )
    height: float | None = height()


class BallFile(MassDrivenFile):
    """A ball driven by internal masses."""

    kind = PointMassBall
    body = 'ball'

    ball: Ball
    path: list[Term] | None = terms(
        'path on the plane, formulas of x and y in `s`: the state then holds `path_along` (s) '
        'and `path_aside` (distance to the left) in place of the contact point; a limit of '
        '`path_aside` in `plan.state_limits` makes a plan follow it',
        'm',
        count=2,
        default=None,
    )
    initial: BallStart

    def rolling(self) -> dict[str, Any]:
        """Return attitude, spin and place: on its path, or on the plane."""
        initial = self.initial
        own, other = ('position', 'path') if self.path is None else ('path', 'position')
        if other in initial.given:
            raise ScenarioError(
                f'initial.{other}: give {own} instead: it is in the state of this ball'
            )
        return {
            'q_WB': quaternion_of(initial.attitude),
            'w_WB_B': initial.angular_velocity,
            'p' if self.path is None else 'path': getattr(initial, own),
        }

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return the ball with the masses inside."""
        mass = self.ball.mass + sum(m.mass for m in self.masses)
        return [('ball.mass', mass, sphere_volume(self.ball.radius))]


class Disk(Shell):
    """The shell with all that is fixed in it; it rolls in the plane of x and z."""

    polar_inertia: float = described(PointMassDisk.inertia, 'polar_inertia')
    centre_of_mass: Array = pair('x and z in the body', 'm', default=np.zeros(2))


class DiskStart(Section):
    """State at the start."""

    position: float = quantity('contact point', 'm', default=0.0)
    angle: float = quantity('angle phi; it grows towards -x', 'rad', default=0.0)
    rate: float = quantity('its rate', 'rad/s', default=0.0)
    velocity: Array | None = pair(
        'of the centre in the world, x, z, with `hybrid`; that of rolling by default',
        'm/s',
        default=None,
    )
    height: float | None = height()


class DiskFile(MassDrivenFile):
    """A disk driven by internal masses."""

    kind = PointMassDisk
    body = 'disk'

    disk: Disk
    initial: DiskStart

    def rolling(self) -> dict[str, Any]:
        """Return angle, rate and place."""
        initial = self.initial
        return {'phi': initial.angle, 'phi_rate': initial.rate, 'p': initial.position}

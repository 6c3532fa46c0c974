"""Balls and disks driven by internal masses, built from parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import copy
from dataclasses import replace
from functools import cached_property
from itertools import combinations
import math
from typing import ClassVar, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Mode,
    MotionState,
    number_entry,
    RegulatorWeights,
    vector_entry,
)
from rolling_dynamics.errors import check_names, check_positive, ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.friction import MU, MU_KINETIC
from rolling_dynamics.inertia import inertia_matrix, inertia_moments
from rolling_dynamics.internal_masses.masses import (
    accelerations,
    Box,
    box_values,
    check_masses,
    checked_coefficients,
    distance,
    distance_from_plane,
    FreeMass,
    Mass,
    mass_joints,
    rail_masses,
    rail_value_names,
    RailMass,
    SIDES,
)
from rolling_dynamics.mechanism import Contact, Flying, Machine, Rolling, Solid, Sphere
from rolling_dynamics.mechanism.hybrid import INERT, PhasedMachine
from rolling_dynamics.mechanism.link import ground, Link
from rolling_dynamics.mechanism.rolling import PlanePath
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.transitions import CLEAR, CREEP, HybridMachine

if TYPE_CHECKING:
    from typing_extensions import Self

_TRACKING = {
    'theta': 1.0,
    'theta_rate': 0.1,
    'd_WB': 1.0,
    'w_WB_B': 0.1,
    'p': 10.0,
    'path': 10.0,
    'phi': 1.0,
    'phi_rate': 0.1,
}
MASS_DRIVEN_WEIGHTS = RegulatorWeights(
    tracking=_TRACKING, terminal={k: 1e3 * v for k, v in _TRACKING.items()}, control=1e-3
)


PLACES = 'places on rails'
SHELL_MASS = number_entry('mass', 'kg', 'mass', 'zero or positive')
RADIUS = number_entry('radius', 'm', 'radius', 'positive')
GRAVITY = 9.81  # m/s^2
FORCE_NAMES = ('t', *'xyz', 'vx', 'vy', 'vz', 'qw', 'qx', 'qy', 'qz', 'wx', 'wy', 'wz')


class MassDrivenSystem(HybridMachine):
    """
    A body that rolls on a plane, driven by masses that move inside; a disk is a ball in a plane.

    Attributes
    ----------
    masses
        The masses.
    unilateral
        Whether the system can leave the plane: the state then holds the height, and there are the
        modes ``slipping`` and ``separated`` in addition to ``rolling``.
    plane
        Axes of W, by number, along which it moves.
    axis
        Only axis about which it turns; None in space.
    turning
        Entries of attitude and angular velocity.
    inertia
        Entries of the parameters of the shell.
    path
        Coordinates of the contact point along a path, else None.

    """

    name: str
    plane: ClassVar[tuple[int, ...]]
    axis: ClassVar[tuple[float, ...] | None] = None
    turning: ClassVar[tuple[Entry, Entry]]
    inertia: ClassVar[tuple[Entry, ...]]
    called = {'gap': 'clearance'}  # noqa: RUF012
    overlap = 'the object overlaps the plate'
    leads = {  # noqa: RUF012
        'stop': ('', 'a mass has come to the stop of its rail'),
        'masses_meet': ('', 'two masses meet'),
        'obstacle': ('', 'the shell touches an obstacle'),
    }

    def __init__(
        self,
        masses: Sequence[Mass] = (),
        *,
        force: Sequence[str | float] | None = None,
        unilateral: bool = False,
        mass_size: float = 0.0,
        obstacles: Sequence[Box] = (),
        path: PlanePath | None = None,
    ) -> None:
        """
        Build the system.

        Parameters
        ----------
        masses
            The masses inside.
        force
            External force at the geometric centre in W [N]: three formulas of the time ``t``, the
            position ``x y z`` and the velocity ``vx vy vz`` of the centre, the attitude ``qw qx qy
            qz``, the angular velocity in W ``wx wy wz``, and the positions and rates of the masses
            on rails, ``theta_1``, ``theta_rate_1`` and so on. None for no force.
        unilateral
            Whether the body can slide and leave the plane.
        mass_size
            Diameter of a mass [m]: masses whose centres are this close meet, which is the event
            ``masses_meet``. Not monitored if 0.
        obstacles
            Boxes on the plane; touching one is the event ``obstacle_1`` and so on.
        path
            A path of a ball on the plane: the state then has ``path`` (along, aside) instead of
            ``p``.

        """
        self.masses, self.unilateral, self.path = tuple(masses), unilateral, path
        self.planar = self.axis is not None
        if path is not None and (unilateral or self.planar):
            raise ParameterError('path: coordinates along a path are for a ball that rolls')
        check_positive('mass_size', mass_size, 'm', zero=True)
        self.mass_size = float(mass_size)
        self.obstacles = tuple(obstacles)
        self._rails = rail_masses(self.masses)
        self._force = ('0', '0', '0') if force is None else tuple(force)
        if isinstance(force, str) or len(self._force) != 3:
            raise ParameterError('force: three formulas along x, y, z of W are needed')
        machine = self._machine()
        if unilateral:
            super().__init__(machine)
            self.able = {0: 'the contact'}
        else:
            super(PhasedMachine, self).__init__(machine)

    # the description

    def _machine(self) -> Machine:
        """Return a shell that rolls, or may leave the plane, with masses that move in it."""
        machine = Machine(self.name)
        machine.creep, machine.clear = CREEP, CLEAR
        machine.inert = {self.turning[1].name: INERT}
        p = {e.name: machine.parameter(e, default=v) for e, v in self._parameter_entries()}
        theta, rate, driven = self._on_rails(machine)
        x = {e.name: machine.variable(e) for e in (*self.turning, *self._place)}
        x |= {'theta': theta, 'theta_rate': rate}
        machine.gravity_W = self._flat(p['gravity_W'])
        joint = self._flying if self.unilateral else self._rolling(p)
        shell = Solid(p['mass'], self._shell_inertia(p), self.spatial(p['centre_of_mass']))
        machine.body('shell', joint, shell)
        if self.unilateral:
            friction = {'mu': p['mu'], 'mu_kinetic': p['mu_kinetic']}
            machine.contact(Contact(body='shell', shape=Sphere(p['radius']), **friction))
        lengths = ca.vertsplit(p['rails']) if 'rails' in p else []
        rails = dict(zip(rail_value_names(self.masses), lengths, strict=True))
        joints = mass_joints(self.masses, machine.t, (theta, rate, driven), rails)
        for k, moves in enumerate(joints):
            point = Solid(p['masses'][k], ca.SX(3, 3))
            flat = replace(moves, **{n: self._flat(v) for n, v in vars(moves).items()})
            machine.body(f'mass_{k + 1}', flat, point, on='shell')
        link = joint.link(ground(), x)
        if self._acting:
            machine.force(self._flat(self._force_W(machine.t, link, x)), on='shell')
        machine.guards |= self._mass_guards(theta, [m.place for m in joints])
        for k, box in enumerate(ca.vertsplit(p['obstacles'], SIDES) if self.obstacles else (), 1):
            machine.guard(f'obstacle_{k}', distance(link.p_WB, box) - p['radius'])
        return machine

    def _parameter_entries(self) -> Iterator[tuple[Entry, Sequence[float] | None]]:
        """Yield the entries of the parameters, with their default values."""
        yield from ((entry, None) for entry in (SHELL_MASS, *self.inertia, RADIUS))
        yield vector_entry('gravity_W', 'm/s^2', 'W', 'gravity'), (0.0, 0.0, -GRAVITY)
        yield from ((entry, None) for entry in (MU, MU_KINETIC))
        if self.masses:
            names = tuple(f'mass_{k}' for k in range(1, len(self.masses) + 1))
            yield Entry('masses', names, 'kg'), [m.mass for m in self.masses]
        if rails := rail_value_names(self.masses):
            lengths = Entry('rails', tuple(rails), 'm', 'B', text='lengths of the rails')
            yield lengths, list(rails.values())
        if self.obstacles:
            names, values = box_values(self.obstacles)
            yield Entry('obstacles', names, 'm', 'W', text='boxes on the plane'), values

    def _on_rails(self, machine: Machine) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Declare how the masses move on their rails, and return theta, theta' and theta''."""
        none, units = ca.SX(0, 1), {m.rail.unit for m in self._rails}
        if not self._rails:
            return none, none, none
        unit = units.pop() if len(units) == 1 else ''
        per, names = f'{unit or 1}/s', [str(k) for k in range(1, len(self._rails) + 1)]
        place = Entry('theta', tuple(f'theta_{k}' for k in names), unit, 'B', text=PLACES)
        rate = Entry('theta_rate', tuple(f'theta_rate_{k}' for k in names), per, 'B')
        theta, theta_rate = machine.variable(place), machine.variable(rate)
        free = [k for k, m in zip(names, self._rails, strict=True) if m.drive is None]
        components = tuple(f'theta_acceleration_{k}' for k in free)
        control = Entry('theta_acceleration', components, f'{per}^2', 'B')
        u = machine.control(control) if free else none
        driven = accelerations(self.masses, u, machine.t)
        machine.rates |= {'theta': theta_rate, 'theta_rate': driven}
        return theta, theta_rate, driven

    @property
    def _place(self) -> tuple[Entry, ...]:
        """Entries of the contact point, or of centre and velocity if it may leave the plane."""
        axes = ''.join('xyz'[k] for k in self.plane)
        if self.path is not None:
            names = ('path_along', 'path_aside')
            return (Entry('path', names, 'm', 'W', text='contact point on the path'),)
        if not self.unilateral:
            return (vector_entry('p', 'm', 'W', 'contact point', axes[:-1]),)
        return (
            vector_entry('p_WB', 'm', 'W', 'geometric centre', axes),
            vector_entry('v_WB_W', 'm/s', 'W', 'velocity of the geometric centre', axes),
        )

    def _shell_inertia(self, p: Mapping[str, ca.SX]) -> ca.SX:
        """Return the inertia of the shell about its centre of mass (3, 3) [kg m^2]."""
        given = p[self.inertia[0].name]
        if self.axis is None:
            return inertia_matrix(given)
        axis = ca.sparsify(ca.DM(self.axis))
        return given * (axis @ axis.T)

    def _attitude(self, x: Mapping[str, ca.SX]) -> ca.SX:
        """Return q_WB (4)."""
        turned = x[self.turning[0].name]
        if self.axis is None:
            return turned
        return ca.vertcat(ca.cos(turned / 2), ca.sin(turned / 2) * ca.DM(self.axis))

    def _rolling(self, p: Mapping[str, ca.SX]) -> Rolling:
        return Rolling(
            shape=Sphere(p['radius']),
            contact=self._place[0],
            attitude=self.turning[0],
            speed=self.turning[1],
            axes='body',
            axis=self.axis,
            path=self.path,
            mu=p['mu'],
        )

    @property
    def _flying(self) -> Flying:
        (attitude, speed), (position, velocity) = self.turning, self._place
        return Flying(
            position=position,
            attitude=attitude,
            velocity=velocity,
            speed=speed,
            axes='body',
            axis=self.axis,
        )

    def _force_W(self, t: ca.SX, shell: Link, x: Mapping[str, ca.SX]) -> ca.SX:
        """Return the external force at the centre of the shell in W [N]."""
        velocity, turning = shell.R_WF @ shell.v_origin, shell.R_WF @ shell.w
        values = ca.vertcat(t, shell.p_WB, velocity, self._attitude(x), turning)
        known = dict(zip(FORCE_NAMES, ca.vertsplit(values), strict=True))
        for name in ('theta', 'theta_rate'):
            for k, value in enumerate(ca.vertsplit(x.get(name, ca.SX(0, 1))), 1):
                known[f'{name}_{k}'] = value
        return ca.vertcat(*(parse_expression(f, known) for f in self._force))

    def _mass_guards(self, theta: ca.SX, places: Sequence[ca.SX]) -> dict[str, ca.SX]:
        """Return distances to the stops of the rails, ``stop_1`` etc., and between masses."""
        out = {}
        for k, m in enumerate(self._rails):
            low, high = m.rail.stops
            parts = [theta[k] - low] if math.isfinite(low) else []
            parts += [high - theta[k]] if math.isfinite(high) else []
            if parts:
                out[f'stop_{k + 1}'] = ca.mmin(ca.vertcat(*parts))
        gaps = [ca.norm_2(a - b) - self.mass_size for a, b in combinations(places, 2)]
        if gaps and self.mass_size > 0:
            out['masses_meet'] = ca.mmin(ca.vertcat(*gaps))
        return out

    def spatial(self, vector: ca.SX) -> ca.SX:
        """Return a vector of the plane in space."""
        out = ca.SX(3, 1)
        out[list(self.plane)] = vector
        return out

    def taken(self, vector: ca.SX) -> ca.SX:
        """Return the components of a vector of space in the plane."""
        return vector[list(self.plane)]

    def _flat(self, vector: ca.SX) -> ca.SX:
        return self.spatial(self.taken(vector))

    # the resulting system

    def pack_parameters(
        self,
        *,
        mass: float,
        radius: float,
        centre_of_mass: ArrayLike | None = None,
        gravity_W: ArrayLike = (0.0, 0.0, -GRAVITY),
        mu: float = 1.0,
        mu_kinetic: float | None = None,
        **inertia: ArrayLike,
    ) -> Array:
        """
        Return the vector p; masses and rails enter it with their own values.

        Parameters
        ----------
        mass
            m_0 of the shell [kg], zero or positive; the total mass must be positive.
        radius
            r [m].
        centre_of_mass
            chi_0, from the geometric centre [m], for a disk along E1 and E3; zero if None.
        gravity_W
            Gravity [m/s^2].
        mu, mu_kinetic
            Coefficients of static and kinetic friction; the kinetic one is mu if None.
        **inertia
            About the centre of mass of the shell [kg m^2]: ``inertia`` of a ball, a number, 3
            moments or a 3x3 matrix; ``polar_inertia`` of a disk.

        Raises
        ------
        ParameterError
            A value is impossible, a rail leaves the shell or the plane of a disk, or masses meet.

        """
        check_names(inertia, [e.name for e in self.inertia], f'{self.name}: no parameter')
        RADIUS.check(radius)
        MU.check(mu)
        centre = np.zeros(len(self.plane)) if centre_of_mass is None else centre_of_mass
        check_masses(self.masses, mass, radius, np.asarray(centre, dtype=float))
        for k, m in enumerate(self.masses if self.planar else (), 1):
            if isinstance(m, RailMass) and distance_from_plane(m.rail) > 1e-12 * radius:
                raise ParameterError(
                    f'rail {k} leaves the plane of the disk: its points must have y = 0'
                )
        if 'inertia' in inertia:
            inertia['inertia'] = inertia_moments(inertia['inertia'])
        static, kinetic = checked_coefficients(mu, mu_kinetic, no_slip=not self.unilateral)
        return self.parameters.pack(
            mass=mass,
            radius=radius,
            centre_of_mass=centre,
            gravity_W=gravity_W,
            mu=static,
            mu_kinetic=kinetic,
            **inertia,
        )

    @property
    def shell(self) -> Link:
        """The shell with its motion."""
        return self.machine.links['shell']

    @property
    def velocity_W(self) -> ca.SX:
        """Velocity of the geometric centre in W (3) [m/s]."""
        if self.unilateral:
            return self.spatial(self.symbols.values['v_WB_W'])
        return self.shell.R_WF @ self.shell.v_origin

    @property
    def _down(self) -> ca.SX:
        return ca.vertcat(0, 0, -self.symbols.params['radius'])

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling; for a unilateral system also slipping and separated."""
        return super().modes if self.unilateral else super(HybridMachine, self).modes

    @cached_property
    def ending_at_slip(self) -> Self:
        """The same body, whose motion ends where slip starts."""
        twin = copy.copy(self)
        twin.slides = False
        vars(twin)['modes'] = {
            name: replace(m, resets=twin.resets(self.parts[name]))
            for name, m in self.modes.items()
        }
        return twin

    def freed(self) -> MassDrivenSystem:
        """Return the same body as a unilateral system, which can slide and leave the plane."""
        return type(self)(
            self.masses,
            force=self._force,
            unilateral=True,
            mass_size=self.mass_size,
            obstacles=self.obstacles,
        )

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """Return a state with the mode that it is in; see :meth:`HybridMachine.begin`."""
        if not self.unilateral:
            return MotionState(t=t, x=np.array(x), mode='rolling', p=np.array(p))
        return super().begin(p, x, u, t)

    def part_at(self, p: ArrayLike, x: ArrayLike) -> MachineSystem:
        """Return the machine in the mode of a state."""
        return super().part_at(p, x) if self.unilateral else self

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:  # noqa: ARG002
        """Reject a quaternion of norm 0 or far from 1."""
        turned = self.turning[0]
        q = np.asarray(x, dtype=float)[self.state.slice(turned.name)]
        if turned.has_unit_norm and not abs(np.linalg.norm(q) - 1) < 1e-3:
            raise ParameterError(
                f'{turned.name} must be a unit quaternion, its norm is {np.linalg.norm(q):.6g}'
            )

    @cached_property
    def applied_wrench(self) -> ca.Function | None:
        """``(x, u, t, p) -> [tau, f]`` of the external force about the lowest point, in W."""
        if any(isinstance(mass, FreeMass) for mass in self.masses):
            return None
        force = self._flat(self._force_W(self.symbols.t, self.shell, self.symbols.values))
        return self.function('applied_wrench', ca.vertcat(ca.cross(-self._down, force), force))

    @cached_property
    def centre_of_mass(self) -> ca.Function:
        """``(x, u, t, p) -> centre of mass`` of all bodies in W, and from the centre in B [m]."""
        mean = self.first_moment / self.machine.dynamics.composites[0].mass
        at_W = self.shell.p_WB + self.shell.R_WF @ mean
        return self.function('centre_of_mass', ca.vertcat(self.taken(at_W), self.taken(mean)))

    @property
    def first_moment(self) -> ca.SX:
        """Mass times centre of mass of all bodies, from the geometric centre in B (3) [kg m]."""
        whole = self.machine.dynamics.composites[0]
        return whole.first + whole.mass * self.shell.pivot

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> 4x4 matrices`` of shell and masses in W (free masses at t = 0)."""
        return self.pose_function()

    def actuator_power(self, mode: str = 'rolling') -> ca.Function:
        """Return ``(x, u, t, p) -> power`` [W] of the actuators in a mode."""
        part = self.parts[mode] if self.unilateral else self
        return self.function('actuator_power', part.guiding_power(part.rates))

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Invariants of free motion, see :attr:`integrals`."""
        return self.functions(self.integrals)

    @property
    def integrals(self) -> dict[str, ca.SX]:
        """Energy, momentum, and angular momentum about the centre of mass and the contact."""
        whole = self.machine.dynamics.composites[0]
        mean_W = self.shell.p_WB + self.shell.R_WF @ (self.first_moment / whole.mass)
        linear, about_mean = self.momentum(mean_W)
        about_contact = self.momentum(self.shell.p_WB + self._down)[1]
        out = {'energy': self.energy}
        for name, vector in (
            ('linear_momentum', linear),
            ('angular_momentum', about_mean),
            ('contact_momentum', about_contact),
        ):
            out |= {f'{name}_{s}': vector[k] for k, s in enumerate('xyz')}
        return out

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return ``energy`` if masses rest on their rails and no force acts, else nothing."""
        rates = self.state.unpack(x).get('theta_rate', np.zeros(0))
        carried = len(self._rails) == len(self.masses) and self.control.size == len(self._rails)
        return ['energy'] if not self._acting and carried and not np.any(rates) else []

    def rest_goal(self, x_start: Array) -> dict[str, Array]:
        """Return default values of a goal at rest: all rates are zero."""
        rates = {'theta_rate': np.zeros(len(self._rails))} if self._rails else {}
        return super().rest_goal(x_start) | rates

    @property
    def _acting(self) -> tuple[str, ...]:
        """Formulas of the external force that are not zero."""
        return tuple(str(f) for f in self._force if str(f) not in ('0', '0.0'))

    @property
    def given_formulas(self) -> tuple[str, ...]:
        """Formulas of the external force, of prescribed masses, and of the path."""
        drives = [m.drive for m in self._rails if m.drive is not None]
        ways = [f for m in self.masses if isinstance(m, FreeMass) for f in m.trajectory]
        path = self.path.formulas if self.path else ()
        return (*self._acting, *map(str, (*drives, *ways, *path)))

    @property
    def default_weights(self) -> RegulatorWeights:
        """Default weights of a regulator."""
        return MASS_DRIVEN_WEIGHTS.of(self.tangent)

    def state_bounds(self, p: Array) -> dict[str, tuple[float, float]]:  # noqa: ARG002
        """Return the stops of the rails by scalar name."""
        out = {}
        for k, m in enumerate(self._rails, 1):
            if any(math.isfinite(s) for s in m.rail.stops):
                out[f'theta_{k}'] = m.rail.stops
        return out

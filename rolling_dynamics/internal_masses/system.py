"""What balls and disks with internal masses have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Entry, Layout, RegulatorWeights, vector_entry
from rolling_dynamics.contract.rolling_system import Mode, RigidBody, WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.inertia import inertia_of
from rolling_dynamics.internal_masses.equations import ModeExpressions
from rolling_dynamics.internal_masses.masses import (
    accelerations,
    FreeMass,
    Mass,
    MassMotion,
    rail_masses,
    rail_value_names,
)
from rolling_dynamics.rotations import homogeneous

FAR = 1e9  # m: a box without an end along y goes as far as this
SIDES = 5  # numbers of a box


@dataclass(frozen=True, kw_only=True)
class Box:
    """
    A box on the plane z = 0, its edges along the axes of W.

    Attributes
    ----------
    x, y
        Where it begins and ends [m].
    height
        Of its top over the plane [m].

    """

    x: tuple[float, float]
    height: float
    y: tuple[float, float] = (-FAR, FAR)

    def __post_init__(self) -> None:
        """Refuse a box without an inside."""
        for name, (low, high) in (('x', self.x), ('y', self.y)):
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ParameterError(
                    f'obstacle: {name} takes two increasing numbers [m], got [{low:g}, {high:g}]'
                )
        if not (math.isfinite(self.height) and self.height > 0):
            raise ParameterError(
                f'obstacle: height must be positive and finite [m], got {self.height!r}'
            )


def box_values(boxes: Sequence[Box]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return names and values of the numbers of boxes: x, y from and to, height of each."""
    sides = ('x_from', 'x_to', 'y_from', 'y_to', 'height')
    names = tuple(f'obstacle_{k}_{side}' for k in range(1, len(boxes) + 1) for side in sides)
    return names, tuple(float(v) for b in boxes for v in (*b.x, *b.y, b.height))


def distance(point: ca.SX, box: ca.SX) -> ca.SX:
    """Return the distance of a point over the plane to a box, from its SIDES numbers [m]."""
    x0, x1, y0, y1, top = ca.vertsplit(box)
    beyond = [ca.fmax(x0 - point[0], point[0] - x1), ca.fmax(y0 - point[1], point[1] - y1)]
    parts = [ca.fmax(b, 0) for b in (*beyond, point[2] - top)]
    return ca.norm_2(ca.vertcat(*parts))


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


GRAVITY = 9.81  # m/s^2
FORCE_NAMES = ('t', *'xyz', 'vx', 'vy', 'vz', 'qw', 'qx', 'qy', 'qz', 'wx', 'wy', 'wz')


class MassDrivenSystem(WrittenSystem):
    """
    A body that rolls on a plane, driven by masses that move inside.

    Attributes
    ----------
    masses
        The masses.
    unilateral
        Whether the system can leave the plane: the state then holds the height, and there are the
        modes ``slipping`` and ``separated`` beside ``rolling``.

    """

    name: str

    def __init__(
        self,
        masses: Sequence[Mass] = (),
        *,
        force: Sequence[str | float] | None = None,
        unilateral: bool = False,
        mass_size: float = 0.0,
        obstacles: Sequence[Box] = (),
    ) -> None:
        """
        Build the system.

        Parameters
        ----------
        masses
            The masses inside.
        force
            External force at the geometric centre in W [N]: three formulas of the time ``t``, the
            position ``x y z`` and the velocity ``vx vy vz`` of the centre, the attitude
            ``qw qx qy qz``, the angular velocity in W ``wx wy wz``, and the places and rates of
            the masses on rails, ``theta_1``, ``theta_rate_1`` and so on. None for none.
        unilateral
            Whether the body can slide and leave the plane.
        mass_size
            Diameter of a mass [m]: masses whose centres come this near meet, the event
            ``masses_meet``. They are not watched if 0.
        obstacles
            Boxes on the plane; to touch one is the event ``obstacle_1`` and so on.

        """
        self.masses, self.unilateral = tuple(masses), unilateral
        if not (math.isfinite(mass_size) and mass_size >= 0):
            raise ParameterError(f'mass_size must be zero or positive [m], got {mass_size!r}')
        self.mass_size = float(mass_size)
        self.obstacles = tuple(obstacles)
        self._rails = rail_masses(self.masses)
        self._force = ('0', '0', '0') if force is None else tuple(force)
        if isinstance(force, str) or len(self._force) != 3:
            raise ParameterError('force: three formulas along x, y, z of W are needed')
        n, units = len(self._rails), {m.rail.unit for m in self._rails}
        unit = units.pop() if len(units) == 1 else ''
        count = [str(k + 1) for k in range(n)]
        rate_unit = f'{unit}/s' if unit else '1/s'
        self._mass_entries = (
            ()
            if n == 0
            else (
                Entry(
                    'theta', tuple(f'theta_{k}' for k in count), unit, 'B', text='places on rails'
                ),
                Entry('theta_rate', tuple(f'theta_rate_{k}' for k in count), rate_unit, 'B'),
            )
        )
        self.state = Layout((*self._mass_entries, *self._body_entries()))
        driven = [k for k, m in zip(count, self._rails, strict=True) if m.drive is None]
        names = tuple(f'theta_acceleration_{k}' for k in driven)
        self.control = Layout(
            (Entry('theta_acceleration', names, f'{rate_unit}^2', 'B'),) if names else ()
        )
        self.parameters = self._parameter_layout()
        self._check_force()

    @abstractmethod
    def _body_entries(self) -> tuple[Entry, ...]:
        """Return the entries of the state that follow those of the masses."""

    @abstractmethod
    def _inertia_entries(self) -> tuple[Entry, ...]:
        """Return the parameters of the shell: inertia and centre of mass."""

    @abstractmethod
    def _mode_expressions(self) -> dict[str, ModeExpressions]:
        """Return the modes."""

    @property
    @abstractmethod
    def pose(self) -> ca.Function:
        """``(x, p) -> 4x4 matrices`` of shell and masses in W."""

    def freed(self) -> MassDrivenSystem:
        """Return the same body as a unilateral system, which can slide and leave the plane."""
        return type(self)(
            self.masses,
            force=self._force,
            unilateral=True,
            mass_size=self.mass_size,
            obstacles=self.obstacles,
        )

    def _parameter_layout(self) -> Layout:
        rails = rail_value_names(self.masses)
        entries = [
            Entry('mass', ('mass',), 'kg', text='mass of the shell with all that is fixed in it'),
            *self._inertia_entries(),
            Entry('radius', ('radius',), 'm', text='radius of the shell'),
            vector_entry('gravity_W', 'm/s^2', 'W', 'gravity'),
            Entry('mu', ('mu',), '', text='coefficient of static friction'),
            Entry('mu_kinetic', ('mu_kinetic',), '', text='coefficient of kinetic friction'),
        ]
        defaults: dict[str, tuple[float, ...]] = {'gravity_W': (0.0, 0.0, -GRAVITY)}
        if self.masses:
            count = range(1, len(self.masses) + 1)
            entries.append(Entry('masses', tuple(f'mass_{k}' for k in count), 'kg'))
            defaults['masses'] = tuple(m.mass for m in self.masses)
        if rails:
            entries.append(Entry('rails', tuple(rails), 'm', 'B', text='lengths of the rails'))
            defaults['rails'] = tuple(rails.values())
        if self.obstacles:
            names, values = box_values(self.obstacles)
            entries.append(Entry('obstacles', names, 'm', 'W', text='boxes on the plane'))
            defaults['obstacles'] = values
        return Layout(tuple(entries), defaults)

    @cached_property
    def motion(self) -> MassMotion:
        """What the motion of the masses depends on, in the symbols of the system."""
        s, empty = self.symbols, ca.SX(0, 1)
        names = rail_value_names(self.masses)
        lengths = ca.vertsplit(s.params['rails']) if names else []
        return MassMotion(
            t=s.t,
            theta=s.values.get('theta', empty),
            theta_rate=s.values.get('theta_rate', empty),
            theta_acceleration=accelerations(self.masses, s.u, s.t),
            masses=s.params.get('masses', empty),
            rail_values=dict(zip(names, lengths, strict=True)),
        )

    def pose_function(self, R_WB: ca.SX, places: Sequence[ca.SX]) -> ca.Function:
        """Return ``(x, p) -> 4x4 matrices`` of shell and masses at places in W, at t = 0."""
        s = self.symbols
        poses = [ca.substitute(homogeneous(R_WB, a), s.t, ca.SX(0)) for a in places]
        names = ['shell', *(f'mass_{k + 1}' for k in range(len(self.masses)))]
        return self.of_state('pose', *poses, names=names)

    @cached_property
    def expressions(self) -> dict[str, ModeExpressions]:
        """The equations of each mode, written once."""
        return self._mode_expressions()

    def force_W(self, position: ca.SX, velocity: ca.SX, attitude: ca.SX, turning: ca.SX) -> ca.SX:
        """
        Return the external force at the centre in W [N].

        Parameters
        ----------
        position, velocity
            Of the centre in W, 3 numbers each.
        attitude
            q_WB, w x y z.
        turning
            w_WB_W.

        """
        values = ca.vertsplit(ca.vertcat(self.symbols.t, position, velocity, attitude, turning))
        known = dict(zip(FORCE_NAMES, values, strict=True))
        for entry in self._mass_entries:
            places = ca.vertsplit(self.symbols.values[entry.name])
            known |= dict(zip(entry.components, places, strict=True))
        return ca.vertcat(*(parse_expression(f, known) for f in self._force))

    def _check_force(self) -> None:
        self.force_W(*(ca.SX.sym('given', size) for size in (3, 3, 4, 3)))

    def mass_guards(
        self, values: Mapping[str, ca.SX], places: Sequence[ca.SX]
    ) -> dict[str, ca.SX]:
        """Return distances to the stops of the rails, ``stop_1`` etc., and between masses."""
        out = {}
        for k, m in enumerate(self._rails):
            low, high = m.rail.stops
            theta = values['theta'][k]
            parts = [theta - low] if math.isfinite(low) else []
            parts += [high - theta] if math.isfinite(high) else []
            if parts:
                out[f'stop_{k + 1}'] = ca.mmin(ca.vertcat(*parts))
        gaps = [ca.norm_2(a - b) - self.mass_size for a, b in combinations(places, 2)]
        if gaps and self.mass_size > 0:
            out['masses_meet'] = ca.mmin(ca.vertcat(*gaps))
        return out

    def obstacle_guards(self, centre_W: ca.SX) -> dict[str, ca.SX]:
        """Return the gaps between the shell and the boxes, ``obstacle_1`` etc. [m]."""
        if not self.obstacles:
            return {}
        params = self.symbols.params
        sides = ca.vertsplit(params['obstacles'], SIDES)
        return {
            f'obstacle_{k}': distance(centre_W, box) - params['radius']
            for k, box in enumerate(sides, 1)
        }

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling; of a unilateral system also slipping and separated."""
        return {name: self._mode(name, e) for name, e in self.expressions.items()}

    def _mode(self, name: str, e: ModeExpressions) -> Mode:  # noqa: ARG002
        """Return a mode, without what follows it."""
        return Mode(
            dynamics=self.function('dynamics', e.xdot),
            wrench=self.function('wrench', ca.vertcat(ca.SX.zeros(3), e.force_W)),
            guards=self.functions(e.guards),
        )

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """Smooth limits of rolling, positive inside: N and the cone, in units of the weight."""
        params, force = self.symbols.params, self.expressions['rolling'].force_W
        total = params['mass']
        if self.masses:
            total = total + ca.sum1(params['masses'])
        weight = total * (ca.norm_2(params['gravity_W']) + 1e-9 * GRAVITY)
        fx, fy, fz = ca.vertsplit(force / weight)
        cone = (params['mu'] * fz) ** 2 - fx * fx - fy * fy
        return self.functions({'normal_force': fz, 'friction': cone})

    @property
    def _acting(self) -> tuple[str, ...]:
        """Formulas of the external force that are not zero."""
        return tuple(str(f) for f in self._force if str(f) not in ('0', '0.0'))

    @property
    def given_formulas(self) -> tuple[str, ...]:
        """Formulas of the external force, and of masses that move as the time says."""
        drives = [m.drive for m in self._rails if m.drive is not None]
        ways = [f for m in self.masses if isinstance(m, FreeMass) for f in m.trajectory]
        return (*self._acting, *map(str, (*drives, *ways)))

    def conserved(self, p: NDArray[np.float64], x: NDArray[np.float64]) -> list[str]:  # noqa: ARG002
        """Return ``energy`` where masses rest on their rails and no force acts, else nothing."""
        rates = self.state.unpack(x).get('theta_rate', np.zeros(0))
        carried = len(self._rails) == len(self.masses) and self.control.size == len(self._rails)
        return ['energy'] if not self._acting and carried and not np.any(rates) else []

    def rigid_bodies(self, p: NDArray[np.float64]) -> dict[str, RigidBody]:
        """Return masses and inertia of shell and masses."""
        values = self.parameters.unpack(p)
        centre = values['centre_of_mass']
        shell = RigidBody(
            mass=float(values['mass'][0]),
            centre=centre if centre.size == 3 else np.array([centre[0], 0.0, centre[1]]),
            inertia=self._shell_inertia(values),
        )
        points = {
            f'mass_{k}': RigidBody(mass=float(m), centre=np.zeros(3), inertia=np.zeros((3, 3)))
            for k, m in enumerate(values.get('masses', ()), 1)
        }
        return {'shell': shell, **points}

    @staticmethod
    def _shell_inertia(values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        if 'polar_inertia' in values:
            return np.diag([0.0, float(values['polar_inertia'][0]), 0.0])
        return inertia_of(values['inertia'])

    def gravity(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return gravity in W [m/s^2]."""
        return self.parameters.unpack(p)['gravity_W']

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WC``: axes of W at the lowest point of the shell."""
        s = self.symbols
        poses = self.pose(s.x, s.p)
        centre = (poses[0] if isinstance(poses, tuple) else poses)[:3, 3]
        low = centre - ca.vertcat(0, 0, s.params['radius'])
        return self.of_state('contact_frame', homogeneous(ca.SX.eye(3), low))

    def actuator_power(self, mode: str = 'rolling') -> ca.Function:
        """Return ``(x, u, t, p) -> power`` [W] that the actuators put in, in a mode."""
        return self.function('actuator_power', self.expressions[mode].power)

    @property
    def default_weights(self) -> RegulatorWeights:
        """Weights of a regulator where a user gives none."""
        return MASS_DRIVEN_WEIGHTS.of(self.tangent)

    def state_bounds(self, p: NDArray[np.float64]) -> dict[str, tuple[float, float]]:  # noqa: ARG002
        """Return the stops of the rails by scalar name."""
        out = {}
        for k, m in enumerate(self._rails, 1):
            if any(math.isfinite(s) for s in m.rail.stops):
                out[f'theta_{k}'] = m.rail.stops
        return out

"""An object that rolls on a moving hand, as a rolling system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import charts, conversions
from rolling_dynamics.contact.charts import chart_bounds, charts_in_state, ContactAtlas
from rolling_dynamics.contact.equations import (
    chart_view_layout,
    contact_machine,
    ContactExpressions,
    FAR,
    first_coordinates,
    further_guards,
    GRAVITY,
    open_edge,
    parameter_layout,
    state_layout,
)
from rolling_dynamics.contact.representation import (
    AttitudeRepresentation,
    CONTACT_WEIGHTS,
    CoordinatesRepresentation,
    FRICTION_MODELS,
    Representation,
)
from rolling_dynamics.contract.rolling_system import Follower, Layout, Mode, RegulatorWeights
from rolling_dynamics.errors import check_choice, ParameterError, SurfaceError
from rolling_dynamics.friction import LEVER_ARM, MU, MU_SPIN, RESISTANCE
from rolling_dynamics.inertia import inertia_moments
from rolling_dynamics.mechanism import MachineSystem
from rolling_dynamics.rotations import homogeneous, roll_pitch_yaw
from rolling_dynamics.simulation.guards import unit_norms
from rolling_dynamics.surfaces.surface import Surface

NORM = 1e-6  # tolerance of a given quaternion's norm, and of a given spin
DEFINITE = 1e-9  # smallest relative curvature over the largest


class ContactSystem(MachineSystem):
    """
    A smooth object in rolling contact with a smooth hand whose acceleration is the control.

    Attributes
    ----------
    object_surface, hand_surface
        The two surfaces, each in the frame of its body; the object's frame lies in its centre of
        mass.
    friction
        ``rolling`` or ``pure_rolling``.
    representation
        Coordinates of the contact: ``attitude`` (no chart on the object) or ``coordinates``.

    Examples
    --------
    >>> from rolling_dynamics import ContactSystem, Plane, Sphere
    >>> system = ContactSystem(Sphere(0.1), Plane())
    >>> p = system.pack_parameters(mass=0.1, inertia=4e-4, mu=0.3)
    >>> system.control.names
    ['alpha_WH_H_x', 'alpha_WH_H_y', 'alpha_WH_H_z', 'a_WH_H_x', 'a_WH_H_y', 'a_WH_H_z']

    """

    name = 'contact'
    plan_seeds = 'rolling_planner.seeds.contact_seeds:SEEDS'

    def __init__(
        self,
        object_surface: Surface,
        hand_surface: Surface,
        *,
        friction: str = 'rolling',
        representation: str = 'attitude',
        object_chart: int = 0,
        hand_chart: int = 0,
        resisted: bool = False,
    ) -> None:
        """
        Build the system.

        Parameters
        ----------
        object_surface, hand_surface
            The two surfaces.
        friction
            ``rolling`` (hard contact, spin is free) or ``pure_rolling`` (no spin).
        representation
            ``attitude`` or ``coordinates``.
        object_chart, hand_chart
            Charts in use; the object's has an effect in ``coordinates`` only.
        resisted
            Whether there is rolling resistance. A dry one is proportional to the rate below
            0.03 rad/s, so that plans have derivatives at rest.

        Raises
        ------
        ParameterError, SurfaceError
            An option is unknown, or the object's surface does not allow the representation.

        """
        check_choice('friction', friction, FRICTION_MODELS)
        makers: dict[str, Callable[[], Any]] = {
            'attitude': lambda: AttitudeRepresentation(hand_chart),
            'coordinates': lambda: CoordinatesRepresentation(object_chart, hand_chart),
        }
        check_choice('representation', representation, makers)
        self.object_surface, self.hand_surface = object_surface, hand_surface
        self.friction = friction
        self.object_chart, self.hand_chart = object_chart, hand_chart
        self.representation: Representation = makers[representation]()
        rep = self.representation
        more = (RESISTANCE, LEVER_ARM) if resisted else ()
        parameters = parameter_layout(
            object_surface, hand_surface, (MU, MU_SPIN, *more), {e.name: (0.0,) for e in more}
        )
        machine, self._contact = contact_machine(
            object_surface, hand_surface, rep, friction, parameters
        )
        super().__init__(machine)
        self.state, self.parameters = state_layout(rep.configuration, rep.velocity), parameters

    def with_representation(
        self, representation: str, *, object_chart: int = 0, hand_chart: int | None = None
    ) -> ContactSystem:
        """Return the same bodies in another representation or on other charts."""
        return ContactSystem(
            self.object_surface,
            self.hand_surface,
            friction=self.friction,
            representation=representation,
            object_chart=object_chart,
            hand_chart=self.hand_chart if hand_chart is None else hand_chart,
            resisted=LEVER_ARM.name in self.parameters,
        )

    def pack_parameters(
        self,
        *,
        mass: float,
        inertia: ArrayLike,
        gravity_W: ArrayLike = (0.0, 0.0, -GRAVITY),
        mu: float = 1.0,
        mu_spin: float = 0.0,
        **resistance: float,
    ) -> Array:
        """
        Return the vector p.

        Parameters
        ----------
        mass
            Mass of the object [kg], positive.
        inertia
            Inertia about the centre of mass in the object frame [kg m^2]: a number, 3 principal
            moments or a 3x3 matrix.
        gravity_W
            Gravity in the world [m/s^2].
        mu
            Coefficient of static friction.
        mu_spin
            Coefficient of spin friction [m], for pure rolling.
        **resistance
            ``rolling_resistance`` [m s/rad] and ``lever_arm`` [m] of a system that has them.

        Returns
        -------
        NDArray
            Shape (parameters.size,).

        Raises
        ------
        ParameterError
            A value is impossible for a body.

        """
        return self.parameters.pack(
            mass=mass,
            inertia=inertia_moments(inertia),
            gravity_W=gravity_W,
            mu=mu,
            mu_spin=mu_spin,
            **resistance,
        )

    @cached_property
    def expressions(self) -> ContactExpressions:
        """The equations, written once; Woodruff & Lynch, Eqs. (9)-(13)."""
        g, params = self._contact.geometry, self.symbols.params
        frame, point_h = g.frame, self.symbols.values['contact_h']
        load = wrench = self.contacts['object'].wrench
        if self.hand_chart != 0:
            surface = self.hand_surface
            frame = surface.contact_frame(g.p_HC, frame[:, 2], params['hand_surface'])
            wrench = ca.vertcat(load[:3], frame.T @ g.frame @ load[3:])
            point_h = first_coordinates(surface, g.p_HC, params)
        return ContactExpressions(
            **vars(self.symbols),
            xdot=self.rate_of_state(self._solution.rates),
            frame=frame,
            wrench=wrench,
            point_h=point_h,
            load=load,
            state=self._contact,
        )

    @cached_property
    def relative_curvature(self) -> ca.Function:
        """``(x, p) -> (2, 2)`` sum of the second fundamental forms of both bodies [1/m]."""
        return self.of_state('curvature', -self.expressions.state.relative_curvature)

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """One mode: rolling inside the envelope of contact."""
        e = self.expressions
        guards = {**self.guards, **further_guards(e)}
        if 'contact_o' in self.state:
            edge = open_edge(self.object_surface, e.values['contact_o'], self.object_chart)
            if edge is not None:
                guards['object_edge'] = edge
        return {
            self.friction: Mode(
                dynamics=self.function('dynamics', e.xdot),
                wrench=self.function('wrench', e.wrench),
                guards=self.functions(guards),
            )
        }

    @property
    def default_weights(self) -> RegulatorWeights:
        """Weights of a regulator where a user gives none."""
        return CONTACT_WEIGHTS.of(self.tangent)

    def rest_goal(self, x_start: Array) -> dict[str, Array]:
        """Return default values of a goal at rest: the hand as at the start, no motion."""
        velocities = ('w_WH_H', 'v_WH_H', self.representation.velocity.name)
        rest = {name: np.zeros(3) for name in velocities}
        return {'q_WH': np.asarray(x_start)[self.state.slice('q_WH')], **rest}

    def state_bounds(self, p: Array) -> dict[str, tuple[float, float]]:
        """Return edges of the hand, and borders of charts, as bounds by scalar name."""
        edges = np.asarray(p, dtype=float)[self.parameters.slice('hand_edges')]
        names = self.state.entry('contact_h').components
        bounds = {names[0]: tuple(edges[0:2]), names[1]: tuple(edges[2:4])}
        near = {n: b for n, b in bounds.items() if max(abs(b[0]), abs(b[1])) < FAR}
        return near | chart_bounds(self)

    @property
    def chart_periods(self) -> dict[str, Array]:
        """Period of each chart coordinate by entry, 0 where it has none."""
        return {
            entry: np.array([period or 0.0 for period in surface.charts[chart].periods])
            for entry, (surface, chart) in charts_in_state(self).items()
        }

    @property
    def on_first_chart(self) -> bool:
        """True if the contact is on the hand's first chart, which results and plans use."""
        return self.hand_chart == 0

    def check_charts(self, x: ArrayLike) -> None:
        """Raise SurfaceError where the hand's chart is singular."""
        contact_h = np.asarray(x, dtype=float)[self.state.slice('contact_h')]
        self.hand_surface.check_regular(contact_h, self.hand_chart)

    in_lengths = charts.in_lengths
    object_motion = conversions.object_motion
    separation = conversions.separation

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """
        Raise an error if rolling cannot start from a state.

        Parameters
        ----------
        system
            The self.
        p
            Parameters.
        x
            State.

        Raises
        ------
        ParameterError
            A quaternion is not of norm 1, or there is spin in pure rolling.
        SurfaceError
            A chart is degenerate there, or the bodies would not touch in a single point.

        """
        p, x = np.asarray(p, dtype=float), np.asarray(x, dtype=float)
        for entry in self.state.entries:
            if entry.kind == 'quaternion':
                norm = float(np.linalg.norm(x[self.state.slice(entry.name)]))
                if not abs(norm - 1) <= NORM:
                    raise ParameterError(
                        f'{entry.name} must be a unit quaternion (w, x, y, z), got one of norm '
                        f'{norm:.9g}'
                    )
        values, params = self.state.unpack(x), self.parameters.unpack(p)
        for body, surface, chart in (
            ('hand', self.hand_surface, self.hand_chart),
            ('object', self.object_surface, self.object_chart),
        ):
            name = f'contact_{body[0]}'
            if name in values:
                surface.check_regular(values[name], chart, params[f'{body}_surface'], f'{name}: ')
        self._check_curvature(p, x)
        if self.friction == 'pure_rolling':
            u = np.zeros(self.control.size)
            spin = float(self.invariants['spin'](x, u, 0, p))
            speed = float(np.linalg.norm(x[-3:]))
            if not abs(spin) <= NORM * max(1.0, speed):
                raise ParameterError(
                    f'{self.representation.velocity.name}: pure rolling has no spin about the '
                    f"normal, got {spin:.6g} rad/s; set it to zero, or choose friction 'rolling'"
                )

    def _check_curvature(self, p: Array, x: Array) -> None:
        """Reject all but H~_o + H_h < 0: bodies that touch in one point and do not overlap."""
        H = -np.array(self.relative_curvature(x, p))
        names = f'the object ({self.object_surface.name}) and the hand ({self.hand_surface.name})'
        if not np.all(np.isfinite(H)):
            raise SurfaceError(f'the relative curvature of {names} is not finite at this state')
        low, high = np.linalg.eigvalsh((H + H.T) / 2)
        if high < -DEFINITE * abs(low):
            return
        if abs(high) <= DEFINITE * max(abs(low), 1e-300):
            reason = 'along a line, not in a point, so that rolling is not determined'
        else:
            reason = 'where the hand is more curved than the object, so that they would overlap'
        raise SurfaceError(
            f'{names} touch {reason}: the principal relative curvatures {-high:.6g} and '
            f'{-low:.6g} 1/m must both be positive'
        )

    @cached_property
    def chart_view(self) -> tuple[Layout, ca.Function]:
        """
        The paper's state s = (Phi_sh, r_sh, q, V_sh, q_dot), 22 numbers, of contact coordinates.

        Returns
        -------
        Layout, casadi.Function
            Names of s, and ``(x, p) -> s``.

        Raises
        ------
        ParameterError
            The representation is not ``coordinates``.

        """
        if self.representation.name != 'coordinates':
            raise ParameterError(
                "the chart view needs the representation 'coordinates', this system has "
                f'{self.representation.name!r}'
            )
        e = self.expressions
        q = self.representation.configuration
        s = ca.vertcat(
            roll_pitch_yaw(e.values['q_WH']),
            e.values['p_WH'],
            *(e.values[k.name] for k in q),
            e.values['w_WH_H'],
            e.values['v_WH_H'],
            *e.state.joint.rates.values(),
        )
        layout = chart_view_layout(q)
        return layout, self.of_state('chart_view', s, names=['s'])

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy of the object [J], constant while the hand rests; and spin in pure rolling."""
        spin = ca.dot(self._contact.geometry.frame[:, 2], self._contact.w_HO_H)
        return self.functions({'energy': self.energy, 'spin': spin})

    def conserved(self, p: Array, x: Array) -> list[str]:
        """Return the invariants that hold without control: energy while the hand rests."""
        values, of = self.state.unpack(x), self.parameters.unpack(p)
        rests = not (np.any(values['w_WH_H']) or np.any(values['v_WH_H']))
        rests = rests and not any(of[e.name][0] for e in (RESISTANCE, LEVER_ARM) if e.name in of)
        spin = ['spin'] if self.friction == 'pure_rolling' else []
        return ['energy', *spin] if rests else spin

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WCh``, the frame of the wrench."""
        R_WCh = self.machine.links['hand'].R_WB @ self.expressions.frame
        return self.of_state('contact_frame', homogeneous(R_WCh, self.contacts['object'].place_W))

    @cached_property
    def object_twist(self) -> ca.Function:
        """``(x, p) -> w_WO_O, v_WO_O`` angular velocity and velocity of the centre, in O."""
        link = self.machine.links['object']
        twist = (link.R_FB.T @ v for v in (link.w, link.v))
        return self.of_state('object_twist', *twist, names=['w_WO_O', 'v_WO_O'])

    @cached_property
    def atlas(self) -> ContactAtlas:
        """Watches and changes the charts of the state."""
        return ContactAtlas(self)

    def follower(self, p: Array) -> Follower:
        """Return the follower of the contact coordinates on the first charts."""
        from rolling_dynamics.contact.followed_coordinates import ContactCoordinates  # noqa: PLC0415

        return ContactCoordinates(self, p)

    @cached_property
    def projection(self) -> ca.Function:
        """``(x, p) -> x`` on the constraints: quaternions of norm 1, no spin in pure rolling."""
        joint, values = self._contact.joint, unit_norms(self.state, self.symbols.x)
        if self.friction == 'pure_rolling':
            n, w = joint.R_EC[:, 2], values[joint.speed.name]
            values[joint.speed.name] = w - n * ca.dot(n, w)
        return self.of_state('projection', ca.vertcat(*values.values()), names=['y'])

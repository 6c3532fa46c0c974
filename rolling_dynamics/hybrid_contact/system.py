"""A smooth convex body on a moving hand, as a rolling system of several modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
import math
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import within_period
from rolling_dynamics.contact.equations import CONTROL, FAR, GRAVITY, parameter_layout
from rolling_dynamics.contract.rolling_system import (
    Layout,
    MotionState,
    Symbols,
    Transition,
)
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.friction import LEVER_ARM, SPINNING
from rolling_dynamics.hybrid_contact.mode_equations import (
    CONTACT_MODES,
    CURVED_STATE,
    DEFAULTS,
    FREE_MODES,
    friction_parameters,
    holding,
    mode_equations,
    on_the_foot,
    projected,
    Scene,
    scene_of,
    slipping_by,
    STATE,
    turning_by,
)
from rolling_dynamics.inertia import inertia_moments
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.point_contact import impact
from rolling_dynamics.point_contact.point_contact import ModeEquations, PointContact, Touching
from rolling_dynamics.rotations import homogeneous
from rolling_dynamics.surfaces.quadrics import Plane
from rolling_dynamics.surfaces.surface import Surface

STARTS = 10  # in each direction of the chart
STEPS = 40  # of Newton, each at most a tenth of the chart
FOUND = 1e-10  # step of (u, v) at a closest point
SAME = 1e-6  # of (u, v): two searches came to one point


class ClosestPoint(NamedTuple):
    """A place (u, v) of the hand that the body is closest to, and its distance [m]."""

    uv: Array
    gap: float


def closest_points(system: HybridContactSystem, p: Array, x: Array) -> list[ClosestPoint]:
    """
    Return every place where the body comes closest to the hand, the nearest first.

    Parameters
    ----------
    system
        A body over a hand that is not a plane.
    p, x
        Parameters and state; its own closest point is one of the starts of the search.

    Returns
    -------
    list of ClosestPoint
        Local minima of the distance within bounds and edges of the hand.

    """
    where, surface = system.state.slice('contact_h'), system.hand_surface
    low, high = _box(system, p)
    grid = np.meshgrid(
        *(np.linspace(a, b, STARTS + 2)[1:-1] for a, b in zip(low, high, strict=True))
    )
    uv = np.vstack([x[where], np.column_stack([g.ravel() for g in grid])])
    states = np.tile(x, (len(uv), 1))
    most = (high - low) / STARTS
    look = system.nearness.map(len(uv))
    params = np.tile(p[:, None], (1, len(uv)))
    for _ in range(STEPS):
        states[:, where] = uv
        step, gap, margin = (np.array(a) for a in look(states.T, params))
        uv = uv + np.clip(np.nan_to_num(step.T), -most, most)
    good = (np.abs(step).max(axis=0) < FOUND) & (margin[0] > 0)
    found: list[ClosestPoint] = []
    for k in np.argsort(gap[0]):
        inside = surface.is_inside(uv[k]) and np.all((low <= uv[k]) & (uv[k] <= high))
        place = within_period(surface, uv[k], 0)
        known = any(np.abs(np.subtract(place, f.uv)).max() < SAME for f in found)
        if good[k] and (inside or k == 0) and not known:
            found.append(ClosestPoint(place, float(gap[0, k])))
    return found


def placed_on_closest_point(system: HybridContactSystem, p: Array, x: Array) -> Array:
    """
    Return a state with the nearest of the closest points of the hand.

    Raises
    ------
    ParameterError
        There is none within the edges, or the body touches the hand in several points.

    """
    if x.shape != (system.state.size,) or not np.all(np.isfinite(x)):
        return x  # refused where all states are checked
    found = closest_points(system, p, x)
    if not found:
        raise ParameterError(
            'the object is not over the hand: no point of it, within its chart and edges, is '
            'closest to the object'
        )
    touching = [f for f in found if f.gap <= OPEN]
    if len(touching) > 1:
        raise ParameterError(f'{_touching_text(touching)}; single contacts are simulated only')
    out = x.copy()
    out[system.state.slice('contact_h')] = found[0].uv
    return out


def _touching_text(points: list[ClosestPoint]) -> str:
    places = ', '.join(f'({f.uv[0]:.6g}, {f.uv[1]:.6g})' for f in points)
    return f'the object touches the hand in several points (u_h, v_h): {places}'


def _box(system: HybridContactSystem, p: Array) -> tuple[Array, Array]:
    """Return least and greatest (u, v) in which closest points are sought."""
    low, high = system.hand_surface.box()
    edges = p[system.parameters.slice('hand_edges')].reshape(2, 2)
    near = np.abs(edges) < FAR
    return np.where(near[:, 0], edges[:, 0], low), np.where(near[:, 1], edges[:, 1], high)


NO_FOOT = (
    'the closest point of the hand is not determined: another one comes as near, or its chart '
    'degenerates; choose another pole of its surface'
)
NEWTON = 3  # steps to the closest point in a projection, from one that is nearly so


class HybridContactSystem(PointContact):
    """
    A convex body that rolls, slides, flies and lands on a hand whose acceleration is the control.

    The hand is a plate, z = 0 of the hand frame H, or any other surface. Modes: ``rolling``,
    ``pure_rolling`` (where a patch, by ``mu_spin``, holds the spin), ``slipping``, ``separated``,
    ``resting`` (by dry resistance), and ``off_hand`` once the body has left the hand over its
    edge.

    Attributes
    ----------
    object_surface
        Surface of the body in the frame of its centre of mass; it has a support function.
    hand_surface
        Surface of the hand; where it is not a plane, its closest point is part of the state.
    curved
        Whether the hand is not a plane.
    resisted
        The contact, where it has dry rolling resistance.

    """

    name = 'contact'
    called: ClassVar[Mapping[str, str]] = {'slip': 'stick'}
    leads: ClassVar[Mapping[str, tuple[str, str]]] = {
        'edge': ('off_hand', 'the contact runs over the edge of the plate'),
        'foot': ('', NO_FOOT),
    }
    control = CONTROL

    def __init__(
        self,
        object_surface: Surface,
        hand_surface: Surface | None = None,
        *,
        dry: bool = False,
    ) -> None:
        """
        Build the system, with dry rolling resistance or without.

        Raises
        ------
        SurfaceError
            The surface has no support function, or the other body touches it from inside.

        """
        if object_surface.support is None or object_surface.side != 'outside':
            raise SurfaceError(
                f'hybrid contact needs a convex body with a support function, touched from '
                f'outside; {object_surface.name!r} is not one (Sphere and Ellipsoid are)'
            )
        self.object_surface = object_surface
        self.hand_surface = Plane() if hand_surface is None else hand_surface
        self.curved = self.hand_surface.name != 'plane'
        self.state: Layout = CURVED_STATE if self.curved else STATE
        self.resisted = (0,) if dry else ()
        friction = friction_parameters(dry=dry)
        surfaces = self.object_surface, self.hand_surface
        self.parameters = parameter_layout(*surfaces, friction, DEFAULTS)

    def pack_parameters(
        self,
        *,
        mass: float,
        inertia: ArrayLike,
        gravity_W: ArrayLike = (0.0, 0.0, -GRAVITY),
        mu: float = 1.0,
        mu_kinetic: float | None = None,
        mu_spin: float = 0.0,
        rolling_resistance: float = 0.0,
        lever_arm: float = 0.0,
        restitution: float = 0.0,
        edges: ArrayLike | None = None,
    ) -> Array:
        """
        Return the vector p.

        Parameters
        ----------
        mass, inertia, gravity_W, mu, mu_spin
            As of :meth:`ContactSystem.pack_parameters`.
        mu_kinetic
            Coefficient of kinetic friction; mu if None.
        rolling_resistance
            Torque against rolling over the normal force and the rate of rolling [m s/rad].
        lever_arm
            Of dry rolling resistance [m], where the system has it.
        restitution
            Fraction of the work of compression that a landing gives back, from 0 to 1.
        edges
            Least and greatest coordinates (u, v) of the hand; x and y of a plate in H [m]. Those
            of its surface if None.

        Raises
        ------
        ParameterError
            A value that no body has.

        """
        kinetic = mu if mu_kinetic is None else mu_kinetic
        if lever_arm and not self.resisted:
            raise ParameterError('lever_arm: the system is one without; build it with dry=True')
        if kinetic > mu:
            raise ParameterError(f'mu_kinetic must not exceed mu = {mu!r}, got {kinetic!r}')
        if restitution > 1:
            raise ParameterError(f'restitution must lie between 0 and 1, got {restitution!r}')
        given = np.array(self.parameters.defaults['hand_edges'] if edges is None else edges)
        if given.shape != (4,) or not (given[0] < given[1] and given[2] < given[3]):
            raise ParameterError(f'edges takes u_min < u_max, v_min < v_max, got {given.tolist()}')
        return self.parameters.pack(
            mass=mass,
            inertia=inertia_moments(inertia),
            gravity_W=gravity_W,
            hand_edges=given,
            mu=mu,
            mu_kinetic=kinetic,
            mu_spin=mu_spin,
            rolling_resistance=rolling_resistance,
            restitution=restitution,
            **({LEVER_ARM.name: lever_arm} if self.resisted else {}),
        )

    @property
    def symbols(self) -> Symbols:
        """Symbols of state, control, time and parameters."""
        return self.scene

    @cached_property
    def scene(self) -> Scene:
        """Body and hand at a state, as expressions."""
        surfaces = self.object_surface, self.hand_surface
        return scene_of(*surfaces, self.state, self.parameters)

    @cached_property
    def equations(self) -> Mapping[str, ModeEquations]:
        """The equations of each mode, written once."""
        names = *CONTACT_MODES[: 4 if self.resisted else 3], *FREE_MODES
        return {name: mode_equations(name, self.scene) for name in names}

    @property
    def flight(self) -> MachineSystem:
        """The hand, and the body that flies."""
        return self.scene.flight

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """Return a state with the mode that it is in; see :meth:`ContactModes.begin`."""
        if self.curved:
            x = placed_on_closest_point(self, np.asarray(p), np.asarray(x))
        return super().begin(p, x, u, t)

    def follows(self, i: int) -> dict[str, Transition]:
        """Return what follows each guard; a touch in a second point of a hand ends the motion."""
        out = super().follows(i)
        return {n: partial(self._alone, f) for n, f in out.items()} if self.curved else out

    def _alone(self, follow: Transition, s: MotionState, u: Array) -> MotionState:
        out, surface = follow(s, u), self.hand_surface
        here = within_period(surface, np.array(self.foot(out.x, out.p)).ravel(), 0)
        near = OPEN if out.mode in CONTACT_MODES else -OPEN
        others = [
            f
            for f in closest_points(self, out.p, out.x)
            if f.gap <= near and math.dist(f.uv, here) > SAME
        ]
        if not others:
            return out
        text = _touching_text([ClosestPoint(here, 0.0), *others])
        return out.noted('several_contacts', text, ends=True)

    def _close(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let the body land, or pass beside the hand."""
        u_v, edges = np.array(self.foot(s.x, s.p)).ravel(), self.parameters.slice('hand_edges')
        low, high = s.p[edges].reshape(2, 2).T
        if np.all((low <= u_v) & (u_v <= high)):
            return super()._close(i, s, u)
        passed = replace(s, mode='off_hand')
        return passed.noted('missed', 'the object passes beside the plate')

    @cached_property
    def nearer(self) -> ca.Function:
        """``(x, p) -> x`` with the closest point of the hand one step of Newton's nearer."""
        return self.of_state('nearer', on_the_foot(self.scene))

    @cached_property
    def nearness(self) -> ca.Function:
        """``(x, p) -> step of uv, gap [m], margin`` of the closest point in the state."""
        s = self.scene
        return self.of_state('nearness', s.foot.step, s.gap, s.foot.margin)

    @cached_property
    def projections(self) -> Mapping[str, ca.Function]:
        """``(x, p) -> x`` on the constraints of each mode: contact, rolling, spin, unit norms."""
        x, _, _, p = self.symbols
        out = {}
        for name in self.equations:
            y = self.of_state('on', projected(name, self.scene))(self._settled(x, p), p)
            out[name] = self.of_state('projection', y, names=['y'])
        return out

    def _settled(self, x: ca.SX, p: ca.SX) -> ca.SX:
        """Return a state with the closest point of the hand, near which it must be."""
        if not self.curved:
            return x
        for _ in range(NEWTON):
            x = self.nearer(x, p)
        return x

    def get_ready(self) -> None:
        """Write out what is needed at a change of mode, which takes a second, before it comes."""
        for name in ('modes', 'impact_terms', 'gap_rows', 'contact_motion', 'pace', 'onset'):
            getattr(self, name)
        for what, mode in (('slip', 'rolling'), ('slips', 'slipping'), ('stop', 'rolling')):
            self.at_event(what, mode, 0)
        self.at_event('lift', 'separated', 0)
        impact.get_ready()

    @cached_property
    def foot(self) -> ca.Function:
        """``(x, p) -> u_h, v_h`` of the closest point of the hand."""
        return self.of_state('foot', self.scene.foot.uv)

    @cached_property
    def arm(self) -> ca.Function:
        """``(x, p) -> r_OC`` from centre of mass to closest point of the body, in H [m]."""
        return self.of_state('arm', self.scene.contact.r_OC)

    @cached_property
    def touching(self) -> Touching:
        """Contact geometry of body and hand, in H and Ch."""
        s, frame = self.scene, self.scene.contact.frame
        at = s.gap, s.v_contact, s.contact.p_HC, s.spin, frame
        return Touching(*at, s.slipping, s.bias, s.slips, s.rolling_torque, s.turns)

    def turning_by(self, way: ca.SX) -> ca.SX:
        """Return the state, which rests, rolling by rates (2) times the lever arm [m/s]."""
        return turning_by(self.scene, way)

    def slipping_by(self, way: ca.SX) -> ca.SX:
        """Return the state, which rolls, with a slip (3) [m/s]."""
        return slipping_by(self.scene, way)

    def held(self, mode: str) -> ca.SX:
        """Return what friction holds in a mode of rolling, a normal of its limit (3) [N]."""
        force = ca.vertcat(holding(mode, self.scene, self.equations[mode].wrench), 0)
        return ca.vertcat(force[:2], force[2] / SPINNING)

    def mode_with(self, phases: Mapping[int, str], p: ArrayLike) -> str:
        """Return the mode in which the contact does what is given; a patch holds the spin."""
        spins = float(np.asarray(p)[self.parameters.slice('mu_spin')][0]) > 0
        return 'pure_rolling' if phases[0] == 'rolling' and spins else phases[0]

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy of the object in the world [J]."""
        return self.functions({'energy': self.scene.flight.energy})

    def hand_power(self, mode: str) -> ca.Function:
        """Return ``(x, u, t, p) -> power`` [W] that the hand gives to the object in a mode."""
        s, e = self.scene, self.equations[mode]
        w, v = s.values['w_WH_H'], s.values['v_WH_H']
        v_hand = v + ca.cross(w, s.contact.p_HC)
        C = s.contact.frame
        power = ca.dot(C @ e.wrench[3:6], v_hand) + ca.dot(C @ e.wrench[0:3], w)
        return self.function('hand_power', power)

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> X_WH, X_WO, X_WCh`` homogeneous matrices; names hand, object, contact."""
        links, s = self.scene.flight.machine.links, self.symbols
        poses = (homogeneous(links[name].R_WB, links[name].p_WB) for name in ('hand', 'object'))
        frame, names = self.contact_frame(s.x, s.p), ['hand', 'object', 'contact']
        return self.of_state('pose', *poses, frame, names=names)

    def conserved(self, p: Array, x: Array) -> list[str]:
        """Return ``energy`` where the plate rests and rolling meets no resistance."""
        values = self.state.unpack(x)
        rests = not any(np.any(values[name]) for name in ('w_WH_H', 'v_WH_H'))
        resisted = np.any(self.parameters.unpack(p)['rolling_resistance'])
        return ['energy'] if rests and not (resisted or self.resisted) else []

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WCh``: axes of the hand at the contact point."""
        hand, c = self.scene.flight.machine.links['hand'], self.scene.contact
        frame = homogeneous(hand.R_WB @ c.frame, hand.p_WB + hand.R_WB @ c.p_HC)
        return self.of_state('contact_frame', frame)

"""The scenario of a contact system: an object that rolls on a moving hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from typing import Any, Literal, TYPE_CHECKING

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import closest_points, Touch
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.equations import FAR
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.errors import ParameterError, ScenarioError, SurfaceError
from rolling_dynamics.friction import SPINNING
from rolling_dynamics.scenario.contact_sections import (
    Friction,
    Gravity,
    Hand,
    HandAtStart,
    Hybrid,
    Initial,
    Limits,
    Object,
    Placement,
    Pose,
    RelativeVelocity,
)
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import (
    array,
    either,
    entry,
    note,
    section,
    usual,
)
from rolling_dynamics.scenario.hand_motion import (
    Driven,
    HandMotion,
    HandStart,
    quaternion_of,
)
from rolling_dynamics.scenario.scenario import Scenario, ScenarioFile
from rolling_dynamics.scenario.surface_section import Edges
from rolling_dynamics.surfaces.surface import (
    best_chart,
    contact_frame,
    locate_on_chart,
    POLE,
    Surface,
)
from transforms3d.quaternions import qconjugate, qmult, quat2mat

if TYPE_CHECKING:  # few scenarios need it
    from rolling_dynamics.hybrid_contact import HybridContactSystem

TOUCH = 1e-6  # m, a gap below which bodies touch, and roll if no velocity is given
PATH = 'initial.relative_velocity'
DEFAULT_EVENTS = {'friction': 'record'}  # the others stop the simulation


class ContactFile(ScenarioFile):
    """An object that rolls on a moving hand."""

    object: Object
    hand: Hand
    gravity: Array | Gravity = entry(
        either(several=array(count=3), mapping=Gravity),
        'vector in the world, or magnitude and tilt (default: [0, 0, -9.81])',
        'm/s^2',
        default=usual(Gravity),
    )
    friction: Friction = section(Friction)
    representation: Literal['attitude', 'coordinates'] | None = note(
        'state that is integrated: `attitude` has no chart on the object and needs its support '
        'function, `coordinates` is that of the paper; `attitude` by default where it is possible',
        default=None,
    )
    initial: Initial
    hand_motion: HandMotion | None = note(default=None)
    hybrid: Hybrid | None = note(default=None)
    limits: Limits = section(Limits)

    @np.errstate(all='ignore')  # an overflow is rejected with its path, without a warning
    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario."""
        self._check_hybrid()
        system, p = self._system()
        driven = self.hand_motion.driven(self.duration) if self.hand_motion else Driven()
        hand = self._hand(driven)
        if self.hybrid is None:
            system, x0 = self._rolling(system, p, hand)
            return self._scenario(name, raw, driven, system, p, x0)
        bodies = _hybrid_bodies(self.hybrid, self.friction, system, p)
        if self.initial.object is not None:
            x0 = _free_state(self.initial, self.initial.object, hand, system, bodies)
        else:
            from rolling_dynamics.hybrid_contact.from_contact_system import (  # noqa: PLC0415
                plant_state,
            )

            x0 = plant_state(*bodies, system, self._rolling(system, p, hand)[1])
        here = {**bodies[0].state.unpack(x0), 'contact_h': np.array(bodies[0].foot(x0, bodies[1]))}
        rolls = system.state.pack(**{e.name: here[e.name].ravel() for e in system.state.entries})
        self._hold_spin(system, p, rolls)
        bodies[1][bodies[0].parameters.slice('mu_spin')] = p[system.parameters.slice('mu_spin')]
        return self._scenario(name, raw, driven, *bodies, x0)

    def _check_hybrid(self) -> None:
        """Reject entries without a meaning with ``hybrid``, or without it."""
        if self.hybrid is not None:
            self.refuse_beside_hybrid(
                events='the modes follow from their margins',
                representation='the state is that of a free body',
            )
            if self.friction.model == 'pure_rolling':
                raise ScenarioError(
                    'friction.model: beside `hybrid` the contact spins where friction.mu_spin '
                    "does not hold it; leave 'pure_rolling' out"
                )
            return
        sections = {
            'friction.mu_kinetic': self.friction,
            'initial.object.velocity': self.initial.object,
        }
        for path, own in sections.items():
            if own is not None and path.rpartition('.')[2] in own.given:
                raise ScenarioError(
                    f'{path}: has a meaning where there is a section `hybrid`; this object rolls'
                )

    def _rolling(
        self, system: ContactSystem, p: Array, hand: HandStart
    ) -> tuple[ContactSystem, Array]:
        """Return the system on charts that are regular at the start, and the state there."""
        placement = self._placement(system, hand)
        system = _off_pole(system, placement)
        x0 = self._state(system, hand, placement)
        self._check_contact(system, p, x0)
        self._hold_spin(system, p, x0)
        return system, x0

    def _hold_spin(self, system: ContactSystem, p: Array, x0: Array) -> None:
        """Put the mu_spin of a material into p, by the curvature and the force at the start."""
        if self.friction.material is None:
            return
        with located('friction'):
            mode, u = system.mode, np.zeros(system.control.size)
            assert mode.wrench is not None  # noqa: S101  a contact has one
            curvature, force = system.relative_curvature(x0, p), mode.wrench(x0, u, 0, p)[5]
            patch = self.friction.material.patch(np.array(curvature), float(force))
            p[system.parameters.slice('mu_spin')] = SPINNING * self.friction.mu * patch

    def _scenario(
        self,
        name: str,
        raw: Mapping[str, Any],
        driven: Driven,
        system: ContactSystem | HybridContactSystem,
        p: Array,
        x0: Array,
    ) -> Scenario:
        return Scenario(
            p=p,
            x0=x0,
            control=driven.control(system.state, system.control),
            control_limits=np.concatenate(
                [
                    np.broadcast_to(getattr(self.limits, e.name), (e.size,))
                    for e in system.control.entries
                ]
            ),
            **self.common(name, raw, system, DEFAULT_EVENTS),
        )

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return the object."""
        solid = self.object.solid
        return [] if solid is None else [('object.mass', self.object.mass, solid[0])]

    def _system(self) -> tuple[ContactSystem, Array]:
        """Return the system and its parameters."""
        body, hand = self.object, self.hand
        with located('object.surface'):
            object_surface = body.surface.surface(usual(Edges))
        with located('hand.surface'):
            hand_surface = hand.surface.surface(hand.edges)
        resistance = {} if self.hybrid else self.friction.resistance
        system = ContactSystem(
            object_surface,
            hand_surface,
            friction=self.friction.model,
            representation=self._representation(object_surface),
            resisted=bool(resistance),
        )
        inertia = body.inertia_matrix()
        gravity_W = self.gravity.vector() if isinstance(self.gravity, Gravity) else self.gravity
        with located('object.inertia'):
            p: Array = system.pack_parameters(
                mass=body.mass,
                inertia=inertia,
                gravity_W=gravity_W,
                mu=self.friction.mu,
                mu_spin=self.friction.mu_spin,
                **resistance,
            )
        if hand.edges.given:
            p[system.parameters.slice('hand_edges')] = np.clip(hand.edges.bounds(), -FAR, FAR)
        return system, p

    def _representation(self, surface: Surface) -> str:
        has_support = surface.support is not None and surface.side == 'outside'
        if self.representation == 'attitude' and not has_support:
            raise ScenarioError(
                "representation: 'attitude' needs an object with a support function, touched from "
                f"outside; use 'coordinates' for this {surface.name}"
            )
        return self.representation or ('attitude' if has_support else 'coordinates')

    def _hand(self, driven: Driven) -> HandStart:
        """Return the start of the hand: where a prescribed motion starts, or ``initial.hand``."""
        if driven.start is None:
            return (self.initial.hand or usual(HandAtStart)).start()
        if self.initial.hand is not None:
            raise ScenarioError(
                'initial.hand: hand_motion.motion gives the start of the hand already; leave one '
                'of the two out'
            )
        return driven.start

    @property
    def _place(self) -> str:
        """Path of the entry of the contact point."""
        return f'initial.{"contact" if self.initial.contact else "object"}'

    def _placement(self, system: ContactSystem, hand: HandStart) -> Placement:
        """Return where the bodies touch at the start."""
        with located(self._place):
            if self.initial.object is not None:
                return _from_pose(self.initial.object, system, hand)
            assert self.initial.contact is not None  # noqa: S101  one of the two is given
            return self.initial.contact.placement(system.object_surface, system.hand_surface)

    def _state(self, system: ContactSystem, hand: HandStart, placement: Placement) -> Array:
        """Return x0."""
        contact_h = placement.contact_h
        w_HO_H = _relative_velocity(self.initial.relative_velocity, system, hand, contact_h)
        values = {
            **vars(hand),
            'q_HO': placement.q_HO,
            'contact_h': contact_h,
            'w_HO_H': w_HO_H,
            'w_HO_Ch': contact_frame(system.hand_surface, contact_h).T @ w_HO_H,
        }
        if system.representation.name == 'coordinates':
            if placement.contact_o is None:
                raise ScenarioError(
                    f'{self._place}: the object touches at a pole of its chart, where coordinates '
                    'do not exist; choose another `pole` of its surface, or the representation '
                    "'attitude'"
                )
            values |= {'contact_o': placement.contact_o, 'psi': np.array([placement.psi])}
        if system.hand_chart:
            values |= _on_chart(system, placement, w_HO_H)
        return system.state.pack(**{e.name: values[e.name] for e in system.state.entries})

    def _check_contact(self, system: ContactSystem, p: Array, x0: Array) -> None:
        """Reject a start off the hand, and bodies that touch in a line or intersect."""
        u = np.zeros(system.control.size)
        guard = {n: float(g(x0, u, 0, p)) for n, g in system.mode.guards.items()}
        point = x0[system.state.slice('contact_h')]
        edges = p[system.parameters.slice('hand_edges')]
        if guard['edge'] < 0:
            raise ScenarioError(
                f'{self._place}: (u_h, v_h) = ({point[0]:g}, {point[1]:g}) lies off the hand, '
                f'whose edges are u {edges[0]:g} to {edges[1]:g}, v {edges[2]:g} to {edges[3]:g}'
            )
        least = guard['relative_curvature']
        if not least > 1e-9 * float(np.abs(np.array(system.relative_curvature(x0, p))).max()):
            what = 'touch in a line or an area' if least > -1e-9 else 'cut into each other'
            raise ScenarioError(
                f'object.surface: object and hand {what} at the start: the minimum '
                f'relative curvature is {least:.6g} 1/m; it must be positive: the object must be '
                'rounder than the hand is hollow, in every direction'
            )


def _off_pole(system: ContactSystem, placement: Placement) -> ContactSystem:
    """Return the system on a chart of the hand that is regular at the start."""
    surface, uv = system.hand_surface, placement.contact_h
    if len(surface.charts) == 1 or surface.regularity(uv) > POLE:
        return system
    chart = best_chart(surface, surface.point(uv))
    name = system.representation.name
    return system.with_representation(name, object_chart=system.object_chart, hand_chart=chart)


def _from_pose(given: Pose, system: ContactSystem, hand: HandStart) -> Placement:
    R_WH = quat2mat(hand.q_WH)
    q_HO = qmult(qconjugate(hand.q_WH), quaternion_of(given.attitude))
    p_HO = R_WH.T @ (given.position - hand.p_WH)
    bodies = system.object_surface, system.hand_surface
    touch = _touch(*bodies, quat2mat(q_HO), p_HO)
    if not np.isfinite(touch.gap):
        raise ScenarioError(
            'object.surface: object and hand cut into each other or touch in a line, wherever the '
            'object is, or a formula of theirs has no value; the object must be rounder than the '
            'hand is hollow, in every direction'
        )
    if abs(touch.gap) > TOUCH:
        shift = -touch.gap * (R_WH @ touch.frame_H[:, 2])
        what = 'does not touch the hand, the gap is' if touch.gap > 0 else 'cuts into the hand by'
        at = ', '.join(f'{v:.9g}' for v in given.position + shift)
        raise ScenarioError(
            f'initial.object.position: the object {what} {abs(touch.gap):.6g} m; it touches at '
            f'[{at}]'
        )
    if np.all(np.isfinite(touch.contact_o)):
        return _placed_at(*bodies, q_HO, touch.contact_h, touch.contact_o)
    return _placed_by_attitude(*bodies, q_HO, touch.contact_h)  # found by the support function


def _touch(
    object_surface: Surface,
    hand_surface: Surface,
    R_HO: Array,
    p_HO: Array,
) -> Touch:
    """Return where the bodies touch, in the first chart of the hand, at its poles too."""
    found: list[Touch] = []
    failed: SurfaceError | None = None
    for chart in range(len(hand_surface.charts)):
        try:
            touch = closest_points(object_surface, hand_surface, R_HO, p_HO, hand_chart=chart)
        except SurfaceError as e:
            failed = failed or e
            continue
        if chart:
            contact_h = locate_on_chart(hand_surface, touch.p_HC_h, 0)
            touch = touch._replace(contact_h=contact_h)
        found.append(touch)
        if abs(touch.gap) <= TOUCH:
            break
    if not found:
        raise failed or SurfaceError(f'{hand_surface.name}: no chart')
    return min(found, key=lambda t: abs(t.gap))


def _on_chart(system: ContactSystem, placement: Placement, w_HO_H: Array) -> dict[str, Array]:
    """Return the entries of a state that depend on the hand's chart, on the system's chart."""
    surface, chart = system.hand_surface, system.hand_chart
    contact_h = locate_on_chart(surface, surface.point(placement.contact_h), chart)
    R_HCh = np.array(surface.numeric(chart)(contact_h, surface.parameter_values)[1])
    values = {'contact_h': contact_h, 'w_HO_Ch': R_HCh.T @ w_HO_H}
    if placement.contact_o is not None:
        R_OCo = contact_frame(system.object_surface, placement.contact_o)
        R = R_HCh.T @ quat2mat(placement.q_HO) @ R_OCo
        values['psi'] = np.array([np.arctan2(-R[0, 1], R[0, 0])])
    return values


def _placed_by_attitude(
    object_surface: Surface, hand_surface: Surface, q_HO: Array, contact_h: Array
) -> Placement:
    """Return the placement of a quaternion wxyz and a point (u, v); needs a support function."""
    R_HO, R_HCh = quat2mat(q_HO), contact_frame(hand_surface, contact_h)
    point = _object_point(object_surface, -R_HO.T @ R_HCh[:, 2])
    return _placed_at(object_surface, hand_surface, q_HO, contact_h, object_surface.locate(point))


def _placed_at(
    object_surface: Surface, hand_surface: Surface, q_HO: Array, contact_h: Array, contact_o: Array
) -> Placement:
    """Return the placement of a quaternion q_HO wxyz with known contact points (u, v)."""
    try:
        object_surface.check_regular(contact_o)
    except SurfaceError:  # a pole of the chart
        return Placement(q_HO=q_HO, contact_h=contact_h, contact_o=None, psi=None)
    R_HCh, R_OCo = contact_frame(hand_surface, contact_h), contact_frame(object_surface, contact_o)
    R_ChCo = R_HCh.T @ quat2mat(q_HO) @ R_OCo
    psi = math.atan2(-R_ChCo[0, 1], R_ChCo[0, 0])
    return Placement(q_HO=q_HO, contact_h=contact_h, contact_o=contact_o, psi=psi)


def _object_point(surface: Surface, n_O: Array) -> Array:
    """Return the point [m] of a convex object with outward normal n, both in O."""
    n, p = ca.SX.sym('n', 3), ca.SX.sym('p', surface.parameters.numel())
    f = ca.Function('point', [n, p], [support_point(surface, n, p)[0]])
    return np.array(f(n_O, surface.parameter_values)).reshape(3)


def _relative_velocity(
    given: RelativeVelocity | None, system: ContactSystem, hand: HandStart, contact_h: Array
) -> Array:
    """
    Return w_HO_H [rad/s] of an entry, zero if there is none, at a point (u, v) of the hand.

    Raises
    ------
    ScenarioError
        It spins with ``pure_rolling``.

    """
    if given is None:
        return np.zeros(3)
    R_HCh = contact_frame(system.hand_surface, contact_h)
    form, values = given.only
    w_HO_H: Array = R_HCh @ values
    if form == 'w_WO_W':
        w_HO_H = quat2mat(hand.q_WH).T @ values - hand.w_WH_H
    in_Ch = R_HCh.T @ w_HO_H
    if system.friction == 'pure_rolling' and abs(in_Ch[2]) > 1e-9 * max(1.0, abs(in_Ch).max()):
        raise ScenarioError(
            f'{PATH}.{form}: spins about the contact normal at {in_Ch[2]:.6g} rad/s, which pure '
            "rolling excludes; make w_HO_Ch[2] zero or use friction.model 'rolling'"
        )
    return w_HO_H


def _hybrid_bodies(
    hybrid: Hybrid, friction: Friction, model: ContactSystem, params: Array
) -> tuple[HybridContactSystem, Array]:
    """Return the bodies of a contact system as a system of several modes, and its parameters."""
    from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of  # noqa: PLC0415

    with located('hybrid'):
        system, p = hybrid_of(
            model,
            params,
            slip_share=1.0,
            resistance=friction.rolling_resistance,
            restitution=hybrid.restitution,
            lever_arm=friction.lever_arm or 0.0,
            contacts=hybrid.contacts,
        )
    if friction.mu_kinetic is not None:
        if friction.mu_kinetic > friction.mu:
            raise ScenarioError(
                f'friction.mu_kinetic: must not exceed mu = {friction.mu:g}, got '
                f'{friction.mu_kinetic:g}'
            )
        p[system.parameters.slice('mu_kinetic')] = friction.mu_kinetic
    return system, p


def _free_state(
    initial: Initial,
    pose: Pose,
    hand: HandStart,
    model: ContactSystem,
    bodies: tuple[HybridContactSystem, Array],
) -> Array:
    """Return the state of an object that is placed by its pose, on the hand or above it."""
    system, p = bodies
    R_WH = quat2mat(hand.q_WH)
    q_HO = qmult(qconjugate(hand.q_WH), quaternion_of(pose.attitude))
    p_HO = R_WH.T @ (pose.position - hand.p_WH)
    foot = _closest(system, p, q_HO, p_HO)
    carried = -hand.v_WH_H - np.cross(hand.w_WH_H, p_HO)  # v_HO_H of what rests in the world
    v_WO = np.zeros(3) if pose.velocity is None else R_WH.T @ pose.velocity
    x = system.state.pack(
        **vars(hand),
        q_HO=q_HO,
        p_HO_H=p_HO,
        w_HO_H=_relative_velocity(initial.relative_velocity, model, hand, foot),
        v_HO_H=v_WO + carried,
        **({'contact_h': foot} if system.curved else {}),
    )
    gap = float(system.touch(x, p)[0])
    if pose.velocity is None and abs(gap) <= TOUCH:
        return system.constrained(MotionState(t=0.0, x=x, mode='rolling', p=p)).x
    try:
        system.begin(p, x, np.zeros(system.control.size))
    except ParameterError as e:
        raise ScenarioError(f'initial.object.position: {e}') from None
    return x


def _closest(system: HybridContactSystem, p: Array, q_HO: Array, p_HO: Array) -> Array:
    """Return the coordinates of the hand's point that is closest to the object."""
    if not system.curved:
        return p_HO[:2]
    from rolling_dynamics.hybrid_contact.system import (  # noqa: PLC0415
        placed_on_closest_point,
    )

    rest = {e.name: np.zeros(e.size) for e in system.state.entries}
    rest |= {'q_WH': np.array([1.0, 0, 0, 0]), 'q_HO': q_HO, 'p_HO_H': p_HO}
    rest['contact_h'] = np.mean(system.hand_surface.box(), axis=0)
    with located('initial.object.position'):
        x = placed_on_closest_point(system, p, system.state.pack(**rest))
    return np.asarray(x[system.state.slice('contact_h')])

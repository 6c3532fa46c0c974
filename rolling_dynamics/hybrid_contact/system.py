"""A smooth convex body on a moving hand, as a rolling system of several modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
import math
from operator import itemgetter
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import within_period
from rolling_dynamics.contact.equations import FAR, GRAVITY, parameter_layout
from rolling_dynamics.contract.rolling_system import (
    Mode,
    MotionState,
    Transition,
)
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.friction import LEVER_ARM
from rolling_dynamics.hybrid_contact.feet import (
    DEFAULTS,
    feet_in,
    FOOT,
    friction_parameters,
    LOOKED,
    STATE,
    state_over,
)
from rolling_dynamics.hybrid_contact.hand_contacts import Foot, HandContacts, touches_once
from rolling_dynamics.inertia import inertia_moments
from rolling_dynamics.mechanism import rebound
from rolling_dynamics.mechanism.start import OPEN
from rolling_dynamics.surfaces.quadrics import Plane
from rolling_dynamics.surfaces.surface import Surface

LOOK = 0.1  # of the size of the body: distance after which closest points are searched for again
STARTS = 10  # in each direction of the chart
STEPS, ROUND = 40, 5  # of Newton's method, each at most a tenth of the chart; steps per check
CONVERGED = 1e-10  # step of (u, v) at a closest point
SAME = 1e-6  # of (u, v): two searches gave the same point


class ClosestPoint(NamedTuple):
    """Coordinates (u, v) of a closest point of the hand, and its distance from the body [m]."""

    uv: Array
    gap: float


def closest_points(system: HybridContactSystem, p: Array, x: Array) -> list[ClosestPoint]:
    """
    Return all closest points of the hand, the nearest first.

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
    found: list[ClosestPoint] = []
    ends = [end for *end, counts in np.array(system.search(x, p)).T.tolist() if counts]
    for u, v, gap in sorted(ends, key=itemgetter(2)):
        if not any(math.dist((u, v), f.uv) < SAME for f in found):
            found.append(ClosestPoint(np.array([u, v]), gap))
    return found


def placed_on_closest_point(system: HybridContactSystem, p: Array, x: Array) -> Array:
    """
    Return a state with the nearest of the closest points of the hand.

    Raises
    ------
    ParameterError
        There is no closest point within the edges, or the body touches the hand in several points.

    """
    if x.shape != (system.state.size,) or not np.all(np.isfinite(x)):
        return x  # rejected by the check of all states
    found = closest_points(system, p, x)
    if not found:
        raise ParameterError(
            'the object is not over the hand: no point of it, within its chart and edges, is '
            'closest to the object'
        )
    touching = [f for f in found if f.gap <= OPEN]
    if len(touching) > len(system.feet):
        raise ParameterError(f'{_touching_text(touching)}; {system.limit}')
    return system.on_feet(x, [f.uv for f in found])


def _touching_text(points: list[ClosestPoint]) -> str:
    places = ', '.join(f'({f.uv[0]:.6g}, {f.uv[1]:.6g})' for f in points)
    return f'the object touches the hand in several points (u_h, v_h): {places}'


NO_FOOT = (
    'the closest point of the hand is not determined: another one is equally near, or its chart '
    'degenerates; choose another pole of its surface'
)


class HybridContactSystem(HandContacts):
    """
    A convex body that rolls, slides, flies and lands on a hand whose acceleration is the control.

    The hand is a plate, z = 0 of the hand frame H, or any other surface. Modes: ``rolling``,
    ``pure_rolling`` (a patch with ``mu_spin`` holds the spin), ``slipping``, ``separated``,
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
    paired
        Whether the body may touch the hand at several points.
    feet
        Entries of the state with closest points of the hand.

    """

    called = {'stick': 'slip', 'foot_contact_h': 'foot'}  # noqa: RUF012
    leads = {  # noqa: RUF012
        'edge': ('off_hand', 'the contact runs over the edge of the plate'),
        'foot': ('', NO_FOOT),
    }

    def __init__(
        self,
        object_surface: Surface,
        hand_surface: Surface | None = None,
        *,
        dry: bool = False,
        contacts: int = 2,
    ) -> None:
        """
        Build the system.

        Parameters
        ----------
        object_surface, hand_surface
            Surfaces of the body and the hand.
        dry
            Whether there is dry rolling resistance.
        contacts
            Number of points at which the body may touch a hand that is not a plane.

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
        once = not self.curved or touches_once(object_surface, self.hand_surface)
        self.paired = not once and contacts > 1
        state = state_over(contacts if self.paired else 1) if self.curved else STATE
        self.feet = feet_in(state)
        friction = *friction_parameters(dry=dry), *((LOOKED,) if self.paired else ())
        surfaces = self.object_surface, self.hand_surface
        super().__init__(*surfaces, state, parameter_layout(*surfaces, friction, DEFAULTS))
        self.parts['off_hand'] = self.parts['separated']

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
            Lever arm of dry rolling resistance [m], if the system has it.
        restitution
            Fraction of the work of compression that a landing restores, from 0 to 1.
        edges
            Minimum and maximum coordinates (u, v) of the hand; x and y of a plate in H [m]. The
            bounds of its surface if None.

        Raises
        ------
        ParameterError
            A value is impossible for a body.

        """
        kinetic = mu if mu_kinetic is None else mu_kinetic
        if lever_arm and not self.resisted:
            raise ParameterError('lever_arm: the system has none; build it with dry=True')
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
    def at(self) -> Foot:
        """The closest points of body and hand, as expressions in H."""
        return self.places[FOOT.name]

    # several contacts

    @cached_property
    def several(self) -> Mapping[int, HandContacts]:
        """The system with several closest points of a curved hand, by their number."""
        given = self.object_surface, self.hand_surface, self.state, self.parameters
        counts = range(2, len(self.feet) + 1)
        return {n: HandContacts(*given, self.feet[:n]) for n in counts}

    @property
    def pair(self) -> HandContacts:
        """The system with two closest points of a curved hand."""
        return self.several[2]

    @property
    def limit(self) -> str:
        """Text of the error for more contacts."""
        return f'at most {max(len(self.feet), 1)} contacts are simulated'

    def on_feet(self, x: Array, places: Sequence[Array]) -> Array:
        """Return a state with closest points of the hand; too few are filled up with the first."""
        out = x.copy()
        for k, name in enumerate(self.feet):
            out[self.state.slice(name)] = places[k if k < len(places) else 0]
        return out

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name: over one closest point, and over more of a curved hand."""
        out = {**super().modes}
        lands = out['separated']
        guards, resets = dict(lands.guards), dict(lands.resets)
        for of in guards, resets:  # :meth:`_close` determines whether it misses the hand
            del of['edge']
        out['separated'] = replace(lands, guards=guards, resets=resets)
        off = replace(out.pop('off_hand'), guards={}, resets={})
        if not self.paired:
            return {**out, 'off_hand': off}
        for several in self.several.values():
            out |= {name: self._joined(mode, several) for name, mode in several.modes.items()}
        s = self.symbols
        way = ca.norm_2(s.values['p_HO_H'] - s.params[LOOKED.name])
        left = {'moved': self.function('moved', LOOK * ca.norm_2(self.at.r_OC) - way)}
        then = {'moved': self._look}
        for name, m in out.items():
            out[name] = replace(m, guards={**m.guards, **left}, resets={**m.resets, **then})
        return {**out, 'off_hand': off}

    def _joined(self, mode: Mode, several: HandContacts) -> Mode:
        """Return a mode over several closest points with its resets."""
        resets = {n: partial(self._after, f) for n, f in mode.resets.items()}
        for k, name in enumerate(several.places):
            resets |= {f'{n}_{name}': partial(self._lost, k, n) for n in ('foot', 'edge')}
        return replace(mode, resets=resets)

    def phase(self, mode: str, i: int) -> str:
        """Return the phase of a contact in a mode."""
        if (several := self.over(mode)) is not None:
            return several.phase(mode, i)
        return super().phase(mode, i) if i == 0 else 'separated'

    def over(self, mode: str) -> HandContacts | None:
        """Return the machine of a mode over several closest points."""
        every = self.several.values() if self.paired else ()
        return next((several for several in every if mode in several.parts), None)

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """Return a state with its mode; see :meth:`HybridMachine.begin`."""
        if self.curved:
            x = placed_on_closest_point(self, np.asarray(p), np.asarray(x))
        if not self.paired:
            return super().begin(p, x, u, t)
        p, x = np.array(p, dtype=float), np.asarray(x, dtype=float)
        p[self.parameters.slice(LOOKED.name)] = x[self.state.slice('p_HO_H')]
        first, *others = (x[self.state.slice(n)] for n in self.feet)
        several = self.several.get(1 + sum(math.dist(first, other) > SAME for other in others))
        return super().begin(p, x, u, t) if several is None else several.begin(p, x, u, t)

    def follows(self, i: int) -> dict[str, Transition]:
        """Return the reset of each guard; each also updates the other closest points."""
        out = super().follows(i)
        return {n: partial(self._after, f) for n, f in out.items()} if self.curved else out

    def _after(self, follow: Transition, s: MotionState, u: Array) -> MotionState:
        return self._look(follow(s, u), u)

    def _look(self, s: MotionState, u: Array) -> MotionState:  # noqa: ARG002
        """Return the state with the closest points, in addition to those at which it touches."""
        if s.ended is not None or s.mode == 'off_hand':
            return s
        p, x, surface, most = s.p.copy(), s.x, self.hand_surface, len(self.feet)
        if self.paired:
            p[self.parameters.slice(LOOKED.name)] = x[self.state.slice('p_HO_H')]
            s = replace(s, p=p)
        phases = ((x[self.state.slice(n)], self.phase(s.mode, i)) for i, n in enumerate(self.feet))
        feet = [(uv, phase) for uv, phase in phases if phase != 'separated']
        here = [ClosestPoint(within_period(surface, uv, 0), 0.0) for uv, _ in feet]
        found = closest_points(self, p, x)
        others = [f for f in found if all(math.dist(f.uv, h.uv) > SAME for h in here)]
        near = OPEN if len(feet) == most else -OPEN
        if touching := [f for f in others if f.gap <= near and (here or f is not found[0])]:
            text = f'{_touching_text([*here, *touching])}; {self.limit}'
            return s.noted('several_contacts', text, ends=True)
        if not self.paired or not found or len(feet) == most:
            return s
        return self._over_feet(s, [*feet, *((f.uv, 'separated') for f in others)][:most])

    def _over_feet(self, s: MotionState, feet: Sequence[tuple[Array, str]]) -> MotionState:
        """Return a state over closest points of the hand, and the phase at each."""
        phases = dict(enumerate(phase for _, phase in feet))
        mode = (self.several[len(feet)] if len(feet) > 1 else self).mode_with(phases, s.p)
        return replace(s, x=self.on_feet(s.x, [uv for uv, _ in feet]), mode=mode)

    def _lost(self, k: int, what: str, s: MotionState, u: Array) -> MotionState:
        """Continue without a closest point that vanished or lies beyond the edge."""
        several = self.over(s.mode)
        names = self.feet if several is None else list(several.places)
        feet = [(s.x[self.state.slice(n)], self.phase(s.mode, i)) for i, n in enumerate(names)]
        others = [foot for i, foot in enumerate(feet) if i != k]
        if feet[k][1] == 'separated':
            return self._look(self._over_feet(s, others), u)
        mode, text = self.leads[what]
        if not mode:
            return s.noted(what, text, ends=True)
        others = [foot for foot in others if foot[1] != 'separated']
        if not others:
            return replace(s, mode=mode).noted(what, text)
        left = self._over_feet(s, others).noted(what, text)
        return (self.several.get(len(others)) or self).by_friction(left, u)

    def _close(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let the body land, or miss the hand."""
        u_v, edges = np.array(self.foot(s.x, s.p)).ravel(), self.parameters.slice('hand_edges')
        low, high = s.p[edges].reshape(2, 2).T
        if np.all((low <= u_v) & (u_v <= high)):
            return super()._close(i, s, u)
        passed = replace(s, mode='off_hand')
        return passed.noted('missed', 'the object passes beside the plate')

    @cached_property
    def search(self) -> ca.Function:
        """
        ``(x, p) -> u, v, gap [m], 1 or 0`` (4, n): results of Newton's method, and their validity.

        It starts at the closest points of the state, and at points all over the chart of the hand
        or within its edges. A result is valid if it is a minimum of the distance there; from the
        first start, anywhere.
        """
        s, here, (low, high) = self.symbols, self.at.uv, self._searched
        foot = self.closest[FOOT.name]
        most, last, own = ca.SX.sym('most', 2), ca.SX.sym('last'), ca.SX.sym('own')
        way = ca.fmax(-most, ca.fmin(most, foot.step))
        moved = ca.vertcat(*{**s.values, FOOT.name: here + way}.values())
        given, after = (
            ca.vertcat(*v, most, s.p) for v in ((last, s.x), (ca.norm_inf(way), moved))
        )
        newton = ca.Function('newton', [given], [after]).fold(ROUND)
        done, z = ca.Function('done', [given], [given]), ca.MX.sym('z', given.numel())
        go = ca.Function.if_else('go', newton, done)(z[0] > SAME, z)
        search = ca.Function('round', [z], [go]).fold(STEPS // ROUND)
        periods = ca.DM([period or FAR for period in self.hand_surface.charts[0].periods])
        inside = ca.mmin(ca.vertcat(here - low, high - here)) >= 0
        minimum = ca.logic_and(ca.norm_inf(foot.step) < CONVERGED, foot.margin > 0)
        uv = here + foot.step
        place = uv - periods * ca.floor(uv / periods + 0.5)
        found = ca.vertcat(place, self.gaps, ca.logic_and(minimum, ca.logic_or(own, inside)))
        ends = ca.Function('ends', [given, own], [found])
        x, p = ca.MX.sym('x', s.x.numel()), ca.MX.sym('p', s.p.numel())
        start, first, w = map(ca.MX.sym, ('start', 'first', 'w'), (2, 1, 2))
        at, n = self.state.slice(FOOT.name), STARTS**2 + len(self.feet)
        whole = ca.vertcat(1, x[: at.start], start, x[at.stop :], w, p)
        one = ca.Function('one', [start, first, x, w, p], [ends(search(whole), first)])
        low, high = ca.Function('box', [s.p], [low, high])(p)
        grid = (np.indices((STARTS, STARTS)).reshape(2, -1) + 1) / (STARTS + 1)
        spread = ca.repmat(low, 1, STARTS**2) + ca.diag(high - low) @ ca.DM(grid)
        starts = ca.horzcat(*(x[self.state.slice(name)] for name in self.feet), spread)
        alone, every = ca.DM.eye(n)[:1, :], one.map('every', 'serial', n, [2, 3, 4], [])
        return ca.Function('search', [x, p], [every(starts, alone, x, (high - low) / STARTS, p)])

    @property
    def _searched(self) -> tuple[ca.SX, ca.SX]:
        """Minimum and maximum (u, v) of closest points, by chart and edges."""
        edges, chart, out = self.symbols.params['hand_edges'], self.hand_surface.charts[0], []
        bounds = [
            (-FAR, FAR) if p else b for p, b in zip(chart.periods, chart.bounds, strict=True)
        ]
        for k, (box, limit) in enumerate(
            zip(self.hand_surface.box(), np.transpose(bounds), strict=True)
        ):
            near = ca.if_else(ca.fabs(edges[k::2]) < FAR, edges[k::2], ca.DM(box))
            out.append((ca.fmax, ca.fmin)[k](near, ca.DM(limit)))
        return out[0], out[1]

    def get_ready(self) -> None:
        """Build the functions for changes of mode in advance, which takes a second."""
        for name in ('modes', 'impact_terms', 'gap_rows', 'contact_motion', 'pace', 'onset'):
            getattr(self, name)
        for what, mode in (('slip', 'rolling'), ('slips', 'slipping'), ('stop', 'rolling')):
            self.at_event(what, mode, 0)
        self.at_event('lift', 'separated', 0)
        rebound.get_ready()

    @cached_property
    def foot(self) -> ca.Function:
        """``(x, p) -> u_h, v_h`` of the closest point of the hand."""
        return self.of_state('foot', self.at.uv)

    @cached_property
    def arm(self) -> ca.Function:
        """``(x, p) -> r_OC`` from centre of mass to closest point of the body, in H [m]."""
        return self.of_state('arm', self.at.r_OC)

    @cached_property
    def touch(self) -> ca.Function:
        """``(x, p) -> gap [m], velocity of the contact [m/s], its position [m], spin [rad/s]``."""
        v = self.closures[0].velocity
        return self.of_state('touch', self.gaps, v[:3], self.at.p_HC, v[3])

    def wrench_in(self, mode: str) -> ca.SX:
        """Return torque and force (6) on the body in Ch, of all contacts in a mode."""
        of = self.modes[mode].wrench
        return ca.SX(6, 1) if of is None else of(*self.symbols)

    def hand_power(self, mode: str) -> ca.Function:
        """Return ``(x, u, t, p) -> power`` [W] from the hand to the object in a mode."""
        s, wrench, C = self.symbols.values, self.wrench_in(mode), self.at.frame
        v_hand = s['v_WH_H'] + ca.cross(s['w_WH_H'], self.at.p_HC)
        power = ca.dot(C @ wrench[3:6], v_hand) + ca.dot(C @ wrench[0:3], s['w_WH_H'])
        return self.function('hand_power', power)

    def rest_goal(self, x_start: Array) -> dict[str, Array]:  # noqa: ARG002
        """Return no defaults: a body that slides or flies need not come to rest."""
        return {}

    def conserved(self, p: Array, x: Array) -> list[str]:
        """Return ``energy`` if the plate rests and rolling has no resistance."""
        values = self.state.unpack(x)
        rests = not any(np.any(values[name]) for name in ('w_WH_H', 'v_WH_H'))
        resisted = np.any(self.parameters.unpack(p)['rolling_resistance'])
        return ['energy'] if rests and not (resisted or self.resisted) else []

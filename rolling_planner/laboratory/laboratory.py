"""The planar laboratory, and throw and catch of an ellipse in it; Woodruff & Lynch, VIII-E."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.hybrid_contact.from_contact_system import (
    in_plane,
    planar_hybrid_of,
    PlanarModel,
    PlanarPlant,
    plant_state,
    rest_state,
)
from rolling_dynamics.scenario_model import load_model
from rolling_planner.plan import Plan

if TYPE_CHECKING:
    from scipy.interpolate import BPoly

FLAT, UPRIGHT = -math.pi / 2, 0.0  # rotation of the object in the hand [rad]
OF_PAPER = 'laboratory_flip_up'  # scenario with the parameters of the paper


@dataclass(frozen=True, eq=False)
class Laboratory:
    """
    An ellipsoid on a plate that moves in the plane x-z.

    Attributes
    ----------
    system, params
        Object and plate in space, and their parameters in SI units.
    slip_share
        Kinetic over static friction.
    damping
        Damping of the rocking about rest, as a fraction of critical damping.

    """

    system: ContactSystem
    params: Array
    slip_share: float = 0.8
    damping: float = 0.01

    @classmethod
    def of_paper(cls, **parameters: ArrayLike) -> Laboratory:
        """Return the laboratory of the paper, with other parameters by entry, in SI units."""
        model = load_model(OF_PAPER)
        p = model.params.copy()
        for name, value in parameters.items():
            p[model.system.parameters.slice(name)] = value
        return cls(model.system, p)

    def __post_init__(self) -> None:
        """Reject a body that cannot stand up, and gravity that does not pull it to the plate."""
        surface, gravity_W = self.system.object_surface, self._parameter('gravity_W')
        if {*surface.values} != {'a', 'b', 'c'} or not surface.values['a'] < surface.values['c']:
            raise ParameterError(
                'the laws of the laboratory stand up an ellipsoid whose semi-axis c exceeds a, '
                f'got a {surface.name} with {dict(surface.values)}'
            )
        if gravity_W[:2].any() or not gravity_W[2] < 0:
            raise ParameterError(
                f'gravity must point along -z of the world, got {gravity_W.tolist()}'
            )

    def _parameter(self, name: str) -> Array:
        return self.params[self.system.parameters.slice(name)]

    @property
    def mass(self) -> float:
        """Mass of the object [kg]."""
        return float(self._parameter('mass')[0])

    @property
    def inertia(self) -> float:
        """Moment of inertia of the object about y and its centre of mass [kg m^2]."""
        return float(self._parameter('inertia')[1])

    @property
    def gravity(self) -> float:
        """Gravity along the table [m/s^2]."""
        return -float(self._parameter('gravity_W')[2])

    @property
    def mu(self) -> float:
        """Coefficient of static friction."""
        return float(self._parameter('mu')[0])

    @property
    def semi_axes(self) -> tuple[float, float]:
        """Long and short semi-axis in the plane [m]."""
        axes = self.system.object_surface.values
        return axes['c'], axes['a']

    @property
    def circumference(self) -> float:
        """Circumference of the ellipse [m]."""
        a, b = self.semi_axes
        # the trapezoidal rule converges geometrically for a periodic integrand
        u = np.arange(64) * (2 * math.pi / 64)
        return 2 * math.pi * float(np.mean(np.hypot(a * np.cos(u), b * np.sin(u))))

    def equilibrium_rate(self, *, upright: bool) -> float:
        """Return the rate of falling from upright, or of rocking about flat, in rad/s."""
        a, b = self.semi_axes
        height, radius = (a, b * b / a) if upright else (b, a * a / b)
        J_c = self.inertia + self.mass * height**2
        return math.sqrt(self.mass * self.gravity * abs(radius - height) / J_c)

    @property
    def rolling_resistance(self) -> float:
        """Resistance [m s/rad] for the given damping of the rocking about rest."""
        J_c = self.inertia + self.mass * self.semi_axes[1] ** 2
        rate = self.equilibrium_rate(upright=False)
        return 2 * self.damping * rate * J_c / (self.mass * self.gravity)

    def plant(self) -> tuple[PlanarPlant, Array]:
        """Return the planar plant and its parameters in SI units."""
        return planar_hybrid_of(
            self.system,
            self.params,
            slip_share=self.slip_share,
            resistance=self.rolling_resistance,
        )

    def model(self) -> tuple[PlanarModel, Array]:
        """Return the model of rolling for planner and controllers, and its parameters in SI."""
        plane = in_plane(self.system, self.params)
        return plane, plane.take_parameters(self.params)

    def rest(
        self, beta: float, contact: float = 0.0, hand: tuple[float, float] = (0.0, 0.0)
    ) -> Array:
        """
        Return the state of the model at rest on the level plate.

        Parameters
        ----------
        beta
            Rotation of the object [rad].
        contact
            Position of the contact on the plate [m].
        hand
            Position of the hand in x and z of the world [m].

        """
        turn = [math.cos(beta / 2), math.sin(beta / 2)]
        return rest_state(self.model()[0].state, q_HO=turn, contact_h=contact, p_WH=hand)


def turn_about_y(model: PlanarModel, states: Array) -> Array:
    """Return rotations of the object in W, shape (...) [-pi, pi), from states, shape (..., n)."""
    hand, object_ = (states[..., model.state.slice(name)] for name in ('q_WH', 'q_HO'))
    cosine = hand[..., 0] * object_[..., 0] - hand[..., 1] * object_[..., 1]
    sine = hand[..., 0] * object_[..., 1] + hand[..., 1] * object_[..., 0]
    return np.asarray(np.remainder(2 * np.arctan2(sine, cosine) + np.pi, 2 * np.pi) - np.pi)


def transfer(
    start: float, duration: float, pose: Array, rate: Array, acceleration: Array, goal: Array
) -> BPoly:
    """
    Return the polynomial of degree 5 from a pose in motion to rest, over time [s].

    Parameters
    ----------
    start, duration
        Times [s].
    pose, rate, acceleration
        (beta, x, z) at the start and its derivatives, shape (3,).
    goal
        (beta, x, z) at rest at the end.

    """
    from scipy.interpolate import BPoly  # noqa: PLC0415  large

    if not duration > 0:
        raise ParameterError(f'there must be time to move the hand, got {duration:.3g} s')
    ends = [pose, rate, acceleration], [goal, np.zeros(3), np.zeros(3)]
    return BPoly.from_derivatives([start, start + duration], ends)


@dataclass(frozen=True, kw_only=True)
class FlightState:
    """
    A free flight in the plane x-z of the world.

    Attributes
    ----------
    p, v
        Centre of mass [m] and its velocity [m/s], shape (2,).
    angle, rate
        Rotation from upright about y [rad] and its rate [rad/s].

    """

    p: Array
    v: Array
    angle: float
    rate: float

    def after(self, t: float, gravity: float) -> FlightState:
        """Return the state t seconds later [s] under gravity along -z [m/s^2]."""
        g = np.array([0.0, -gravity])
        return FlightState(
            p=self.p + self.v * t + g * t * t / 2,
            v=self.v + g * t,
            angle=self.angle + self.rate * t,
            rate=self.rate,
        )


@dataclass(frozen=True, kw_only=True)
class UprightImpact:
    """
    Result of an impact on a level plate at rest.

    Attributes
    ----------
    rate
        w+ after it, rad/s towards upright; negative if the object turns away from it.
    wanted
        w+ with which it just reaches upright, in rad/s.
    friction
        Ratio of the tangential to the normal impulse: the minimum coefficient of friction.
    normal_impulse
        Normal impulse [N s], positive in an impact.
    tilt
        Rotation from the nearest upright [rad]; upright is every half turn.

    """

    rate: float
    wanted: float
    friction: float
    normal_impulse: float
    tilt: float

    @property
    def excess(self) -> float:
        """w+ minus the required one, in rad/s."""
        return self.rate - self.wanted


def contact_arm(laboratory: Laboratory, angle: float) -> Array:
    """Return the lowest point of the ellipse from its centre (x, z) [m], rotated from upright."""
    a, b = laboratory.semi_axes
    s, c = math.sin(angle), math.cos(angle)
    height = math.sqrt((a * c) ** 2 + (b * s) ** 2)  # support function of the ellipse
    return np.array([(b * b - a * a) * s * c / height, -height])


def upright_impact(laboratory: Laboratory, before: FlightState) -> UprightImpact:
    """Return the impact of a flying ellipse on a level plate at rest."""
    J, m = laboratory.inertia, laboratory.mass
    r = -contact_arm(laboratory, before.angle)  # from contact to centre
    J_c = J + m * float(r @ r)
    # about y: (r x v)_y = r_z v_x - r_x v_z
    rate = (J * before.rate + m * (r[1] * before.v[0] - r[0] * before.v[1])) / J_c
    impulse = m * (rate * np.array([r[1], -r[0]]) - before.v)  # v+ = w+ x r
    tilt = math.remainder(before.angle, math.pi)
    towards = -math.copysign(1.0, tilt)
    rise = laboratory.semi_axes[0] - r[1]
    return UprightImpact(
        rate=towards * rate,
        wanted=math.sqrt(2 * m * laboratory.gravity * max(rise, 0.0) / J_c),
        friction=abs(impulse[0]) / max(abs(impulse[1]), 1e-300),
        normal_impulse=float(impulse[1]),
        tilt=tilt,
    )


DEEPEST = 0.3  # m below the release down to which a catch is searched for
TIMES = 200  # samples of the flight, before the search for a root between two of them
LIMITS = (60.0, 15.0, 15.0)  # of alpha_WH_H_y [rad/s^2], a_WH_H_x and a_WH_H_z [m/s^2]


@dataclass(frozen=True, kw_only=True)
class CatchOptions:
    """
    Options of a catch of the object.

    Attributes
    ----------
    friction
        Maximum ratio of tangential to normal force in the carry, and of impulses in the impact.
    control_limits
        Maximum magnitude of the three controls, also on the move to the catch.
    away
        Acceleration with which the hand leaves the object at release, in units of gravity.
    early
        Time before the impact at which the hand rests at the position of the catch [s].

    """

    friction: float = 0.7
    control_limits: tuple[float, float, float] = LIMITS
    away: float = 2.0
    early: float = 0.08


@dataclass(frozen=True, eq=False, kw_only=True)
class ThrowCatchPlan:
    """
    A throw with its catch.

    Attributes
    ----------
    carry
        Plan of planar rolling up to the release.
    touch
        Time of the impact since the start of the throw [s].
    release, before, impact
        Flight at the release and just before the impact, and the impact.
    move
        Rotation about y and position in the world of the hand, (beta, x, z) in rad and m over time
        [s], from the release to the position of the catch.
    hand
        Position of the catch, x and z of the hand in the world [m]; the hand is level there.
    upright
        Rotation of the object, a multiple of pi, at which it is upright [rad].
    carry_friction
        Maximum ratio of friction to normal force in the carry.

    """

    carry: Plan
    touch: float
    release: FlightState
    before: FlightState
    impact: UprightImpact
    move: BPoly
    hand: tuple[float, float]
    upright: float
    carry_friction: float

    def control_at(self, t: float) -> Array:
        """Return the control of the hand at a time [s] since the start of the throw."""
        if t < self.carry.duration:
            return self.carry.control_at(t)
        if t >= self.rests:
            return np.zeros(3)
        beta, (alpha, a_x, a_z) = float(self.move(t)[0]), self.move(t, 2).tolist()
        c, s = math.cos(beta), math.sin(beta)
        return np.array([alpha, c * a_x - s * a_z, s * a_x + c * a_z])

    @property
    def rests(self) -> float:
        """Time since the start of the throw at which the hand rests for the catch [s]."""
        return float(self.move.x[-1])

    def greatest_controls(self) -> Array:
        """Return the maximum magnitude of each control from start to impact, shape (3,)."""
        times = np.arange(0.0, self.touch, 1e-3)
        controls = np.array([self.control_at(float(t)) for t in times])
        return np.asarray(np.abs(controls).max(axis=0))


def plan_throw_catch(
    laboratory: Laboratory, carry: Plan, options: CatchOptions | None = None
) -> ThrowCatchPlan:
    """
    Return a throw whose catch leaves the object just enough energy to stand up.

    Parameters
    ----------
    laboratory
        The ellipse and the plate.
    carry
        Plan of planar rolling that ends in a release.
    options
        Options of the catch.

    Raises
    ------
    PlanningError
        No position of the hand allows such a catch, or it needs too much friction or acceleration.

    """
    options = options or CatchOptions()
    pose, rate, release = _released(laboratory, carry)
    flight = _flight(laboratory, release)
    before = release.after(flight, laboratory.gravity)
    upright = math.pi * round(before.angle / math.pi)
    contact = before.p + contact_arm(laboratory, before.angle)
    # the object must be in the middle of the plate when it is upright
    hand = (float(contact[0]) + _rolled(laboratory, before.angle, upright), float(contact[1]))
    f = carry.contact_wrenches[:-1, 3:]  # there is no force at the release
    plan = ThrowCatchPlan(
        carry=carry,
        touch=carry.duration + flight,
        release=release,
        before=before,
        impact=upright_impact(laboratory, before),
        move=transfer(
            carry.duration,
            flight - options.early,
            pose,
            rate,
            np.array([0.0, 0.0, -options.away * laboratory.gravity]),
            np.array([0.0, *hand]),
        ),
        hand=hand,
        upright=upright,
        carry_friction=float((np.hypot(f[:, 0], f[:, 1]) / np.abs(f[:, 2])).max()),
    )
    _check_limits(plan, options)
    return plan


def _released(laboratory: Laboratory, carry: Plan) -> tuple[Array, Array, FlightState]:
    """Return the hand (beta, x, z) and its rate at the release, and the flight of the object."""
    system, p = laboratory.plant()
    model, _ = laboratory.model()
    d = system.state.unpack(plant_state(system, p, model, carry.states[-1]))
    beta, turned = (2 * math.atan2(*d[name][::-1]) for name in ('q_WH', 'q_HO'))
    w, c, s = float(d['w_WH_H'][0]), math.cos(beta), math.sin(beta)
    R = np.array([[c, s], [-s, c]])  # x-z components, a turn about y
    o_x, o_z = d['p_HO_H']
    flight = FlightState(
        p=d['p_WH'] + R @ d['p_HO_H'],
        v=R @ (d['v_WH_H'] + w * np.array([o_z, -o_x]) + d['v_HO_H']),
        angle=beta + turned,
        rate=w + float(d['w_HO_H'][0]),
    )
    return np.array([beta, *d['p_WH']]), np.array([w, *(R @ d['v_WH_H'])]), flight


def _flight(laboratory: Laboratory, release: FlightState) -> float:
    """Return the time [s] to the suitable impact that needs the least friction."""
    from scipy.optimize import brentq  # noqa: PLC0415  large

    def impact(t: float) -> UprightImpact:
        return upright_impact(laboratory, release.after(t, laboratory.gravity))

    rise, g = float(release.v[1]), laboratory.gravity
    times = np.linspace(0.0, (rise + math.sqrt(rise**2 + 2 * g * DEEPEST)) / g, TIMES)
    states = [release.after(float(t), g) for t in times]
    low = [float(s.p[1] + contact_arm(laboratory, s.angle)[1]) for s in states]
    excess = [impact(float(t)).excess for t in times]
    found = []
    for k in range(1, TIMES):
        # the object does not hit a plate there before
        if low[k] < min(low[:k]) and excess[k - 1] * excess[k] < 0:
            t = brentq(lambda t: impact(t).excess, times[k - 1], times[k], xtol=1e-13)
            if abs(impact(t).excess) < 1e-9:  # not if upright is another half turn
                found.append(t)
    if not found:
        raise PlanningError(
            f'no position of the hand within {DEEPEST:g} m below the release is a catch whose '
            'impact leaves the object enough energy to stand up; choose another release'
        )
    return float(min(found, key=lambda t: impact(t).friction))


def _check_limits(plan: ThrowCatchPlan, options: CatchOptions) -> None:
    """Raise PlanningError if a throw exceeds the limits."""
    for what, needed in (('impact', plan.impact.friction), ('carry', plan.carry_friction)):
        if not needed <= options.friction:
            raise PlanningError(
                f'the {what} would need a coefficient of friction of {needed:.3g}, '
                f'{options.friction:.3g} is allowed; choose another release'
            )
    controls = plan.greatest_controls()
    if np.any(controls > options.control_limits):
        raise PlanningError(
            f'the hand would need accelerations of {np.round(controls, 2).tolist()}, '
            f'{list(options.control_limits)} are allowed (about y [rad/s^2], along x and z '
            '[m/s^2]); choose a slower or less rotated release'
        )


def _rolled(laboratory: Laboratory, start: float, end: float) -> float:
    """Return the distance an ellipse rolls on a level plate between two rotations [m]."""
    a, b = laboratory.semi_axes
    nodes, weights = np.polynomial.legendre.leggauss(24)
    angle = (start + end) / 2 + (end - start) / 2 * nodes
    radius = (a * b) ** 2 / ((a * np.cos(angle)) ** 2 + (b * np.sin(angle)) ** 2) ** 1.5
    return float((end - start) / 2 * weights @ radius)

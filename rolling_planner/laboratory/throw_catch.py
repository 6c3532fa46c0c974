"""
Throw and catch of an ellipse by shooting on trapezoidal profiles; Woodruff & Lynch, VIII-E.

The hand carries the object, which rolls, to a release; the object flies, turning, and meets the
level hand at rest in a state from which the impact leaves it just the energy to come upright.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.hybrid_contact.laboratory import FLAT, Laboratory
from rolling_dynamics.hybrid_contact.model_state import plant_state
from rolling_dynamics.simulation import Stepper
from rolling_planner.arrays import Array
from rolling_planner.laboratory.throw_catch_profile import ThrowProfile, Transfer, transfer
from rolling_planner.laboratory.upright_impact import (
    contact_arm,
    FlightState,
    touch_time,
    upright_impact,
    UprightImpact,
)

STEP = 2e-3  # s, of the simulated carry
FIRST = ThrowProfile(duration=0.3, alpha=16.0, a_x=0.0, a_z=4.0)  # turns the object over once


@dataclass(frozen=True, kw_only=True)
class ThrowCatchOptions:
    """
    How a throw is to be done.

    Attributes
    ----------
    first
        Profile from which the search starts.
    catch_height
        Height of the plate at the catch from which the search starts [m].
    tilt
        Wanted size of the turn from upright at the impact [rad].
    friction
        Greatest ratio of the force along the plate to that across it, in the carry and of the
        impulses in the impact.
    normal_force_min
        Least normal force in the carry, as a share of the weight.
    control_limits
        Greatest size of the three controls, on the way to the catch too.
    away
        Acceleration with which the hand leaves the object at release, in units of gravity.
    early
        How long before the impact the hand rests at the place of the catch [s].
    start_contact
        Place of the object on the plate at the start [m].

    """

    first: ThrowProfile = FIRST
    catch_height: float = -0.08
    tilt: float = 0.33
    friction: float = 0.7
    normal_force_min: float = 0.3
    control_limits: tuple[float, float, float] = (60.0, 15.0, 15.0)
    away: float = 2.0
    early: float = 0.08
    start_contact: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class ThrowCatchPlan:
    """
    A throw with its catch.

    Attributes
    ----------
    profile
        Acceleration of the hand up to the release.
    release
        Flight at the release.
    touch
        Time of the impact since the start of the throw [s].
    before, impact
        Flight just before the impact, and what it leaves.
    move
        Motion of the hand from the release to the place of the catch.
    hand
        Place of the catch, x and z of the hand in the world [m]; the hand is level there.
    upright
        Turn of the object, a multiple of pi, at which it comes upright [rad].
    start
        State of the model at the start.
    carry_friction, carry_normal_force
        Greatest ratio of friction to normal force in the carry, and least normal force as a share
        of the weight.

    """

    profile: ThrowProfile
    release: FlightState
    touch: float
    before: FlightState
    impact: UprightImpact
    move: Transfer
    hand: tuple[float, float]
    upright: float
    start: Array
    carry_friction: float
    carry_normal_force: float

    def control_at(self, t: float) -> Array:
        """Return the control of the hand at a time [s] since the start of the throw."""
        if t < self.profile.duration:
            return self.profile.control(t)
        return self.move.control(t)

    def greatest_controls(self, dt: float = 1e-3) -> Array:
        """Return the greatest size of each control from start to impact, shape (3,)."""
        times = np.arange(0.0, self.touch, dt)
        controls = np.array([self.control_at(float(t)) for t in times])
        return np.asarray(np.abs(controls).max(axis=0))


@dataclass(frozen=True, eq=False)
class _Carry:
    """
    A simulated carry.

    The flight it ends in, the hand's pose and rate (beta, x, z), and the contact forces in H.
    """

    flight: FlightState
    pose: Array
    rate: Array
    forces: Array


class _Shooter:
    """Simulates carries on the plant."""

    def __init__(self, laboratory: Laboratory, start_contact: float) -> None:
        self.laboratory = laboratory
        self.system, self.p = laboratory.plant()
        self.model, _ = laboratory.model()
        self.start = laboratory.rest(FLAT, start_contact)
        self._stepper = Stepper(self.system, self.p, max_step=STEP)
        wrench = self.system.modes['rolling'].wrench
        assert wrench is not None  # noqa: S101 (every mode of this system has one)
        self._wrench = FastFunction(wrench)
        x = plant_state(self.system, self.p, self.model, self.start)
        self._begin = self._stepper.begin(x)

    def carry(self, profile: ThrowProfile) -> _Carry | None:
        """Return the end of a carry; None if the object slides or leaves the plate before."""
        s, steps = self._begin, max(round(profile.duration / STEP), 1)
        h, forces = profile.duration / steps, []
        for k in range(steps):
            u = profile.control((k + 0.5) * h)
            s = self._stepper.step(s, u, h)
            if s.mode != 'rolling':
                return None
            forces.append(self._wrench(s.x, u, s.t, self.p)[3:])
        d = self.system.state.unpack(s.x)
        beta, w = float(d['beta_WH'][0]), float(d['w_WH_H'][0])
        c, sine = math.cos(beta), math.sin(beta)
        R = np.array([[c, sine], [-sine, c]])  # x-z components, a turn about y
        p, (o_x, o_z) = d['p_WH'], d['p_HO_H']
        v_H = d['v_WH_H'] + w * np.array([o_z, -o_x]) + d['v_HO_H']
        flight = FlightState(
            p=p + R @ d['p_HO_H'],
            v=R @ v_H,
            angle=beta + float(d['beta_HO'][0]),
            rate=w + float(d['w_HO_H'][0]),
        )
        rate = np.array([w, *(R @ d['v_WH_H'])])
        return _Carry(flight, np.array([beta, *p]), rate, np.array(forces))


def plan_throw_catch(
    laboratory: Laboratory, options: ThrowCatchOptions | None = None
) -> ThrowCatchPlan:
    """
    Return a throw that ends in an impact from which the object just comes upright.

    Parameters
    ----------
    laboratory
        The ellipse and the plate.
    options
        Where the search starts, and what is wanted.

    Raises
    ------
    PlanningError
        The search found no such throw.

    """
    from scipy.optimize import least_squares  # noqa: PLC0415  large

    options = options or ThrowCatchOptions()
    shooter = _Shooter(laboratory, options.start_contact)
    guess = np.array([*options.first.peak, options.catch_height])
    scale = np.array([10.0, 2.0, 3.0, 0.1])

    def residuals(y: Array) -> Array:
        return _residuals(shooter, options, y * scale)

    found = least_squares(residuals, guess / scale, diff_step=1e-5, xtol=1e-12, ftol=1e-12)
    plan = _assemble(shooter, options, found.x * scale)
    if plan is None or not abs(plan.impact.excess) <= 1e-3:
        raise PlanningError(
            'no throw was found whose impact leaves the object the energy to come upright; start '
            'the search from another profile or height'
        )
    _check_limits(plan, options)
    return plan


def _check_limits(plan: ThrowCatchPlan, options: ThrowCatchOptions) -> None:
    """Raise PlanningError where a throw needs more than there is."""
    for what, needed in (('impact', plan.impact.friction), ('carry', plan.carry_friction)):
        if not needed <= options.friction:
            raise PlanningError(
                f'the {what} would need a coefficient of friction of {needed:.3g}, '
                f'{options.friction:.3g} is allowed; ask for a smaller tilt or a gentler profile'
            )
    if not plan.carry_normal_force >= options.normal_force_min:
        raise PlanningError(
            f'the normal force falls to {plan.carry_normal_force:.3g} of the weight in the carry, '
            f'{options.normal_force_min:.3g} is asked for; start from a gentler profile'
        )
    controls = plan.greatest_controls()
    if np.any(controls > options.control_limits):
        raise PlanningError(
            f'the hand would need accelerations of {np.round(controls, 2).tolist()}, '
            f'{list(options.control_limits)} are allowed (about y [rad/s^2], along x and z '
            '[m/s^2]); catch later or lower'
        )


def _profile(options: ThrowCatchOptions, y: Sequence[float] | Array) -> ThrowProfile:
    return replace(options.first, alpha=float(y[0]), a_x=float(y[1]), a_z=float(y[2]))


def _residuals(shooter: _Shooter, options: ThrowCatchOptions, y: Array) -> Array:
    """Return what must vanish (energy, tilt) and, weakly, what should be small."""
    bad = np.full(5, 10.0)
    carry = shooter.carry(_profile(options, y))
    if carry is None:
        return bad
    t = touch_time(shooter.laboratory, carry.flight, float(y[3]))
    if t is None:
        return bad
    before = carry.flight.after(t, shooter.laboratory.gravity)
    impact = upright_impact(shooter.laboratory, before)
    short = -impact.tilt * math.copysign(1.0, before.rate)  # positive: upright still to come
    guess = np.array([*options.first.peak, options.catch_height])
    return np.array(
        [
            impact.excess,
            3 * (short - options.tilt),
            1e-4 * impact.friction,
            1e-4 * (y[1] - guess[1]),
            1e-4 * (y[2] - guess[2]),
        ]
    )


def _assemble(shooter: _Shooter, options: ThrowCatchOptions, y: Array) -> ThrowCatchPlan | None:
    laboratory, profile = shooter.laboratory, _profile(options, y)
    carry = shooter.carry(profile)
    flight_time = None if carry is None else touch_time(laboratory, carry.flight, float(y[3]))
    if carry is None or flight_time is None:
        return None
    before = carry.flight.after(flight_time, laboratory.gravity)
    upright = math.pi * round(before.angle / math.pi)
    # the object is to stand in the middle of the plate when it has come upright
    contact = float(before.p[0] + contact_arm(laboratory, before.angle)[0])
    hand_x = contact + _rolled(laboratory, before.angle, upright)
    release, touch = profile.duration, profile.duration + flight_time
    away, f = np.array([0.0, 0.0, -options.away * laboratory.gravity]), carry.forces
    move = transfer(
        release,
        flight_time - options.early,
        carry.pose,
        carry.rate,
        away,
        np.array([0.0, hand_x, float(y[3])]),
    )
    return ThrowCatchPlan(
        profile=profile,
        release=carry.flight,
        touch=touch,
        before=before,
        impact=upright_impact(laboratory, before),
        move=move,
        hand=(hand_x, float(y[3])),
        upright=upright,
        start=shooter.start,
        carry_friction=float((np.hypot(f[:, 0], f[:, 1]) / np.abs(f[:, 2])).max()),
        carry_normal_force=float(f[:, 2].min()) / (laboratory.mass * laboratory.gravity),
    )


def _rolled(laboratory: Laboratory, start: float, end: float) -> float:
    """Return how far an ellipse rolls on a level plate between two turns [m]."""
    a, b = laboratory.semi_axes
    nodes, weights = np.polynomial.legendre.leggauss(24)
    angle = (start + end) / 2 + (end - start) / 2 * nodes
    radius = (a * b) ** 2 / ((a * np.cos(angle)) ** 2 + (b * np.sin(angle)) ** 2) ** 1.5
    return float((end - start) / 2 * weights @ radius)

"""
Throw and catch of an ellipse; Woodruff & Lynch, VIII-E.

The hand carries the object, which rolls, to a release; the object flies, turning, and meets the
level hand at rest in a state from which the impact leaves it just the energy to come upright.
The throw is a plan like any other that ends in a release; where the hand is to wait follows.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.hybrid_contact.model_state import plant_state
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_planner.laboratory.transfer import Transfer, transfer
from rolling_planner.laboratory.upright_impact import (
    contact_arm,
    FlightState,
    upright_impact,
    UprightImpact,
)
from rolling_planner.plan import Plan

DEEPEST = 0.3  # m below the release, to which a catch is looked for
TIMES = 200  # of the flight at which it is, before the root between two of them
LIMITS = (60.0, 15.0, 15.0)  # of alpha_WH_H_y [rad/s^2], a_WH_H_x and a_WH_H_z [m/s^2]


@dataclass(frozen=True, kw_only=True)
class CatchOptions:
    """
    How the object is to be caught.

    Attributes
    ----------
    friction
        Greatest ratio of the force along the plate to that across it, in the carry and of the
        impulses in the impact.
    control_limits
        Greatest size of the three controls, on the way to the catch too.
    away
        Acceleration with which the hand leaves the object at release, in units of gravity.
    early
        How long before the impact the hand rests at the place of the catch [s].

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
        Flight at the release and just before the impact, and what the impact leaves.
    move
        Motion of the hand from the release to the place of the catch.
    hand
        Place of the catch, x and z of the hand in the world [m]; the hand is level there.
    upright
        Turn of the object, a multiple of pi, at which it comes upright [rad].
    carry_friction
        Greatest ratio of friction to normal force in the carry.

    """

    carry: Plan
    touch: float
    release: FlightState
    before: FlightState
    impact: UprightImpact
    move: Transfer
    hand: tuple[float, float]
    upright: float
    carry_friction: float

    def control_at(self, t: float) -> Array:
        """Return the control of the hand at a time [s] since the start of the throw."""
        if t < self.carry.duration:
            return self.carry.control_at(t)
        return self.move.control(t)

    def greatest_controls(self, dt: float = 1e-3) -> Array:
        """Return the greatest size of each control from start to impact, shape (3,)."""
        times = np.arange(0.0, self.touch, dt)
        controls = np.array([self.control_at(float(t)) for t in times])
        return np.asarray(np.abs(controls).max(axis=0))


def plan_throw_catch(
    laboratory: Laboratory, carry: Plan, options: CatchOptions | None = None
) -> ThrowCatchPlan:
    """
    Return a throw with the catch whose impact leaves the object just the energy to come upright.

    Parameters
    ----------
    laboratory
        The ellipse and the plate.
    carry
        Plan of planar rolling that ends in a release.
    options
        How it is to be caught.

    Raises
    ------
    PlanningError
        No place of the hand is such a catch, or it needs more friction or acceleration than
        there is.

    """
    options = options or CatchOptions()
    pose, rate, release = _released(laboratory, carry)
    flight = _flight(laboratory, release)
    before = release.after(flight, laboratory.gravity)
    upright = math.pi * round(before.angle / math.pi)
    contact = before.p + contact_arm(laboratory, before.angle)
    # the object is to stand in the middle of the plate when it has come upright
    hand = (float(contact[0]) + _rolled(laboratory, before.angle, upright), float(contact[1]))
    f = carry.contact_wrenches[:-1, 3:]  # at the release there is no force
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
    """Return the time [s] to the impact that needs the least friction of those that are wanted."""
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
        # a plate there is not met before
        if low[k] < min(low[:k]) and excess[k - 1] * excess[k] < 0:
            t = brentq(lambda t: impact(t).excess, times[k - 1], times[k], xtol=1e-13)
            if abs(impact(t).excess) < 1e-9:  # not where upright is another half turn
                found.append(t)
    if not found:
        raise PlanningError(
            f'no place of the hand down to {DEEPEST:g} m below the release is a catch whose '
            'impact leaves the object the energy to come upright; ask for another release'
        )
    return float(min(found, key=lambda t: impact(t).friction))


def _check_limits(plan: ThrowCatchPlan, options: CatchOptions) -> None:
    """Raise PlanningError where a throw needs more than there is."""
    for what, needed in (('impact', plan.impact.friction), ('carry', plan.carry_friction)):
        if not needed <= options.friction:
            raise PlanningError(
                f'the {what} would need a coefficient of friction of {needed:.3g}, '
                f'{options.friction:.3g} is allowed; ask for another release'
            )
    controls = plan.greatest_controls()
    if np.any(controls > options.control_limits):
        raise PlanningError(
            f'the hand would need accelerations of {np.round(controls, 2).tolist()}, '
            f'{list(options.control_limits)} are allowed (about y [rad/s^2], along x and z '
            '[m/s^2]); ask for a release that is slower or turned less'
        )


def _rolled(laboratory: Laboratory, start: float, end: float) -> float:
    """Return how far an ellipse rolls on a level plate between two turns [m]."""
    a, b = laboratory.semi_axes
    nodes, weights = np.polynomial.legendre.leggauss(24)
    angle = (start + end) / 2 + (end - start) / 2 * nodes
    radius = (a * b) ** 2 / ((a * np.cos(angle)) ** 2 + (b * np.sin(angle)) ** 2) ** 1.5
    return float((end - start) / 2 * weights @ radius)

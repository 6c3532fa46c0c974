"""Plans of the same motion by collocation, clear of obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.pendulum_sphere import PendulumSphere, SphereParameters
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_planner.gait_planner.gait_sequence import GaitSequence
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import Circle, GaitProblem
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem, Weights
from rolling_planner.refinement.planner import plan_rolling


class KeepOutSphere(PendulumSphere):
    """
    The sphere among circles that its contact point may not enter; they are parameters.

    Its envelope has ``keep_out_1`` and so on: the square of the distance from the centre over
    that of the radius, less 1.
    """

    def __init__(self, count: int) -> None:
        """
        Build the system.

        Parameters
        ----------
        count
            Number of circles.

        """
        names = tuple(f'keep_out_{k}_{c}' for k in range(1, count + 1) for c in ('x', 'y', 'r'))
        circles = Entry('keep_out', names, 'm', 'W', text='circles: centre and radius')
        super().__init__(*((circles,) if count else ()))
        self.count = count

    def pack_with_circles(
        self, params: SphereParameters, circles: Sequence[Circle], margin: float
    ) -> NDArray[np.float64]:
        """Return the vector p; the radii are larger by a margin [m]."""
        places = [(*c.center, c.radius + margin) for c in circles]
        return np.concatenate([self.pack_parameters(params), np.ravel(places)])

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """The limits of contact and of the way, positive inside."""
        e, out = self.expressions, dict(super().envelope)
        for k in range(self.count):
            x, y, r = (e.params['keep_out'][3 * k + j] for j in range(3))
            away = e.values['contact'] - ca.vertcat(x, y)
            out[f'keep_out_{k + 1}'] = self.function(
                f'keep_out_{k + 1}', ca.sumsqr(away) / r**2 - 1
            )
        return out


SHORTER = 0.85  # ratio of one horizon to the one before, until no plan is found


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """
    A sequence of gaits and direct plans of the same motion.

    Attributes
    ----------
    gaits
        The sequence.
    direct, fastest
        Collocation in the time of the gaits, and in the shortest time that was tried with success.
    rows
        time [s], energy [J], peak_torque [N m], friction, least_normal_force [N] of each.

    """

    gaits: GaitSequence
    direct: Plan
    fastest: Plan
    rows: dict[str, dict[str, float]]


def compare(problem: GaitProblem, segments: int = 30, shortenings: int = 6) -> Comparison:
    """
    Plan a motion from rest to rest in both ways.

    Parameters
    ----------
    problem
        One waypoint, finite torque.
    segments
        Of the coarsest collocation.
    shortenings
        Shorter horizons that are tried.

    Raises
    ------
    ParameterError
        The problem has more than one waypoint, or no limit of torque.
    PlanningError
        One of the two finds no plan.

    """
    if len(problem.waypoints) != 1:
        raise ParameterError(
            'waypoints: direct planning takes one goal and nothing before it; give one '
            f'waypoint to compare, got {len(problem.waypoints)}'
        )
    if not np.isfinite(problem.limits.torque):
        raise ParameterError('limits.torque: a finite one is needed to compare, got inf')
    gaits = plan_gaits(problem)
    direct = direct_plan(problem, gaits.duration, segments, gaits)
    fastest = direct
    with suppress(PlanningError):  # the last horizon is too short
        for k in range(1, shortenings + 1):
            fastest = direct_plan(problem, gaits.duration * SHORTER**k, segments, gaits)
    rows = {
        'gaits': gaits.effort(),
        'direct': plan_effort(direct),
        'direct, fastest': plan_effort(fastest),
    }
    return Comparison(gaits=gaits, direct=direct, fastest=fastest, rows=rows)


def direct_plan(problem: GaitProblem, horizon: float, segments: int, gaits: GaitSequence) -> Plan:
    """Return a plan of the suite's collocation to the first waypoint, within the same limits."""
    system, params = KeepOutSphere(len(problem.obstacles)), problem.params
    limits = problem.planning_limits
    p = system.pack_with_circles(params, problem.obstacles, problem.keep_off)
    p[system.parameters.slice('mu')] = limits.friction or params.mu
    x0 = system.rolling_state(params, contact=problem.start)
    total = params.shell_mass + params.pendulum_mass
    hold = total * params.shell_radius * np.cross([0.0, 0.0, 1.0], params.gravity_W)
    return plan_rolling(
        PlanProblem(
            system=system,
            p=p,
            x_start=x0,
            goal={'contact': problem.waypoints[0].position},
            horizon=horizon,
            active_controls=_controls(problem, hold),
            control_limits=limits.torque / np.sqrt(2),
            segments=segments,
            refinements=3,
            normal_force_min=limits.normal_force,
            weights=Weights(control=1.0),
            goal_tolerance=problem.waypoints[0].tolerance / 10,
            warm_start=_stretched(gaits.to_plan(100.0), horizon) if problem.obstacles else None,
        )
    )


def _stretched(plan: Plan, horizon: float) -> Plan:
    """Return a plan run through in another time, as a first guess."""
    share = horizon / plan.duration
    states = plan.states.copy()
    for name in ('w_WS_W', 'w_WP_W'):
        states[:, STATE.slice(name)] /= share
    return replace(plan, times=plan.times * share, states=states)


def plan_effort(plan: Plan) -> dict[str, float]:
    """Return time, energy of the drive, peak torque, friction and least normal force of a plan."""
    Omega, omega = (plan.states[:, STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W'))
    power = np.abs((plan.controls * (omega - Omega)).sum(axis=1))
    force: NDArray[np.float64] = plan.contact_wrenches[:, 3:]
    return {
        'time': plan.duration,
        'energy': float(np.trapezoid(power, plan.times)),
        'peak_torque': float(np.linalg.norm(plan.controls, axis=1).max()),
        'friction': float((np.hypot(force[:, 0], force[:, 1]) / force[:, 2]).max()),
        'least_normal_force': float(force[:, 2].min()),
    }


def _controls(problem: GaitProblem, hold: NDArray[np.float64]) -> list[str]:
    """Return the torques that the motion needs: one along an axis of W, else all three."""
    way = np.subtract(problem.waypoints[0].position, problem.start)
    straight = min(abs(way)) < 1e-12 and not problem.obstacles
    if np.abs(hold).max() < 1e-12 and straight:
        return ['tau_W_y' if abs(way[0]) > 0 else 'tau_W_x']
    return ['tau_W_x', 'tau_W_y', 'tau_W_z']

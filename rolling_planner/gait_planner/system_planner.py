"""The planner of the sphere with a pendulum: sequences of gaits, from rest to rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.system import pendulum_direction, resting_direction, STATE
from rolling_dynamics.rotations import quaternions
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_dynamics.scenario.scenario import Tolerances
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import (
    Circle,
    GaitProblem,
    GaitSequence,
    read_gait_problem,
    Waypoint,
)
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import Planned, Request, scalar_values, SystemPlanner
from rolling_planner.progress import InfeasibleError, Report
from scipy.spatial.transform import Rotation
from transforms3d.quaternions import quat2mat

SPEED = 0.02  # m/s and, over the shell's radius, rad/s: tolerance of rest
TILT = 0.05  # rad, of the pendulum at rest
RATE = 1000.0  # samples of the torque per second, for a scenario
TOLERANCES = Tolerances(relative=1e-10, absolute=1e-12)  # the torque is linear between samples
CONTACT = STATE.entry('contact')


class GaitPlanner(SystemPlanner):
    """See :class:`SystemPlanner`; a goal names the contact point."""

    section = GaitProblem
    methods = ('gaits',)
    finds_duration = True
    has_own_goal = True
    takes_waypoints = True
    takes_keep_out = True
    lines = {  # noqa: RUF012
        'swings': ('swings', 'd'),
        'duration': ('duration [s]', '.6g'),
        'energy': ('energy [J]', '.4g'),
        'peak_torque': ('peak torque [N m]', '.4g'),
        'friction': ('friction needed', '.4g'),
        'cpu_seconds': ('CPU time [s]', '.3g'),
    }

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:  # noqa: ARG002
        """Return the contact point; a manoeuvre ends at rest."""
        return (CONTACT,)

    def problem(self, scenario: Scenario, request: Request | None = None) -> GaitProblem:
        """
        Return the manoeuvre of the section ``plan``, or of a request.

        The waypoints of a request precede its goal; without either, the manoeuvre is that in the
        scenario. Its keep-out circles are added to the obstacles of the scenario.

        Raises
        ------
        ParameterError
            The start is not at rest, or a point lies in an obstacle.

        """
        if request is None:
            return read_gait_problem(scenario)
        base = read_gait_problem(scenario) if 'plan' in scenario.raw else _standing(scenario)
        start = np.asarray(request.start, dtype=float)
        check_rest(base.params, start)
        tolerance = float(request.options['goal_tolerance'])
        points = [Waypoint(position=(w[0], w[1])) for w in np.asarray(request.waypoints)]
        points += _goal(request.goal, start, tolerance)
        if not points and 'plan' not in scenario.raw:
            raise ParameterError(
                'goal_names is empty, there are no waypoints, and the scenario has no section '
                f'plan: name {", ".join(CONTACT.components)}'
            )
        here, circles = start[STATE.slice('contact')], np.asarray(request.keep_out).tolist()
        return replace(
            base,
            start=(float(here[0]), float(here[1])),
            waypoints=points or base.waypoints,
            obstacles=[*base.obstacles, *(Circle(center=(x, y), radius=r) for x, y, r in circles)],
        )

    def plan(
        self, scenario: Scenario, on_iteration: Report, request: Request | None = None
    ) -> Planned:
        """Return the plan, with states and torques along the complete manoeuvre."""
        problem = self.problem(scenario, request)
        if request is None:
            sequence, rate, start = plan_gaits(problem, on_iteration), RATE, scenario.x0
        else:
            options, start = request.options, request.start
            sequence = plan_gaits(problem, on_iteration, options['time_budget'])
            sequence = _within(sequence, request.horizon)
            rate = options['sample_rate']
        found = rolled(sequence.to_plan(rate), start)
        last = problem.waypoints[-1]
        swings = [
            {
                'start': s.start,
                'period': s.swing.period,
                'amplitude': s.swing.amplitude,
                'direction': s.swing.direction,
                'velocity_change': s.swing.velocity_change,
                'corner': s.corner,
            }
            for s in sequence.steps
        ]

        def error(end: Array) -> float:
            return float(np.hypot(*(end[STATE.slice('contact')] - last.position)))

        return Planned(
            scenario=replace(scenario, x0=start, tolerances=TOLERANCES),
            plan=replace(found, report={**found.report, 'swings': len(swings)}),
            goal_error=error,
            tolerance=last.tolerance,
            entries=lambda _: {'swings': swings},
        )


def _within(sequence: GaitSequence, horizon: float) -> GaitSequence:
    """Return a manoeuvre that fills a horizon [s], 0 for none; the rest of the time is at rest."""
    least = sequence.duration
    if 0 < horizon < least:
        raise InfeasibleError(
            f'no plan: the manoeuvre takes {least:.4g} s, horizon allows {horizon:g} s; give '
            'a longer horizon, 0 for the shortest, or more torque or friction'
        )
    return replace(sequence, duration=max(least, horizon))


def _standing(scenario: Scenario) -> GaitProblem:
    """Return the problem of a scenario without a section ``plan``: to stay at the start."""
    x, y = scenario.x0[STATE.slice('contact')].tolist()
    return GaitProblem(
        params=read_sphere(scenario.raw),
        start=(x, y),
        waypoints=[Waypoint(position=(x, y))],
    )


def check_rest(params: SphereParameters, x: Array) -> None:
    """Raise ParameterError unless a state is at rest, its pendulum in equilibrium."""
    spin = float(np.linalg.norm(x[STATE.slice('w_WS_W')]))
    swing = float(np.linalg.norm(x[STATE.slice('w_WP_W')]))
    turn = float(np.arccos(np.clip(pendulum_direction(x) @ resting_direction(params), -1, 1)))
    most = SPEED / params.shell_radius
    for what, value, limit, unit in (
        ('the shell turns at', spin, most, 'rad/s'),
        ('the pendulum turns at', swing, most, 'rad/s'),
        ('the pendulum differs from its equilibrium by', turn, TILT, 'rad'),
    ):
        if not value <= limit:
            raise ParameterError(
                f'start: a manoeuvre starts at rest, and {what} {value:.3g} {unit} (at most '
                f'{limit:.3g}); let the sphere come to rest first'
            )


def _goal(goal: Mapping[str, Any], start: Array, tolerance: float) -> list[Waypoint]:
    """Return the last waypoint: entries that a goal does not name are as at the start."""
    if not goal:
        return []
    here = dict(zip(CONTACT.components, start[STATE.slice('contact')].tolist(), strict=True))
    x, y = (here | scalar_values(goal, [CONTACT])).values()
    return [Waypoint(position=(x, y), tolerance=tolerance)]


def rolled(plan: Plan, x_start: Array) -> Plan:
    """Return a plan in which the attitude of the shell is integrated from its angular velocity."""
    w = plan.states[:, STATE.slice('w_WS_W')]
    turned = (w[1:] + w[:-1]) / 2 * np.diff(plan.times)[:, None]
    R = quat2mat(np.asarray(x_start, dtype=float)[STATE.slice('q_WS')])
    attitudes = [R]
    for turn in Rotation.from_rotvec(turned).as_matrix():
        attitudes.append(turn @ attitudes[-1])
    states = plan.states.copy()
    states[:, STATE.slice('q_WS')] = quaternions(attitudes)
    return replace(plan, states=states)


PLANNER = GaitPlanner()

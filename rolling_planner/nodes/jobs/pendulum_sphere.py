"""Plans of the sphere with a pendulum: sequences of gaits, from rest to rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.layouts import STATE
from rolling_dynamics.pendulum_sphere.posture import pendulum_direction, resting_direction
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_planner.errors import InfeasibleError
from rolling_planner.gait_planner import Circle, GaitProblem, plan_gaits, Waypoint
from rolling_planner.gait_planner.scenario import read_gait_problem
from rolling_planner.nodes.jobs.body_motion import body_motion
from rolling_planner.nodes.jobs.system_planner import (
    Bodies,
    PlanningModel,
    Report,
    reported,
    ROBOT_STATE,
    scalar_values,
)
from rolling_planner.plan import Plan
from rolling_planner.spin_rolling.timing import rotations
from transforms3d.quaternions import mat2quat, quat2mat

Array = NDArray[np.float64]
SPEED = 0.02  # m/s and, over the shell's radius, rad/s: what counts as rest
TILT = 0.05  # rad, of the pendulum at rest


class PendulumSpherePlanner:
    """See :class:`SystemPlanner`; a goal names the contact point."""

    methods = ('gaits',)
    finds_duration = True
    has_own_goal = True
    takes_waypoints = True
    takes_keep_out = True
    state_stream = ROBOT_STATE
    bodies_named = ('object',)

    def check_scenario(self, scenario: Scenario) -> None:
        """Raise ScenarioError unless the section ``plan``, if there is one, is right."""
        base_problem(scenario)

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:  # noqa: ARG002
        """Return the contact point; a manoeuvre ends at rest."""
        return (STATE.entry('contact'),)

    def warm_up(self, model: PlanningModel, job: Mapping[str, Any]) -> None:
        """Compute nothing: there is nothing to compile."""

    def plan(self, model: PlanningModel, job: Mapping[str, Any], report: Report) -> Plan:
        """Return the plan of a job; its states and torques along the whole manoeuvre."""
        problem = gait_problem(model, job)
        sequence = plan_gaits(problem, reported(report), job['options']['time_budget'])
        least, horizon = sequence.duration, job['horizon']
        if 0 < horizon < least:
            raise InfeasibleError(
                f'no plan: the manoeuvre takes {least:.4g} s, horizon allows {horizon:g} s; give '
                'a longer horizon, 0 for the shortest, or more torque or friction'
            )
        # what is left of the horizon is spent at rest
        sequence = replace(sequence, duration=max(least, horizon))
        return rolled(sequence.to_plan(job['options']['sample_rate']), job['start'])

    def bodies(self, model: PlanningModel, plan: Plan) -> Bodies:
        """Return the motion of the shell."""
        return {'object': body_motion(model.system, model.params, plan, 'shell')}


def gait_problem(model: PlanningModel, job: Mapping[str, Any]) -> GaitProblem:
    """
    Return the problem of a job.

    Its waypoints go before its goal; without either, the manoeuvre is that of the scenario. Its
    keep-out circles come beside the obstacles of the scenario.

    Raises
    ------
    ParameterError
        The start is not at rest, or a point lies in an obstacle.

    """
    base = base_problem(model.scenario)
    start = np.asarray(job['start'], dtype=float)
    check_rest(base.params, start)
    tolerance = float(job['options']['goal_tolerance'])
    points = [Waypoint(position=(w[0], w[1])) for w in job.get('waypoints', ())]
    points += _goal(job['goal'], start, tolerance)
    if not points and 'plan' not in model.scenario.raw:
        raise ParameterError(
            'goal_names is empty, there are no waypoints, and the scenario has no section plan: '
            f'name {", ".join(STATE.entry("contact").components)}'
        )
    here = start[STATE.slice('contact')]
    return replace(
        base,
        start=(float(here[0]), float(here[1])),
        waypoints=points or base.waypoints,
        obstacles=[*base.obstacles, *_circles(job.get('keep_out', ()))],
    )


def base_problem(scenario: Scenario) -> GaitProblem:
    """Return the problem of a scenario; without a section ``plan``, with the start as goal."""
    if 'plan' in scenario.raw:
        return read_gait_problem(scenario)
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
        ('the pendulum stands off its rest by', turn, TILT, 'rad'),
    ):
        if not value <= limit:
            raise ParameterError(
                f'start: a manoeuvre begins at rest, and {what} {value:.3g} {unit} (at most '
                f'{limit:.3g}); let the sphere come to rest first'
            )


def _goal(goal: Mapping[str, Any], start: Array, tolerance: float) -> list[Waypoint]:
    """Return the last waypoint: what a goal does not name is as at the start."""
    if not goal:
        return []
    entry = STATE.entry('contact')
    here = dict(zip(entry.components, start[STATE.slice('contact')].tolist(), strict=True))
    x, y = (here | scalar_values(goal, [entry])).values()
    return [Waypoint(position=(x, y), tolerance=tolerance)]


def _circles(given: Sequence[Sequence[float]]) -> list[Circle]:
    return [Circle(center=(float(c[0]), float(c[1])), radius=float(c[2])) for c in given]


def rolled(plan: Plan, x_start: Array) -> Plan:
    """Return a plan in which the attitude of the shell follows from its angular velocity."""
    w = plan.states[:, STATE.slice('w_WS_W')]
    turns = rotations((w[1:] + w[:-1]) / 2 * np.diff(plan.times)[:, None])
    R = quat2mat(np.asarray(x_start, dtype=float)[STATE.slice('q_WS')])
    attitudes = [R]
    for turn in turns:
        attitudes.append(turn @ attitudes[-1])
    q = np.array([mat2quat(A) for A in attitudes])
    q[1:] *= np.cumprod(np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0))[:, None]
    states = plan.states.copy()
    states[:, STATE.slice('q_WS')] = q
    return replace(plan, states=states)


PLANNER = PendulumSpherePlanner()

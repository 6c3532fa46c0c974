"""Planning by collocation, for every system without its own planner."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import (
    body_motions,
    DEFAULTS,
    Planned,
    Request,
    SystemPlanner,
)
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.constraints import axis_goal_entries, OBJECT_ENTRIES
from rolling_planner.problem.goal import goal_error, goal_misses
from rolling_planner.problem.plan_problem import BY_SAMPLES
from rolling_planner.problem.scenario import control_limits, known_of, read_problem
from rolling_planner.progress import Report
from rolling_planner.refinement.planner import plan_rolling, Planner
from rolling_planner.refinement.rollout import collocated_states, RolloutSimulator, under_feedback
from rolling_planner.sampling import plan_by_samples
from rolling_planner.transcription.transcription import METHODS

LONGEST_HORIZON = 120.0  # s
STEPS = 4  # steps of the simulation between two samples
OBJECT_MOTION = tuple(
    Entry(
        name,
        tuple(f'{name}_{c}' for c in ('wxyz' if size == 4 else 'xyz')),
        '',
        kind='quaternion' if size == 4 else 'vector',
    )
    for name, size in OBJECT_ENTRIES.items()
)


class CollocationPlanner(SystemPlanner):
    """See :class:`SystemPlanner`; a goal may also be an object's motion in the world."""

    section = PlanProblem
    methods = tuple(METHODS)
    takes_start_controls = True
    lines = {  # noqa: RUF012
        'segments': ('segments', 'd'),
        'iterations': ('iterations', 'd'),
        'cost': ('cost', '.6g'),
        'cpu_seconds': ('CPU time [s]', '.3g'),
        'open_loop_growth': ('growth of errors', '.3g'),
        'greatest_defect': ('greatest defect', '.3g'),
        'judged': ('judged', ''),
    }

    def check_for_nodes(self, scenario: Scenario) -> None:
        """Raise ParameterError unless odometry determines the state of an object on a hand."""
        if _carries(scenario) and 'q_HO' not in scenario.system.state:
            raise ParameterError(
                "representation must be 'attitude' for the nodes; got one with the state "
                f'{", ".join(e.name for e in scenario.system.state.entries)}'
            )

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return entries of the state, axes of bodies, and the motion of a carried object."""
        own = super().goal_entries(scenario) + axis_goal_entries(scenario.system.state)
        return (*own, *OBJECT_MOTION) if _carries(scenario) else own

    def goal_at(self, scenario: Scenario, place: Array) -> dict[str, float]:
        """
        Return a goal at a position [m], shape (3,).

        The centre of a carried object moves there, at a height that follows. For any other system
        it is the goal of the first position in its state, at the height of the scenario's start.
        """
        if _carries(scenario):
            return {f'p_WO_{c}': float(v) for c, v in zip('xy', place[:2], strict=True)}
        state = scenario.system.state
        if state.position is None:
            return {}
        goal = scenario.x0[state.slice(state.position.name)].copy()
        goal[:2] = place[:2]
        return dict(zip(state.position.components, goal.tolist(), strict=True))

    def warm_up(self, scenario: Scenario, request: Request) -> None:
        """Build and compile the functions of a plan."""
        Planner(self.problem(scenario, request))
        x, u = scenario.x0[None], np.zeros((1, scenario.system.control.size))
        body_motions(scenario.system, scenario.p, np.zeros(1), x, u)

    def problem(self, scenario: Scenario, request: Request | None = None) -> PlanProblem:
        """Return the problem of the section ``plan``; options of a request override it."""
        if request is None:
            return read_problem(scenario)
        if not request.horizon <= LONGEST_HORIZON:
            raise ParameterError(
                f'horizon must be at most {LONGEST_HORIZON:g} s, got {request.horizon:g}'
            )
        options = {name: request.options[name] for name in DEFAULTS if name != 'sample_rate'}
        if request.method:
            options['method'] = request.method
        if request.warm_start is not None:
            options['warm_start'] = request.warm_start
        return replace(
            read_problem(scenario) if 'plan' in scenario.raw else _unlimited(scenario),
            x_start=np.asarray(request.start, dtype=float),
            goal=request.goal,
            horizon=request.horizon,
            start_controls=request.start_controls,
            **options,
        )

    def plan(
        self, scenario: Scenario, on_iteration: Report, request: Request | None = None
    ) -> Planned:
        """Return the plan; for a robot, if asked, with samples at the given rate."""
        problem = self.problem(scenario, request)
        by_samples = problem.method == BY_SAMPLES
        found = (plan_by_samples if by_samples else plan_rolling)(problem, on_iteration)
        again = None
        if found.needs_feedback:
            simulator = RolloutSimulator(problem.system, problem.samples)
            again = partial(under_feedback, problem, simulator, found)
        if request is not None and not _carries(scenario):
            found = _sampled(problem, found, request.options['sample_rate'])
        state = problem.system.state
        x_goal, matters = problem.goal_state
        goal = {
            e.name: {'unit': e.unit, 'values': x_goal[state.slice(e.name)]}
            for e in state.entries
            if matters[state.slice(e.name)].all() and e.name not in problem.free_axes
        }

        def entries(end: Array) -> dict[str, Any]:
            return {'goal_misses': goal_misses(problem, end), 'goal': goal}

        return Planned(
            scenario=replace(scenario, x0=problem.x_start),
            plan=found,
            goal_error=lambda end: goal_error(problem, end),
            tolerance=problem.goal_tolerance,
            entries=entries,
            under_feedback=again,
        )


def _carries(scenario: Scenario) -> bool:
    return offers(scenario.system, CarriedObject) is not None


def _unlimited(scenario: Scenario) -> PlanProblem:
    """Return a problem without a section ``plan``: all controls are used, within their limits."""
    limits = control_limits(scenario, scenario.system.control.names)
    return PlanProblem(goal={}, control_limits=limits, **known_of(scenario))


def _sampled(problem: PlanProblem, plan: Plan, rate: float) -> Plan:
    """Return a plan with at least so many samples per second [Hz], and the same controls."""
    parts = [
        np.linspace(a, b, max(1, int(np.ceil((b - a) * rate))) + 1)[:-1]
        for a, b in zip(plan.times[:-1], plan.times[1:], strict=True)
    ]
    times = np.append(np.concatenate(parts), plan.times[-1])
    controls = plan.controls_at(times)
    if plan.needs_feedback:
        states = collocated_states(problem.system, problem.p, plan, times)
        wrench, wrenches = next(iter(problem.system.modes.values())).wrench, np.zeros((0, 6))
        if wrench is not None:
            along = wrench.map(len(times))
            wrenches = np.array(along(states.T, controls.T, times[None], problem.p)).T
        return replace(
            plan, times=times, states=states, controls=controls, contact_wrenches=wrenches
        )
    found = RolloutSimulator(problem.system, STEPS).run(problem.p, plan.states[0], times, controls)
    return replace(
        plan,
        times=times,
        states=found.states[::STEPS],
        controls=controls,
        contact_wrenches=found.wrenches[::STEPS],
    )


PLANNER = CollocationPlanner()

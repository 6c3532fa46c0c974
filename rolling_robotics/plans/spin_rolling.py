"""Plans of the sphere that rolls and spins: geometric ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_planner import Iteration
from rolling_planner.spin_rolling import contact_of_attitude, goal_error, plan_spin_rolling
from rolling_planner.spin_rolling.scenario import read_spin_rolling_problem, SpinRollingPlan
from rolling_robotics.plans.planned import Planned
from rolling_robotics.result_arrays import Values

TOLERANCE = 1e-9
SECTION = SpinRollingPlan
LINES = {
    'method': ('method', ''),
    'length': ('length [m]', '.6g'),
    'least_length': ('none is shorter [m]', '.6g'),
    'spin': ('spin [rad]', '.6g'),
    'duration': ('duration [s]', '.6g'),
    'pole_distance': ('from a pole [rad]', '.4g'),
}


def check(scenario: Scenario) -> None:
    """Raise a RollingError unless the section ``plan`` of a scenario is good."""
    read_spin_rolling_problem(scenario)


def plan(scenario: Scenario, on_iteration: Callable[[Iteration], bool]) -> Planned:
    """Return the plan that a scenario asks for."""
    problem = read_spin_rolling_problem(scenario)
    try:
        found = plan_spin_rolling(problem, on_iteration)
    except ParameterError as e:
        raise ScenarioError(f'plan.{e}') from None
    system = SpinRollingSphere()

    def error(end: Values) -> float:
        return goal_error(contact_of_attitude(end[:2], system.attitude(end)), problem.goal)

    return Planned(
        scenario=replace(scenario, system=system, x0=found.states[0]),
        plan=found,
        goal_error=error,
        tolerance=TOLERANCE,
        lines=LINES,
    )

"""How goals of one kind of system are planned, and which planner that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.plugin import needed_role
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_planner.plan import Plan
from rolling_planner.watch import Iteration

Array = NDArray[np.float64]
Report = Callable[[Mapping[str, Any]], bool]
Bodies = dict[str, dict[str, Array]]
ODOMETRY, ROBOT_STATE = 'odometry', 'robot_state'


class SystemPlanner(Protocol):
    """
    Planner of one kind of system.

    Attributes
    ----------
    methods
        What ``planner_id`` of a goal may be.
    finds_duration
        Whether the duration of the motion is found by the planner: the horizon may be 0 then.
    has_own_goal
        Whether a goal that names nothing stands for that of the scenario.
    takes_waypoints, takes_keep_out
        Whether these entries of a goal are heeded.
    state_stream
        Where the present state comes from: ``odometry`` of hand and object, or ``robot_state``.
    bodies_named
        Names of the bodies whose motion is shown.

    """

    methods: tuple[str, ...]
    finds_duration: bool
    has_own_goal: bool
    takes_waypoints: bool
    takes_keep_out: bool
    state_stream: str
    bodies_named: tuple[str, ...]

    def check_scenario(self, scenario: Scenario) -> None:
        """Raise RollingError unless plans can be made for a scenario."""

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return the entries that a goal may name."""

    def warm_up(self, model: PlanningModel, job: Mapping[str, Any]) -> None:
        """Load and compile what the first plan needs."""

    def plan(self, model: PlanningModel, job: Mapping[str, Any], report: Report) -> Plan:
        """Return the plan of a job, see :mod:`rolling_planner.nodes.planning_job`."""

    def bodies(self, model: PlanningModel, plan: Plan) -> Bodies:
        """
        Return the motion of the bodies along a plan.

        Returns
        -------
        dict
            By name of the body: ``times`` (k,) [s], ``X`` (k, 4, 4) in the world, ``twist``
            (k, 6) w [rad/s], v [m/s] in the body; where a plan commands it, ``acceleration``
            (k, 6) alpha [rad/s^2], a [m/s^2] in the body.

        """


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanningModel:
    """
    A scenario and the planner of its system.

    Attributes
    ----------
    scenario
        As loaded.
    planner
        The planner of its kind of system.

    """

    scenario: Scenario
    planner: SystemPlanner

    @property
    def title(self) -> str:
        """What it is, for the log."""
        return self.scenario.name

    @property
    def system(self) -> RollingSystem:
        """The system."""
        return self.scenario.system

    @property
    def params(self) -> Array:
        """Its parameters p."""
        return self.scenario.p

    @property
    def start(self) -> Array:
        """State x in which the scenario starts."""
        return self.scenario.x0


def reported(report: Report) -> Callable[[Iteration], bool]:
    """Return what passes the iterations of a planner on to the node."""

    def on_iteration(i: Iteration) -> bool:
        return report(
            {
                'iteration': i.number,
                'segments': i.segments,
                'cost': i.cost,
                'violation': i.violation,
                'goal_error': i.goal_error,
            }
        )

    return on_iteration


def scalar_values(values: Mapping[str, ArrayLike], entries: Sequence[Entry]) -> dict[str, float]:
    """Return by scalar name the values that stand by name of an entry or by scalar name."""
    out: dict[str, float] = {}
    for entry in entries:
        if entry.name in values:
            given = np.atleast_1d(np.asarray(values[entry.name], dtype=float)).tolist()
            out |= dict(zip(entry.components, given, strict=True))
        else:
            out |= {c: float(np.asarray(values[c])) for c in entry.components if c in values}
    return out


def planner_of(system: str) -> SystemPlanner:
    """Return the planner of a kind of system; raise ParameterError if there is none."""
    planner: SystemPlanner = needed_role(system, 'job', 'planner')
    return planner


@lru_cache(maxsize=2)
def planning_model(scenario_file: str) -> PlanningModel:
    """
    Return the model of a scenario file, loaded once.

    Parameters
    ----------
    scenario_file
        A path, or the name of an example.

    Raises
    ------
    ParameterError, ScenarioError
        There is no such file, an entry is wrong, or its system cannot be planned for.

    """
    scenario = load_scenario(scenario_file)
    planner = planner_of(scenario.system.name)
    planner.check_scenario(scenario)
    return PlanningModel(scenario=scenario, planner=planner)

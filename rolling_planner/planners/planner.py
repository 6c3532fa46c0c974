"""Planners of systems, and the motions of bodies along plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.contract.rolling_system import Entry, RollingSystem, Symbols
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.plugin import role_of
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan
from rolling_planner.progress import Report

if TYPE_CHECKING:
    from rolling_planner.refinement.rollout import Rollout

COLLOCATION = 'rolling_planner.planners.collocation'

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        'method': 'hermite_simpson',
        'segments': 25,
        'refinements': 4,
        'goal_tolerance': 1e-3,
        'normal_force_min': 0.05,
        'quiet_ends': True,
        'sample_rate': 200.0,
        'time_budget': 30.0,
    }
)  # planning parameters of the planner node, which are the options of a request


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """
    A goal that replaces the one in a scenario's section ``plan``.

    Attributes
    ----------
    start
        State x to start from.
    goal
        Values by name of an entry, or of one of its components.
    horizon
        Duration of the motion [s]; 0 for the shortest, if the planner determines it.
    method
        One of the planner's ``methods``; empty for the default.
    options
        Planning parameters of the planner node, by name.
    waypoints
        Points to pass before the goal, shape (k, 3) [m].
    keep_out
        Circles to keep out of: x, y and radius, shape (k, 3) [m].
    start_controls
        Controls in force at the start, by scalar name.
    warm_start
        A plan to start from; None for the planner's own initial guess.

    """

    start: Array
    goal: Mapping[str, Any]
    horizon: float
    method: str = ''
    options: Mapping[str, Any]
    waypoints: ArrayLike = ()
    keep_out: ArrayLike = ()
    start_controls: Mapping[str, float] = field(default_factory=dict)
    warm_start: Plan | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned:
    """
    Plan of a planner, and the evaluation of its simulation.

    Attributes
    ----------
    scenario
        System, start and tolerances for the simulation of the plan.
    plan
        The plan.
    goal_error
        Function from the final state of the plan's simulation to its error.
    tolerance
        Maximum goal error of a plan that reaches its goal.
    entries
        Function from that state to further entries of a result file.
    under_feedback
        Returns the motion under the feedback used to evaluate an unstable plan; None for a plan
        whose controls are played back.

    """

    scenario: Scenario
    plan: Plan
    goal_error: Callable[[Array], float]
    tolerance: float
    entries: Callable[[Array], dict[str, Any]] = field(default=lambda _: {})
    under_feedback: Callable[[], Rollout | None] | None = None


class SystemPlanner(ABC):
    """
    Planner of one type of system.

    Attributes
    ----------
    section
        Model of the section ``plan`` of a scenario.
    methods
        Methods that a request may name.
    finds_duration
        Whether the planner determines the duration of the motion; the horizon may then be 0.
    has_own_goal
        Whether a request without a goal means the goal of the scenario.
    takes_waypoints, takes_keep_out, takes_start_controls
        Whether these entries of a request are used.
    lines
        Entries of a plan's report in a summary: key -> (title, format).

    """

    section: type
    methods: tuple[str, ...]
    lines: ClassVar[Mapping[str, tuple[str, str]]]
    finds_duration = False
    has_own_goal = False
    takes_waypoints = False
    takes_keep_out = False
    takes_start_controls = False

    def check_for_nodes(self, scenario: Scenario) -> None:  # noqa: B027  does nothing by default
        """Raise ParameterError unless nodes can execute the plans of a scenario."""

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return the entries that the goal of a request may name."""
        return tuple(scenario.system.state.entries)

    def goal_at(self, scenario: Scenario, place: Array) -> dict[str, float]:  # noqa: ARG002
        """
        Return a goal with the rolling body at a position in the world [m], shape (3,).

        Empty if positions are not supported.
        """
        return {}

    def warm_up(self, scenario: Scenario, request: Request) -> None:  # noqa: B027
        """Load and compile the functions for the first plan."""

    @abstractmethod
    def problem(self, scenario: Scenario, request: Request | None = None) -> Any:  # noqa: ANN401
        """
        Return the problem of a scenario's section ``plan``, or of a request instead.

        Raises
        ------
        RollingError
            There is no such section and no request, or an entry is wrong; the text names it.

        """

    @abstractmethod
    def plan(
        self, scenario: Scenario, on_iteration: Report, request: Request | None = None
    ) -> Planned:
        """
        Return the plan for a scenario or a request.

        Raises
        ------
        PlanningError
            There is no plan; the text gives the constraint that could not be met.
        CancelledError
            ``on_iteration`` returned False.

        """


def planner_of(system: str) -> SystemPlanner:
    """Return the planner of a type of system."""
    own: SystemPlanner | None = role_of(system, 'planner')
    return own or general_planner()


def general_planner() -> SystemPlanner:
    """Return the default planner: collocation."""
    planner: SystemPlanner = import_module(COLLOCATION).PLANNER
    return planner


def scalar_values(values: Mapping[str, ArrayLike], entries: Sequence[Entry]) -> dict[str, float]:
    """
    Return values by scalar name, given by name of an entry or by scalar name.

    Values of an entry are vectors, in its unit.
    """
    out: dict[str, float] = {}
    for entry in entries:
        if entry.name in values:
            given = np.atleast_1d(np.asarray(values[entry.name], dtype=float)).tolist()
            out |= dict(zip(entry.components, given, strict=True))
        else:
            out |= {c: float(np.asarray(values[c])) for c in entry.components if c in values}
    return out


Bodies = dict[str, dict[str, Array]]
MOST_POSES = 1000  # of a robot, for display


def bodies_named(system: RollingSystem) -> tuple[str, ...]:
    """Return the names of the displayed bodies: hand and object, or object."""
    return ('object',) if offers(system, CarriedObject) is None else ('hand', 'object')


def body_motions(
    system: RollingSystem, p: Array, times: Array, states: Array, controls: Array
) -> Bodies:
    """
    Return poses and twists of the bodies along a motion.

    Parameters
    ----------
    system, p
        The system and its parameters. If it carries an object, ``pose`` names hand and object;
        otherwise the first body of ``pose`` is the object.
    times, states, controls
        Shapes (k,) [s], (k, n) and (k, m). Samples of a robot beyond 1000 are thinned out.

    Returns
    -------
    dict
        By name of the body: ``times`` (k,) [s], ``X`` (k, 4, 4) in the world, ``twist`` (k, 6): w
        [rad/s], v [m/s] of the body's origin, both expressed in the body. For a hand, whose
        accelerations are the control, also ``acceleration`` (k, 6): alpha [rad/s^2], a [m/s^2].

    """
    bodies = bodies_named(system)
    most = len(times) if 'hand' in bodies else min(MOST_POSES, len(times))
    k = np.unique(np.linspace(0, len(times) - 1, most).astype(int))
    sample = compiled(_motion(system))[0].map(len(k))
    out = np.array(sample(states[k].T, controls[k].T, times[k][None], p)).T
    motions = {
        name: {
            'times': times[k],
            'X': one[:, :16].reshape(-1, 4, 4).transpose(0, 2, 1),
            'twist': one[:, 16:],
        }
        for name, one in zip(bodies, np.split(out, len(bodies), axis=1), strict=True)
    }
    if 'hand' in motions:
        motions['hand']['acceleration'] = controls[k]
    return motions


@once_per_system
def _motion(system: RollingSystem) -> ca.Function:
    """Return ``(x, u, t, p) -> X, w, v`` of each body; velocities are derivatives of poses."""
    mode = next(iter(system.modes.values()))
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    rate, poses = mode.dynamics(x, u, t, p), system.pose.call([x, p])
    out = []
    for body in bodies_named(system):
        known = body in system.pose.name_out()
        X = ca.densify(poses[system.pose.index_out(body) if known else 0])
        turn = ca.reshape(ca.jtimes(ca.vec(X), x, rate), 4, 4)
        R = X[:3, :3]
        out += [ca.vec(X), ca.inv_skew(R.T @ turn[:3, :3]), R.T @ turn[:3, 3]]
    return ca.Function('body_motion', [x, u, t, p], [ca.densify(ca.vertcat(*out))])

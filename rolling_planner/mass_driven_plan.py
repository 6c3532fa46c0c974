"""Plans of balls that are driven by internal masses, from rest to rest."""

from __future__ import annotations

from typing import Any

from rolling_dynamics.arrays import Array
from rolling_dynamics.internal_masses import PointMassBall
from rolling_dynamics.internal_masses.ball import PlanePath
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.progress import Report
from rolling_planner.refinement.planner import plan_rolling
from rolling_planner.seeds.mass_driven_seed import rolling_seed

FREE = 3  # masses with which attitude and place at the end can be chosen apart


def plan_along(
    ball: PointMassBall,
    p: Array,
    x_start: Array,
    path: PlanePath,
    ends: tuple[float, float],
    horizon: float,
    *,
    on_iteration: Report | None = None,
    **options: Any,  # noqa: ANN401 (of PlanProblem)
) -> Plan:
    """
    Return a plan that follows a path from rest to rest and stays at rest where it ends.

    Parameters
    ----------
    ball, p, x_start, path, ends, horizon
        See :func:`rolling_seed`. Where the state of the ball holds ``path``, a limit of
        ``path_aside`` among the ``state_limits`` is the tube that is kept; else only the end of
        the path is.
    on_iteration
        See :func:`plan_rolling`.
    options
        Of :class:`PlanProblem`.

    Raises
    ------
    ParameterError, PlanningError
        No first guess, or no plan.

    """
    seed = rolling_seed(ball, p, x_start, path, ends, horizon)
    names = ['theta', 'p' if ball.path is None else 'path']
    if ball.control.size >= FREE:  # with fewer masses the attitude follows from the place
        names.append('q_WB')
    goal = {name: seed.states[-1][ball.state.slice(name)] for name in names}
    problem = PlanProblem(
        system=ball,
        p=p,
        x_start=x_start,
        goal=goal,
        horizon=horizon,
        active_controls=ball.control.names,
        warm_start=seed,
        **options,
    )
    return plan_rolling(problem, on_iteration=on_iteration)

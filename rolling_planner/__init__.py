"""Planning of rolling motions."""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_planner.errors import InfeasibleError, NotConvergedError, PlanningTimeoutError
    from rolling_planner.plan import Plan
    from rolling_planner.problem import PlanProblem, Weights
    from rolling_planner.progress import Iteration
    from rolling_planner.refinement.planner import plan_rolling, Planner

__all__ = [
    'InfeasibleError',
    'Iteration',
    'NotConvergedError',
    'Plan',
    'PlanProblem',
    'Planner',
    'PlanningTimeoutError',
    'Weights',
    'plan_rolling',
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        'InfeasibleError': 'rolling_planner.errors',
        'Iteration': 'rolling_planner.progress',
        'NotConvergedError': 'rolling_planner.errors',
        'Plan': 'rolling_planner.plan',
        'PlanProblem': 'rolling_planner.problem',
        'Planner': 'rolling_planner.refinement.planner',
        'PlanningTimeoutError': 'rolling_planner.errors',
        'Weights': 'rolling_planner.problem',
        'plan_rolling': 'rolling_planner.refinement.planner',
    },
)

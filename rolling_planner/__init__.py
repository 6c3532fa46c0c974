"""Planning of rolling motions."""

from rolling_planner.errors import InfeasibleError, NotConvergedError, PlanningTimeoutError
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem, Weights
from rolling_planner.refinement import plan_rolling, Planner
from rolling_planner.watch import Iteration

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

"""Problem of a plan: start, goal, limits, and the section ``plan`` of a scenario."""

from rolling_planner.problem.plan_problem import PlanProblem, Weights

__all__ = ['PlanProblem', 'Weights']

"""Manoeuvres of the sphere with a pendulum: sequences of gaits past keep-out circles."""

from rolling_planner.gait_planner.gait_sequence import GaitSequence, GaitStep
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import Circle, GaitProblem, Waypoint

__all__ = ['Circle', 'GaitProblem', 'GaitSequence', 'GaitStep', 'Waypoint', 'plan_gaits']

"""Manoeuvres of the sphere with a pendulum: sequences of gaits past keep-out circles."""

from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import (
    Circle,
    GaitProblem,
    GaitSequence,
    GaitStep,
    Waypoint,
)

__all__ = ['Circle', 'GaitProblem', 'GaitSequence', 'GaitStep', 'Waypoint', 'plan_gaits']

"""Planning for a sphere that rolls and spins on a plane."""

from rolling_planner.spin_rolling.geometric import least_length, plan_geometric
from rolling_planner.spin_rolling.motion import (
    Contact,
    contact_at,
    contact_of_attitude,
    ContactRegion,
    darboux_inputs,
    goal_error,
    InputBounds,
    Motion,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.planner import plan_spin_rolling
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling

__all__ = [
    'Contact',
    'ContactRegion',
    'InputBounds',
    'Motion',
    'SpinRollingProblem',
    'contact_at',
    'contact_of_attitude',
    'darboux_inputs',
    'goal_error',
    'least_length',
    'plan_geometric',
    'plan_pure_rolling',
    'plan_spin_rolling',
]

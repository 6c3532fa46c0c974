"""The demonstration of a ball with masses inside."""

from rolling_robotics.demo.demo import plan_demo
from rolling_robotics.trials.trial import state_goal

DEMO = plan_demo('point_mass_ball', state_goal, (0.02, 0.01), (0.03, 0.03, 0.0))

"""Demonstrations of a ball and of a disk with masses inside."""

from rolling_robotics.demo.demo import plan_demo
from rolling_robotics.trials.trial import state_goal

BALL = plan_demo('point_mass_ball', state_goal, (0.02, 0.01), (0.03, 0.03, 0.0))
SHIFT, RADIUS = 0.02, 0.3  # where the disk is and how it is turned are one: it has rolled there
TURN = round(SHIFT / RADIUS, 4)
DISK = plan_demo('point_mass_disk', state_goal, (SHIFT, 0.0), (0.0, TURN, 0.0))

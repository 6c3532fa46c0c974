"""Demonstrations of an object on a hand: a ball on a plate, and the butterfly."""

from rolling_robotics.demo.demo import plan_demo
from rolling_robotics.trials.trial import state_goal

BALL_ON_PLATE = plan_demo('ball_on_plate', state_goal, (0.003, 0.0), (0.05, 0.0, 0.0), pace=1.0)
BUTTERFLY = plan_demo('butterfly', state_goal, (0.002, 0.0), pace=1.0)

"""Demonstration of any robot from its scenario: the goal of its section ``plan``."""

from __future__ import annotations

from rolling_dynamics.scenario_model import load_robot
from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.plan_task import plan_demo
from rolling_robotics.experiment import Experiment
from rolling_robotics.trials.plan_request import state_goal

OFF = 0.02  # m, of the start from that of the plan, along x and y


def demo(experiment: Experiment) -> Demo:
    """Return the demonstration of a robot; it starts beside the plan where it can be moved."""
    view = load_robot(experiment.scenario_file).view
    moved = (OFF, -OFF) if view.shift.any(axis=0).all() else (0.0, 0.0)
    return plan_demo(experiment.scenario_file, state_goal, moved)

"""Emulated robots of the scenarios that stand for every kind of robot."""

from dataclasses import replace

from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.scenario_model import load_robot

ROBOTS = {
    'point_mass_ball': 'point_mass_straight.yaml',
    'point_mass_disk': 'point_mass_disk.yaml',
    'pendulum_sphere': 'pendulum_torque.yaml',
    'spin_rolling_sphere': 'spin_rolling_ball.yaml',
}
DT = 1e-3


def make_plant(scenario_file, *, motion='scenario', brake_time=0.1, **changes):
    """Return the robot of a scenario, with changes of its model, at its start."""
    model = replace(load_robot(scenario_file), **changes)
    return emulated_robot(model, motion=motion, brake_time=brake_time)

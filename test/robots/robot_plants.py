"""Plants of the scenarios that stand for every kind of robot."""

from rolling_dynamics.robots import robot_view
from rolling_dynamics.robots.plant import RobotPlant
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper

ROBOTS = {
    'point_mass_ball': 'point_mass_straight.yaml',
    'point_mass_disk': 'point_mass_disk.yaml',
    'pendulum_sphere': 'pendulum_torque.yaml',
    'spin_rolling_sphere': 'spin_rolling_ball.yaml',
}
DT = 1e-3


def make_plant(scenario_file, **options):
    """Return the plant of a scenario, at its start, and the scenario."""
    scenario = load_scenario(scenario_file)
    view = robot_view(scenario.system, scenario.p)
    step = Stepper(scenario.system, scenario.p).step
    plant = RobotPlant(view, scenario.p, scenario.x0, step, **options)
    plant.reset()
    return plant, scenario

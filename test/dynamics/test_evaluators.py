"""For each system, machine code and virtual machine give the same motion bit by bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.compiled import compiler
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_robotics.result import simulate_scenario

SCENARIOS = Path(__file__).parents[2] / 'config/scenarios'
DURATION = 1.0  # s
ONE_OF_EACH = (
    'ellipsoid_in_dish',
    'point_mass_ball',
    'point_mass_disk',
    'pendulum_torque',
    'spin_rolling_ball',
    'laboratory_flip_up',
    'ball_balancer',
    'labyrinth',
)


def motion(name):
    """Return what a scenario's simulation and fixed steps give, its system made again."""
    scenario = load_scenario(SCENARIOS / f'{name}.yaml')
    times = scenario.output_times[scenario.output_times <= DURATION]
    scenario = replace(scenario, duration=times[-1], output_times=times)
    stepper = Stepper(scenario.system, scenario.p)
    x, u, t = scenario.x0, np.full(scenario.system.control.size, 0.01), 0.0
    for _ in range(50):
        x, t = stepper.step(x, u, 1e-3, t), t + 1e-3
    return simulate_scenario(scenario).states, x


@pytest.mark.skipif(compiler() is None, reason='no C compiler')
@pytest.mark.parametrize('name', ONE_OF_EACH)
def test_same_motion_bit_by_bit(name, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    by_machine_code = motion(name)
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    for a, b in zip(by_machine_code, motion(name), strict=True):
        np.testing.assert_array_equal(a, b)

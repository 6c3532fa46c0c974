"""Fixed steps converge on every machine with the order of their integrator."""

from pathlib import Path
import sys

import numpy as np
import pytest
from rolling_dynamics.configuration import examples
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.simulation.guards import projection

ORDER, STEPS = 4, (8, 16)
MORE = {'hamster_ball': (32, 64), 'two_fingertips': (64, 128)}  # where motion has short waves
TIMES = {
    'mecanum_wheel': 0.03,
    'two_fingertips': 0.05,
}  # s; until a roller hands over, a tip slips
SPEEDS = {'ball_and_wall': 0.0, 'two_fingertips': 0.02}  # m/s, rad/s, of what is random
OTHERS = ('spinning_plate', 'pendulum_slope', 'ball_balancer')  # of other sections, from parts too
MACHINES = [n for n, f in examples().items() if n in OTHERS or 'system: machine' in f.read_text()]


FOLDER = Path(__file__).parents[2] / 'examples' / 'ballbot'


@pytest.fixture
def ballbot():
    """Return the scenario of the example, a robot that balances on a ball."""
    sys.path.insert(0, str(FOLDER))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    return load_scenario(PLUGIN.example)


def test_they_do_for_a_machine_of_a_package(ballbot):
    converge(ballbot)


@pytest.mark.parametrize('name', MACHINES)
def test_steps_converge_with_the_order_of_runge_kutta(name):
    converge(load_scenario(name))


def converge(scenario):
    """Compare with an integrator of order 8, from random speeds that its contacts allow."""
    name, rng = scenario.name, np.random.default_rng(4)
    system, p, x = scenario.system, scenario.p, scenario.x0.copy()
    if (pace := SPEEDS.get(name, 0.5)) > 0:
        for entry in getattr(system, 'speed_names', ()):
            x[system.state.slice(entry)] += pace * rng.normal(size=system.state.entry(entry).size)
        x = np.array(projection(system)(x, p)).ravel()
    u = np.array(scenario.control(0.3, x)).ravel()
    time, starts = TIMES.get(name, 0.2), getattr(system, 'begin', None)
    mode = starts(p, x, u, 0.0).mode if starts else next(iter(system.modes))
    exact = simulate(system, p, x, u, time, rtol=1e-13, atol=1e-14)
    assert exact.times[-1] == time
    assert not exact.events
    errors = []
    for steps in MORE.get(name, STEPS):
        stepper, y = Stepper(system, p, 1.0, mode=mode), x
        for _ in range(steps):
            y = stepper.step(y, u, time / steps)
        errors.append(np.linalg.norm(np.array(system.difference(exact.states[-1], y)).ravel()))
    assert errors[1] > 1e-12  # above rounding
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDER, abs=0.2), errors

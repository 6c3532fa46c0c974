"""A machine whose first body has a front heads where that points, not where it travels."""

import numpy as np
import pytest
from rolling_controller.export.machine_laws import drive_law
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_robot

PERIOD = 2e-3  # s
BODIES = {'two_wheeler': 'body', 'omni_cart': 'cart'}


def facing(name, yaw):
    """Return a scenario whose robot faces along a yaw [rad] at its start."""
    raw = load_scenario(name).raw
    return raw | {'initial': raw['initial'] | {f'q_{BODIES[name]}': [0, 0, yaw]}}


def drive(model, x, yaw):
    kind = robot_kind(model.system.name)
    laws = kind.make(model.scenario, {o.name: o.default for o in kind.options})
    return laws.drive(x, yaw)


def driven(model, robot, command, duration):
    """Drive a robot from where it heads, as nodes do, and return what is seen."""
    x = robot.observe().x
    law, out = drive(model, x, model.view.yaw_in(x, model.params)), []
    memory = law.start()
    for k in range(round(duration / PERIOD)):
        memory, u = law.step(memory, np.append(robot.observe().x, command), k * PERIOD)
        robot.step(u, PERIOD)
        assert not robot.fault
        out.append(robot.observe())
    return out


def apart(a, b):
    return np.remainder(np.subtract(a, b) + np.pi, 2 * np.pi) - np.pi


@pytest.mark.parametrize('name', BODIES)
def test_turned_in_place_it_heads_where_its_front_points_and_goes_there(name):
    model = load_robot(name)
    robot, layout = emulated_robot(model), model.system.state
    seen = driven(model, robot, [0.0, 0.0, 1.0], 2.5)
    yaws, rates = np.array([(s.yaw, s.yaw_rate) for s in seen]).T
    q = seen[-1].x[layout.slice(f'q_{BODIES[name]}')]
    assert yaws[-1] == pytest.approx(2 * np.arctan2(q[3], q[0]), abs=1e-4)  # it may lean
    assert yaws[-1] > np.pi / 2
    assert rates[-1] == pytest.approx(1.0, rel=0.1)
    assert rates[1:-1] == pytest.approx(apart(yaws[2:], yaws[:-2]) / (2 * PERIOD), abs=2e-3)
    assert np.linalg.norm(seen[-1].centre[:2]) < 0.02
    driven(model, robot, np.zeros(3), 3.0)
    seen = driven(model, robot, [0.3, 0.0, 0.0], 5.0)
    vx, vy = seen[-1].velocity[:2]
    assert np.hypot(vx, vy) == pytest.approx(0.3, rel=0.1)
    assert apart(np.arctan2(vy, vx), seen[-1].yaw) == pytest.approx(0, abs=0.02)
    assert seen[-1].yaw > np.pi / 2


def test_a_cart_that_goes_sideways_does_not_turn():
    model = load_robot('omni_cart')
    seen = driven(model, emulated_robot(model), [0.0, 0.2, 0.0], 3.0)
    assert seen[-1].velocity[1] == pytest.approx(0.2, rel=0.05)
    assert np.abs([(s.yaw, s.yaw_rate) for s in seen]).max() < 0.01


@pytest.mark.parametrize(('name', 'left'), [('two_wheeler', 0.0), ('omni_cart', 1.0)])
@pytest.mark.parametrize('yaw', [np.pi / 2, -2.5])
def test_what_it_can_do_does_not_depend_on_where_it_faces_at_its_start(name, left, yaw):
    model = load_robot(facing(name, yaw))
    robot = emulated_robot(model)
    assert (robot.observe().yaw, robot.observe().yaw_rate) == (pytest.approx(yaw), 0.0)
    law = drive(model, model.start, model.view.yaw_in(model.start, model.params))
    assert law.possible.tolist() == [1.0, left, 1.0]


def test_its_exported_drive_goes_ahead_from_where_it_faces():
    scenario = load_scenario(facing('two_wheeler', np.pi / 2))
    law = drive_law(scenario)
    memory, place = law.start(), next(e for e in law.state.entries if e.name == 'place')
    unseen = np.full(scenario.system.state.size, np.nan)
    for _ in range(100):
        memory, _ = law.step(memory, [*unseen, 0.2, 0.0, 0.0], 0.0)
    x, y = memory[law.state.slice(place.name)]
    assert y > 1e-3
    assert x == pytest.approx(0, abs=1e-12)


def test_where_the_front_points_up_it_heads_somewhere():
    model = load_robot('omni_cart')
    robot, layout = emulated_robot(model), model.system.state
    x = model.start.copy()
    x[layout.slice('q_cart')] = [np.sqrt(0.5), 0, -np.sqrt(0.5), 0]
    observer = robot.shown._observers[robot.emulation.state.mode]
    assert np.isfinite(observer.look(x, robot.emulation.u, 0.0).yaw_rate)


@pytest.mark.parametrize('name', ['hamster_ball', 'driven_shell', 'ball_and_wall'])
def test_what_rolls_as_a_whole_has_no_front(name):
    model = load_robot(name)
    assert model.view.yaw is None
    assert model.view.yaw_in(model.start, model.params) is None

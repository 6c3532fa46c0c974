"""The emulated rig as the simulator node steps it."""

import numpy as np
import pytest
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.protocol import place_on
from rolling_controller.ball_balancer.rig import run_rig
from rolling_dynamics.ball_balancer.rig_file import emulated_rig
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.robots.emulated_robot import EmulatedRobot
from rolling_dynamics.robots.view import robot_view
from rolling_dynamics.scenario import load_scenario

STEP = 1 / 445.5


@pytest.fixture(scope='module')
def scenario():
    return load_scenario('ball_balancer')


@pytest.fixture
def plant(scenario):
    view, rig = (
        robot_view(scenario.system, scenario.p),
        emulated_rig(BallBalancerFile.of(scenario)),
    )
    made = EmulatedRobot(view, np.zeros_like(scenario.x0), rig)
    made.reset()
    return made


def test_a_command_takes_effect_after_the_dead_time(plant, scenario):
    """Sent at the first step, it moves the servo 30 ms later and not before."""
    moved = []
    for _ in range(80):
        plant.step([0.1, 0.0], STEP)
        moved.append((plant.time, plant.observe().x[scenario.system.state.slice('servo')][0]))
    first = next(t for t, angle in moved if angle != 0)
    assert 0.030 < first <= 0.030 + STEP
    assert moved[-1][1] > 0.05


def test_frames_come_with_the_delay_of_the_camera(plant):
    seen = []
    for _ in range(60):
        plant.step(plant.brake(), STEP)
        seen += [(frame, plant.time) for frame in plant.read_measurements()]
    assert len(seen) == 4  # in 135 ms at 29.7 Hz with a delay of 22 ms
    for k, (frame, told) in enumerate(seen):
        assert frame.stamp == pytest.approx(k / 29.7)
        assert 0 <= told - frame.arrival < STEP
        assert frame.arrival - frame.stamp == pytest.approx(0.022)
        assert frame.value[:2] == pytest.approx([0, 0], abs=5 * 4.2e-5)
        assert frame.value[2] == pytest.approx(0.02, abs=1e-12)


def test_in_lockstep_it_does_what_the_rig_does(plant, scenario):
    """Commands are taken with the next step, 0.45 ms after the frame: less than 0.5 mm."""
    file = BallBalancerFile.of(scenario)
    law = LAWS['lqr'](RigModel.of(file))
    memory, u = law.start(), plant.brake()
    goal = np.array([0.03, 0.02])
    while plant.time < 0.5:
        plant.step(u, STEP)
        for frame in plant.read_measurements():
            memory, tilt = law.step(memory, [*frame.value[:2], *goal], frame.stamp)
            u = file.command(scenario.system, scenario.p, tilt)
    direct = run_rig(file, law, lambda _: goal, 0.6, seed=file.seed)
    there = [np.interp(plant.time, direct.times, direct.states[:, k]) for k in range(2)]
    assert plant.observe().x[:2] == pytest.approx(there, abs=5e-4)


def test_a_ball_off_the_plate_stays_there_and_is_put_back(plant):
    for _ in range(1000):
        plant.step([0.14, 0.0], STEP)
    assert plant.fault.startswith('edge: ')
    assert plant.contact_mode == 'stopped'
    plant.reset(position=(0.01, -0.02))
    assert not plant.fault
    assert plant.observe().x[:2] == pytest.approx([0.01, -0.02])


def test_ways_of_a_set_point():
    assert place_on('circle', 0.04, 6.0, 1.5) == pytest.approx([0, 0.04])
    assert place_on('eight', 0.04, 6.0, 0.75) == pytest.approx([0.04 * np.sqrt(0.5), 0.02])
    assert place_on('hold', 0.04, 6.0, 1.0) == pytest.approx([0, 0])

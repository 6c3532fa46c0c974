"""A robot that falls and loses a sensor: it is held by the others, or its drive is cut."""

from pathlib import Path
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rolling_controller.balance.hold import Hold
from rolling_controller.nodes.machines import SensedStates, SensedWatch
from rolling_controller.supervisor import OPENING
from rolling_dynamics.nodes.topics import SensorTopic
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario_model import load_robot
from rolling_dynamics.simulation.emulation import Emulation

LOST = 1.0  # s, when a sensor fails
PERIOD = 2e-3  # s, of the loop and of both sensors
LEAN = [5, 6]  # tangent numbers of the tilt


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    sys.path.insert(0, str(Path(__file__).parents[2] / 'examples' / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    path = tmp_path_factory.mktemp('ballbot') / 'measured.yaml'
    given = Path(PLUGIN.example).read_text()
    path.write_text(given.replace('lean: [0.0, 0.02, 0.0]', 'measured: true'))
    return load_robot(str(path))


class Robot:
    """Plant, sensors and a hold by the states that a filter makes of them."""

    def __init__(self, model, replaceable):
        self.scenario, self.waiting = model.scenario, {}
        self.topics = {s.name: SensorTopic(self, s) for s in self.scenario.sensors}
        self.states = SensedStates(self, model, None, replaceable)
        self.hold = Hold(self.scenario.system, self.scenario.p, self.scenario.x0)
        self.plant = Emulation(
            self.scenario.system, self.scenario.p, self.scenario.sensors, seed=3
        )
        self.plant.restart(self.scenario.x0, np.zeros(3))

    def polled(self, _kind, topic, _qos, *, raw):
        assert raw
        waiting = self.waiting[topic]

        def take():
            taken, waiting[:] = list(waiting), []
            return taken

        return SimpleNamespace(topic=topic, take=take)

    def writer(self, _kind, topic, _qos):
        waiting = self.waiting[topic] = []
        return SimpleNamespace(publish=lambda message: waiting.append(bytes(message)))

    def run(self, duration, changed=lambda _name, value: value):
        """Hold it; return when a fault was found [s], and the true state at the end."""
        found, u, last = None, np.zeros(3), -1
        for k in range(1, round(duration / PERIOD)):
            for m in self.plant.advance(k * PERIOD):
                value = changed(m.sensor.name, m.value) if m.stamp >= LOST else m.value
                if value is not None:
                    self.topics[m.sensor.name].publish(value, round(m.stamp * 1e9) + 10**9)
            self.states.poll()
            if self.states.fault and found is None:
                found = k * PERIOD
            now = self.states.state()
            if now is not None and now[0] != last:
                last, u = now[0], self.hold.step(None, now[1], 0.0)[1]
            if self.states.fault and not self.states.replaced:
                u = np.zeros(3)
            self.plant.send(u, k * PERIOD)
            self.states.note(u, round(k * PERIOD * 1e9) + 10**9)
        return found, self.plant.state


def lean(model, state):
    d = np.array(model.system.difference(state.x, model.start)).ravel()
    return np.abs(d[LEAN]).max()


def off(lost):
    return lambda name, value: None if name == lost else value


def frozen(lost):
    return lambda name, value: np.full_like(value, 0.01) if name == lost else value


def wrong(lost):
    """Rates, the last numbers of both sensors, are anything up to 0.1 rad/s."""
    rng = np.random.default_rng(4)
    rates = lambda value: [*value[:-2], *rng.uniform(-0.1, 0.1, 2)]  # noqa: E731
    return lambda name, value: np.array(rates(value)) if name == lost else value


@pytest.mark.parametrize('fails', [off, frozen, wrong])
def test_without_encoders_it_is_held_by_its_imu(model, fails, fault_row):
    told = fault_row(f'ballbot: encoders {fails.__name__}')
    assert 'encoders' in model.view.holds_at
    robot = Robot(model, model.view.holds_at)
    found, state = robot.run(4.0, fails('encoders'))
    assert LOST < found < LOST + 0.1
    assert robot.states.replaced
    assert list(robot.states.lost) == ['encoders']
    assert state.ended is None
    assert lean(model, state) < 0.02
    told('it is held by the IMU', found - LOST)


def test_without_a_sensor_that_others_do_not_replace_the_drive_is_cut(model, fault_row):
    told = fault_row('ballbot: IMU off, which its view does not let encoders replace')
    robot = Robot(model, {'encoders'})
    found, state = robot.run(2.5, off('imu'))
    assert LOST < found < LOST + 0.06
    assert not robot.states.replaced
    assert list(robot.states.lost) == ['imu']
    count = robot.states.count
    robot.states.poll()
    assert robot.states.count == count
    assert lean(model, state) > 0.02 or state.ended is not None
    told('the drive is cut', found - LOST)


def test_an_imu_that_disagrees_again_is_not_believed(model):
    """Its first disagreement reopens the estimate; it never comes to agree."""
    robot = Robot(model, model.view.holds_at)
    found, _ = robot.run(LOST + 0.3, wrong('imu'))
    assert LOST + OPENING <= found < LOST + 0.15
    assert 'does not move as the commands predict' in robot.states.fault


def test_a_restart_begins_at_the_start_with_all_sensors(model):
    robot = Robot(model, model.view.holds_at)
    robot.run(LOST + 0.1, off('encoders'))
    assert robot.states.fault
    robot.states.restart()
    assert (robot.states.fault, robot.states.lost) == ('', {})
    assert robot.states.state() is None


def test_nothing_is_lost_without_a_fault(model):
    robot = Robot(model, model.view.holds_at)
    found, state = robot.run(2.0)
    assert found is None
    assert lean(model, state) < 0.02


def measured(robot, name, k):
    """Publish what a sensor would measure at its start, in a turn; return the newest stamp."""
    scenario = robot.scenario
    sensor = next(s for s in scenario.sensors if s.name == name)
    at_start = sensor.function(scenario.system, next(iter(scenario.system.modes)))
    value = np.array(at_start(scenario.x0, np.zeros(3), 0.0, scenario.p)).ravel()
    robot.topics[name].publish(value + 1e-4 * k, 10**9 + round(k * PERIOD * 1e9))
    robot.states.poll()
    now = robot.states.state()
    return None if now is None else round((now[0] * 1e-9 - 1.0) / PERIOD)


def test_a_state_is_new_once_all_sensors_have_measured_in_its_turn(model):
    robot = Robot(model, model.view.holds_at)
    assert measured(robot, 'imu', 1) is None
    assert measured(robot, 'encoders', 1) == 1
    assert measured(robot, 'imu', 2) == 1
    assert measured(robot, 'encoders', 2) == 2


def test_a_measurement_that_comes_twice_or_late_counts_once(model):
    once, often = (Robot(model, model.view.holds_at) for _ in range(2))
    for k in range(1, 5):
        for name in ('imu', 'encoders'):
            measured(once, name, k)
            for again in (k, k, k - 1):
                measured(often, name, again)
    np.testing.assert_array_equal(once.states.state()[1], often.states.state()[1])


@pytest.mark.parametrize(('opened', 'most'), [(True, 1.0), (False, 9.0)])
def test_commands_are_half_the_greatest_while_a_sensor_has_reopened_the_estimate(opened, most):
    watch = SensedWatch(SimpleNamespace(open=opened), np.array([2.0]))
    assert watch.limited(np.array([9.0])) == [most]
    assert watch.limited(np.array([-9.0])) == [-most]
    assert watch.limited(np.array([0.5])) == [0.5]


def test_a_filter_that_starts_again_leaves_out_what_was_measured_before(model):
    """The robot was put back meanwhile: it would lean as before, and be where it was."""
    robot = Robot(model, {'encoders'})
    robot.plant.advance(0.1)
    for name, topic in robot.topics.items():
        size = next(s for s in robot.scenario.sensors if s.name == name).output.size
        topic.publish(np.full(size, 0.5), 10**9)
    robot.states.restart()
    robot.states.poll()
    assert robot.states.newest is None
    assert robot.states.refused == ''

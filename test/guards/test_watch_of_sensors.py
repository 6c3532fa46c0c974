"""A two-wheeler whose states an estimator makes: the watch knows how good its sensors are."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rolling_controller import motion_watch
from rolling_controller.balance.hold import Hold
from rolling_controller.measured_state import SensorFilter
from rolling_controller.motion_watch import MotionWatch, PERIOD, Predictor, supervision
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.supervisor import step
from rolling_dynamics import load_scenario
from rolling_dynamics.simulation.emulation import Emulation

STEP, SECOND = 2e-3, 1_000_000_000  # s, of the loop and both sensors; ns
BEGIN, WITHIN = 0.3, 0.1  # s, of a fault, and until it is found
ANGLE = 0.02  # rad, between two sources
AS_DECLARED, ROUGH = 1.0, 10.0  # of the noise of the scenario


class Wheeler:
    """Plant, estimator and hold, with sensors whose noise is so many times the scenario's."""

    def __init__(self, noise=1.0):
        s = self.scenario = load_scenario('two_wheeler')
        self.sensors = tuple(replace(k, covariance=noise**2 * k.covariance) for k in s.sensors)
        self.filter = SensorFilter(s.system, s.p, self.sensors, s.x0)
        self.hold = Hold(s.system, s.p, s.x0, control_limits=s.control_limits)
        self.known = self.filter.corrections(PERIOD)

    def run(self, seed, until, fault=lambda x, _t: x, *, known=True):
        """Return when states were no longer believed [s], and all verdicts."""
        s = self.scenario
        plant = Emulation(s.system, s.p, self.sensors, s.actuators, seed=seed)
        plant.restart(s.x0, np.zeros(2))
        predictor = Predictor(s.system, s.p, delay=0.0, horizon=0.0)
        corrections = self.known if known else None
        watch = MotionWatch(s.system, predictor, noisy=True, corrections=corrections)
        belief, verdicts = self.filter.start(), []
        for k in range(1, round(until / STEP)):
            measured = plant.advance(k * STEP)
            for m in measured:
                belief, _ = self.filter.step(belief, self.filter.given(m), m.stamp)
            if not measured:
                continue
            t = measured[-1].stamp
            verdicts.append(watch.judge(SECOND + round(t * SECOND), fault(belief.x.copy(), t)))
            if verdicts[-1].fault:
                return t, verdicts
            u = self.hold.step(None, belief.x, 0.0)[1]
            u = np.clip(u, -s.control_limits, s.control_limits)
            plant.send(u, k * STEP)
            acts = k * STEP + s.actuators[0].dead_time
            belief = self.filter.acting(belief, u, acts)
            predictor.note(SECOND + round(acts * SECOND), u)
        return None, verdicts


@pytest.fixture(scope='module')
def wheelers():
    return {noise: Wheeler(noise) for noise in (AS_DECLARED, ROUGH)}


def leaning(scenario):
    """Return a fault: from when it begins it is turned every other 10 ms."""
    d = np.zeros(scenario.system.tangent.size)
    d[scenario.system.tangent.slice('d_body')] = 0.0, ANGLE, 0.0

    def fault(x, t):
        turned = t >= BEGIN and round(t / 0.01) % 2
        return np.array(scenario.system.retract(x, d)).ravel() if turned else x

    return fault


def frozen():
    """Return a fault: the state stands still from when it begins."""
    kept = []

    def fault(x, t):
        if t < BEGIN or not kept:
            kept[:] = [x]
        return kept[0]

    return fault


@pytest.mark.parametrize('noise', [AS_DECLARED, ROUGH])
def test_sensors_as_good_as_they_are_declared_are_no_fault(wheelers, noise):
    for seed in (1, 2):
        ended, verdicts = wheelers[noise].run(seed, 0.6)
        assert ended is None, seed
        assert not any(v.reopen for v in verdicts)


def test_by_the_usual_noise_rough_sensors_would_be_a_fault(wheelers):
    assert wheelers[ROUGH].run(1, 0.6, known=False)[0] is not None


@pytest.mark.parametrize('noise', [AS_DECLARED, ROUGH])
def test_two_sources_that_disagree_are_a_fault(wheelers, noise, fault_row):
    robot = wheelers[noise]
    told = fault_row(
        f'two-wheeler, sensors of {noise:g} times the noise: it is turned by {ANGLE:g} rad every '
        'other 10 ms'
    )
    ended, verdicts = robot.run(1, BEGIN + 0.3, leaning(robot.scenario))
    assert ended is not None
    assert BEGIN < ended <= BEGIN + WITHIN
    told(verdicts[-1].fault, ended - BEGIN)


def test_by_the_usual_noise_two_sources_would_not_disagree(wheelers):
    robot = wheelers[AS_DECLARED]
    assert robot.run(1, BEGIN + 0.3, leaning(robot.scenario), known=False)[0] is None


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize('noise', [AS_DECLARED, ROUGH])
def test_of_two_hundred_seeds_faults_end_in_time_and_none_alarms(wheelers, noise):
    robot = wheelers[noise]
    late = {'frozen': 0, 'two sources': 0}
    for seed in range(200):
        ended, verdicts = robot.run(seed, 0.6)
        assert ended is None, seed
        assert not any(v.reopen for v in verdicts), seed
        for done, fault in (('frozen', frozen()), ('two sources', leaning(robot.scenario))):
            ended, _ = robot.run(seed, BEGIN + 0.3, fault)
            late[done] += ended is None or not BEGIN <= ended <= BEGIN + WITHIN
    assert max(late.values()) <= 2, late


def test_what_sensors_correct_is_what_estimates_change_beyond_what_is_predicted(
    wheelers, monkeypatch
):
    """Never more than declared, and where an IMU and encoders measure, not much less."""
    seen = []

    def noted(source, memory, sample, t):
        seen.append(sample)
        return step(source, memory, sample, t)

    monkeypatch.setattr(motion_watch, 'step', noted)
    robot = wheelers[ROUGH]
    for seed in range(4):
        robot.run(seed, 0.6)
    n = robot.scenario.system.tangent.size
    whole = [s for s in seen if s.innovation.size == n]
    squares = np.mean([s.innovation**2 / s.covariance for s in whole], axis=0)
    assert squares.max() < 1.2
    tilt = robot.scenario.system.tangent.slice('d_body')
    wheel = robot.scenario.system.tangent.slice('left')
    assert squares[tilt][1] > 0.2
    assert squares[wheel][0] > 0.2


def test_a_later_sensor_a_slower_one_and_a_bias_say_less(wheelers):
    s = wheelers[AS_DECLARED].scenario

    def variance(**changed):
        sensors = tuple(replace(k, **changed) for k in s.sensors)
        return SensorFilter(s.system, s.p, sensors, s.x0).corrections(PERIOD)

    tilt = s.system.tangent.slice('d_body').start + 1
    wheel = s.system.tangent.slice('left').start
    declared = wheelers[AS_DECLARED].known
    assert variance(bias=0.01)[wheel] > 10 * declared[wheel]
    assert variance(rate=50.0)[tilt] > 1.5 * declared[tilt]
    imu, encoders = s.sensors
    late = SensorFilter(s.system, s.p, (replace(imu, delay=0.05), encoders), s.x0)
    assert late.corrections(PERIOD)[tilt] > 1.05 * declared[tilt]


def test_the_controller_of_a_robot_watches_it_by_the_sensors_of_its_scenario(monkeypatch):
    """Unless its states are watched as they are estimated."""
    s, given = load_scenario('two_wheeler'), []
    errors = 0.01 * s.p

    def noted(*arguments):
        given.append(arguments[5:])
        return supervision(*arguments)

    monkeypatch.setattr('rolling_controller.nodes.equipment.supervision', noted)
    values = {'command_delay': 0.0, 'prediction_horizon': 0.0, 'noisy_states': True}
    values |= {'state_period': 0.0}
    node = SimpleNamespace(
        values=values,
        get_parameter=lambda _: SimpleNamespace(value=True),
        get_logger=lambda: SimpleNamespace(warning=None),
    )
    for watch in (None, object()):
        machine = SimpleNamespace(watch=watch, sensors=s.sensors)
        model = s.system, s.p, s.x0, s.control_limits
        made = LoopEquipment.of(node, machine, *model, errors)
        assert watch is None or made.watch is watch
    assert given == [(s.sensors, errors), ((), errors)]

"""The breakaway tilt from balls that were put down: what is seen in a log, and what it says."""

import casadi as ca
import numpy as np
import pytest
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.identification import identify as of
from rolling_controller.ball_balancer.identification import servo_response as resting
from rolling_controller.ball_balancer.identification.differences import differences
from rolling_controller.ball_balancer.identification.log import emulated, Log, log_of, PUT
from rolling_controller.ball_balancer.laws import pid_law
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.ball_balancer.plate import breakaway_angle, wave_sum
from rolling_dynamics.ball_balancer.rig_file import emulated_rig
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, rig_of
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import check

RATE = 30.0  # 1/s, of frames


def put(motion, tilt, before=20):
    """Return a log of 60 frames whose ball comes into view and goes on as ``motion(t)``."""
    t = np.arange(60) / RATE
    ball = np.full((60, 2), np.nan)
    ball[before:] = [motion(s - t[before]) for s in t[before:]]
    return Log(times=t, ball=ball, tilt=np.array([tilt(s) for s in t]))


def held(_):
    return (8.0, 0.0)


@pytest.mark.parametrize(
    ('motion', 'stayed'),
    [
        (lambda _: (0.01, 0.02), True),
        (lambda t: (0.01, 0.02 + 0.01 * t**2), False),
    ],
)
def test_a_ball_that_is_put_down_stays_or_rolls(motion, stayed):
    found = resting.put_downs(put(motion, held))
    assert found.places == pytest.approx(np.array([[0.01, 0.02]]))
    assert found.times == pytest.approx([20 / RATE])
    assert found.stayed.tolist() == [stayed]


@pytest.mark.parametrize(
    'log',
    [
        put(lambda t: (0.01 + 0.03 * t, 0.02), held),  # pushed
        put(lambda _: (0.01, 0.02), lambda t: (8.0 + (t > 1.0), 0.0)),  # the plate moves
        put(lambda _: (0.01, 0.02), lambda t: (8.0 + (t > 0.5), 0.0)),  # or has just moved
        put(lambda _: (0.01, 0.02), held, before=50),  # the log ends
        put(lambda t: (0.01 if t < 0.3 else np.nan, 0.02), held),  # out of view again
    ],
)
def test_what_is_no_ball_put_down_on_a_plate_that_stands_still(log):
    assert not len(resting.put_downs(log).times)


def test_breakaway_tilts_are_those_of_a_field_with_these_signs():
    """Beside drawing from the field and keeping what fits."""
    places = np.array([[0.0, 0.0], [0.01, 0.0], [0.03, 0.02]])
    pulls, stayed = np.array([15.0, 22.0, 12.0]), np.array([True, False, True])
    unsure = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 4.0]])
    found = resting.breakaway(resting.PutDown(places, np.zeros(3), stayed), pulls, unsure)
    rng, many = np.random.default_rng(1), 200_000
    far = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    part = resting.VARIES**2 * np.exp(-(far**2) / (2 * resting.OVER**2))
    tilts = resting.MEAN + resting.UNKNOWN * rng.normal(size=(many, 1))
    tilts = tilts + rng.multivariate_normal(np.zeros(3), part, many)
    pulled = pulls + rng.multivariate_normal(np.zeros(3), unsure, many)
    fits = tilts[((tilts > pulled) == stayed).all(axis=1)]
    assert found.values == pytest.approx(fits.mean(axis=0), abs=0.3)
    assert found.spreads == pytest.approx(fits.std(axis=0), abs=0.3)
    assert found.mean == pytest.approx(fits.mean(), abs=0.3)
    assert found.spread == pytest.approx(fits.mean(axis=1).std(), abs=0.3)


def rig(**changes):
    raw = dict(load_scenario('ball_balancer').raw)
    for section, change in changes.items():
        raw[section] = {**raw[section], **change}
    return check(BallBalancerFile, raw, '')


def test_on_the_emulated_rig_a_ball_stays_where_the_pull_is_below_the_map():
    file, seed = rig_of(load_scenario('ball_balancer')), 3
    log = emulated(file, pid_law(RigModel.of(file)), seed, 0.5)
    found = resting.put_downs(log)
    assert len(found.times) == PUT
    assert 4 < found.stayed.sum() < PUT - 4
    system, p = file.system_and_parameters(seed)
    y, params = ca.SX.sym('y', 2), system.symbols.params
    slope = -ca.gradient(wave_sum('height', y, params), y)
    at = ca.Function('at', [y, system.symbols.p], [ca.vertcat(slope, breakaway_angle(y, params))])
    maps = np.array([np.array(at(place, p)).ravel() for place in found.places]) / file.servo.count
    numbers = np.array([file.servo.acceleration, file.servo.speed, file.servo.dead_band])
    held = of.response(log, numbers, of.STIFFNESS).at(found.times)[0][:, 0]
    margin = maps[:, 2] - np.hypot(*(held + maps[:, :2]).T)
    clear = abs(margin) > 0.3
    assert (margin > 0)[clear].tolist() == found.stayed[clear].tolist()


def test_pulls_have_exact_derivatives():
    file = rig()
    run = run_rig(file, pid_law(RigModel.of(file)), protocol.jumps, 6.0, seed=1)
    log = log_of(run, file.camera.delay)
    d = differences(log)
    rows = np.searchsorted(log.times, d.corners[:, 1])
    assert d.bumps_at(log.ball[rows]) == pytest.approx(d.bumps)
    likelihood = of._Likelihood(log, d)
    values = np.random.default_rng(2).normal(size=likelihood.size)
    values[: len(of.NAMES)] = [0.052, 25000, 1850, 3, 4e-3, 2e-5, 2, -3, 9]
    times = log.times[[90, 120, 150]]
    put = resting.PutDown(np.array([[0.01, 0], [0.02, 0.01], [0, 0]]), times, times > 0)
    _, J = likelihood.pulls(values, put)
    for k in (3, *range(of.OFFSET.start, likelihood.size)):
        h = 1e-4 * np.eye(likelihood.size)[k]
        ends = [likelihood.pulls(values + s * h, put)[0] for s in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(J[:, k], abs=2e-3)


def tilted(file):
    """Return where the ball is while the tilt grows by a count every four frames."""
    emulation = emulated_rig(file, 1)
    for k in range(100):
        for frame in emulation.advance(k / file.camera.rate + file.camera.delay):
            command = file.command(emulation.system, emulation.p, np.array([k // 4, 0.0]))
            emulation.send(command, frame.arrival)
    return emulation.state.x[:2]


@pytest.mark.parametrize('lag', [0.0, 0.0347])
def test_a_servo_without_lag_hides_the_breakaway_tilt(lag):
    """Each count shakes the plate: a ball sets off at its kinetic resistance of 9 counts."""
    ends = []
    for over in (1.5, 2.0):
        breakaway = {'breakaway': [9 * over, 9 * over], 'kinetic_share': 1 / over}
        ends.append(tilted(rig(resistance=breakaway, servo={'lag': lag}, plate={'slope': 0.0})))
    off = np.hypot(*(ends[1] - ends[0]))
    assert off < 2e-5 if lag == 0 else off > 5e-3
    assert np.hypot(*ends[0]) > 5e-3

"""Identification from logs: exact derivatives, what emulated logs say, what is refused."""

import json

import casadi as ca
from evidence.benchmarks import identification_coverage
import numpy as np
import pytest
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.identification import identify as of
from rolling_controller.ball_balancer.identification import log as experiment
from rolling_controller.ball_balancer.identification.differences import differences
from rolling_controller.ball_balancer.identification.log import Log, log_of, read_log, write_log
from rolling_controller.ball_balancer.laws import pid_law
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.ball_balancer.plate import wave_sum
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import check
from rolling_robotics.plugins.ball_balancer import identification

BREAKAWAY, KINETIC = 18.0, 9.0  # counts


def emulated(duration, seed, **changes):
    """Return rig and log of jumps on a plate of one breakaway tilt."""
    raw = dict(load_scenario('ball_balancer').raw)
    raw['resistance'] = {'breakaway': [BREAKAWAY, BREAKAWAY], 'kinetic_share': 0.5}
    for section, change in changes.items():
        raw[section] = {**raw[section], **change}
    file = check(BallBalancerFile, raw, '')
    rig = RigModel.of(file)
    run = run_rig(file, pid_law(rig), protocol.jumps, duration, seed=seed)
    return rig, log_of(run, file.camera.delay)


@pytest.fixture(scope='module')
def short():
    return emulated(9.0, 1)


def truth(rig):
    values = np.zeros(len(of.NAMES))
    values[:6] = [rig.latency, rig.acceleration, rig.speed, 3.0, rig.gain, rig.lever]
    values[8] = KINETIC
    return values


def test_derivatives_are_exact(short):
    rig, log = short
    likelihood = of._Likelihood(log, differences(log))
    values = np.zeros(likelihood.size)
    values[: len(of.NAMES)] = truth(rig)
    _, J = likelihood.raw(values)
    for k in (*range(len(of.NAMES) + 2), likelihood.size - 1):
        up, down, h = values.copy(), values.copy(), 1e-4 * max(abs(values[k]), 1e-4)
        up[k] += h
        down[k] -= h
        slope = (likelihood.raw(up)[0] - likelihood.raw(down)[0]) / (2 * h)
        off = np.linalg.norm(slope - J[..., k]) / np.linalg.norm(J[..., k])
        name = of.NAMES[min(k, 8)]
        assert off < (0.1 if name == 'dead_band' else 1e-2), name  # a servo rests at a kink


def test_the_true_numbers_leave_nothing_of_a_log_without_noise():
    """So the model has the equations of the plant, down to a 50th of the camera's noise."""
    rig, log = emulated(9.0, 1, camera={'noise': 0.0}, plate={'slope': 0.0})
    d = differences(log)
    likelihood = of._Likelihood(log, d)
    values = np.zeros(likelihood.size)
    values[: len(of.NAMES)] = truth(rig)
    r, _ = likelihood.raw(values)
    assert r.std() < 3e-6
    assert d.second.std() > 100 * r.std()
    values[of.LEVER] = 0
    assert likelihood.raw(values)[0].std() > 1e-4


@pytest.mark.slow
def test_a_log_of_two_minutes_tells_the_numbers():
    """On the uneven plate of the published rig."""
    found = identification_coverage.run(2)
    for name, unit in zip(of.NAMES, of.UNITS, strict=True):
        true, value, half_width = found[name]
        assert abs(value - true) < 1.5 * half_width, f'{name} [{unit}]'
    assert found['delay'][2] < 3e-3
    assert found['gain'][2] < 0.03 * found['gain'][0]
    true, value, half_width = found['breakaway']
    assert abs(value - true) < 1.5 * half_width
    assert half_width < 4


@pytest.mark.slow
def test_the_offset_map_is_that_of_the_plate():
    """95 of 100 of its intervals have the true slope, over plates."""
    file = check(BallBalancerFile, load_scenario('ball_balancer').raw, '')
    system, p = file.system_and_parameters(3)
    place = ca.SX.sym('place', 2)
    height = wave_sum('height', place, system.symbols.params)
    slope = ca.Function('slope', [place, system.symbols.p], [-ca.gradient(height, place)])
    log = experiment.emulated(file, pid_law(RigModel.of(file)), 3, experiment.JUMPING)
    found = of.identify(log).offset_map
    true = np.array([np.array(slope(row[:2], p)).ravel() for row in found]) / file.servo.count
    assert true.std() > 3, 'counts: a plate that is flat would prove nothing'
    assert (abs(found[:, 2:4] - true) < found[:, 4:]).mean() > 0.9
    assert np.median(found[:, 4:]) < 4


def test_fit_and_maps_are_drawn_and_written(tmp_path):
    """Also where the ball was never put down."""
    rng = np.random.default_rng(1)
    found = of.Identified(
        numbers={'delay': of.Estimate(value=0.05, unit='s', half_width=1e-3)},
        offset_map=rng.normal(size=(5, 6)),
        breakaway_map=np.empty((0, 4)),
        noise=(4e-5, 1e-9),
        fit=0.96,
        times=np.arange(20) / 30,
        accelerations=rng.normal(size=(20, 2, 2)),
        residuals=rng.normal(size=(20, 2)),
    )
    identification.draw(found, tmp_path / 'fit.png')
    assert (tmp_path / 'fit.png').read_bytes().startswith(b'\x89PNG')
    written = json.loads(json.dumps(identification.to_dict(found)))
    assert [row['half_width_y'] for row in written['offset_map']] == found.offset_map[
        :, 5
    ].tolist()
    assert written['breakaway_map'] == []


def test_coverage_goes_on_where_it_was_ended(tmp_path, monkeypatch, capsys):
    """And says numbers whose intervals are too wide, or too seldom where they should be."""
    ran = []

    def run(seed):
        ran.append(seed)
        half = None if seed == 3 else 1.0
        numbers = {'gain': [4.0, 4.0 + (seed % 10 == 0), 1e-4], 'delay': [0.05, 0.05, half]}
        return {'seed': seed, 'law': identification_coverage.LAW, **numbers}

    monkeypatch.setattr(identification_coverage, 'run', run)
    out = tmp_path / 'coverage.jsonl'
    for seeds in ('0..4', '0..19'):
        assert identification_coverage.main([seeds, '--out', str(out)]) == 1
    assert ran == list(range(20))
    gain, delay = capsys.readouterr().out.splitlines()[-2:]
    assert gain.split()[:4] == ['gain', '18', 'of', '20']
    assert delay.split()[:4] == ['delay', '19', 'of', '20']
    assert [met for _, met in identification_coverage.summary([run(k) for k in range(20)])] == [
        True,
        False,
    ]


def test_the_experiment_has_the_set_points_of_the_emulated_log(tmp_path):
    """Those after which the slow test identifies every number."""
    identification.experiment(tmp_path / 'set_points.csv')
    rows = np.genfromtxt(tmp_path / 'set_points.csv', delimiter=',', skip_header=1)
    t, goals, tilts = rows[:, 0], rows[:, 1:3], rows[:, 3:]
    for s in np.arange(0.005, experiment.JUMPING, 0.01):
        row = np.searchsorted(t, s, side='right') - 1
        assert goals[row] == pytest.approx(protocol.jumps(s), abs=1e-6)
        assert np.isnan(tilts[row]).all()
    places, held = experiment.put_down()
    assert goals[-experiment.PUT :] == pytest.approx(places, abs=1e-6)
    assert tilts[-experiment.PUT :] == pytest.approx(held)


def test_a_log_without_motion_is_refused():
    t = np.arange(300) / 30
    still = Log(times=t, ball=1e-5 * np.ones((300, 2)), tilt=np.zeros((300, 2)))
    with pytest.raises(ParameterError, match=r'rolls in 0 frames .* jumps of the set point'):
        of.identify(still)


def test_a_log_is_read_as_it_was_written(tmp_path, short):
    _, log = short
    log.ball[5] = np.nan
    write_log(tmp_path / 'log.csv', log)
    again = read_log(tmp_path / 'log.csv')
    assert again.times == pytest.approx(log.times, abs=1e-6)
    assert np.isnan(again.ball[5]).all()
    assert again.tilt == pytest.approx(log.tilt)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('time,ball_x\n1,2\n', "'ball_y' is missing"),
        (
            'time,ball_x,ball_y,tilt_x,tilt_y\n0,0,0,0,left\n',
            r"line 2: tilt_y .*'left'",
        ),
        (
            'time,ball_x,ball_y,tilt_x,tilt_y\n0,0,0,0,1e300\n',
            "tilt_y must be a number of at most 100000 in magnitude, got '1e300'",
        ),
        ('time,ball_x,ball_y,tilt_x,tilt_y\n0,9.9,0,0,0\n', 'ball_x .* at most 1 in magnitude'),
        ('time,ball_x,ball_y,tilt_x,tilt_y\n0,,,0,0\n', 'at least 100 rows are needed, got 1'),
        ('time,ball_x,ball_y,tilt_x,tilt_y\n' + 120 * '1,0,0,0,0\n', 'time must increase'),
    ],
)
def test_a_log_that_cannot_be_read_says_why(tmp_path, text, message):
    (tmp_path / 'log.csv').write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_log(tmp_path / 'log.csv')


def test_a_log_over_too_large_an_area_is_refused_before_memory_is_taken():
    """Noise of 0.2 m at 20,000 frames would take gigabytes for the bumps of the plate."""
    rng = np.random.default_rng(1)
    ball, tilt = rng.normal(size=(20000, 2)) * 0.2, rng.normal(size=(20000, 2)) * 100
    with pytest.raises(ParameterError, match='too large to find how uneven the plate is'):
        differences(Log(times=np.arange(20000) / 60, ball=ball, tilt=tilt))


def test_no_frame_counts_in_which_the_ball_rests_for_a_part():
    """It starts in the middle of an interval, so fast that its mean speed there is 60 mm/s."""
    t, start = np.arange(300) / 30, 4.99
    way = 40.0 * np.maximum(t - start, 0.0) ** 2 / 2
    way[t > 5.5] = np.nan
    log = Log(times=t, ball=np.column_stack([way, 0 * t]), tilt=np.zeros((300, 2)))
    d = differences(log)
    assert d.corners[0, 0] == pytest.approx(5.0)
    assert d.second[:, 0] == pytest.approx(40.0 * d.whole, rel=1e-6)


def test_the_covariance_is_how_far_a_fit_moves_without_a_roll(short):
    """By least squares without its rows; bumps add what their priors leave open."""
    _, log = short
    likelihood = of._Likelihood(log, differences(log))
    z = np.zeros(likelihood.size)
    z[: len(of.NAMES)] = of.START / likelihood.scale[: len(of.NAMES)]
    z = likelihood.fit(z, of.IN_THE_END)
    r, J = likelihood.whitened(z)
    r -= J @ np.linalg.lstsq(J, r, rcond=None)[0]  # a fit to the last digit
    likelihood.whitened = lambda _: (r, J)
    roll = np.concatenate([np.tile(likelihood.d.roll, 2), np.full(likelihood.priors.size, -1)])
    prior = np.linalg.pinv(J)[:, roll < 0]
    expected = prior @ prior.T
    for k in range(roll.max() + 1):
        moved = -np.linalg.lstsq(J[roll != k], r[roll != k], rcond=None)[0]
        expected += np.outer(moved, moved)
    assert roll.max() >= 3
    assert likelihood.covariance(z) == pytest.approx(expected, rel=1e-4, abs=1e-12)


def test_a_log_of_noise_alone_determines_nothing():
    """What the fit says of its own certainty means nothing then."""
    rng = np.random.default_rng(1)
    ball, tilt = rng.normal(size=(200, 2)) * 0.01, np.round(rng.normal(size=(200, 2)) * 200)
    found = of.identify(Log(times=np.arange(200) / 50, ball=ball, tilt=tilt))
    assert found.fit < 0.05
    assert [e.half_width for e in found.numbers.values()] == [None] * len(found.numbers)

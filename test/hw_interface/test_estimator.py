"""The estimator in lockstep with a rolling truth: the figures that the laboratory needs."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_hw_interface.emulated_camera import CameraModel
from rolling_hw_interface.encoder_filter import EncoderFilter
from rolling_hw_interface.pose_filter import (
    FilterModel,
    prediction_function,
    quaternion_of,
    spread_function,
)
from rolling_hw_interface.vision import ClockOffset
from rolling_truth import ellipse_on_plate, Run
from transforms3d.quaternions import qmult, quat2mat

LABORATORY = CameraModel(clock_offset=0.3, clock_spread=0.0)  # 250 Hz, 8 +- 2 ms, 10 % hidden


@pytest.fixture(scope='module')
def run():
    return Run(camera=LABORATORY, seed=4, model_scale=1.1).go(2.5)


def test_contact_and_angle_are_known_well_enough(run):
    contact, angle, rate = run.errors(after=0.5)
    assert contact < 0.5e-3
    assert math.degrees(angle) < 0.3
    assert rate < 0.3


def test_clock_offset_is_found(run):
    late = [abs(off) for t, off in run.offsets if t > 2.0]
    assert max(late) < 1e-3


def test_covariances_of_contact_angle_and_rate_are_honest(run):
    rows = np.array([r for r in run.rows if r[0] > 0.5])
    ratios = np.sqrt(np.mean((rows[:, 1:4] / rows[:, 4:]) ** 2, axis=0))
    assert ((ratios > 0.5) & (ratios < 2.5)).all()


def test_covariances_of_an_estimate_that_begins_are_large_and_turn_with_the_object():
    run = Run(camera=replace(LABORATORY, clock_offset=0.0), seed=4)
    while run.last is None:
        run.step()
    assert run.last.twist_covariance[4, 4] >= 10.0**2
    assert run.last.pose_covariance[4, 4] > (10.0 * run.last.age) ** 2
    run.go(0.1)
    assert run.last.twist_covariance[4, 4] < 0.3**2
    C, R = run.estimator.filter.covariance, quat2mat(run.last.object_[:4])
    C[6:, 6:], C[8, 8] = np.eye(len(C) - 6), 25.0
    run.estimator.filter.covariance = C
    run.step()
    along = np.sqrt(np.diag(run.last.twist_covariance)[:3])
    assert along == pytest.approx(
        [math.hypot(*R[:2, k], 5.0 * R[2, k]) for k in range(3)], rel=0.02
    )


@pytest.mark.slow
def test_motion_tells_a_latency_that_was_calibrated_wrong():
    """Stamps and arrivals alone would leave 2 ms."""
    wrong = Run(camera=LABORATORY, seed=5, least_latency=4e-3).go(2.0)
    off = wrong.offsets[-1][1]
    assert abs(off) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(10, 18))
def test_figures_hold_on_other_seeds(seed):
    run = Run(camera=LABORATORY, seed=seed, model_scale=1.1).go(4.0)
    contact, angle, _ = run.errors(after=0.5)
    assert contact < 0.5e-3
    assert math.degrees(angle) < 0.3
    assert abs(run.offsets[2000][1]) < 1e-3


@pytest.mark.slow
def test_an_inertia_in_doubt_is_found():
    doubted = FilterModel(planar=True, inertia=0.5)
    run = Run(camera=LABORATORY, seed=4, model_scale=1.6, filter_model=doubted).go(0.9)
    assert 1.6 * run.estimator.inertia == pytest.approx(1.0, abs=0.1)
    known = Run(camera=LABORATORY, seed=4, model_scale=1.6).go(0.9)
    assert known.estimator.inertia == 1.0
    assert run.errors(after=0.5)[2] < 0.5 * known.errors(after=0.5)[2]
    run.estimator.filter.body[10:13] = 1e3  # m/s
    run.go(0.02)
    assert run.estimator.restarts == 1
    assert 1.6 * run.estimator.inertia == pytest.approx(1.0, abs=0.15)  # is not forgotten


def test_an_error_moves_as_two_predictions_come_apart():
    system, p = ellipse_on_plate()
    predict, spread = prediction_function(system), spread_function(system)
    body = np.array([0.98, 0.03, 0.19, -0.01, 1e-3, 2e-3, 0.027, 0.3, 2.0, -0.2, 0.05, 0.01, 0.02])
    body[:4] /= np.linalg.norm(body[:4])
    hand = np.array([1.0, 0, 0.02, 0, 0.01, 0, 0, 0, 0.3, 0, 0.1, 0, 0.05])
    near, u = np.zeros(2), np.array([0, 2.0, 0, 0.5, 0, 1.0])
    rest = near, hand, u, 1e-3, 2e-3, 1.0

    def after(d):
        moved, q = body.copy(), p.copy()
        moved[:4] = qmult(quaternion_of(d[3:6]), body[:4])
        moved[4:7], moved[7:10], moved[10:13] = (
            body[4:7] + d[:3],
            body[7:10] + d[9:12],
            body[10:13] + d[6:9],
        )
        q[system.parameters.slice('inertia')] *= math.exp(d[12])
        return np.array(predict(moved, *rest, q)).ravel()

    now, F = after(np.zeros(13)), np.array(spread(body, *rest, p)).reshape(13, 12).T
    for k, column in enumerate(F.T):
        d = np.zeros(13)
        d[k] = 1e-6
        one, two = after(d), after(-d)
        turn = rotation_vector(qmult(one[:4], two[:4] * [1, -1, -1, -1]))
        apart = np.concatenate(
            [one[4:7] - two[4:7], turn, one[10:13] - two[10:13], one[7:10] - two[7:10]]
        )
        assert column == pytest.approx(apart / 2e-6, abs=1e-6 + 1e-5 * np.abs(column).max())
    assert abs(now[8] - body[8]) > 1e-3  # it does move
    assert abs(F[10, 12]) > 1e-3  # and the inertia matters


@pytest.mark.parametrize(('breaking', 'lost'), [(5e-4, True), (1e-2, False)])
def test_noise_is_taken_for_a_lost_contact_unless_told(monkeypatch, breaking, lost):
    noisy = replace(LABORATORY, noise=2.5e-3)
    run, changes = Run(camera=noisy, seed=6), []
    run.pattern.tolerance, run.estimator.breaking = 6e-3, breaking
    monkeypatch.setattr(
        run.estimator.filter, 'change_contact', lambda *, touching: changes.append(touching)
    )
    run.go(0.5)
    assert bool(changes) == lost


def test_doubt_must_not_be_negative():
    with pytest.raises(ParameterError, match='inertia must be zero or positive'):
        FilterModel(inertia=-0.1)


def test_outliers_are_refused_and_do_no_harm(run):
    other = Run(camera=replace(LABORATORY, occlusion=0.0), seed=6).go(0.6)
    other.pattern.tolerance = 1.0  # nothing is filtered before the estimator
    model = other.camera.model
    other.camera.change(replace(model, reflection=0.15))
    refused = other.estimator.refused
    other.go(0.6)
    other.camera.change(model)
    contact, angle, _ = other.errors(after=0.7)
    assert other.estimator.refused - refused > 10
    assert 'standard deviations off' in other.estimator.reason
    assert contact < 0.5e-3
    assert math.degrees(angle) < 0.4


@pytest.mark.slow
def test_estimate_survives_a_clock_that_starts_anew():
    run = Run(camera=LABORATORY, seed=7).go(0.6)
    run.camera.change(replace(run.camera.model, clock_offset=-4.0))
    run.camera.stream.inject('clock_jump')
    run.go(0.7)
    assert run.estimator.clock.restarts == 1
    assert run.offsets[-1][1] == pytest.approx(0.0, abs=1.5e-3)
    assert run.last.age < 0.05


def test_blind_time_is_bridged_and_told():
    run = Run(camera=replace(LABORATORY, occlusion=0.0), seed=8).go(0.7)
    before = run.last.covariance[0, 0]
    run.camera.stream.inject('off')
    run.go(0.08)
    assert run.last.age > 0.07
    assert run.last.covariance[0, 0] > 2 * before
    assert abs(run.rows[-1][1]) < 2e-3


def test_an_estimate_gone_astray_starts_anew_and_says_so():
    run = Run(camera=replace(LABORATORY, occlusion=0.0), seed=11).go(0.6)
    run.estimator.filter.body[10:13] = 1e3  # m/s
    run.go(0.02)
    assert run.estimator.restarts == 1
    assert 'gone astray and starts again: no object moves like this' in run.estimator.reason
    run.estimator.filter.body[4] += 0.1  # m: no image fits
    run.go(0.08)
    assert run.estimator.restarts == 2
    assert 'starts again: 12 images in a row did not fit' in run.estimator.reason
    run.go(0.4)
    contact, angle, _ = run.errors(after=run.t - 0.2)
    assert (contact < 0.5e-3, math.degrees(angle) < 0.3) == (True, True)
    assert abs(run.offsets[-1][1]) < 2e-3
    assert run.estimator.restarts == 2


def test_stamps_that_jump_leave_no_estimate_astray():
    """A machine that stands still for a while: time goes on, and nothing else does."""
    run = Run(camera=replace(LABORATORY, occlusion=0.0), seed=12).go(0.6)
    fastest = 0.0
    for pause in (0.03, 0.15, 0.19):
        run.t += pause
        for _ in range(150):
            run.step()
            fastest = max(fastest, float(np.linalg.norm(run.last.object_[7:13])))
    assert fastest < 40.0  # rad/s; the object turns at up to 12
    restarts = run.estimator.restarts
    run.go(0.2)
    contact, angle, _ = run.errors(after=run.t - 0.2)
    assert contact < 0.5e-3
    assert math.degrees(angle) < 0.3
    assert abs(run.offsets[-1][1]) < 1e-3
    assert run.estimator.restarts == restarts


def test_same_seed_same_estimate():
    one, two = (Run(camera=LABORATORY, seed=9).go(0.3) for _ in range(2))
    assert one.rows == two.rows


def test_clock_is_found_from_arrivals():
    rng = np.random.default_rng(0)
    clock = ClockOffset(6e-3)
    for k in range(200):
        t = 4e-3 * k
        clock.take(t + 0.3, t + 6e-3 + rng.uniform(0, 4e-3))
    assert clock.settled
    assert clock.offset == pytest.approx(0.3, abs=2e-4)


def test_a_filter_gone_astray_cannot_take_the_clock_along():
    clock = ClockOffset(6e-3)
    for k in range(30):
        clock.take(4e-3 * k + 0.3, 4e-3 * k + 6e-3)
    for error in (1e3, 1e78, np.inf, np.nan):
        clock.correct(error)
        assert clock.offset == pytest.approx(0.32)
    clock.correct(-0.02)
    assert clock.offset == pytest.approx(0.3)


def test_one_strange_stamp_is_refused_and_five_are_a_new_clock():
    clock = ClockOffset(6e-3)
    for k in range(30):
        clock.take(4e-3 * k + 0.3, 4e-3 * k + 6e-3)
    assert not clock.take(5.0, 0.2)
    assert clock.offset == pytest.approx(0.3)
    results = [clock.take(5.0 + 4e-3 * k, 0.2 + 4e-3 * k) for k in range(5)]
    assert results[-1]
    assert clock.restarts == 1
    assert clock.offset == pytest.approx(4.8 + 6e-3)


def test_encoders_give_rate_and_acceleration():
    resolution, dt = 1.6e-5, 1e-3
    encoders = EncoderFilter([resolution], dt)
    rates, accelerations = [], []
    for k in range(2000):
        t, w = k * dt, 2 * math.pi * 2
        angle = math.floor(0.2 * math.sin(w * t) / resolution) * resolution
        e = encoders.step([angle], [0.0])
        if k > 200:
            rates.append(e.qd[0] - 0.2 * w * math.cos(w * t))
            accelerations.append(e.qdd[0] + 0.2 * w**2 * math.sin(w * t))
    assert np.std(rates) < 0.01
    assert np.std(accelerations) < 3.0


def test_missing_encoder_is_counted_and_bridged():
    encoders = EncoderFilter([1e-5, 1e-5], 1e-3)
    assert encoders.step([math.nan, 0.0], [0, 0]) is None
    for k in range(100):
        encoders.step([1e-3 * k, 0.0], [0, 0])
    for _ in range(10):
        last = encoders.step([math.nan, 0.0], [0, 0])
    assert encoders.missing == 10
    assert last.q[0] == pytest.approx(0.109, abs=2e-3)


def test_rotation_vector_and_quaternion_are_inverse():
    rng = np.random.default_rng(1)
    for size in (1e-12, 1e-3, 1.0, 3.1):
        d = rng.normal(size=3)
        d *= size / np.linalg.norm(d)
        assert rotation_vector(quaternion_of(d)) == pytest.approx(d, rel=1e-9, abs=1e-15)
        assert rotation_vector(-quaternion_of(d)) == pytest.approx(d, rel=1e-9, abs=1e-15)

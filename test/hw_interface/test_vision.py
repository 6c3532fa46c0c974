"""Marker fit and emulated camera: each imperfection is there, and is undone where it can be."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.emulated_camera import CameraModel, MARKERS
from rolling_hw_interface.vision import MarkerFit, MarkerPattern
from rolling_truth import Camera
from transforms3d.axangles import axangle2mat

PERFECT = CameraModel(
    noise=0.0, jitter=0.0, occlusion=0.0, marker_occlusion=0.0, swap=0.0, reflection=0.0,
    clock_spread=0.0, clock_drift=0.0,
)  # fmt: skip
PLACES = np.array(MARKERS)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture(scope='module')
def pattern():
    return MarkerPattern(MARKERS)


def random_pose(rng):
    return axangle2mat(rng.normal(size=3), rng.uniform(0, math.pi)), rng.normal(size=3)


def pose(x=0.0, angle=0.0):
    X = np.eye(4)
    X[:3, :3], X[0, 3] = axangle2mat([0, 1, 0], angle), x
    return X


def images(camera, seconds, motion=lambda _: pose()):
    return [i for k in range(round(seconds * 1000)) for i in camera.step(motion(k / 1e3), k / 1e3)]


def test_pose_is_recovered(pattern, rng):
    for _ in range(10):
        R, p = random_pose(rng)
        fit = pattern.fit(PLACES @ R.T + p)
        assert pytest.approx(R) == fit.R
        assert fit.p == pytest.approx(p)
        assert not fit.relabelled


@pytest.mark.parametrize('hidden', [[], [1], [0, 3]])
def test_swapped_labels_are_found(pattern, rng, hidden):
    R, p = random_pose(rng)
    seen = PLACES @ R.T + p + rng.normal(scale=1e-4, size=PLACES.shape)
    seen[[2, 4]] = seen[[4, 2]]
    seen[hidden] = math.nan
    fit = pattern.fit(seen)
    assert fit.relabelled
    assert fit.p == pytest.approx(p, abs=5e-4)


def test_reflection_is_left_out(pattern, rng):
    R, p = random_pose(rng)
    seen = PLACES @ R.T + p
    seen[1] += [0.03, 0.02, 0.0]
    fit = pattern.fit(seen)
    assert 1 not in fit.used
    assert fit.p == pytest.approx(p)


def test_two_markers_or_a_foreign_body_give_no_pose(pattern, rng):
    seen = PLACES.copy()
    seen[:3] = math.nan
    assert '2 markers are seen' in pattern.fit(seen)
    assert 'no pose fits' in pattern.fit(rng.normal(size=PLACES.shape))


def test_covariance_is_that_of_many_fits(pattern, rng):
    R, p = random_pose(rng)
    sigma, errors = 1e-4, []
    for _ in range(1500):
        fit = pattern.fit(PLACES @ R.T + p + rng.normal(scale=sigma, size=PLACES.shape))
        turn = fit.R @ R.T
        vector = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        errors.append([*(fit.p - p), *(np.array(vector) / 2)])
    expected = sigma**2 * fit.covariance
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((np.cov(np.array(errors).T) - expected) / scale).max() < 0.12


@pytest.mark.parametrize(
    ('places', 'text'),
    [
        ([[0, 0, 0], [0.01, 0, 0]], '3 to 7 points'),
        ([[0, 0, 0], [0.01, 0, 0], [0.03, 0, 0]], 'on a line'),
        ([[0, 0, 0], [0.02, 0, 0], [0, 0.02, 0]], 'must differ'),
    ],
)
def test_pattern_that_tells_no_pose_is_refused(places, text):
    with pytest.raises(ParameterError, match=text):
        MarkerPattern(places)


def test_camera_takes_images_at_its_rate_with_its_latency(pattern):
    X_WC = np.eye(4)
    X_WC[:3, 3] = [0.0, -1.0, 0.2]
    camera = Camera(PERFECT, X_WC)
    taken = images(camera, 1.0, lambda t: pose(0.1 * t, 2.0 * t))
    assert len(taken) == pytest.approx(248, abs=2)
    for image in taken[10::20]:
        assert image.arrival - image.stamp == pytest.approx(PERFECT.latency)
        fit = pattern.fit(image.markers_C)
        X = X_WC[:3, 3] + fit.p
        assert X[0] == pytest.approx(0.1 * image.stamp, abs=2e-6)
        assert math.atan2(fit.R[0, 2], fit.R[0, 0]) == pytest.approx(2.0 * image.stamp, abs=1e-5)


def test_exposure_blurs_fast_motion():
    camera = Camera(replace(PERFECT, exposure=3e-3), np.eye(4))
    spin = 200.0
    taken = images(camera, 0.1, lambda t: pose(angle=spin * t))
    shrunk = np.linalg.norm(taken[-1].markers_C[0, [0, 2]]) / np.linalg.norm(PLACES[0, [0, 2]])
    expected = math.sin(spin * 1.5e-3) / (spin * 1.5e-3)  # mean of a point on a circle
    assert shrunk == pytest.approx(expected, rel=5e-3)


def test_clock_is_another_at_each_start():
    offsets = [Camera(CameraModel(), np.eye(4), seed=s).offset for s in range(4)]
    assert len(set(offsets)) == 4
    camera = Camera(replace(PERFECT, clock_offset=0.3, clock_drift=1e-3), np.eye(4))
    image = images(camera, 1.0)[-1]
    taken_at = image.arrival - PERFECT.latency
    assert image.stamp - taken_at == pytest.approx(0.3 + 1e-3 * taken_at)
    before = Camera(CameraModel(), np.eye(4))
    first = before.offset
    before.stream.inject('clock_jump')
    assert before.offset != first


def test_noise_jitter_and_occlusion_have_their_size():
    model = CameraModel(swap=0.0, reflection=0.0, marker_occlusion=0.0)
    taken = images(Camera(model, np.eye(4), seed=5), 20.0)
    seen = [i.markers_C - PLACES for i in taken if np.all(np.isfinite(i.markers_C))]
    assert np.std(seen) == pytest.approx(model.noise, rel=0.03)
    assert 1 - len(seen) / len(taken) == pytest.approx(model.occlusion, abs=0.03)
    late = [i.arrival - (i.stamp - taken[0].stamp) for i in taken]
    assert np.ptp(late) == pytest.approx(2 * model.jitter, rel=0.15)


def test_swaps_reflections_and_hidden_markers_come_as_often_as_asked(pattern):
    model = replace(PERFECT, swap=0.1, reflection=0.1, marker_occlusion=0.05)
    taken = images(Camera(model, np.eye(4), seed=6), 8.0)
    fits = [pattern.fit(i.markers_C) for i in taken]
    good = [f for f in fits if isinstance(f, MarkerFit)]
    assert np.mean([f.relabelled for f in good]) == pytest.approx(0.1, abs=0.03)
    assert np.mean([np.isnan(i.markers_C[:, 0]).mean() for i in taken]) == pytest.approx(
        0.05, abs=0.01
    )
    assert all(np.abs(f.p).max() < 1e-9 for f in good)


@pytest.mark.parametrize('fault', ['frozen', 'off', 'hidden'])
def test_camera_faults(fault):
    camera = Camera(CameraModel(occlusion=0.0, marker_occlusion=0.0), np.eye(4))
    assert images(camera, 0.1)
    camera.stream.inject(fault)
    later = [i for k in range(200) for i in camera.step(pose(0.001 * k), 0.1 + k / 1e3)][10:]
    if fault == 'off':
        assert not later
    elif fault == 'frozen':
        assert all(np.array_equal(i.markers_C, later[0].markers_C) for i in later)
        assert later[-1].stamp > later[0].stamp
    else:
        assert np.all(np.isnan(later[-1].markers_C))


def test_same_seed_same_images():
    one, two = (images(Camera(CameraModel(), np.eye(4), seed=9), 0.3) for _ in range(2))
    assert len(one) == len(two)
    assert all(
        np.array_equal(a.markers_C, b.markers_C, equal_nan=True) and a[:2] == b[:2]
        for a, b in zip(one, two, strict=True)
    )


def test_numbers_that_no_camera_has_are_refused():
    with pytest.raises(ParameterError, match='exposure must be shorter'):
        CameraModel(exposure=0.01)
    with pytest.raises(ParameterError, match='occlusion must be less than 1'):
        CameraModel(occlusion=1.0)

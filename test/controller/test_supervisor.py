"""The supervisor of plausibility: what it finds by chance alone, and what it must find."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_controller.supervisor import (
    CHANCE,
    Memory,
    Sample,
    Source,
    step,
    threshold,
)
from scipy.stats import chi2, ncx2
from windows import noncentrality

PERIOD = 0.01
SOURCE = Source(name='the ball', period=PERIOD, noise=1.0)


@pytest.fixture(scope='module', autouse=True)
def _computed_here():
    threshold.cache_clear()


def followed(innovations, source=SOURCE, covariance=None, contents=None, times=None):
    """Return the verdicts on white innovations, shape (k, n)."""
    memory, out = Memory(), []
    rng = np.random.default_rng(7)
    for k, r in enumerate(np.asarray(innovations, dtype=float)):
        content = rng.normal(size=2) if contents is None else np.asarray(contents[k])
        S = np.ones(r.size) if covariance is None else covariance
        t = k * PERIOD if times is None else times[k]
        memory, verdict = step(source, memory, Sample(r, S, content), t)
        out.append(verdict)
    return out


def test_threshold_is_that_of_chi_squared():
    for degrees in (1, 6, 10, 60):
        assert chi2.sf(threshold(degrees), degrees) == pytest.approx(CHANCE, rel=1e-6)
        assert ncx2.sf(threshold(degrees), degrees, noncentrality(degrees)) == pytest.approx(0.99)
    assert noncentrality(10) == pytest.approx(90, abs=10)
    assert noncentrality(60) == pytest.approx(140, abs=10)


def test_correlated_innovations_are_judged_by_their_covariance():
    """Two that are nearly equal are likely where they correlate, and impossible where not."""
    S = np.array([[1.0, 0.999], [0.999, 1.0]])
    same, opposed = [[4.0, 4.0]], [[4.0, -4.0]]
    assert not followed(same, covariance=S)[0].reopen
    assert followed(opposed, covariance=S)[0].reopen
    assert not followed(opposed)[0].reopen


def test_noise_alone_is_no_alarm_and_a_bias_is_one_in_a_window():
    rng = np.random.default_rng(1)
    good = rng.normal(size=(20_000, 6))
    assert not any(v.reopen or v.fault for v in followed(good))
    bias = math.sqrt(noncentrality(60) / 60)
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found += any(v.reopen for v in followed(rng.normal(size=(10, 6)) + bias))
    assert found >= 194  # of 198: 99 %, less two standard deviations


def test_a_push_reopens_once_and_a_second_disagreement_is_a_fault():
    quiet = np.zeros((150, 2))
    pushed = quiet.copy()
    pushed[20] = pushed[140] = 9.0, 0.0
    verdicts = followed(pushed)
    assert [k for k, v in enumerate(verdicts) if v.reopen] == [20, 140]
    assert [k for k, v in enumerate(verdicts) if v.limited] == [*range(20, 31), *range(140, 150)]
    assert not any(v.fault for v in verdicts)
    pushed[60] = 9.0, 0.0  # less than the agreement of 1 s after
    verdicts = followed(pushed)
    assert 'does not move as the commands predict' in verdicts[60].fault
    assert all(v.fault == verdicts[60].fault for v in verdicts[60:])


def test_disagreements_while_an_estimator_begins_anew_are_one():
    source = replace(SOURCE, opening=0.035)
    pushed = np.zeros((80, 2))
    pushed[20:24] = 9.0, 0.0
    verdicts = followed(pushed, source)
    assert [k for k, v in enumerate(verdicts) if v.reopen] == [20, 21, 22, 23]
    assert [k for k, v in enumerate(verdicts) if v.limited] == [*range(20, 31)]
    assert not any(v.fault for v in verdicts)
    pushed[24] = 9.0, 0.0
    assert followed(pushed, source)[24].fault
    assert followed(pushed)[21].fault


def test_repeated_samples_are_a_fault_where_chance_would_not_repeat_them():
    quiet, same = np.zeros((40, 2)), [(1.0, 2.0)] * 40
    assert followed(quiet, contents=same)[1].fault.endswith('2 samples are equal')
    coarse = Source(name='the ball', noise=1.0, resolution=1.0)
    verdicts = followed(quiet, source=coarse, contents=same)
    first = next(k for k, v in enumerate(verdicts) if v.fault)
    chance = 1 / (2 * math.sqrt(math.pi))  # that a number is repeated
    assert chance ** (2 * first) < CHANCE < chance ** (2 * first - 2)
    exact = Source(name='the ball')
    assert not any(v.fault for v in followed(quiet, source=exact, contents=same))


def test_numbers_that_are_missing_are_no_sample():
    gaps = [(math.nan, math.nan)] * 40
    assert not any(v.fault or v.reopen for v in followed(np.zeros((40, 2)), contents=gaps))


def test_more_and_fewer_samples_than_the_period_gives():
    quiet = np.zeros((300, 2))
    assert not any(v.fault for v in followed(quiet))
    jittered = np.arange(300) * PERIOD + np.random.default_rng(1).uniform(0, PERIOD / 2, 300)
    assert not any(v.fault for v in followed(quiet, times=jittered))
    doubled = [v.fault for v in followed(quiet, times=np.arange(300) * PERIOD / 2)]
    assert doubled[4].startswith('the ball: 5 samples in 0.02 s')
    assert not any(v.fault for v in followed(quiet[:150], times=np.arange(150) * PERIOD * 3))
    rare = [v.fault for v in followed(quiet[:60], times=np.arange(60) * PERIOD * 5)]
    first = next(k for k, fault in enumerate(rare) if fault)
    assert 1.0 <= first * PERIOD * 5 <= 1.1


def test_a_place_off_the_plate_is_not_taken_and_a_second_one_is_a_fault():
    source = Source(name='the ball', low=np.full(2, -0.1), high=np.full(2, 0.1))
    memory, rng = Memory(), np.random.default_rng(3)
    said = []
    for k, x in enumerate((0.0, 9.9, 0.0, 9.9, 0.0)):
        sample = Sample(np.zeros(2), np.ones(2), rng.normal(size=2), np.array([x, 0.0]))
        memory, verdict = step(source, memory, sample, k * PERIOD)
        said.append((verdict.possible, verdict.reopen, bool(verdict.fault)))
    assert said[:3] == [(True, False, False), (False, True, False), (True, False, False)]
    assert said[3][2]
    assert said[4][2]
    assert 'at (9.9, 0) m, where it cannot be' in memory.fault

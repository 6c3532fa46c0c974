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
    assert 'at (9.9, 0) m, which is impossible' in memory.fault


# -- at the limits: times and numbers that binary fractions state exactly -----------------------

EXACT = Source(name='the ball', opening=0.5, agreement=1.0, window=0.125)


def jumps(source, *times):
    """Return what follows from disagreements at these times, and the memory after the last."""
    memory, out = Memory(), []
    for t in times:
        memory, verdict = step(source, memory, Sample(np.array([99.0]), np.ones(1), np.ones(1)), t)
        out.append(verdict)
    return out, memory


def test_the_opening_and_the_agreement_end_with_their_last_instant():
    (first, same), memory = jumps(EXACT, 0.0, 0.5)
    assert (first.reopen, first.fault, same.reopen, same.fault) == (True, '', True, '')
    assert memory.reopened == 0.0
    assert jumps(EXACT, 0.0, 0.5625)[0][1].fault
    assert jumps(EXACT, 0.0, 1.0)[0][1].fault
    late, memory = jumps(EXACT, 0.0, 1.0625)
    assert (late[1].reopen, late[1].fault, memory.reopened) == (True, '', 1.0625)


def test_commands_are_limited_for_the_window_and_no_longer():
    (_,), memory = jumps(EXACT, 0.0)
    good = Sample(np.zeros(1), np.ones(1), np.ones(1))
    for t, limited in ((0.0625, True), (0.125, True), (0.1875, False)):
        memory, verdict = step(EXACT, memory, good, t)
        assert (verdict.limited, verdict.fault) == (limited, '')


def test_variances_and_their_matrix_are_judged_alike():
    r, variances = np.array([3.0, 0.5]), np.array([4.0, 0.25])
    squares = []
    for S in (variances, np.diag(variances)):
        memory, _ = step(EXACT, Memory(), Sample(r, S, np.ones(1)), 0.0)
        squares.append(memory.squares[0][1])
    assert squares == pytest.approx([9 / 4 + 1, 9 / 4 + 1])


def test_the_edges_belong_to_the_plate():
    plate = replace(EXACT, low=np.array([-1.0]), high=np.array([2.0]))
    for place, possible in ((-1.0, True), (2.0, True), (-1.0625, False), (2.0625, False)):
        sample = Sample(np.zeros(1), np.ones(1), np.ones(1), np.array([place]))
        _, verdict = step(plate, Memory(), sample, 0.0)
        assert (verdict.possible, verdict.reopen) == (possible, not possible)
    blind = sample._replace(content=np.array([math.nan]))
    assert step(plate, Memory(), blind, 0.0)[1].possible


def test_what_shows_nothing_is_counted_and_ends_a_repetition():
    source = replace(EXACT, noise=1.0)
    shown = Sample(np.zeros(2), np.ones(2), np.ones(2))
    blind = shown._replace(content=np.full(2, math.nan))
    memory, _ = step(source, Memory(), shown, 0.0)
    memory, _ = step(source, memory, blind, 0.125)
    assert memory.times == (0.0, 0.125)
    memory, verdict = step(source, memory, shown, 0.25)
    assert (memory.equal, verdict.fault) == (0, '')
    assert step(source, memory, shown, 0.375)[0].equal == 1


@pytest.mark.parametrize('begin', [0.0, 64.0])
@pytest.mark.parametrize(
    ('interval', 'fault'),
    [
        (0.021875, ''),  # three intervals alone would be too short
        (0.0625 * 0.25, 'the ball: 5 samples in 0.06 s, with a period of 0.0312 s'),
    ],
)
def test_four_intervals_are_counted_together(begin, interval, fault):
    source = replace(EXACT, period=0.03125)  # four intervals last 0.075 s at least
    memory, empty = Memory(), Sample(np.zeros(0), np.zeros(0), np.ones(1))
    for k in range(5):
        assert memory.fault == ''
        memory, verdict = step(source, memory, empty, begin + k * interval)
    assert verdict.fault == fault


def test_the_fewest_samples_are_a_quarter_of_those_of_the_period():
    source = replace(EXACT, period=0.125)
    empty = Sample(np.zeros(0), np.zeros(0), np.ones(1))
    for times, text in (
        ((8.0, 9.0), 'the ball: 1 samples in 1.00 s, with a period of 0.125 s'),
        ((8.0, 8.5, 9.0), ''),
        ((8.0, 8.9375), ''),
    ):
        memory = Memory()
        for t in times:
            memory, verdict = step(source, memory, empty, t)
        assert verdict.fault == text


@pytest.mark.parametrize('noise', [0.1, 10.0])
def test_repetitions_are_evidence_by_the_noise_over_the_resolution(noise):
    """Two draws of a normal distribution fall into one step of the resolution."""
    source = replace(EXACT, noise=noise, resolution=1e-3)
    chance = 1e-3 / (2.0 * math.sqrt(math.pi) * noise)
    needed = math.ceil(math.log(CHANCE) / (2 * math.log(chance)))
    memory, faults = Memory(), []
    for k in range(5):
        sample = Sample(np.zeros(2), np.ones(2), np.ones(2))
        memory, verdict = step(source, memory, sample, 0.125 * k)
        faults.append(bool(verdict.fault))
    assert faults.index(True) == needed

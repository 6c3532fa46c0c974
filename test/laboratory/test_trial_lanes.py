"""Compiled trials: a period is that of the chain, lanes are periods, errors are as measured."""

import numpy as np
import pytest
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.laboratory_laws import balance_regulator, CONTROL_LIMITS
from rolling_controller.balance.region_of_attraction import RegionOfAttraction
from rolling_controller.laboratory.laws import Along
from rolling_controller.law import OpenLoop
from rolling_controller.time_varying_lqr import TimeVaryingLqr
from rolling_dynamics.compiled import compiler
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.laboratory import Laboratory, UPRIGHT
from rolling_planner.plan import Plan
from rolling_robotics.trials import estimate_error
from rolling_robotics.trials.chain import LaboratoryChain, PERIOD
from rolling_robotics.trials.estimate_error import EstimateError, LENGTH, measured
from rolling_robotics.trials.experiment import Experiment
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.lanes import BEGINS, TrialLanes
from rolling_robotics.trials.period import LATE, Period, SIZES

HELD, FREE = 20, 60  # periods
OFF = Imperfections(warm_up=HELD * PERIOD)
NO_ERROR = np.zeros(LATE), np.zeros(9), np.zeros(81), np.zeros(9 * (1 + LATE))


def hand_over(laboratory):
    """Stay upright for half a trial, then balance."""
    system, p = laboratory.model()
    times = np.linspace(0.0, FREE * PERIOD / 2, 5)
    states = np.tile(laboratory.rest(UPRIGHT), (5, 1))
    plan = Plan.of(system, times=times, states=states, controls=np.zeros((5, 3)))
    every = {'active_controls': system.control.names, 'control_limits': CONTROL_LIMITS}
    region = RegionOfAttraction(balance_regulator(laboratory), 0.0, 0)
    along = TimeVaryingLqr(system, p, plan, **every)
    return HandOver(along, region, earliest=0.0, latest=plan.duration)


@pytest.fixture(scope='module')
def upright():
    laboratory = Laboratory()
    law = hand_over(laboratory)
    experiment = Experiment(
        name='flip_up',
        laboratory=laboratory,
        start=laboratory.rest(UPRIGHT),
        goal=UPRIGHT,
        laws={
            'closed_loop': lambda: Along(law),
            'replay': lambda: Along(OpenLoop(law.along.plan)),
        },
        duration=FREE * PERIOD,
        last=0.01,
        tolerance=0.2,
    )
    return experiment, Period(experiment, 'closed_loop', OFF.motors)


def part(state, name):
    return state[BEGINS[name] : BEGINS[name] + SIZES[name]]


def test_a_period_is_that_of_the_chain_with_true_states(upright):
    experiment, period = upright
    chain = LaboratoryChain(experiment.laboratory, experiment.start, OFF, 3, experiment.arm)
    law, (states, off) = experiment.laws['closed_loop'](), period.starts(OFF, [3])
    state, last = states[:, 0], None
    for row in period.periods(OFF.warm_up):
        time, held, over, _ = row[-4:]
        chain.plant.held = bool(held)
        chain.sense()
        sent = np.zeros(3) if held else law.command(time, chain.truth, touching=True).copy()
        chain.act(sent)
        state = np.array(period.function(state, off[:, 0], row, *NO_ERROR)).ravel()
        np.testing.assert_allclose(part(state, 'sent'), sent, rtol=0, atol=1e-9)
        np.testing.assert_allclose(part(state, 'q'), chain.plant.motors.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(part(state, 'plant'), chain.plant.state.x, rtol=0, atol=1e-11)
        assert part(state, 'balancing') == over
        last = sent
    assert np.abs(last).max() > 0.1  # it had something to do
    assert np.abs(part(state, 'plant') - part(states[:, 0], 'plant')).max() > 1e-4
    assert part(state, 'failure') == 0


def test_a_trial_ends_at_its_first_failure(upright):
    _, period = upright
    begin, off = (a[:, 0] for a in period.starts(OFF, [3]))
    rows = period.periods(OFF.warm_up)
    begin[BEGINS['plant'] + 3] += 0.5  # rad: too far from upright at the end
    state = begin
    for row in rows:
        state = np.array(period.function(state, off, row, *NO_ERROR)).ravel()
    failure = period.failures[int(part(state, 'failure')[0]) - 1]
    assert failure in {'friction', 'off the goal'}
    assert 0 < part(state, 'time')[0] <= FREE * PERIOD


def test_a_law_without_feedback_is_refused(upright):
    experiment, _ = upright
    with pytest.raises(ParameterError, match=r"time-varying LQR.*'replay' of flip_up"):
        Period(experiment, 'replay', OFF.motors)


def test_no_seeds_are_no_lanes(upright):
    _, period = upright
    assert [a.shape[1] for a in period.starts(OFF, [])] == [0, 0]


def test_another_delay_of_commands_is_refused(upright):
    _, period = upright
    with pytest.raises(ParameterError, match=r'1 period from the controller.*got 2'):
        period.starts(Imperfections(transport=2), [0])


def steps_of(A, gain, late, residuals, missed):
    """Carry an error on by the model."""
    error = [np.zeros(9)]
    for k in range(len(missed) - 1):
        m = [missed[k], *(missed[k - d] if k >= d else 0.0 for d in late)]
        error.append(A @ error[-1] + gain @ m + residuals[k])
    return np.array(error)


def test_the_model_that_made_the_errors_is_found(upright, monkeypatch):
    _, period = upright
    rng = np.random.default_rng(0)
    A, gain = 0.9 * np.eye(9) + 0.01 * rng.normal(size=(9, 9)), rng.normal(size=(9, 3))
    made = []

    def series(_period, _imperfections, seed):
        missed = rng.normal(size=HELD + FREE)
        residuals = 1e-9 * rng.normal(size=(HELD + FREE, 9))
        error = steps_of(A, gain, (8, 12), residuals, missed)
        error[:3] = np.nan  # nothing is told at first
        made.append(residuals)
        return error, missed

    monkeypatch.setattr(estimate_error, '_series', series)
    found = measured(period, OFF, range(8))
    assert list(found.late) == [8, 12]  # periods, of a latency of 8 ms
    np.testing.assert_allclose(found.A, A, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.gain, gain, rtol=0, atol=1e-6)
    # what the first window lacks is taken from the next, and blocks stay in their window
    assert [len(k) for k in found.known] == [8] * ((HELD + FREE) // LENGTH)
    np.testing.assert_array_equal(found.known[0], found.known[1])
    np.testing.assert_allclose(
        found.blocks[found.known[2][5]], made[5][2 * LENGTH : 3 * LENGTH], rtol=0, atol=1e-8
    )
    drawn = found.drawn(range(50))
    np.testing.assert_array_equal(drawn[7], found.drawn([7])[0])
    assert all(set(drawn[:, w]) <= set(k) for w, k in enumerate(found.known))
    assert len(set(drawn[:, 2])) == 8


def test_an_error_that_nothing_tells_is_refused(upright, monkeypatch):
    _, period = upright
    with pytest.raises(ParameterError, match='at least one trial'):
        measured(period, OFF, [])
    blind = np.full((HELD + FREE, 9), np.nan), np.zeros(HELD + FREE)
    monkeypatch.setattr(estimate_error, '_series', lambda *_: blind)
    with pytest.raises(ParameterError, match='no trial has an estimate'):
        measured(period, OFF, [0])


@pytest.mark.slow  # compiles some thousand operations
@pytest.mark.skipif(compiler() is None, reason='no C compiler')
def test_lanes_are_periods_whatever_is_beside_them(upright, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    _, period = upright
    rng = np.random.default_rng(1)
    windows = (HELD + FREE) // LENGTH
    error = EstimateError(
        A=0.9 * np.eye(9),
        gain=1e-5 * rng.normal(size=(9, 3)),
        late=np.array([8, 12]),
        blocks=1e-5 * rng.normal(size=(6, LENGTH, 9)),
        known=(np.arange(6),) * windows,
    )
    lanes, seeds = TrialLanes(period, threads=1), list(range(150))
    together = lanes.run(OFF, error, seeds)
    apart = TrialLanes(period, threads=3).run(OFF, error, seeds[::-1][:77])
    np.testing.assert_array_equal(together.failures[::-1][:77], apart.failures)
    np.testing.assert_array_equal(together.times[::-1][:77], apart.times)
    assert not together.failures[3]
    big = OFF.scaled(6.0)
    ended = lanes.run(big, error, seeds)
    assert set(ended.failures) - {''}
    for seed in (3, 4, 5):
        states, off = period.starts(big, [seed])
        state, missed = states[:, 0], []
        for k, row in enumerate(period.periods(big.warm_up)):
            residual = error.blocks[error.drawn([seed])[0, k // LENGTH], k % LENGTH]
            late = [missed[k - d] if k >= d else 0.0 for d in error.late]
            given = late, residual, error.A.T.ravel(), error.gain.T.ravel()
            state = np.array(period.function(state, off[:, 0], row, *given)).ravel()
            missed.append(part(state, 'missed')[0])
        code = int(part(state, 'failure')[0])
        assert ended.failures[seed] == ('', *period.failures)[code]
        assert ended.times[seed] == pytest.approx(part(state, 'time')[0], abs=1e-12)

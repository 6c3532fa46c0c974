"""Compiled trials: a period is that of the chain, lanes are periods, errors are as measured."""

from dataclasses import replace
from types import SimpleNamespace

from evidence.benchmarks.lanes import BEGINS, EstimateError, fly, measured, Period, SIZES
import numpy as np
import pytest
from rolling_controller.balance.hand_over import HandOver, NEVER
from rolling_controller.balance.region_of_attraction import RegionOfAttraction
from rolling_controller.laboratory.laws import balance_regulator, CONTROL_LIMITS
from rolling_controller.time_varying_lqr import TimeVaryingLqr
from rolling_dynamics.compiled import compiler
from rolling_dynamics.errors import ParameterError
from rolling_planner.laboratory.laboratory import Laboratory, UPRIGHT
from rolling_planner.plan import Plan
from rolling_robotics.trials.chain import HardwareInterface, Imperfections, PERIOD
from rolling_robotics.trials.run import build, LaboratorySetup

HELD, FREE = 20, 60  # periods
OFF = Imperfections(warm_up=HELD * PERIOD)
EXACT = np.zeros(9)


def hand_over(laboratory):
    """Stay upright for half a trial, then balance."""
    system, p = laboratory.model()
    times = np.linspace(0.0, FREE * PERIOD / 2, 5)
    states = np.tile(laboratory.rest(UPRIGHT), (5, 1))
    plan = Plan.of(system, times=times, states=states, controls=np.zeros((5, 3)))
    every = {'active_controls': system.control.names, 'control_limits': CONTROL_LIMITS}
    region = RegionOfAttraction(balance_regulator(laboratory), 0.0, 0)
    along = TimeVaryingLqr(system, p, plan, **every)
    return HandOver(along, region.regulator, region=region, latest=plan.duration)


@pytest.fixture(scope='module')
def upright():
    laboratory = Laboratory.of_paper()
    law = hand_over(laboratory)
    experiment = LaboratorySetup(
        name='flip_up',
        laboratory=laboratory,
        start=laboratory.rest(UPRIGHT),
        goal=UPRIGHT,
        laws={
            'closed_loop': lambda: law,
            'opaque': lambda: SimpleNamespace(inputs=law.inputs, opaque='a quadratic program'),
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
    chain = HardwareInterface(experiment.laboratory, experiment.start, OFF, 3, experiment.arm)
    law, (states, off) = experiment.laws['closed_loop'](), period.starts(OFF, [3])
    state, last, memory = states[:, 0], None, law.start()
    for row in period.periods(OFF.warm_up):
        time, held, _ = row[-3:]
        chain.machine.emulation.held = bool(held)
        chain.sense()
        sent = np.zeros(3)
        if not held:
            memory, sent = law.step(memory, chain.truth, time)
        chain.act(sent)
        state = np.array(period.function(state, off[:, 0], row, EXACT)).ravel()
        np.testing.assert_allclose(part(state, 'sent'), sent, rtol=0, atol=1e-9)
        np.testing.assert_allclose(part(state, 'q'), chain.motors.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            part(state, 'plant'), chain.machine.emulation.state.x, rtol=0, atol=1e-11
        )
        assert (state[-1] < NEVER) == (time >= FREE * PERIOD / 2)
        last = sent
    assert np.abs(last).max() > 0.1  # it had something to do
    assert np.abs(part(state, 'plant') - part(states[:, 0], 'plant')).max() > 1e-4
    assert part(state, 'failure') == 0


def test_a_trial_ends_at_its_first_failure(upright):
    _, period = upright
    begin, off = (a[:, 0] for a in period.starts(OFF, [3]))
    rows = period.periods(OFF.warm_up)
    first = BEGINS['plant'] + 4
    begin[first : first + 2] = np.cos(0.25), np.sin(0.25)  # too far from upright at the end
    state = begin
    for row in rows:
        state = np.array(period.function(state, off, row, EXACT)).ravel()
    failure = period.failures[int(part(state, 'failure')[0]) - 1]
    assert failure in {'friction', 'off the goal'}
    assert 0 < part(state, 'time')[0] <= FREE * PERIOD


def test_a_law_that_is_opaque_is_refused(upright):
    experiment, _ = upright
    with pytest.raises(ParameterError, match='not a function of vectors: a quadratic program'):
        Period(experiment, 'opaque', OFF.motors)


def test_no_seeds_are_no_lanes(upright):
    _, period = upright
    assert [a.shape[1] for a in period.starts(OFF, [])] == [0, 0]


def test_another_delay_of_commands_is_refused(upright):
    _, period = upright
    with pytest.raises(ParameterError, match=r'1 period from the controller.*got 2'):
        period.starts(Imperfections(transport=2), [0])


def test_a_trial_has_the_errors_of_one_that_is_alike(upright):
    experiment, _ = upright
    found = measured(experiment, 'closed_loop', OFF, range(6))
    assert found.series.shape == (6, HELD + FREE, 9)
    assert not found.series.any()  # too few images so far: nothing is reported
    draws = [OFF.draw(seed) for seed in range(60)]
    drawn = found.drawn(OFF, range(60))
    kinds = [(d.inertia, d.turn) for d in draws]
    alike = [found.kinds[k] == kind for k, kind in zip(drawn, kinds, strict=True)]
    assert alike == [kind in found.kinds for kind in kinds]
    assert len(set(found.kinds)) > 1
    assert set(drawn) == set(range(6))
    assert list(found.drawn(OFF, [7])) == [drawn[7]]
    with pytest.raises(ParameterError, match='at least one trial'):
        measured(experiment, 'closed_loop', OFF, [])


def test_errors_after_a_failure_are_those_of_another_trial(upright, monkeypatch):
    experiment, _ = upright
    lengths, periods = (HELD + 5, HELD + FREE, HELD + 30), HELD + FREE

    def series(_experiment, _law, seed, _imperfections):
        return np.full((lengths[seed], 9), float(seed)), lengths[seed] == periods

    monkeypatch.setattr('evidence.benchmarks.lanes._series', series)
    found = measured(experiment, 'closed_loop', replace(OFF, inertia=0.0, turn=0.0), range(3))
    assert list(found.successes) == [False, True, False]
    for k, length in enumerate(lengths):
        assert set(found.series[k, :length, 0]) == {float(k)}
        assert set(found.series[k, length:, 0]) <= {1.0}
    only = measured(experiment, 'closed_loop', OFF, [0])  # none came to its end
    assert set(only.series[0].ravel()) == {0.0}


@pytest.mark.slow  # compiles some thousand operations
@pytest.mark.skipif(compiler() is None, reason='no C compiler')
def test_lanes_are_periods_whatever_is_beside_them(upright, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    _, period = upright
    rng = np.random.default_rng(1)
    series = 1e-3 * rng.normal(size=(6, HELD + FREE, 9))
    big = OFF.scaled(6.0)
    kinds = tuple((1 + a * big.inertia, b * big.turn) for a in (-1, 1) for b in (-1, 1, 1))
    error = EstimateError(series, kinds, np.ones(6, bool))
    monkeypatch.setattr('evidence.benchmarks.lanes.TOGETHER', 100)
    seeds = list(range(150))
    failures, times = fly(period, big, error, seeds)
    apart = fly(period, big, error, seeds[::-1][:77])
    np.testing.assert_array_equal(failures[::-1][:77], apart[0])
    np.testing.assert_array_equal(times[::-1][:77], apart[1])
    assert len(set(failures)) > 1
    for seed in (3, 4, 5):
        states, off = period.starts(big, [seed])
        state, own = states[:, 0], series[error.drawn(big, [seed])[0]]
        for row, off_by in zip(period.periods(big.warm_up), own, strict=True):
            state = np.array(period.function(state, off[:, 0], row, off_by)).ravel()
        code = int(part(state, 'failure')[0])
        assert failures[seed] == ('', *period.failures)[code]
        assert times[seed] == pytest.approx(part(state, 'time')[0], abs=1e-12)


@pytest.mark.slow  # plans, and twelve trials of the whole chain
@pytest.mark.skipif(compiler() is None, reason='no C compiler')
def test_with_its_own_errors_a_compiled_trial_ends_as_the_chain_did(monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    experiment, big, seeds = build('flip_up'), Imperfections().scaled(5.0), range(3000, 3012)
    period = Period(experiment, 'closed_loop', big.motors)
    ended = []
    for seed in seeds:
        own = measured(experiment, 'closed_loop', big, [seed])
        ended.append((own.successes[0], fly(period, big, own, [seed])[0][0] == ''))
    assert [a for a, _ in ended] == [b for _, b in ended]
    assert 0 < sum(a for a, _ in ended) < len(ended)

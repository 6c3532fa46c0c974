"""Measured motion against predicted motion: which states are judged, by what, and what follows."""

import math

from cart import Carried, Cart, P
import casadi as ca
import numpy as np
import pytest
from rolling_controller import motion_watch
from rolling_controller.motion_watch import (
    CHANGE,
    DECLARED,
    DRIFT,
    hand_motion,
    LIMITED,
    MotionWatch,
    NOISE,
    Predictor,
    supervision,
    Unwatched,
)
from rolling_controller.supervisor import step, threshold
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract import Mode
from rolling_dynamics.surfaces import Plane, Sphere

MS, SECOND = 1_000_000, 1_000_000_000  # ns
AT_REST = np.zeros(2)


@pytest.fixture(scope='module')
def cart():
    return Cart()


@pytest.fixture(scope='module')
def carried():
    return Carried()


def predictor_of(system, delay=0.0, horizon=0.0):
    return Predictor(system, P, delay=delay, horizon=horizon)


def watch_of(system, **options):
    return MotionWatch(system, predictor_of(system), **options)


def carried_at(**numbers):
    """Return the state of a carried cart at rest, and some numbers of it by name."""
    x = np.zeros(Carried.state.size)
    x[2] = 1.0
    for name, value in numbers.items():
        x[Carried.state.names.index(name)] = value
    return x


@pytest.fixture
def samples(monkeypatch):
    """Return a list that gets each sample that is judged."""
    seen = []

    def noted(source, memory, sample, t):
        seen.append((sample, t))
        return step(source, memory, sample, t)

    monkeypatch.setattr(motion_watch, 'step', noted)
    return seen


# -- prediction ------------------------------------------------------------------------------


def test_each_command_acts_until_the_next_one_does(cart):
    made = predictor_of(cart)
    made.note(-5 * MS, np.array([2.0]))
    made.note(10 * MS, np.array([-4.0]))
    made.note(30 * MS, np.array([1.0]))
    v = 0.5 + 2.0 * 0.01 - 4.0 * 0.02 + 1.0 * 0.01
    s = 0.01 * (0.5 + 0.01) + 0.02 * (0.52 - 0.04) + 0.01 * (0.44 + 0.005)
    assert made.model(np.array([0.0, 0.5]), 0, 40 * MS) == pytest.approx([s, v], abs=1e-12)
    # those that act from the end on do not count, one that acts from the start on does
    assert made.model(AT_REST, 10 * MS, 30 * MS)[1] == pytest.approx(-0.08)


def test_without_a_command_nothing_acts(cart):
    made = predictor_of(cart)
    made.note(10 * MS, np.array([1.0]))
    assert made.model(AT_REST, 0, 20 * MS)[1] == pytest.approx(0.01)
    made.forget()
    assert made.model(AT_REST, 0, 20 * MS)[1] == 0.0


def test_a_command_that_would_act_before_the_one_sent_earlier_replaces_it(cart):
    made = predictor_of(cart)
    made.note(20 * MS, np.array([5.0]))
    made.note(10 * MS, np.array([1.0]))  # the delay became shorter
    assert made.model(AT_REST, 0, 30 * MS)[1] == pytest.approx(0.01)


def test_prediction_ends_at_the_present_and_at_its_horizon(cart):
    made, x = predictor_of(cart, delay=0.004, horizon=0.02), np.array([0.0, 1.0])
    assert made.delay == 4 * MS
    for now, end in ((15 * MS, 15 * MS), (20 * MS, 20 * MS), (90 * MS, 20 * MS)):
        t, there = made.predict(0, x, now)
        assert t == end
        assert there[0] == pytest.approx(end * 1e-9)
    for now in (0, -MS):
        assert made.predict(0, x, now) == (0, x)
    assert predictor_of(cart).predict(0, x, 10 * MS) == (0, x)


class Driven(Cart):
    """A cart whose acceleration is that which is commanded and the time."""

    def __init__(self):
        super().__init__()
        x, u, t, p = (ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True))
        f = ca.Function('f', [x, u, t, p], [ca.vertcat(x[1], u + t)])
        self.modes = {'rolling': Mode(dynamics=f)}


def test_the_time_of_the_model_is_counted_from_its_origin():
    made = predictor_of(Driven())
    made.origin = -1000 * MS
    assert made.model(AT_REST, 0, 40 * MS)[1] == pytest.approx(0.04 * 1.02, rel=1e-12)


# -- states that are judged --------------------------------------------------------------------


@pytest.mark.parametrize(('number', 'unit'), [(0, 'm'), (1, 'm/s')])
def test_an_error_counts_by_the_noise_of_its_unit(cart, number, unit):
    """The first state has no more than its own noise, and the second adds its own and a drift."""
    deviation = math.sqrt(threshold(2) * (2 * NOISE[unit] ** 2 + DRIFT[unit] ** 2))
    for factor in (0.99, 1.01):
        made, off = watch_of(cart), np.zeros(2)
        off[number] = factor * deviation
        assert not made.judge(0, AT_REST).reopen
        assert made.judge(10 * MS, off).reopen == (factor > 1)


def test_what_is_commanded_is_expected_and_is_not_exact(cart, samples):
    predictor = predictor_of(cart)
    made = MotionWatch(cart, predictor)
    predictor.note(0, np.array([10.0]))
    made.judge(0, AT_REST)
    made.judge(10 * MS, np.array([5e-4, 0.1]))
    ((sample, t),) = samples
    assert t == pytest.approx(0.01)
    assert sample.innovation == pytest.approx([0, 0], abs=1e-12)
    S = [2 * NOISE[u] ** 2 + DRIFT[u] ** 2 for u in ('m', 'm/s')]
    S += (CHANGE * np.array([5e-4, 0.1])) ** 2
    assert sample.covariance == pytest.approx(S)
    assert sample.content == pytest.approx([5e-4, 0.1])


def test_innovations_of_noise_as_declared_are_white_and_of_the_stated_covariance(
    cart, samples, monkeypatch
):
    monkeypatch.setattr(motion_watch, 'CHANGE', 0.0)
    made, rng = watch_of(cart), np.random.default_rng(1)
    noise, drift = (np.array([table['m'], table['m/s']]) for table in (NOISE, DRIFT))
    x = np.zeros(2)
    for k in range(4000):
        made.judge(k * 10 * MS, x + noise * rng.normal(size=2))
        x = np.array([x[0] + 0.01 * x[1], x[1]]) + drift * rng.normal(size=2)
    r = np.array([sample.innovation / np.sqrt(sample.covariance) for sample, _ in samples])
    assert len(r) == 3999
    assert (r**2).mean(0) == pytest.approx([1.0, 1.0], abs=0.08)  # h sigma_v is left out: 4 %
    assert (r[1:] * r[:-1]).mean(0) == pytest.approx([0.0, 0.0], abs=0.06)


def test_where_sensors_are_known_their_corrections_stand_for_the_usual_noise(cart, samples):
    """By the time between two states, and no less than of a period."""
    corrections = np.array([4e-6, 9e-4])
    made = watch_of(cart, corrections=corrections)
    for at in (0, 10, 40, 50):
        made.judge(at * MS, AT_REST)
    drift = [DRIFT[unit] ** 2 for unit in ('m', 'm/s')]
    for (sample, _), periods in zip(samples, (1, 3, 1), strict=True):
        assert sample.covariance == pytest.approx(drift + periods * corrections)


def declared(*deviations, hand=(0.0,) * 4):
    """Return covariances by the greatest deviation of place, turn, speed and rate of turn."""
    variances = np.outer(np.square([hand, deviations]), (0.1, 0.2, 1.0))
    return np.array([np.diag(v) for v in variances.reshape(4, 6)]).reshape(2, 2, 6, 6)


UNSURE = 0.01, 0.2, 0.3, 5.0


@pytest.mark.parametrize('when', [0, 1])
def test_an_error_that_the_source_declares_is_expected(cart, samples, when):
    """That of a speed shows in the position of the next state too."""
    made, nothing = watch_of(cart), np.zeros((2, 2, 6, 6))
    for k in range(2):
        made.judge(10 * MS * k, AT_REST, covariances=declared(*UNSURE) if k == when else nothing)
    ((sample, _),) = samples
    S = np.array([2 * NOISE[u] ** 2 + DRIFT[u] ** 2 for u in ('m', 'm/s')])
    S += [0.01**2 - NOISE['m'] ** 2, 0.3**2 - NOISE['m/s'] ** 2]
    if when == 0:
        S[0] += 0.01**2 * (0.3**2 - NOISE['m/s'] ** 2)
    assert sample.covariance == pytest.approx(S)


def test_an_error_that_is_declared_is_not_averaged_out(cart, samples):
    made = watch_of(cart)
    for k in range(30):
        made.judge(10 * MS * k, AT_REST, covariances=declared(*UNSURE))
    made.judge(300 * MS, np.array([0.02, 0.6]))
    assert all(sample.covariance[1] > 2 * 0.29**2 for sample, _ in samples[:-1])
    assert not made.judge(310 * MS, np.array([0.026, 0.6])).limited


@pytest.mark.parametrize('known', [None, declared(0, 0, 0, 0), declared(*[math.nan] * 4),
                                   declared(3e-4, 2e-3, 6e-3, 0.05)])  # fmt: skip
def test_where_nothing_is_declared_noise_is_the_usual_one(cart, samples, known):
    made = watch_of(cart)
    for k in range(3):
        made.judge(10 * MS * k, AT_REST, covariances=known)
    made.judge(30 * MS, np.array([0.1, 0.0]), covariances=known)
    usual = watch_of(cart)
    for k in range(4):
        usual.judge(10 * MS * k, AT_REST)
    of_given, of_usual = np.split(np.array([sample.covariance for sample, _ in samples]), 2)
    assert of_given == pytest.approx(of_usual)
    assert made.limited(np.array([9.0])) == [9.0]
    assert made.judge(40 * MS, AT_REST, covariances=known).limited


def test_of_an_infinite_variance_the_hand_is_judged_all_the_same(carried, samples):
    made, unknown = watch_of(carried), declared(*[math.inf] * 4)
    for k in range(3):
        made.judge(k * 10 * MS, carried_at(s=10.0 * k), covariances=unknown)
    assert np.isfinite([s.covariance for s, _ in samples]).all()
    assert not made.judge(30 * MS, carried_at(s=30.0), covariances=unknown).reopen
    assert made.judge(40 * MS, carried_at(p_x=0.03), covariances=unknown).reopen


def test_what_is_declared_of_an_object_is_not_said_of_the_hand(carried, samples):
    made = watch_of(carried)
    for k in range(30):
        made.judge(k * 10 * MS, carried_at(), covariances=declared(*UNSURE))
    assert not made.judge(300 * MS, carried_at(s=0.03), covariances=declared(*UNSURE)).reopen
    assert made.judge(310 * MS, carried_at(p_x=0.03), covariances=declared(*UNSURE)).reopen
    usual = 2 * NOISE['m'] ** 2 + DRIFT['m'] ** 2
    assert samples[-1][0].covariance.min() < usual < samples[-1][0].covariance[0]


SURE = 1e-4, 1e-3, 1e-3, 0.01


def test_sensors_that_are_better_than_usual_are_judged_by_what_they_declare(carried, samples):
    """Each by its own unit; an object that is known on a hand has the errors of both."""
    for of_hand in (SURE, (0.0,) * 4):
        made = watch_of(carried)
        for k in range(23):
            known = declared(*(2.0 * s for s in SURE), hand=of_hand) if k else None
            made.judge(k * 10 * MS, carried_at(), covariances=known)
        names = [e.name for e in Carried.tangent.entries for _ in range(e.size)]
        units = [e.unit for e in Carried.tangent.entries for _ in range(e.size)]
        usual = of_hand != SURE
        for name, unit, found in zip(names, units, samples[-1][0].covariance, strict=True):
            noise = SURE[DECLARED.index(unit)] ** 2
            hand_noise = NOISE[unit] ** 2 if usual else noise
            R = hand_noise if 'WH' in name else 4 * noise + (0.0 if usual else noise)
            P = 0.5 * (math.sqrt(DRIFT[unit] ** 4 + 4 * R * DRIFT[unit] ** 2) - DRIFT[unit] ** 2)
            assert found == pytest.approx(P + R + DRIFT[unit] ** 2, rel=1e-4), name


def test_a_hand_may_be_known_less_well_than_usual(carried, samples):
    made, unsure = watch_of(carried), declared(*SURE, hand=UNSURE)
    for k in range(3):
        made.judge(k * 10 * MS, carried_at(), covariances=unsure)
    assert not made.judge(30 * MS, carried_at(p_x=0.03), covariances=unsure).reopen
    variance = samples[-1][0].covariance[3]  # of a place
    assert variance == pytest.approx(2 * (0.01**2 + (0.01 * 0.3) ** 2 / 2), rel=0.02)


class Heavy(Cart):
    """A cart with a mass of which the control is the force."""

    def __init__(self):
        super().__init__()
        x, u, t, p = (ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True))
        f = ca.Function('f', [x, u, t, p], [ca.vertcat(x[1], u / p)])
        self.modes = {'rolling': Mode(dynamics=f)}


def test_errors_of_parameters_are_expected_as_far_as_they_show(samples):
    """A mass that is known to a tenth makes an acceleration wrong by as much."""
    heavy, spread = Heavy(), []
    for errors in (None, np.zeros(1), np.array([0.1 * P[0]])):
        predictor = predictor_of(heavy)
        made = MotionWatch(heavy, predictor, errors=errors)
        predictor.note(0, np.array([10.0]))
        made.judge(0, AT_REST)
        made.judge(10 * MS, AT_REST)
        spread.append(samples[-1][0].covariance)
    assert spread[0] == pytest.approx(spread[1])
    change = np.array([5e-4, 0.1])
    assert spread[2] - spread[0] == pytest.approx((change * (1 - 1 / 1.1)) ** 2, rel=1e-6)


def test_states_are_judged_every_10_ms(cart, samples):
    made = watch_of(cart)
    for k in range(0, 41, 2):
        made.judge(k * MS, AT_REST)
    assert [round(t * 1e3) for _, t in samples] == [10, 20, 30, 40]
    assert not made.judge(49 * MS, np.array([9.0, 0.0])).reopen
    assert made.judge(50 * MS, np.array([9.0, 0.0])).reopen


def test_after_a_gap_the_motion_begins_again(cart, samples):
    made = watch_of(cart)
    made.judge(0, AT_REST)
    made.judge(100 * MS, AT_REST)
    assert len(samples) == 1
    made.judge(201 * MS, np.array([9.0, 0.0]))
    assert len(samples) == 1
    made.judge(211 * MS, np.array([9.0, 0.0]))
    assert len(samples) == 2
    assert not made.judge(221 * MS, np.array([9.0, 0.0])).reopen


def test_a_repeated_state_is_a_fault_where_states_have_noise(cart):
    for noisy in (True, False):
        made = watch_of(cart, noisy=noisy)
        for k in range(4):
            verdict = made.judge(k * 10 * MS, AT_REST)
        assert ('the measured state is measured with noise' in verdict.fault) == noisy
        assert bool(verdict.fault) == noisy


def test_a_fault_lasts_until_the_watch_begins_again(cart):
    made = watch_of(cart, noisy=True)
    for k in range(4):
        made.judge(k * 10 * MS, AT_REST)
    assert made.judge(40 * MS, np.array([1e-4, 0])).fault
    assert made.judge(41 * MS, np.array([1e-4, 0])).fault  # what is not judged keeps the verdict
    made.begin()
    assert not made.judge(50 * MS, np.array([2e-4, 0])).fault
    assert not made.judge(60 * MS, np.array([1e-4, 0])).fault


# -- an object on a hand -----------------------------------------------------------------------


def test_of_an_object_in_flight_only_the_hand_is_judged(carried, samples):
    made, off = watch_of(carried), {'s': 0.5}
    made.judge(0, carried_at(), touching=False)
    assert not made.judge(10 * MS, carried_at(**off), touching=False).reopen
    assert samples[-1][0].innovation.size == 12  # pose and velocities of the hand
    assert made.judge(20 * MS, carried_at(p_x=0.05), touching=False).reopen


def test_an_object_that_was_caught_is_judged_0_2_s_later(carried, samples):
    made = watch_of(carried)
    for k in range(45):
        made.judge(k * 10 * MS, carried_at(), touching=k > 10)
    whole = [round(t * 1e3) for sample, t in samples if sample.innovation.size == 14]
    assert whole[0] == 310  # more than 0.2 s after 0.1 s, when it flew last
    assert len(samples) - len(whole) == 30


def test_a_watch_that_begins_judges_the_hand_alone_at_first(carried, samples):
    made = watch_of(carried)
    for k in range(30):
        made.judge(k * 10 * MS, carried_at())
    sizes = [sample.innovation.size for sample, _ in samples]
    assert sizes == [12] * 20 + [14] * 9


def test_a_jump_does_not_end_the_time_in_which_the_hand_alone_is_judged(carried, samples):
    made = watch_of(carried)
    for k in range(12):
        verdict = made.judge(k * 10 * MS, carried_at(p_x=0.05 * (k > 9)))
        assert verdict.reopen == (k == 10)
    assert samples[-1][0].innovation.size == 12


def test_while_the_estimate_is_open_commands_are_half_the_greatest(cart):
    made = watch_of(cart, limits=[4.0])
    strong = np.array([3.0])
    made.judge(0, AT_REST)
    made.judge(10 * MS, AT_REST)
    assert made.limited(strong) == strong
    jumped = np.array([0.1, 0.0])
    assert made.judge(20 * MS, jumped).limited
    assert made.limited(strong) == made.limited(np.array([9.0])) == [LIMITED * 4.0]
    assert made.limited(-strong) == [-LIMITED * 4.0]
    assert made.limited(np.array([1.0])) == [1.0]
    for k in range(3, 14):
        made.judge(k * 10 * MS, jumped)
    assert made.limited(strong) == strong


def test_without_limits_commands_are_not_limited(cart):
    made = watch_of(cart)
    made.judge(0, AT_REST)
    assert made.judge(10 * MS, np.array([0.1, 0.0])).limited
    assert made.limited(np.array([1e9])) == [1e9]


def test_disagreements_within_50_ms_are_one_and_a_later_one_is_a_fault(cart):
    """Each reopens the estimate at the state that was measured."""
    made, x = watch_of(cart), np.zeros(2)
    made.judge(0, x)
    for k in range(1, 7):
        x = x + np.array([0.1, 0.0])
        verdict = made.judge(k * 10 * MS, x.copy())
        assert (verdict.reopen, verdict.fault) == (True, '')
    assert made.judge(70 * MS, x + np.array([0.1, 0.0])).fault


def test_parameters_of_the_controller_make_the_supervisor(cart):
    values = {'command_delay': 0.003, 'prediction_horizon': 0.02}
    values |= {'noisy_states': True, 'state_period': 0.01}
    predictor, watch = supervision(cart, P, np.array([2.0]), values.__getitem__)
    assert predictor.delay == 3 * MS
    assert predictor.predict(0, np.array([0.0, 1.0]), 50 * MS)[0] == 20 * MS
    assert watch.source.noise == 1.0
    watch.judge(0, AT_REST)
    assert watch.judge(10 * MS, np.array([0.1, 0.0])).limited
    assert watch.limited(np.array([9.0])) == [1.0]
    predictor.note(10 * MS, np.array([10.0]))  # by which the watch expects a motion
    v = np.array([0.1 + 5e-4, 0.1])
    assert not watch.judge(20 * MS, v).fault


def test_states_that_come_too_often_or_too_rarely_are_a_fault(cart):
    """Every one counts, also those that are not judged by their motion."""
    for apart, wrong in ((2 * MS, False), (MS, True), (9 * MS, True), (7 * MS, False)):
        for period in (2e-3, 0.0):
            made = watch_of(cart, period=period)
            faults = [made.judge(k * apart, AT_REST).fault for k in range(2 * SECOND // apart)]
            assert bool(faults[-1]) == (wrong and period > 0), apart
            assert (made.judge(3 * SECOND, AT_REST).fault == faults[-1]) or not faults[-1]
            made.begin()
            assert not made.judge(3 * SECOND, AT_REST).fault
            assert not any('samples in' not in fault for fault in faults if fault)


@pytest.mark.parametrize('off', [0.35, 5.0])
def test_a_contact_beyond_the_edge_is_not_followed_and_then_a_fault(off):
    system = ContactSystem(Sphere(0.05), Plane())
    p = system.pack_parameters(mass=0.1, inertia=4e-4)
    p[system.parameters.slice('hand_edges')] = -0.3, 0.3, -0.2, 0.2
    watch = MotionWatch(system, Predictor(system, p, delay=0.0, horizon=0.0))
    x, u = np.zeros(system.state.size), np.array([1.0])
    for name in ('q_WH_w', 'q_HO_w'):
        x[system.state.names.index(name)] = 1.0
    seen = x.copy()
    seen[system.state.names.index('v_h')] = off
    for k in range(48):
        verdict = watch.judge(k * 10 * MS, seen if k > 40 else x)
        assert bool(verdict.fault) == (k > 46)  # 50 ms after the first
        assert verdict.fault or watch.limited(u) == (0.0 if k > 40 else 1.0)
    assert 'which is impossible' in verdict.fault
    watch.begin()
    flies = [watch.judge(k * 10 * MS, seen, touching=False) for k in range(30)]
    assert all(v.possible and not v.fault for v in flies)


def test_a_law_with_its_own_supervisor_is_left_alone():
    none, u, x = Unwatched(), np.array([1e9]), np.ones(2)
    none.note(0, u)
    none.begin()
    none.forget()
    assert none.predict(5, x, 10) == (5, x)
    assert not any((none.judge(0, x).fault, none.judge(1, x).reopen, none.judge(2, x).limited))
    assert none.limited(u) is u
    assert none.delay == none.origin == 0


@pytest.mark.parametrize('system', [Cart, Carried])
def test_the_bound_of_a_hand_is_compiled_with_the_rest(system):
    hand_motion.cache_clear()
    values = {'command_delay': 0.0, 'prediction_horizon': 0.0}
    values |= {'noisy_states': False, 'state_period': 0.0}
    supervision(system(), P, None, values.__getitem__)
    assert hand_motion.cache_info().currsize == (system is Carried)

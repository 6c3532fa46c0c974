"""Laws on the emulated rig, with all that the scenario hides from them."""

from dataclasses import replace
from functools import partial

import casadi as ca
from evidence.benchmarks.ball_balancer import fastest_move
import numpy as np
import pytest
from rolling_controller.ball_balancer import estimator, learned_gain, protocol
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.laws import LAWS, LEADS
from rolling_controller.ball_balancer.predictive import AxisProgram, predictive_law, THERE
from rolling_controller.ball_balancer.protocol import place_on
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.law import replay
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import check

TWO_JUMPS = protocol.BEGIN + 2 * protocol.LAST
FOUR_JUMPS = protocol.BEGIN + 4 * protocol.LAST


@pytest.fixture(scope='module')
def file():
    return check(BallBalancerFile, load_scenario('ball_balancer').raw, '')


@pytest.mark.parametrize(('name', 'end'), [('lqr', 3e-3), ('pid', 10e-3)])
def test_a_law_takes_the_ball_to_its_set_point(file, name, end):
    law = LAWS[name](RigModel.of(file))
    run = run_rig(file, law, protocol.jumps, TWO_JUMPS, seed=1)
    jumps = protocol.judged(run.times, run.states[:, :2])
    assert [round(1e3 * j.length) for j in jumps] == [57, 80]
    assert max(j.end_error for j in jumps) < end
    assert max(j.rise for j in jumps) < 1.2


def test_a_ball_stays_near_a_set_point_that_is_told_before_it_moves(file):
    def off(lead):
        law, way = LAWS['lqr'](RigModel.of(file)), partial(place_on, 'circle', 0.04, 6.0)
        run = run_rig(file, law, lambda t: way(t + lead), 3.0, seed=1)
        goals = np.array([way(t) for t in run.times])
        return np.hypot(*(run.states[:, :2] - goals).T)[run.times > 1.5].mean()

    assert off(0.0) > 0.015
    assert off(LEADS['lqr']) < off(0.0) / 3


def test_a_run_has_the_same_bits_again(file):
    law = LAWS['lqr'](RigModel.of(file))
    a, b = (run_rig(file, law, protocol.jumps, 1.0, seed=4) for _ in range(2))
    assert np.array_equal(a.states, b.states)
    assert np.array_equal(a.outputs, b.outputs)


@pytest.mark.slow
def test_the_predictive_law_is_nearly_as_fast_as_the_servos_allow(file):
    """And overshoots less than the regulator, on a plate that it does not know."""
    pytest.importorskip('daqp')
    rig = RigModel.of(file)
    run = run_rig(file, LAWS['predictive'](rig), protocol.jumps, FOUR_JUMPS, seed=1)
    jumps = protocol.judged(run.times, run.states[:, :2])
    assert max(j.end_error for j in jumps) < 2e-3
    assert np.median([j.overshoot for j in jumps]) < 2.5e-3
    for long, length in ((True, 0.08), (False, 0.04)):
        fastest = fastest_move(rig, length, file.servo.dead_time)
        rise = np.median([j.rise for j in jumps if (j.length > 0.07) == long])
        assert fastest < rise < 1.12 * fastest


def test_a_plan_of_an_axis_keeps_the_servo_within_its_limits(file):
    """From rest, and from a servo that is too fast to stop within its reach."""
    pytest.importorskip('daqp')
    rig = RigModel.of(file)
    program = AxisProgram(rig)
    far, plan = (program.plan(np.zeros(4), goal, 5.0, 0.0) for goal in (0.5, 0.08))
    assert abs(far[:, 2]).max() == pytest.approx(rig.reach, abs=1e-3)
    assert abs(plan[:, 3]).max() == pytest.approx(rig.speed, abs=1e-3)
    rates = np.diff(plan[:, 3], prepend=0.0)
    assert abs(rates).max() <= rig.acceleration * rig.period + 1e-3
    ball = plan[:, 0] - rig.lever * plan[:, 2]
    assert 0.04 < ball[-1] <= ball.max() + 1e-9 < 0.081  # on its way, and not beyond
    beyond = program.plan(np.array([0, 0.5, 245.0, rig.speed]), 0.0, 0.0, 0.0)
    assert beyond[0, 2] > rig.reach
    assert beyond[8:, 2].min() < -rig.reach / 2


def test_a_plan_knows_that_the_plate_slopes_elsewhere_at_its_set_point(file):
    """Its rates are those of the offset on the way, and then of that at the set point."""
    pytest.importorskip('daqp')
    rig = RigModel.of(file)
    level, rise = 5.0, 8.0
    plan = AxisProgram(rig).plan(np.zeros(4), 0.05, level, 0.0, rise)
    tilt, tilt_rate = np.vstack([np.zeros((1, 4)), plan])[:, 2:].T
    # a servo turns with constant acceleration in a frame
    mean = (tilt[1:] + tilt[:-1]) / 2 - rig.period * np.diff(tilt_rate) / 12
    pull = np.diff(plan[:, 1], prepend=0.0) / (rig.gain * rig.period) - mean
    assert pull[0] == pytest.approx(-level - rise * 0.5 / THERE)
    assert pull[THERE:] == pytest.approx(-level - rise)


def test_the_predictive_law_goes_by_its_map(file):
    """With the offset of a bowl, which grows along each axis by 200 counts a metre."""
    law = predictive_law(RigModel.of(file))
    z, named = law.start(), law.state.names.index
    z[[named('map_2_0'), named('map_0_2')]] = 5.0
    z[[named('followed'), named('ball_rate_x')]] = 1.0, 0.3
    now, more = 0.3 * law.period, 0.3 * law.rig.latency  # m
    _, _, asked = law.before(z, (now, 0), 1.0, (0.04, -0.02))
    level, rise = np.array(asked).reshape(2, -1)[0, [5, 7]]
    assert rise == pytest.approx(200 * (now + more - 0.04), abs=0.5)
    assert level == pytest.approx(-200 * more, abs=0.5)
    sent, _ = law.after(z, (0.01, 0), 1.0, 2.0, (0, 0))
    assert sent[named('offset_x')] == pytest.approx(200 * 0.3 * law.period)
    assert sent[named('offset_y')] == 0
    blind, _ = law.after(z, (0.01, 0), 0.0, 2.0, (0, 0))
    assert blind[named('offset_x')] == 0


def test_a_ball_that_rests_near_its_set_point_is_left_alone(file):
    """The command stays the same; one that rests elsewhere is pushed, harder the longer."""
    pytest.importorskip('daqp')
    rig = RigModel.of(file)
    law, lost = LAWS['predictive'](rig), [(np.nan, 0, 0, 0), *12 * [(np.nan, np.nan, 0, 0)]]
    commands = replay(law, 20 * [(5e-4, 0, 0, 0)])[0]
    assert np.ptp(commands[6:], axis=0) == pytest.approx([0, 0])
    pushed = replay(law, 30 * [(3e-3, 0, 0, 0)] + lost)[0]
    assert pushed[10, 0] < 0
    assert pushed[25, 0] < pushed[10, 0]
    assert not pushed[30, 1]
    assert list(pushed[-1]) == [0, 0]


@pytest.mark.parametrize('share', [0.8, 1.0, 1.25])
def test_the_gain_of_a_rig_is_learned(file, share):
    """If it is stronger, in spite of noise, of a wrong delay and of a constant slope."""
    rig = RigModel.of(file)
    T, rng = rig.period, np.random.default_rng(3)
    t = T * np.arange(120)
    tilt = 150 * np.column_stack([np.sin(4 * t), np.cos(3 * t)])
    late = 150 * np.column_stack([np.sin(4 * (t - 0.01)), np.cos(3 * (t - 0.01))])
    pull = share * rig.gain * (late + np.array([8.0, -8.0]))
    rate = np.cumsum(T * pull, axis=0)
    place = np.cumsum(T * rate, axis=0) - rig.lever * tilt
    z = {entry.name: np.zeros(entry.size) for entry in learned_gain.ENTRIES}
    z.update(learned_gain.start(rig))
    learn = learning(rig, z)
    for k in range(1, t.size):
        seen = place[k] + rig.noise * rng.normal(size=2)
        z = learn(z, (seen, tilt[k], (tilt[k] - tilt[k - 1]) / T), 1.0)
    assert z['share'][0] == pytest.approx(max(share, 1.0), rel=0.07)
    assert (z['share'][0] > 1) == (share > 1)
    still = learn(learn(z, (np.zeros(2),) * 3, 0.0), (place[-1], tilt[-1], tilt[-1]), 1.0)
    assert still['frames'][0] == 1, 'differences are of frames in a row'
    assert np.array_equal(still['learned'], z['learned'])


def test_the_offsets_of_an_uneven_plate_are_learned(file):
    """Over the place, where the ball has been, to a third of what they were."""
    rig, wave, rng = RigModel.of(file), np.array([30.0, -22.0]), np.random.default_rng(4)

    def uneven(place):
        return 12 * wave / np.hypot(*wave) * np.cos(place @ wave + 0.5)[..., None]

    T, place, rate, tilt = rig.period, np.zeros(2), np.zeros(2), np.zeros(2)
    z = {entry.name: np.zeros(entry.size) for entry in learned_gain.ENTRIES}
    z.update(learned_gain.start(rig))
    learn, been = learning(rig, z), []
    for k in range(900):
        ball = place + rig.lever * tilt
        a, b = 2.1 * k * T, 2.9 * k * T
        goal = 0.04 * np.array([np.sin(a), np.sin(b)])
        before, tilt = tilt, 1500 * (goal - ball) - 600 * rate
        for _ in range(8):
            pull = rig.gain * (tilt + uneven(place))
            rate = rate + T / 8 * pull
            ball = ball + T / 8 * rate
            place = ball - rig.lever * tilt
        z = learn(z, (place + rig.noise * rng.normal(size=2), tilt, (tilt - before) / T), 1.0)
        been.append(place)
    rows = ca.Function('rows', [symbol := ca.SX.sym('place', 2)], [learned_gain.rows(symbol)])
    been = np.array(been[::10])
    found = np.array([np.array(rows(p)) @ z['map'] for p in been])
    assert abs(been).max() < learned_gain.REACH
    left = np.sqrt(np.mean((found - uneven(been)) ** 2))
    assert left < np.sqrt(np.mean(uneven(been) ** 2)) / 3
    far = np.array(rows([0.2, 0.01])) @ z['map']
    assert far == pytest.approx(np.array(rows([learned_gain.REACH, 0.01])) @ z['map'])


@pytest.mark.parametrize('seen', [0.0, 1.0])
def test_an_estimate_stays_within_its_bounds(file, seen):
    """Whatever was estimated before, and wherever a ball is seen."""
    rig = RigModel.of(file)
    layout = estimator.layout(rig)
    z = {e.name: ca.SX.sym(e.name, e.size) for e in layout.entries}
    place = ca.SX.sym('place', 2)
    e = estimator.estimate(rig, z, place, ca.SX(seen))
    found = ca.Function(
        'found', [ca.vertcat(*z.values()), place], [e.now.ball, e.now.ball_rate, e.offset]
    )
    most = estimator.FARTHEST, estimator.FASTEST, estimator.STEEPEST * rig.reach
    for sign in (1.0, -1.0):
        far = {'ball': 1e3, 'ball_rate': 1e5, 'offset': 1e6, 'followed': 1.0}
        x = np.concatenate([np.full(e.size, sign * far.get(e.name, 0.0)) for e in layout.entries])
        x[layout.slice('followed')] = 1.0
        for value, bound in zip(found(x, [sign * 1e4] * 2), most, strict=True):
            assert np.array(value).ravel() == pytest.approx([sign * bound] * 2)
    x = np.concatenate([np.full(e.size, float(e.name == 'followed')) for e in layout.entries])
    for value, bound in zip(found(x, [1e-3] * 2), most, strict=True):
        assert abs(np.array(value)).max() < 0.1 * bound


def learning(rig, z):
    """Return what a frame teaches, by entries."""
    symbols = {name: ca.SX.sym(name, value.size) for name, value in z.items()}
    frame, seen = (
        tuple(ca.SX.sym(name, 2) for name in ('place', 'tilt', 'rate')),
        ca.SX.sym('seen'),
    )
    after = learned_gain.learn(rig, symbols, frame, seen)
    step = ca.Function('step', [*symbols.values(), *frame, seen], [after[name] for name in z])

    def learn(z, frame, seen):
        return dict(
            zip(z, (np.array(v).ravel() for v in step(*z.values(), *frame, seen)), strict=True)
        )

    return learn


def test_the_predictive_law_bears_numbers_that_are_wrong(file):
    """Each 20 % off, among them the gain too low: without learning it swings, and no jump ends."""
    pytest.importorskip('daqp')
    rig = RigModel.of(file)
    low = ('gain', 'lever', 'speed', 'acceleration', 'breakaway', 'noise')
    told = replace(rig, **{name: 0.8 * getattr(rig, name) for name in low})
    told = replace(told, latency=1.2 * rig.latency, stiffness=1.2 * rig.stiffness)
    run = run_rig(file, LAWS['predictive'](told), protocol.jumps, TWO_JUMPS, seed=2)
    assert (
        max(j.end_error for j in protocol.judged(run.times, run.states[:, :2])) < protocol.WITHIN
    )
